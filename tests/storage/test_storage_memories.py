"""What is remembered, in its file: what survives, what is in no file any more, what is said when it cannot be kept."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
import sqlalchemy as sa
import trio

from agent.errors import NotFound, StorageFailed, UsageError
from agent.ports.change_mark import BEGINNING
from agent.ports.pages import Window
from agent.ports.thread_history import ThreadMark
from agent.ports.vectors import PackedVector, VectorKind
from agent.storage.memories import FILE
from agent.storage.memories.memory_contents import SCHEMA
from agent.storage.memories.store import DatabaseMemory, open_database_memory
from agent.storage.open import open_memory_store
from agent.storage.settings import StorageSettings
from agent.storage.sqlite import database_file
from agent.storage.sqlite.connection import driver_of
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.remembered import ANA, DAY, NOW, a_draft, accepted, an_exchange, budget, proposed
from tests.storage.opened import file_of

NOBODY = 65534


def memory(folder: Path | None) -> AbstractAsyncContextManager[DatabaseMemory]:
    return open_database_memory(folder, inline, Noon())


def files_with(folder: Path, *words: str) -> list[str]:
    """The names of the files under a folder that hold any of these words."""
    every = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in every if any(word.encode() in path.read_bytes() for word in words)]


async def test_what_is_kept_is_there_after_a_restart(tmp_path: Path) -> None:
    """Turns, items with their sources, and their history."""
    async with memory(tmp_path) as first:
        await first.keep_exchanges([an_exchange("m1", "a", "b", budget(50))], NOW)
        item = await first.accept_item(ANA, "i1", NOW)
        before = (item, await first.turns(0, 9), await first.history(ANA, "i1"))
    async with memory(tmp_path) as second:
        assert before == (
            await second.item(ANA, "i1"),
            await second.turns(0, 9),
            await second.history(ANA, "i1"),
        )


async def test_two_servers_share_one_folder(tmp_path: Path) -> None:
    """Each sees what the other keeps; of a proposal that both accept nothing happens twice."""
    async with memory(tmp_path) as one, memory(tmp_path) as other:
        await proposed(one, budget(50))
        assert await one.accept_item(ANA, "i1", NOW) == await other.accept_item(ANA, "i1", NOW + 1)
        assert [line.trigger for line in await other.history(ANA, "i1")] == ["propose", "approve"]


class Words:
    """Words that are nowhere else."""

    def __init__(self, seed: int) -> None:
        self._drawn = random.Random(seed)

    def word(self) -> str:
        return "".join(self._drawn.choice("bcdfghjklmnpqrstvwxz") for _ in range(12))

    def some(self, most: int) -> str:
        return " ".join(self.word() for _ in range(self._drawn.randrange(most)))


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.proof) for seed in range(2, 6))])
async def test_what_is_forgotten_is_in_no_file(tmp_path: Path, seed: int) -> None:
    """Of items and turns of all lengths, in any order, among others that stay: neither text, key nor quote."""
    words = Words(seed)
    drawn = random.Random(seed)
    kept: dict[str, tuple[str, str]] = {}
    gone: list[str] = []
    async with memory(tmp_path) as opened:
        for number in range(24):
            name, value = words.word(), words.word()
            text = f"The {name} is {value} {words.some(20)}"[:300]
            draft = a_draft(text, name, message=f"m{number}")
            said = f"{text} {value} {words.some(drawn.choice([2, 20, 500]))} {name}"
            await opened.keep_exchanges([an_exchange(f"m{number}", said, f"Yes, {value}", draft)], NOW)
            id = f"i{number + 1}"
            kept[id] = (name, value)
            if drawn.random() < 0.6:
                await opened.accept_item(ANA, id, NOW)
            if drawn.random() < 0.3:
                id = drawn.choice([*kept])
                await opened.forget_item(ANA, id, NOW)
                gone += kept.pop(id)
                assert files_with(tmp_path, *gone) == []
        assert files_with(tmp_path, *kept.popitem()[1]) != []
    assert files_with(tmp_path, *gone) == []


async def test_what_was_forgotten_before_a_kill_is_gone_when_it_is_opened(tmp_path: Path) -> None:
    """Where the process ended between the commit and the end of its log."""
    async with memory(tmp_path / "a") as opened:
        await accepted(opened, a_draft("The code is quetzal", "code"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(database_file, "_EMPTY_LOG", "SELECT 0")
            await opened.forget_item(ANA, "i1", NOW)
        shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert files_with(tmp_path / "b", "quetzal") == [f"{FILE}-wal"]
    async with memory(tmp_path / "b") as opened:
        assert files_with(tmp_path / "b", "quetzal") == []
        assert (await opened.item(ANA, "i1")).status == "forgotten"


async def test_who_reads_meanwhile_keeps_what_was_forgotten_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is said, and to forget it again takes it out; others of the batch are answered all the same."""
    monkeypatch.setattr(database_file, "LOCK_WAIT", 0.0)
    async with memory(tmp_path) as opened:
        await accepted(opened, a_draft("The code is quetzal", "code"))
        with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT * FROM items").fetchone()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(opened.record_gap, ANA, NOW, 1)
                with pytest.raises(StorageFailed, match="try again"):
                    await opened.forget_item(ANA, "i1", NOW)
        assert files_with(tmp_path, "quetzal") != []
        assert (await opened.item(ANA, "i1")).status == "forgotten"
        assert await opened.count_gaps() == 1
        await opened.forget_item(ANA, "i1", NOW)
        assert files_with(tmp_path, "quetzal") == []


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.proof)])
async def test_threads_that_are_deleted_are_in_no_file(tmp_path: Path, seed: int) -> None:
    """Nor what forgotten items said in them: words, details of answers, titles old and new, quotes and proposals."""
    words, drawn = Words(seed), random.Random(seed)
    kept: dict[str, list[str]] = {}
    gone: list[str] = []
    async with memory(tmp_path) as opened:
        for number in range(16):
            thread = ANA.in_thread(f"t{number}")
            name, value, detail, first, title = (words.word() for _ in range(5))
            text = f"The {name} is {value}"
            said = f"{text} {words.some(drawn.choice([2, 20, 500]))}"
            draft = a_draft(text, name, message=f"m{number}")
            details = f'{{"citations":[{{"snippet":"{detail} {words.some(drawn.choice([2, 200]))}"}}]}}'
            exchange = an_exchange(f"m{number}", said, f"Yes, {value}", draft, scope=thread, details=details)
            await opened.keep_exchanges([exchange], NOW)
            await opened.rename_thread(thread, f"{first} {words.some(9)}", NOW)
            await opened.rename_thread(thread, f"{title} {text}", NOW)
            assert files_with(tmp_path, title, detail) != []
            kept[f"t{number}"] = [name, value, detail, first, title]
            if number % 3 == 0:
                item = f"i{number + 1}"
                await opened.forget_item(ANA, item, NOW)
                gone += kept.pop(f"t{number}")
            elif number % 3 == 1:
                chosen = drawn.choice([*kept])
                await opened.delete_thread(ANA.in_thread(chosen), NOW)
                gone += kept.pop(chosen)
            assert files_with(tmp_path, *gone) == []
        assert kept
        assert all(
            files_with(tmp_path, word) for name, *rest in kept.values() for word in rest if word != rest[2]
        )
    assert files_with(tmp_path, *gone) == []


