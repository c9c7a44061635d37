"""The documents of a server are read while it listens already."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
import trio
import trio.testing

from agent.config import Settings
from agent.errors import UsageError
from agent.knowledge import Knowledge
from agent.ports.brain import Question, TurnEvent, Verified

T = TypeVar("T")
ASKED = Question("1", "What does the Standard plan cost?", "en", 0.0)


class Slow:
    """Does what blocks when it is let (implements `agent.ports.work.RunSync`)."""

    def __init__(self) -> None:
        self.let = trio.Event()

    async def __call__(self, function: Callable[[], T]) -> T:
        """Wait, then do it."""
        await self.let.wait()
        return function()


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    """A folder with two files."""
    (tmp_path / "a.md").write_text("# Plans\n\nThe Standard plan costs 299 kr a month.\n")
    (tmp_path / "b.md").write_text("Nothing else.")
    return tmp_path


async def test_a_question_waits_for_what_is_read(kb: Path, autojump_clock: trio.testing.MockClock) -> None:
    """It is answered then; one that is cancelled meanwhile leaves nothing."""
    slow = Slow()
    knowledge = Knowledge(Settings(kb=kb, vectors="off"), None, None, slow, None)
    knowledge.check()
    told: list[TurnEvent] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(knowledge.read)
        nursery.start_soon(knowledge.brain.answer, ASKED, told.append)
        with trio.move_on_after(5) as impatient:
            await knowledge.brain.answer(ASKED, told.append)
        assert impatient.cancelled_caught
        assert (told, knowledge.unread) == ([], "The documents are being read.")
        slow.let.set()
        await knowledge.wait_read()
    assert knowledge.unread == ""
    assert isinstance(told[-1], Verified)
    assert "299 kr" in told[-1].text.text


async def test_how_far_the_reading_is(kb: Path) -> None:
    """In files, as they are read."""
    said: list[str] = []

    async def work(function: Callable[[], T]) -> T:
        return function()

    knowledge = Knowledge(Settings(kb=kb, vectors="off"), None, None, work, None)
    note = knowledge._note
    knowledge._note = lambda done, total: (note(done, total), said.append(knowledge.unread))  # type: ignore
    await knowledge.read()
    assert said == [f"The documents are being read: {done} of 2 files." for done in (0, 1)]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"kb": Path("/nowhere")}, "does not exist"),
        ({"vectors": "best"}, "vectors must be"),
        ({"model": "script:/nowhere"}, "/nowhere"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_read(kb: Path, wrong: dict[str, object], said: str) -> None:
    """So that no port opens for it."""
    settings = Settings(**{"kb": kb, "vectors": "off", **wrong})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=said):
        Knowledge(settings, None, None, Slow(), None).check()


async def test_documents_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    """An empty folder is found out by reading it."""

    async def work(function: Callable[[], T]) -> T:
        return function()

    with pytest.raises(UsageError, match="holds no documents"):
        await Knowledge(Settings(kb=tmp_path, vectors="off"), None, None, work, None).read()


async def test_a_file_is_shown_as_the_present_snapshot_holds_it(kb: Path) -> None:
    """Nothing until everything is read; then its sections, and none of what is no file of it."""

    async def work(function: Callable[[], T]) -> T:
        return function()

    knowledge = Knowledge(Settings(kb=kb, vectors="off"), None, None, work, None)
    assert knowledge.sections("kb/a.md") is None
    await knowledge.read()
    found = knowledge.sections("kb/a.md")
    assert found is not None
    assert [each.text for one in found for each in one.snippets] == [
        "The Standard plan costs 299 kr a month."
    ]
    assert (knowledge.sections("kb/../a.md"), knowledge.sections("a.md")) == ((), ())


async def test_questions_to_begin_with_are_of_the_documents(
    kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None until they are read; then made once for a snapshot."""

    async def work(function: Callable[[], T]) -> T:
        return function()

    knowledge = Knowledge(Settings(kb=kb, vectors="off"), None, None, work, None)
    assert knowledge.openers("en") is None
    await knowledge.read()
    assert knowledge.openers("en") == ("What is there about Plans?",)
    monkeypatch.setattr("agent.knowledge.openers", lambda *_: ("made again",))
    assert knowledge.openers("en") == ("What is there about Plans?",)
    assert knowledge.openers("sv") == ("made again",)


async def test_what_is_read_is_set_aside_on_the_way(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every so many files, so that no collection of garbage looks at all of them."""
    times: list[int] = []
    monkeypatch.setattr("agent.knowledge._FILES", 4)
    for at in range(8):
        (kb / f"{at}.md").write_text("A zebra.")

    async def work(function: Callable[[], T]) -> T:
        return function()

    knowledge = Knowledge(Settings(kb=kb, vectors="off"), None, None, work, None)
    monkeypatch.setattr("agent.knowledge.set_aside_so_far", lambda: times.append(knowledge._files[0]))
    await knowledge.read()
    assert times == [4, 8]
