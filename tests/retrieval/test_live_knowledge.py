"""The knowledge base as its folder is now: what a change does, and what a broken folder does not."""

import errno
import itertools
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
import structlog
import trio
import trio.testing
from structlog.testing import capture_logs

from agent.errors import GivenUp, UsageError
from agent.ports.search import Passage
from agent.ports.work import RunSync
from agent.retrieval import folder as module
from agent.retrieval.effort import Effort
from agent.retrieval.folder import FolderReader
from agent.retrieval.index import KnowledgeIndex
from agent.retrieval.live_knowledge import READ_AGAIN_FIRST, READ_AGAIN_MOST, LiveKnowledge
from agent.retrieval.load import SourceFile
from agent.retrieval.read import passages_of
from agent.retrieval.search import KnowledgeBase
from agent.retrieval.watch import TouchedPaths

T = TypeVar("T")


class Hints:
    """A watch whose batches the test sends; each is taken before `tell` returns."""

    def __init__(self) -> None:
        self._send, self._receive = trio.open_memory_channel[TouchedPaths](0)
        self.open = False

    @asynccontextmanager
    async def __call__(self, folder: Path) -> AsyncGenerator[AsyncIterator[TouchedPaths], None]:
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
    return sorted(hit.snippet.text for hit in knowledge.find_hits(word, "en", 10, 0))


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
        nursery.start_soon(live.keep_current, hints)
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


async def test_machines_know_by_a_digest_whether_they_serve_the_same(
    kb: Path, inline: RunSync, autojump_clock: trio.testing.MockClock
) -> None:
    """It is that of the content, wherever the folder is, and changes with each document and with the synonyms."""
    other = kb / "elsewhere" / "docs"
    other.mkdir(parents=True)
    for name in ("b.md", "a.md"):
        (other / name).write_bytes((kb / name).read_bytes())
    async with living(other, inline) as (there, hints):
        digests = {there.digest}
        for name, content in (
            ("a.md", "A quagga."),
            ("c.md", "A zebra."),
            ("synonyms.txt", "zebra horse"),
            ("not-read.bin", "a zebra"),
        ):
            (other / name).write_text(content)
            await hints.tell()
            digests.add(there.digest)
        assert len(digests) == 4
        for name in ("c.md", "synonyms.txt", "not-read.bin"):
            (other / name).unlink()
        (other / "a.md").write_bytes((kb / "a.md").read_bytes())
        await hints.tell()
        assert there.digest in digests
    again = await LiveKnowledge.open(other, inline)
    (other / "a.md").unlink()
    (other / "b.md").unlink()
    here = await LiveKnowledge.open(kb, inline)
    assert len({here.digest, again.digest, there.digest}) == 1


async def test_a_change_is_live_and_a_snapshot_stays(
    kb: Path, inline: RunSync, autojump_clock: trio.testing.MockClock
) -> None:
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


async def test_nothing_new_makes_no_snapshot(
    kb: Path, inline: RunSync, autojump_clock: trio.testing.MockClock
) -> None:
    """A file that was touched, or written with the same words, changes nothing."""
    async with living(kb, inline) as (live, hints):
        before = live.now
        with logged() as lines:
            (kb / "a.md").write_text("A zebra.")
            await hints.tell()
            await hints.tell(kb / "a.md")
        assert live.now is before
        assert lines == []


