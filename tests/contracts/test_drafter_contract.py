"""What every drafter must do. A new one joins by a line in DRAFTERS.

Each is made so that it drafts SAID, or what it makes of EVIDENCE, in several pieces, with a second before each.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import pytest
import trio
from trio.testing import MockClock

from agent.errors import ModelFailed
from agent.llm.drafter import ModelDrafter
from agent.llm.mock import MockModel
from agent.llm.script import ScriptEntry, ScriptModel
from agent.ports.draft import Delta, Drafter, Prompt
from agent.ports.model import Finish, ModelRequest, Piece, TextDelta
from agent.ports.search import Hit, Passage, Snippet

SAID = "The Standard plan costs 299 kr a month. It has 14 days of history."
_LINES = tuple(
    Snippet(file="kb/a.md", text=text, first=n, last=n, plain_text=text)
    for n, text in enumerate(SAID.split(". "), 1)
)
EVIDENCE = tuple(Hit(line, Passage("kb/a.md", ("Plans",), "en", _LINES), 0.9) for line in _LINES)
PROMPT = Prompt(instructions="Use the snippets only.", question="What does Standard cost?", lang="en")
BROKEN = Prompt(instructions="Use the snippets only.", question="break", lang="en")


class Slow:
    """A language model that says SAID, a word a second, and breaks where it is told to."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        for word in SAID.split(" "):
            await trio.sleep(1)
            if request.messages[-1].text.endswith("break"):
                raise ModelFailed("the model broke", "server")
            yield TextDelta(f"{word} ")
        yield Finish("stop")


def _script() -> Drafter:
    words = tuple(f"{word} " for word in SAID.split(" "))
    return ScriptModel(
        [
            ScriptEntry(match="break", error="the model broke", delay_ms=1000),
            ScriptEntry(match="", deltas=words, delay_ms=1000),
        ]
    )


DRAFTERS: dict[str, Callable[[], Drafter]] = {
    "mock": lambda: MockModel(delay=1.0),
    "script": _script,
    "language model": lambda: ModelDrafter(Slow()),
}


@pytest.fixture(params=sorted(DRAFTERS))
def drafter(request: pytest.FixtureRequest) -> Drafter:
    return DRAFTERS[request.param]()


async def drafted(drafter: Drafter, prompt: Prompt = PROMPT) -> str:
    async with aclosing(drafter.stream(prompt, EVIDENCE)) as deltas:
        pieces = [delta async for delta in deltas]
    assert all(isinstance(piece, Delta) and piece.text for piece in pieces)
    return "".join(piece.text for piece in pieces)


async def test_a_draft_comes_in_pieces_from_the_evidence(drafter: Drafter, autojump_clock: MockClock) -> None:
    """Joined they are the draft; the same question is drafted anew each time."""
    first = await drafted(drafter)
    assert "299 kr" in first
    assert trio.current_time() > 1
    assert "299 kr" in await drafted(drafter)


async def test_two_drafts_at_a_time_are_two(drafter: Drafter, autojump_clock: MockClock) -> None:
    """One drafter serves every session."""
    found: list[str] = []

    async def draft() -> None:
        found.append(await drafted(drafter))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(draft)
        nursery.start_soon(draft)
    assert found[0] == found[1]


async def test_a_draft_that_is_left_ends_at_once(drafter: Drafter, autojump_clock: MockClock) -> None:
    """Closed after its first piece, it waits for nothing."""
    async with aclosing(drafter.stream(PROMPT, EVIDENCE)) as deltas:
        await anext(deltas)
        left = trio.current_time()
    assert trio.current_time() == left


async def test_a_cancel_ends_it_at_once(drafter: Drafter, autojump_clock: MockClock) -> None:
    """In the middle of a wait, and without another error."""
    with trio.move_on_after(0.5) as cancelled:
        await drafted(drafter)
    assert cancelled.cancelled_caught
    assert trio.current_time() == pytest.approx(0.5)


@pytest.mark.parametrize("name", sorted(set(DRAFTERS) - {"mock"}))  # nothing breaks a mock
async def test_what_it_cannot_do_is_a_model_failure(name: str, autojump_clock: MockClock) -> None:
    """One error for all that can go wrong."""
    with pytest.raises(ModelFailed):
        await drafted(DRAFTERS[name](), BROKEN)
