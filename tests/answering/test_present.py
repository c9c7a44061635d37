"""The brain of the moment: made once a turn, and kept by it."""

from collections.abc import Callable

import trio
import trio.testing

from agent.answering.present import PresentBrain
from agent.ports.brain import Drafted, Question, Redraft, TurnEvent


class Dated:
    """Tells that it began, and after a second that it ended, with what it was made with."""

    def __init__(self, snapshot: str, said: list[str]) -> None:
        self._snapshot = snapshot
        self._said = said

    async def answer(self, question: Question, emit: Callable[[TurnEvent], None]) -> None:
        """Emit two events, a second apart."""
        for event in (Drafted(), Redraft()):
            self._said.append(f"{question.id} {self._snapshot}")
            emit(event)
            await trio.sleep(1)


async def test_a_turn_keeps_the_brain_it_began_with(autojump_clock: trio.testing.MockClock) -> None:
    """What is present later is for later turns."""
    present, said, events = ["old"], list[str](), list[TurnEvent]()

    async def now() -> Dated:
        return Dated(present[-1], said)

    brain = PresentBrain(now)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(brain.answer, Question("1", "?", None, 0), events.append)
        await trio.sleep(0.5)
        present.append("new")
        nursery.start_soon(brain.answer, Question("2", "?", None, 0.5), events.append)
    assert said == ["1 old", "2 new", "1 old", "2 new"]
    assert events == [Drafted(), Drafted(), Redraft(), Redraft()]