async def test_a_named_file_is_read_even_if_it_looks_the_same(
    kb: Path, inline: RunSync, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """Two writes within one tick of the file system's clock cannot be told apart by its times."""
    same = (kb / "a.md").lstat()
    monkeypatch.setattr("agent.retrieval.folder.os.lstat", lambda path: same)
    async with living(kb, inline) as (live, hints):
        (kb / "a.md").write_text("A tiger.")
        await hints.tell()
        assert found(live.now, "zebra") == ["A zebra."]
        await hints.tell(kb / "a.md")
        assert found(live.now, "tiger") == ["A tiger."]


async def test_a_broken_file_is_left_out_with_one_line(
    kb: Path, inline: RunSync, autojump_clock: trio.testing.MockClock
) -> None:
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


@pytest.mark.parametrize("away", [True, False])
async def test_a_folder_without_files_leaves_the_last_snapshot(
    kb: Path, inline: RunSync, away: bool, autojump_clock: trio.testing.MockClock
) -> None:
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
        assert lines == [("warning", "knowledge base is gone, the last snapshot stays")]
        os.makedirs(kb, exist_ok=True)
        (kb / "c.md").write_text("A tapir.")
        await hints.tell()
        assert texts(live.now) == {"A tapir."}


@pytest.mark.usefixtures("grown")
@pytest.mark.parametrize(
    "fault", [OSError(24, "too many open files"), ValueError("tantivy"), RecursionError()]
)
async def test_whatever_fails_the_last_snapshot_stays(
    kb: Path,
    inline: RunSync,
    monkeypatch: pytest.MonkeyPatch,
    fault: Exception,
    autojump_clock: trio.testing.MockClock,
) -> None:
    """One line in the log; the next change is taken, with what was missed, by an index made anew."""

    def fail(*_: object, **__: object) -> None:
        raise fault

    async with living(kb, inline) as (live, hints):
        (kb / "a.md").write_text("A quagga.")
        with monkeypatch.context() as broken, logged() as lines:
            broken.setattr(module, "KnowledgeIndex", fail)
            await hints.tell()
        assert found(live.now, "zebra") == ["A zebra."]
        assert lines == [("error", "knowledge base cannot be read, the last snapshot stays")]
        await hints.tell()
        assert texts(live.now) == {"A quagga.", "An okapi."}
        assert found(live.now, "zebra") == []


@pytest.mark.usefixtures("grown")
def test_an_index_is_made_from_the_last_one(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a large folder costs is what changed in it; when much of the index is gone it is made anew."""
    made: list[tuple[int, bool]] = []

    def noted(passages: Iterable[Passage], **options: Any) -> KnowledgeIndex:
        given = list(passages)
        made.append((len(given), options.get("after") is not None))
        return KnowledgeIndex(given, **options)

    monkeypatch.setattr(module, "KnowledgeIndex", noted)
    reader = FolderReader(kb)
    assert reader.update()
    (kb / "a.md").write_text("A quagga.\n\nA tapir.")
    update = reader.update()
    assert update
    assert (found(update.knowledge, "quagga"), found(update.knowledge, "zebra")) == (
        ["A quagga.", "A tapir."],  # the section that holds it
        [],
    )
    assert found(update.knowledge, "okapi") == ["An okapi."]
    monkeypatch.setattr(module, "_GONE_SHARE", 0.1)
    (kb / "a.md").unlink()
    update = reader.update()
    assert update
    assert (texts(update.knowledge), update.changed, update.knowledge.statement_count) == (
        {"An okapi."},
        1,
        1,
    )
    assert made == [(2, False), (1, True), (1, False)]


@pytest.mark.usefixtures("grown")
def test_a_series_of_updates_is_as_good_as_a_first_look(kb: Path) -> None:
    """After many changes, one by one, the same texts are found as by a reader that starts there."""
    reader = FolderReader(kb)
    reader.update()
    update = None
    for turn in range(30):
        (kb / f"{turn % 5}.md").write_text(f"A zebra{turn}.\n\nThe tapir {turn}.")
        if turn % 3 == 0:
            (kb / f"{(turn + 2) % 5}.md").unlink(missing_ok=True)
        update = reader.update()
    fresh = FolderReader(kb).update()
    assert update
    assert fresh
    assert texts(update.knowledge) == texts(fresh.knowledge)
    for word in ("tapir", "zebra29", "zebra24", "zebra3", "okapi"):
        assert found(update.knowledge, word) == found(fresh.knowledge, word)


def test_a_file_that_goes_while_it_is_listed_is_not_there(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the list of the folder and the look at the file it may be deleted."""
    listed = [str(kb / "a.md"), str(kb / "never.md")]
    monkeypatch.setattr(module, "find_files", lambda folder, others: iter(listed))
    update = FolderReader(kb).update()
    assert update
    assert (texts(update.knowledge), update.left_out) == ({"A zebra."}, ())


async def test_the_first_snapshot_names_what_was_left_out(kb: Path, inline: RunSync) -> None:
    """And a folder that cannot be used is a usage error."""
    (kb / "b.md").write_bytes(b"\xff")
    live = await LiveKnowledge.open(kb, inline)
    assert [skipped.file for skipped in live.now.skipped] == ["kb/b.md"]
    assert live.now.statement_count == 1
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

    first = module.Update(KnowledgeBase.build(()), "", 0, ())
    live = LiveKnowledge(kb, slow, first, FolderReader(kb))  # type: ignore[arg-type]
    hints = Hints()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(live.keep_current, hints)
        nursery.start_soon(hints.tell)
        await ready.wait()
        nursery.cancel_scope.cancel()
    assert trio.current_time() == 3
    assert not hints.open


def failing(call: Callable[..., Any], ending: str, fault: OSError) -> Callable[..., Any]:
    """Return a call of the system that fails for the paths with an ending."""

    def fail(path: Any, *more: Any, **options: Any) -> Any:
        if os.fspath(path).endswith(ending):
            raise type(fault)(fault.errno, fault.strerror, os.fspath(path))
        return call(path, *more, **options)

    return fail


@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE, errno.EACCES])
@pytest.mark.parametrize("call", ["open", "lstat"])
async def test_a_file_that_cannot_be_read_for_a_moment_keeps_what_it_said(
    kb: Path,
    inline: RunSync,
    monkeypatch: pytest.MonkeyPatch,
    autojump_clock: trio.testing.MockClock,
    call: str,
    number: int,
) -> None:
    """One line says so; it is tried again soon, later and later, and read as soon as it can be."""
    async with living(kb, inline) as (live, hints):
        (kb / "a.md").write_text("A quagga.")
        with logged() as lines:
            with monkeypatch.context() as broken:
                broken.setattr(os, call, failing(getattr(os, call), "a.md", OSError(number, "Broken")))
                if call == "lstat":
                    broken.setattr(os, "open", failing(os.open, "a.md", OSError(number, "Broken")))
                await hints.tell()
                assert texts(live.now) == {"A zebra.", "An okapi."}
                assert [skipped.reason for skipped in live.now.skipped] == [
                    "cannot be read: broken; its last content stays in use"
                ]
                assert found(live.now, "zebra") == ["A zebra."]
                await trio.sleep(300)
                assert texts(live.now) == {"A zebra.", "An okapi."}
            await trio.sleep(READ_AGAIN_MOST + 0.1)
            assert texts(live.now) == {"A quagga.", "An okapi."}
        assert live.now.skipped == ()
        assert lines == [
            ("warning", "file cannot be read now, will try again"),
            ("info", "knowledge base reloaded"),
            ("info", "knowledge base reloaded"),
        ]