async def test_nothing_that_is_asked_looks_through_all_that_is_kept() -> None:
    """Every statement finds its rows by an index, but for the gaps, of which there are few."""
    asked: dict[str, None] = {}
    async with memory(None) as opened:
        connection = file_of(opened._database)._connection
        assert connection is not None
        raw = driver_of(connection)
        raw.set_trace_callback(lambda statement: asked.update({statement: None}))
        cited = an_exchange("m1", "a", "b", budget(50), cites=("i1",))
        await opened.keep_exchanges([cited], NOW)
        await opened.accept_item(ANA, "i1", NOW)
        await proposed(opened, budget(50))
        await opened.replace_item(ANA, "i1", budget(60), NOW)
        await opened.decide_item(ANA, (await proposed(opened, budget(70))).item.id, "reject", NOW)
        await opened.items(ANA, Window(9))
        await opened.items(ANA, Window(9), ["accepted"])
        await opened.live_items(ANA, NOW)
        await opened.live_items(ANA, NOW, ["fact"], 3)
        await opened.history(ANA, "i2")
        await opened.turns(0, 9)
        await opened.changes_after(BEGINNING, 9)
        await opened.citable_ids(["i1", "t1"], NOW)
        await opened.keep_vectors(VectorKind("mini:1", 1), [PackedVector("t1", b"a", 1.0)])
        await opened.vectors(VectorKind("mini:1", 1), ["i1", "t1"])
        await accepted(opened, a_draft("A", "alder", "idea"))
        assert await opened.expire_items(NOW + 40 * DAY) == 1
        await opened.list_threads(ANA, Window(9))
        await opened.load_messages(ANA, Window(9))
        await opened.rename_thread(ANA, "A", NOW)
        await opened.thread_changes_after(ThreadMark(), [(ANA.project, ANA.user)], 9)
        await opened.forget_item(ANA, "i2", NOW)
        await opened.keep_exchanges([an_exchange("m2", scope=ANA.in_thread("t2"))], NOW)
        await opened.delete_thread(ANA.in_thread("t2"), NOW)
        raw.set_trace_callback(None)
        found = {}
        for statement in asked:
            if statement.startswith(("SELECT", "UPDATE", "WITH")):
                found[statement] = [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}")]
        scans = {line for plan in found.values() for line in plan if line.startswith("SCAN")}
        given = "SCAN anon_1 VIRTUAL TABLE INDEX 1:"  # the ids that are asked for
        assert scans == {given, "SCAN CONSTANT ROW", "SCAN line", "SCAN anon_1"}
        live = [
            str(plan)
            for statement, plan in found.items()
            if "valid_to >" in statement and "scope = " in statement
        ]
        assert ["items_live" in plan for plan in live] == [True, True]


