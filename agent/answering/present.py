"""A brain that is made anew for each turn, so that a turn keeps what it began with."""

from collections.abc import Awaitable, Callable

from ..ports.brain import Brain, Question, TurnEvent


class PresentBrain:
    """Answers each question with the brain of that moment (implements `agent.ports.brain.Brain`).

    make: returns a brain over the snapshot of the knowledge base that is present, once there is one; called each turn.
    """

    def __init__(self, make: Callable[[], Awaitable[Brain]]) -> None:
        self._make = make

    async def answer(self, question: Question, emit: Callable[[TurnEvent], None]) -> None:
        """Answer one question as `Brain.answer` says; on cancel it does nothing of its own."""
        brain = await self._make()
        await brain.answer(question, emit)