async def test_what_cannot_be_read_is_tried_again_soon_and_then_seldom(
    kb: Path, inline: RunSync, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """A moment's error is over in a quarter of a second; one that stays costs a look each half minute."""
    async with living(kb, inline) as (live, hints):
        (kb / "a.md").write_text("A quagga.")
        with monkeypatch.context() as broken:
            broken.setattr(os, "open", failing(os.open, "a.md", OSError(errno.EIO, "Broken")))
            await hints.tell()
        await trio.sleep(READ_AGAIN_FIRST + 0.01)
        assert texts(live.now) == {"A quagga.", "An okapi."}
        looks: list[float] = []
        refuse = failing(os.open, "a.md", OSError(errno.EIO, "Broken"))

        def counted(path: Any, *more: Any) -> Any:
            if os.fspath(path).endswith("a.md"):
                looks.append(trio.current_time())
            return refuse(path, *more)

        (kb / "a.md").write_text("A tapir.")
        with monkeypatch.context() as broken:
            broken.setattr(os, "open", counted)
            await hints.tell()
            await trio.sleep(600)
        waits = [later - sooner for sooner, later in itertools.pairwise(looks)]
        assert waits[:4] == pytest.approx([READ_AGAIN_FIRST * 2**n for n in range(4)])
        assert waits[-1] == pytest.approx(READ_AGAIN_MOST)


async def test_a_folder_that_cannot_be_listed_is_named_and_keeps_its_files(
    kb: Path, inline: RunSync, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """What it held stays until it can be listed again, or is gone."""
    (kb / "sub").mkdir()
    (kb / "sub" / "c.md").write_text("A tapir.")
    (kb / "subway.md").write_text("A gnu.")
    async with living(kb, inline) as (live, hints):
        everything = {"A zebra.", "An okapi.", "A tapir.", "A gnu."}
        with logged() as lines:
            with monkeypatch.context() as broken:
                broken.setattr(os, "scandir", failing(os.scandir, "sub", OSError(errno.EIO, "Broken")))
                (kb / "subway.md").unlink()
                await hints.tell()
                assert texts(live.now) == everything - {"A gnu."}
                assert [(skipped.file, skipped.reason) for skipped in live.now.skipped] == [
                    ("kb/sub/", "cannot be listed: broken; its last content stays in use")
                ]
                await trio.sleep(100)
            await trio.sleep(READ_AGAIN_MOST)
            assert live.now.skipped == ()
            assert texts(live.now) == everything - {"A gnu."}
        assert lines == [
            ("warning", "file cannot be read now, will try again"),
            ("info", "knowledge base reloaded"),
            ("info", "knowledge base reloaded"),
        ]
        (kb / "sub" / "c.md").unlink()
        (kb / "sub").rmdir()
        await hints.tell()
        assert texts(live.now) == {"A zebra.", "An okapi."}


async def test_what_could_not_be_read_at_the_start_is_read_later(
    kb: Path, inline: RunSync, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """Nothing has to change for it."""
    with monkeypatch.context() as broken:
        broken.setattr(os, "open", failing(os.open, "a.md", OSError(errno.EMFILE, "Too many open files")))
        live = await LiveKnowledge.open(kb, inline)
    assert [skipped.reason for skipped in live.now.skipped] == ["cannot be read: too many open files"]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(live.keep_current, Hints())
        await trio.sleep(READ_AGAIN_FIRST + 0.01)
        assert texts(live.now) == {"A zebra.", "An okapi."}
        nursery.cancel_scope.cancel()


def test_a_folder_that_cannot_be_listed_at_all_is_said_so(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not taken for an empty one."""
    monkeypatch.setattr(
        os, "scandir", failing(os.scandir, kb.name, OSError(errno.EACCES, "Permission denied"))
    )
    with pytest.raises(UsageError, match="cannot be listed: permission denied"):
        FolderReader(kb).update()


async def test_a_reader_that_is_cancelled_is_given_up(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waited for it goes on, also when its thread is stuck; that ends when it can, and the next look reads anew."""
    monkeypatch.setattr("agent.retrieval.reading_thread.GIVE_UP_TIMEOUT", 0.02)
    reading, ended, waiting = threading.Event(), threading.Event(), trio.Event()

    async def abandon(function: Callable[[], T]) -> T:
        def work() -> T:
            waiting_token.run_sync_soon(waiting.set)
            try:
                return function()
            except GivenUp:
                ended.set()
                raise

        return await trio.to_thread.run_sync(work, abandon_on_cancel=True)

    waiting_token = trio.lowlevel.current_trio_token()
    live = await LiveKnowledge.open(kb, abandon)

    def stuck(source: SourceFile, effort: Effort) -> object:
        if b"quagga" in source.data:
            reading.wait()
        return passages_of(source, effort)

    monkeypatch.setattr("agent.retrieval.folder.passages_of", stuck)
    (kb / "a.md").write_text("A quagga.\n\nAn eland.")
    hints = Hints()
    waiting = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(live.keep_current, hints)
        nursery.start_soon(hints._send.send, ())
        await waiting.wait()
        nursery.cancel_scope.cancel()
    reading.set()
    assert ended.wait(5)
    assert texts(live.now) == {"A zebra.", "An okapi."}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(live.keep_current, hints)
        await hints._send.send(())
        await hints._send.send(())  # taken when the look before it is over
        nursery.cancel_scope.cancel()
    assert texts(live.now) == {"A quagga.", "An eland.", "An okapi."}


@pytest.mark.usefixtures("grown")
async def test_what_a_cancelled_reader_had_finished_is_not_lost(
    kb: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """A cancel may come when all is done but the handing over; the next look hands it over."""
    lost = False

    async def lose(function: Callable[[], T]) -> T:
        result = function()
        if lost:
            await trio.sleep_forever()
        return result

    live = await LiveKnowledge.open(kb, lose)
    (kb / "a.md").write_text("A quagga.")
    for lose_it in (True, False):
        lost = lose_it
        hints = Hints()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(live.keep_current, hints)
            nursery.start_soon(hints.tell)
            await trio.sleep(1)
            nursery.cancel_scope.cancel()
    assert texts(live.now) == {"A quagga.", "An okapi."}
    assert [found(live.now, word) for word in ("zebra", "quagga")] == [[], ["A quagga."]]


@pytest.fixture(autouse=True)
def _plain_logs() -> Iterator[None]:
    """Leave the log as it was."""
    yield
    structlog.reset_defaults()