async def test_an_exchange_that_no_table_takes_fails_alone(tmp_path: Path) -> None:
    """Whether SQLAlchemy or the driver runs its statements: the others of the batch are written."""
    wrong = an_exchange("m1", "a", "b")
    remark = replace(wrong.remarks[0], role="nobody")  # type: ignore[arg-type]
    async with memory(tmp_path) as opened:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(opened.record_gap, ANA, NOW, 1)
            with pytest.raises(StorageFailed, match="CHECK"):
                await opened.keep_exchanges([replace(wrong, remarks=(remark,))], NOW)
        assert (await opened.count_gaps(), await opened.turns(0, 9)) == (1, ())
        assert not opened.is_stalled


async def test_where_the_log_cannot_be_cut_off_who_erases_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else: what was written in the same transaction is on disk."""
    async with memory(tmp_path) as opened:
        await accepted(opened, budget(50))
        with monkeypatch.context() as patch:
            patch.setattr(database_file, "_EMPTY_LOG", "SELECT * FROM nowhere")
            async with trio.open_nursery() as nursery:
                nursery.start_soon(opened.record_gap, ANA, NOW, 1)
                with pytest.raises(StorageFailed, match="no such table"):
                    await opened.forget_item(ANA, "i1", NOW)
        assert await opened.count_gaps() == 1
        assert (await opened.forget_item(ANA, "i1", NOW)).item.status == "forgotten"


@contextmanager
def unprivileged() -> Iterator[None]:
    """Where file permissions count, which they do not for root."""
    ours = os.geteuid()
    if ours == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if ours == 0:
            os.seteuid(ours)


@contextmanager
def open_to_all() -> Iterator[Path]:
    """A folder that others than root can reach, unlike those of the tests."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o777)
        yield folder
        folder.chmod(0o777)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _read_only(folder: Path) -> None:
    folder.chmod(0o555)


def _read_only_file(folder: Path) -> None:
    with closing(sqlite3.connect(folder / FILE)) as made:
        made.execute("CREATE TABLE a (b)")
    (folder / FILE).chmod(0o444)
    folder.chmod(0o555)


def _garbage(folder: Path) -> None:
    (folder / FILE).write_bytes(b"no database at all, but long enough to be read as the header of one" * 20)


