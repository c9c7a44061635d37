"""The knowledge base as its folder is now: what a change does, and what a broken folder does not."""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog
import trio
import trio.testing
from structlog.testing import capture_logs

from agent.errors import UsageError
from agent.ports.work import RunSync
from agent.retrieval import live as module
from agent.retrieval.chunk import Piece
from agent.retrieval.index import Index
from agent.retrieval.live import Folder, LiveKnowledge
from agent.retrieval.search import KnowledgeBase
from agent.retrieval.watch import Touched


class Hints:
    """A watch whose batches the test sends; each is taken before `tell` returns."""

    def __init__(self) -> None:
        self._send, self._receive = trio.open_memory_channel[Touched](0)
        self.open = False

    @asynccontextmanager
    async def __call__(self, folder: Path) -> AsyncGenerator[AsyncIterator[Touched], None]:
        """Watch nothing."""
        self.open = True
        try:
            yield self._receive
        finally:
            self.open = False

    async def tell(self, *paths: Path) -> None:
        """Say that these may have changed, and wait until that is seen to."""
        await self._send.send([str(path) for path in paths])
        await trio.testing.wait_all_tasks_blocked()


def texts(knowledge: KnowledgeBase) -> set[str]:
    """Return every text that stands in a snapshot."""
    return {snippet.text for passage in knowledge.passages for snippet in passage.snippets}


def found(knowledge: KnowledgeBase, word: str) -> list[str]:
    """Return the texts that a word is found in."""
    return sorted(hit.snippet.text for hit in knowledge.find(word, "en", 10, 0))


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    """A folder with two files."""
    (tmp_path / "a.md").write_text("A zebra.")
    (tmp_path / "b.md").write_text("An okapi.")
    return tmp_path


@pytest.fixture
def grown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every index for one that is worth keeping."""
    monkeypatch.setattr(module, "_SMALL", 0)
    monkeypatch.setattr(module, "_GONE_SHARE", 1000)


@asynccontextmanager
async def living(folder: Path, inline: RunSync) -> AsyncGenerator[tuple[LiveKnowledge, Hints], None]:
    """Keep a folder's knowledge live for the time of a block."""
    live = await LiveKnowledge.open(folder, inline)
    hints = Hints()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(live.keep, hints)
        await trio.testing.wait_all_tasks_blocked()
        yield live, hints
        nursery.cancel_scope.cancel()
    assert not hints.open


@contextmanager
def logged() -> Iterator[list[tuple[str, str]]]:
    """Collect the level and the event of each line that is logged."""
    lines: list[tuple[str, str]] = []
    with capture_logs() as entries:
        yield lines
    lines += [(entry["log_level"], entry["event"]) for entry in entries]


@pytest.mark.usefixtures("autojump_clock")
async def test_a_change_is_live_and_a_snapshot_stays(kb: Path, inline: RunSync) -> None:
    """New, changed and deleted files; whoever holds the snapshot before still searches it as it was."""
    async with living(kb, inline) as (live, hints):
        before = live.now
        (kb / "a.md").write_text("A quagga.")
        (kb / "sub").mkdir()
        (kb / "sub" / "c.md").write_text("A tapir.")
        (kb / "b.md").unlink()
        assert live.now is before
        await hints.tell()
        assert texts(live.now) == {"A quagga.", "A tapir."}
        assert [found(live.now, word) for word in ("zebra", "quagga", "okapi")] == [[], ["A quagga."], []]
        assert [found(before, word) for word in ("zebra", "quagga", "okapi")] == [
            ["A zebra."],
            [],
            ["An okapi."],
        ]


@pytest.mark.usefixtures("autojump_clock")
async def test_nothing_new_makes_no_snapshot(kb: Path, inline: RunSync) -> None:
    """A file that was touched, or written with the same words, changes nothing."""
    async with living(kb, inline) as (live, hints):
        before = live.now
        with logged() as lines:
            (kb / "a.md").write_text("A zebra.")
            await hints.tell()
            await hints.tell(kb / "a.md")
        assert live.now is before
        assert lines == []