def _newer(folder: Path) -> None:
    with closing(sqlite3.connect(folder / FILE)) as made:
        made.execute(f"PRAGMA user_version={SCHEMA + 1}")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (_read_only, "unable to open database file"),
        (_read_only_file, "attempt to write a readonly database"),
        (_garbage, "not a database"),
        (_newer, "newer version"),
    ],
)
async def test_a_folder_that_cannot_be_used_is_said_and_left_as_it_is(
    spoil: Callable[[Path], None], why: str
) -> None:
    """In one line that says what to do; not a byte of it changes, and no file is made."""
    with open_to_all() as folder:
        spoil(folder)
        before = contents(folder)
        with unprivileged(), pytest.raises(UsageError, match=r"--data DIR, or .* --memory off") as raised:
            async with memory(folder):
                raise AssertionError("it opened")
        assert why in str(raised.value)
        assert "\n" not in str(raised.value)
        assert contents(folder) == before


async def test_a_full_disk_keeps_nothing_half(tmp_path: Path) -> None:
    """Neither the exchange nor what it proposes; who reads is answered, and once there is room all goes on."""
    async with memory(tmp_path) as opened:
        await accepted(opened, budget(50))
        connection = file_of(opened._database)._connection
        assert connection is not None
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        large = an_exchange("m2", "å" * 40_000, "b", budget(60))
        with pytest.raises(StorageFailed, match=r"^the memory: database or disk is full$"):
            await opened.keep_exchanges([an_exchange("m1", "small", "b", budget(70)), large], NOW)
        assert await opened.turns(0, 9) == ()
        assert [item.id for item in (await opened.items(ANA, Window(9))).entries] == ["i1"]
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
        [[found]] = await opened.keep_exchanges([large], NOW)
        assert (found.item.status, len(await opened.turns(0, 9))) == ("proposed", 2)


async def test_what_cannot_be_written_fails_alone(tmp_path: Path) -> None:
    """A text that is no Unicode; what waits beside it is kept."""
    async with memory(tmp_path) as opened, trio.open_nursery() as nursery:
        nursery.start_soon(opened.keep_exchanges, [an_exchange("m1")], NOW)
        with pytest.raises(StorageFailed, match="surrogates"):
            await opened.keep_exchanges([an_exchange("m2", "\ud800")], NOW)
        assert [turn.remark.message for turn in await opened.turns(0, 9)] == ["m1", "m1"]


async def test_files_that_are_gone_are_not_written_to(tmp_path: Path) -> None:
    """Nothing is said to be kept, or forgotten, in files that nobody finds again."""
    async with memory(tmp_path) as opened:
        await accepted(opened, budget(50))
        (tmp_path / FILE).rename(tmp_path / "aside")
        with pytest.raises(StorageFailed, match="gone"):
            await opened.forget_item(ANA, "i1", NOW)
        (tmp_path / "aside").rename(tmp_path / FILE)
        assert (await opened.forget_item(ANA, "i1", NOW)).item.status == "forgotten"


async def test_the_settings_choose_a_folder_or_memory(tmp_path: Path) -> None:
    """A folder is opened at once, and lasts; memory ends with the block."""
    folder = tmp_path / "a" / "b"
    settings = StorageSettings(str(folder))
    async with open_memory_store(settings, inline, Noon()) as opened:
        assert (folder / FILE).is_file()
        await proposed(opened, budget(50))
    async with open_memory_store(settings, inline, Noon()) as opened:
        assert (await opened.item(ANA, "i1")).status == "proposed"
    async with open_memory_store(StorageSettings(), inline, Noon()) as opened:
        await proposed(opened, budget(50))
        assert (await opened.item(ANA, "i1")).status == "proposed"
    async with open_memory_store(StorageSettings(), inline, Noon()) as opened:
        with pytest.raises(NotFound):
            await opened.item(ANA, "i1")


async def test_a_write_that_nobody_waits_for_is_done_whole_or_not_at_all(tmp_path: Path) -> None:
    """Cancelled before its batch began, nothing happened."""
    async with memory(tmp_path) as opened:
        with trio.CancelScope() as scope:
            scope.cancel()
            await opened.keep_exchanges([replace(an_exchange(), drafts=(budget(50),))], NOW)
        assert scope.cancelled_caught
        await opened.record_gap(ANA, NOW, 1)
        held = (len(await opened.turns(0, 9)), len((await opened.items(ANA, Window(9))).entries))
        assert held in ((0, 0), (2, 1))


async def test_a_file_of_the_first_version_is_upgraded(tmp_path: Path) -> None:
    """What is in it stays, and nothing that was said before is to be read by a model."""
    async with memory(tmp_path) as opened:
        await opened.keep_exchanges([replace(an_exchange(), drafts=(budget(50),))], NOW)
    with closing(sqlite3.connect(tmp_path / FILE)) as before:
        before.execute("DROP INDEX turns_unread")
        for column in ("unread", "taken"):
            before.execute(f"ALTER TABLE turns DROP COLUMN {column}")
        before.execute("PRAGMA user_version=1")
        before.commit()
    async with memory(tmp_path) as opened:
        assert len(await opened.turns(0, 9)) == 2
        assert await opened.take_unread(9, NOW, NOW) == ()
        await opened.keep_exchanges([replace(an_exchange("m2"), tries=1)], NOW)
        assert [each.turn.remark.message for each in await opened.take_unread(9, NOW, NOW)] == ["m2"]
    with closing(sqlite3.connect(tmp_path / FILE)) as after:
        assert after.execute("PRAGMA user_version").fetchone() == (SCHEMA,)


@pytest.mark.proof
def test_sqlalchemy_is_imported_when_something_is_remembered() -> None:
    """A server that remembers nothing does not pay for it at its start."""
    script = (
        "import sys, trio\n"
        "from agent.host import WallClock, WorkerThreads\n"
        "from agent.storage.open import open_memory_store\n"
        "from agent.storage.settings import StorageSettings\n"
        "async def main():\n"
        "    async with open_memory_store(StorageSettings(), WorkerThreads(1), WallClock()) as memory:\n"
        "        before = 'sqlalchemy' in sys.modules\n"
        "        await memory.count_gaps()\n"
        "        print(before, 'sqlalchemy' in sys.modules)\n"
        "trio.run(main)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "False True\n"


async def test_commits_of_others_are_counted_and_own_ones_are_not(tmp_path: Path) -> None:
    """Of this process by another connection, or of another process; reading is no commit, nor is a write undone."""
    async with memory(tmp_path) as one, memory(tmp_path) as other:
        await one.record_gap(ANA, NOW, 1)
        before = one.count_unheard_writes()
        await one.record_gap(ANA, NOW, 1)
        await one.turns(0, 9)
        await other.turns(0, 9)
        with pytest.raises(NotFound):
            await other.accept_item(ANA, "i9", NOW)
        assert one.count_unheard_writes() == before
        await other.record_gap(ANA, NOW, 1)
        after = one.count_unheard_writes()
        assert after != before
        await one.record_gap(ANA, NOW, 1)  # which may count the other's commit again
        after = one.count_unheard_writes()
        await one.record_gap(ANA, NOW, 1)
        assert one.count_unheard_writes() == after
        await other.record_gap(ANA, NOW, 1)
        await one.record_gap(ANA, NOW, 1)
        assert one.count_unheard_writes() not in (before, after)


async def test_commits_are_counted_while_a_batch_waits_for_its_disk(tmp_path: Path) -> None:
    """Then the writing connection cannot be asked; what it has just written is nobody's yet."""
    async with memory(tmp_path) as one:
        file = file_of(one._database)
        watch = file._watch
        assert watch is not None
        await one.record_gap(ANA, NOW, 1)
        before = one.count_unheard_writes()
        watch.begin_batch()
        assert one.count_unheard_writes() == before
        driver = driver_of(cast("sa.Connection", file._connection))
        driver.execute("INSERT INTO scopes (project, user, thread) VALUES ('a', 'b', 'c')")
        assert one.count_unheard_writes() is None
        watch.end_batch()
        assert one.count_unheard_writes() == before
        watch.begin_batch()
        async with memory(tmp_path) as other:
            await other.record_gap(ANA, NOW, 1)
        assert one.count_unheard_writes() is None
        watch.end_batch()
        assert one.count_unheard_writes() not in (None, before)