@pytest.mark.usefixtures("autojump_clock")
async def test_a_named_file_is_read_even_if_it_looks_the_same(
    kb: Path, inline: RunSync, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two writes within one tick of the file system's clock cannot be told apart by its times."""
    same = (kb / "a.md").lstat()
    monkeypatch.setattr("agent.retrieval.live.os.lstat", lambda path: same)
    async with living(kb, inline) as (live, hints):
        (kb / "a.md").write_text("A tiger.")
        await hints.tell()
        assert found(live.now, "zebra") == ["A zebra."]
        await hints.tell(kb / "a.md")
        assert found(live.now, "tiger") == ["A tiger."]


@pytest.mark.usefixtures("autojump_clock")
async def test_a_broken_file_is_left_out_with_one_line(kb: Path, inline: RunSync) -> None:
    """What it said before is not served either; mended, it is back."""
    async with living(kb, inline) as (live, hints):
        with logged() as lines:
            (kb / "a.md").write_bytes(b"\xff")
            await hints.tell()
            await hints.tell()
        assert texts(live.now) == {"An okapi."}
        assert [skipped.file for skipped in live.now.skipped] == ["kb/a.md"]
        assert lines == [
            ("warning", "file left out of the knowledge base"),
            ("info", "knowledge base reloaded"),
        ]
        (kb / "a.md").write_text("A zebra.")
        await hints.tell()
        assert texts(live.now) == {"A zebra.", "An okapi."}


@pytest.mark.usefixtures("autojump_clock")
@pytest.mark.parametrize("away", [True, False])
async def test_a_folder_without_files_leaves_the_last_snapshot(kb: Path, inline: RunSync, away: bool) -> None:
    """Gone or emptied, it is said once; when there are files again they are taken."""
    async with living(kb, inline) as (live, hints):
        with logged() as lines:
            for name in ("a.md", "b.md"):
                (kb / name).unlink()
            if away:
                os.rmdir(kb)
            await hints.tell()
            await hints.tell()
        assert texts(live.now) == {"A zebra.", "An okapi."}
        assert lines == [("warning", "knowledge base is not there, the last one stays")]
        os.makedirs(kb, exist_ok=True)
        (kb / "c.md").write_text("A tapir.")
        await hints.tell()
        assert texts(live.now) == {"A tapir."}


@pytest.mark.usefixtures("autojump_clock", "grown")
@pytest.mark.parametrize(
    "fault", [OSError(24, "too many open files"), ValueError("tantivy"), RecursionError()]
)
async def test_whatever_fails_the_last_snapshot_stays(
    kb: Path, inline: RunSync, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    """One line in the log; the next change is taken, with what was missed, by an index made anew."""

    def fail(*_: object, **__: object) -> None:
        raise fault

    async with living(kb, inline) as (live, hints):
        (kb / "a.md").write_text("A quagga.")
        with monkeypatch.context() as broken, logged() as lines:
            broken.setattr(module, "Index", fail)
            await hints.tell()
        assert found(live.now, "zebra") == ["A zebra."]
        assert lines == [("error", "knowledge base cannot be read, the last one stays")]
        await hints.tell()
        assert texts(live.now) == {"A quagga.", "An okapi."}
        assert found(live.now, "zebra") == []


@pytest.mark.usefixtures("grown")
def test_an_index_is_made_from_the_last_one(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a large folder costs is what changed in it; when much of the index is gone it is made anew."""
    made: list[tuple[int, bool]] = []

    def noted(pieces: Iterable[Piece], **options: Any) -> Index:
        given = list(pieces)
        made.append((len(given), "after" in options))
        return Index(given, **options)

    monkeypatch.setattr(module, "Index", noted)
    reader = Folder(kb)
    assert reader.update()
    (kb / "a.md").write_text("A quagga.\n\nA tapir.")
    update = reader.update()
    assert update
    assert (found(update.knowledge, "quagga"), found(update.knowledge, "zebra")) == (["A quagga."], [])
    assert found(update.knowledge, "okapi") == ["An okapi."]
    monkeypatch.setattr(module, "_GONE_SHARE", 0.1)
    (kb / "a.md").unlink()
    update = reader.update()
    assert update
    assert (texts(update.knowledge), update.changed, update.knowledge.snippets) == ({"An okapi."}, 1, 1)
    assert made == [(2, False), (2, True), (1, False)]


@pytest.mark.usefixtures("grown")
def test_a_series_of_updates_is_as_good_as_a_first_look(kb: Path) -> None:
    """After many changes, one by one, the same texts are found as by a reader that starts there."""
    reader = Folder(kb)
    reader.update()
    update = None
    for turn in range(30):
        (kb / f"{turn % 5}.md").write_text(f"A zebra{turn}.\n\nThe tapir {turn}.")
        if turn % 3 == 0:
            (kb / f"{(turn + 2) % 5}.md").unlink(missing_ok=True)
        update = reader.update()
    fresh = Folder(kb).update()
    assert update
    assert fresh
    assert texts(update.knowledge) == texts(fresh.knowledge)
    for word in ("tapir", "zebra29", "zebra24", "zebra3", "okapi"):
        assert found(update.knowledge, word) == found(fresh.knowledge, word)


def test_a_file_that_goes_while_it_is_listed_is_not_there(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the list of the folder and the look at the file it may be deleted."""
    monkeypatch.setattr(module, "markdown_files", lambda folder: iter([kb / "a.md", kb / "never.md"]))
    update = Folder(kb).update()
    assert update
    assert (texts(update.knowledge), update.left_out) == ({"A zebra."}, ())


async def test_the_first_snapshot_names_what_was_left_out(kb: Path, inline: RunSync) -> None:
    """And a folder that cannot be used is a usage error."""
    (kb / "b.md").write_bytes(b"\xff")
    live = await LiveKnowledge.open(kb, inline)
    assert [skipped.file for skipped in live.now.skipped] == ["kb/b.md"]
    assert live.now.snippets == 1
    (kb / "a.md").unlink()
    for folder, words in ((kb, "1 could not be read"), (kb / "none", "does not exist")):
        with pytest.raises(UsageError, match=words):
            await LiveKnowledge.open(folder, inline)


async def test_a_cancel_ends_the_watch(kb: Path, autojump_clock: trio.testing.MockClock) -> None:
    """Also while a snapshot is being built, which it waits for."""
    ready = trio.Event()

    async def slow(function: Callable[[], object]) -> object:
        ready.set()
        with trio.move_on_after(3, shield=True):
            await trio.sleep_forever()
        return function()

    live = LiveKnowledge(kb, slow, KnowledgeBase.build(()), Folder(kb))  # type: ignore[arg-type]
    hints = Hints()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(live.keep, hints)
        nursery.start_soon(hints.tell)
        await ready.wait()
        nursery.cancel_scope.cancel()
    assert trio.current_time() == 3
    assert not hints.open


@pytest.fixture(autouse=True)
def _plain_logs() -> Iterator[None]:
    """Leave the log as it was."""
    yield
    structlog.reset_defaults()
