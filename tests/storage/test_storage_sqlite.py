"""The ledger in a file: what survives, who may call a claim lost, and what is said when the folder cannot be used."""

import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, closing, contextmanager
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
import trio
from sqlalchemy.exc import OperationalError
from trio.testing import MockClock

from agent.errors import AgentError, Conflict, StorageFailed, UsageError
from agent.ports.calls import CallTransition
from agent.ports.ledger import ClaimStatus
from agent.ports.projects import HOUSE
from agent.storage.backend import LOCK_WAIT
from agent.storage.call_groups import is_anything_due
from agent.storage.committer import LEDGER_RETRY
from agent.storage.database_ledger import DatabaseLedger, open_database_ledger
from agent.storage.ledger import LEDGER
from agent.storage.memories.memory_contents import MEMORY
from agent.storage.memory_ledger import MemoryLedger
from agent.storage.open import open_ledger, user_data_folder
from agent.storage.rows import LOST, ClaimRequest, newest_rows
from agent.storage.schema import SCHEMA
from agent.storage.settings import TOMBSTONE_SECONDS, StorageSettings
from agent.storage.sqlite import database_file
from agent.storage.sqlite.connection import LastingCursor, driver_of, write_transaction
from agent.storage.sqlite.database_file import DatabaseFile
from agent.storage.sqlite.owners import FOLDER as OWNERS
from agent.storage.sqlite.trust import FILE
from agent.storage.stores import open_stores
from agent.storage.transaction import FunctionRequest, Transaction
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.storage.opened import file_of
from tests.stored import a_call, said, with_calls

NOW = Noon().now_ms()
DAY = int(TOMBSTONE_SECONDS * 1000)
RAM = Path("/dev/shm")


def ledger(folder: Path | None) -> AbstractAsyncContextManager[DatabaseLedger]:
    return open_database_ledger(folder, inline, Noon())


def owners(folder: Path) -> list[str]:
    return [path.name for path in (folder / OWNERS).iterdir()]


async def test_what_was_recorded_is_there_after_a_restart(tmp_path: Path) -> None:
    """Closed and opened again, the file gives the same rows, and a claimed id stays claimed."""
    async with ledger(tmp_path) as first:
        await first.claim("a", "send_sms", NOW)
        await first.record_outcome("a", "done", {"success": True, "data": {"n": 1}}, NOW + 1)
        before = await first.rows()
    async with ledger(tmp_path) as second:
        assert await second.rows() == before
        assert await second.claim("a", "send_sms", NOW + 2) is False


async def test_a_claim_that_was_never_recorded_is_unknown_after_a_restart(tmp_path: Path) -> None:
    """Who opens next finds it unknown, with the result a client would get, and cannot claim it."""
    async with ledger(tmp_path) as first:
        await first.claim("a", "send_sms", NOW - 5)
    async with ledger(tmp_path) as second:
        row = await second.get_row("a")
        assert row is not None
        assert (row.status, row.result, row.claimed_at, row.ended_at) == ("unknown", LOST, NOW - 5, NOW)
        assert await second.claim("a", "send_sms", NOW) is False


async def test_a_claim_of_a_living_owner_is_left_alone(tmp_path: Path) -> None:
    """A second ledger on the same file changes nothing of the first one's running actions, and sees them."""
    async with ledger(tmp_path) as first:
        await first.claim("a", "send_sms", NOW)
        async with ledger(tmp_path) as second:
            row = await second.get_row("a")
            assert row is not None
            assert row.status == "claimed"
            assert await second.claim("a", "send_sms", NOW) is False
            await first.record_outcome("a", "done", {"success": True}, NOW)
            row = await second.get_row("a")
            assert row is not None
            assert row.status == "done"


async def test_locks_of_the_dead_are_tidied_away(tmp_path: Path) -> None:
    """Each open ledger has one lock file; closing removes it, and opening removes what a dead process left."""
    (tmp_path / OWNERS).mkdir()
    (tmp_path / OWNERS / "dead").touch()
    async with ledger(tmp_path):
        async with ledger(tmp_path):
            assert len(owners(tmp_path)) == 2
            assert "dead" not in owners(tmp_path)
        assert len(owners(tmp_path)) == 1
    assert owners(tmp_path) == []


async def test_tombstones_last_a_day(tmp_path: Path) -> None:
    """A finished row is kept for 24 hours and forgotten at a record after it; a running one is kept."""
    async with ledger(tmp_path) as opened:
        for name in ("a", "b", "c"):
            await opened.claim(name, "x", NOW)
        await opened.record_outcome("a", "done", {}, NOW)
        await opened.record_outcome("b", "done", {}, NOW + DAY)
        assert await opened.get_row("a") is not None
        await opened.claim("d", "x", NOW)
        await opened.record_outcome("d", "done", {}, NOW + DAY + 1)
        assert [row.suggestion_id for row in await opened.rows()] == ["d", "c", "b"]


async def test_old_tombstones_are_forgotten_when_it_opens(tmp_path: Path) -> None:
    """What ended more than a day before is not read back."""
    async with ledger(tmp_path) as first:
        await first.claim("a", "x", 0)
        await first.record_outcome("a", "done", {}, NOW - DAY - 1)
    async with ledger(tmp_path) as second:
        assert await second.rows() == ()


async def test_a_claim_is_on_disk_when_it_is_answered(tmp_path: Path) -> None:
    """Another connection reads the row at once, and every commit is synced to a write-ahead log."""
    async with ledger(tmp_path) as opened:
        await opened.claim("a", "x", NOW)
        with sqlite3.connect(tmp_path / FILE) as other:
            assert other.execute("SELECT suggestion_id, status FROM actions").fetchall() == [("a", "claimed")]
            assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        other.close()
        ours = file_of(opened._database)._connection
        assert ours is not None
        assert ours.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2  # FULL


async def test_a_write_that_another_process_blocks_is_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim that waited in vain raises AgentError without the statement, and claims nothing."""
    monkeypatch.setattr(database_file, "LOCK_WAIT", 0.01)
    async with ledger(tmp_path) as opened:
        other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(AgentError, match=r"^the ledger: database is locked$"):
            await opened.claim("secret", "x", NOW)
        other.execute("ROLLBACK")
        other.close()
        assert await opened.claim("secret", "x", NOW) is True


async def test_a_cancelled_claim_that_waits_for_its_turn_claims_nothing(tmp_path: Path) -> None:
    """Calls go one at a time; one that is cancelled while it waits has done nothing."""
    gate = trio.Event()

    async def slow(function: Callable[[], object]) -> object:
        await gate.wait()
        return function()

    gate.set()
    async with open_database_ledger(tmp_path, slow, Noon()) as opened:  # type: ignore[arg-type]
        gate = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(opened.claim, "first", "x", NOW)
            await trio.testing.wait_all_tasks_blocked()
            with trio.move_on_after(0):
                await opened.claim("second", "x", NOW)
            gate.set()
        assert [row.suggestion_id for row in await opened.rows()] == ["first"]


def _a_file(folder: Path) -> None:
    folder.write_text("not a folder")


def _garbage(folder: Path) -> None:
    folder.mkdir()
    (folder / FILE).write_bytes(b"no database at all, but long enough to be read as the header of one" * 20)


def _newer(folder: Path) -> None:
    folder.mkdir()
    with sqlite3.connect(folder / FILE) as made:
        made.execute("PRAGMA user_version=99")
    made.close()


@pytest.mark.parametrize(
    ("spoil", "why"), [(_a_file, "Not a directory"), (_garbage, "not a database"), (_newer, "newer version")]
)
async def test_a_folder_that_cannot_be_used_is_said_in_one_line(
    tmp_path: Path, spoil: Callable[[Path], None], why: str
) -> None:
    """A file in its place, a damaged database, one of a newer version: a UsageError that says so and names --data."""
    folder = tmp_path / "data"
    spoil(folder)
    with pytest.raises(UsageError, match="--data DIR") as raised:
        async with ledger(folder):
            raise AssertionError("it opened")
    assert why in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not (folder / OWNERS).is_dir() or owners(folder) == []


_BEFORE = """
CREATE TABLE actions (number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, suggestion_id TEXT NOT NULL UNIQUE,
action TEXT NOT NULL, status TEXT NOT NULL, owner TEXT NOT NULL, claimed_at INTEGER NOT NULL, ended_at INTEGER,
result JSON);
CREATE INDEX ix_actions_ended_at ON actions (ended_at);
PRAGMA user_version=1;
"""
_CLAIM = "INSERT INTO actions (suggestion_id, action, status, owner, claimed_at) VALUES (?, 'a', 'claimed', 'x', 7)"


async def test_a_file_of_the_first_version_is_upgraded_in_place(tmp_path: Path) -> None:
    """Its rows stay, of a knowledge base that is not known; what still runs on older code goes on writing it."""
    made = sqlite3.connect(tmp_path / FILE)
    made.executescript(_BEFORE)
    made.execute(_CLAIM, ("old",))
    made.commit()
    made.close()
    async with open_database_ledger(tmp_path, inline, Noon(), kb="/docs") as opened:
        row = await opened.get_row("old")
        assert row is not None
        assert (row.status, row.kb) == ("unknown", None)
        assert not await opened.claim("old", "a", 8)
        assert await opened.claim("new", "a", 8)
        assert [(row.suggestion_id, row.kb) for row in await opened.rows()] == [
            ("new", "/docs"),
            ("old", None),
        ]
        assert [row.suggestion_id for row in await opened.rows(9, "/docs")] == ["new"]
        with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as older:
            assert older.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
            older.execute(_CLAIM, ("by older code",))
            # as older code does when it tries a file that did not work
            older.execute("PRAGMA user_version=1")
        assert not await opened.claim("by older code", "a", 9)
        await opened.record_outcome("new", "done", {}, Noon().now_ms())
    async with open_database_ledger(tmp_path, inline, Noon()) as again:
        assert [row.kb for row in await again.rows()] == [None, "/docs", None]
        with closing(sqlite3.connect(tmp_path / FILE)) as seen:
            assert seen.execute("PRAGMA user_version").fetchone() == (SCHEMA,)


async def test_the_settings_choose_memory_or_a_folder(tmp_path: Path) -> None:
    """`memory` is the ledger of one process; anything else is a folder, made when it is not there."""
    async with open_ledger(StorageSettings(), Path("kb"), inline, Noon()) as opened:
        assert isinstance(opened, MemoryLedger)
    settings = StorageSettings(str(tmp_path / "a" / "b"))
    async with open_ledger(settings, Path("kb"), inline, Noon()) as opened:
        assert isinstance(opened, DatabaseLedger)
        await opened.claim("a", "x", NOW)
    assert (tmp_path / "a" / "b" / FILE).is_file()


async def test_two_ledgers_open_at_once_on_a_new_folder(tmp_path: Path) -> None:
    """Whoever comes first makes the file; all of them open, and one claims."""
    threads = trio.CapacityLimiter(8)
    won: list[bool] = []

    async def in_thread(function: Callable[[], object]) -> object:
        return await trio.to_thread.run_sync(function, limiter=threads)

    turned_away: list[str] = []
    claimed = trio.Event()

    async def one() -> None:
        made = open_database_ledger(tmp_path / "new", in_thread, Noon())  # type: ignore[arg-type]
        try:
            async with made as opened:
                won.append(await opened.claim("a", "x", NOW))
                if len(won) == 8:
                    claimed.set()
                await claimed.wait()  # all are open at once
        except UsageError as error:
            turned_away.append(str(error))
            claimed.set()

    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(one)
    assert turned_away == []
    assert sorted(won) == [False] * 7 + [True]


def test_no_statement_is_open_once_it_has_been_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever still holds its rows: one that is open holds its lock, and keeps the log when the file is closed."""
    held = []

    def held_by(done: Callable[..., object]) -> Callable[..., object]:
        def hold(*arguments: object) -> object:
            held.append(done(*arguments))
            return held[-1]

        return hold

    for name in ("execute", "exec_driver_sql"):
        monkeypatch.setattr(sa.Connection, name, held_by(getattr(sa.Connection, name)))
    for contents in (LEDGER, MEMORY):
        opened, failed = database_file.DatabaseFile(tmp_path, Noon(), contents), ""
        try:
            opened.open()
        except database_file.FAULTS as error:
            failed = str(error)
        assert failed == ""
        assert opened.commit([]).trouble == ""
        opened.close()
        assert len(held) > 5
        assert [each.name for each in tmp_path.glob("*-wal")] == []


@pytest.fixture
def in_memory(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk that never stands still, where the system has one: races are looked for, no disk."""
    if not os.access(RAM, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=RAM) as name:
        yield Path(name)


@pytest.mark.proof
def test_servers_that_start_at_once_in_a_new_folder_all_start(in_memory: Path) -> None:
    """SQLite does not wait where it begins to keep a log beside the file, so one of four would now and then fail."""
    together = threading.Barrier(4)
    failed: list[str] = []

    def start(folder: Path) -> None:
        opened = database_file.DatabaseFile(folder, Noon())
        together.wait()
        began = time.monotonic()
        try:
            opened.open()
        except database_file.FAULTS as error:  # after `OPEN_WAIT` it is the disk that stood still
            failed.append(f"{error} after {time.monotonic() - began:.1f} s")
        opened.close()

    for number in range(100):
        servers = [threading.Thread(target=start, args=(in_memory / str(number),)) for _ in range(4)]
        for server in servers:
            server.start()
        for server in servers:
            server.join()
        shutil.rmtree(in_memory / str(number))
    assert failed == []


@pytest.mark.proof
async def test_a_start_waits_for_who_writes_longer_than_a_claim_does(tmp_path: Path) -> None:
    """Another server's start that holds the file a little longer than an action may wait turns nobody away."""
    async with ledger(tmp_path):
        pass
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    over = threading.Timer(1.5 * LOCK_WAIT, other.execute, ["ROLLBACK"])
    over.start()
    async with ledger(tmp_path) as opened:
        over.join()
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with pytest.raises(AgentError, match="locked"):
            await opened.claim("a", "x", NOW)
        assert time.monotonic() - began < database_file.OPEN_WAIT / 2
        other.close()


async def test_the_users_folder_is_found_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`user` stands for the user's data folder as the environment has it then; `~` is read too."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sys.platform", "linux")
    for data in ("user", "~/kept"):
        async with open_ledger(StorageSettings(data=data), Path("kb"), inline, Noon()):
            pass
    assert user_data_folder() / FILE in (tmp_path / "agent-server").iterdir()
    assert (tmp_path / "home" / "kept" / FILE).is_file()


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({"HOME": "/home/a"}, "linux", "/home/a/.local/share/agent-server"),
        ({"HOME": "/home/a", "XDG_DATA_HOME": "/data"}, "linux", "/data/agent-server"),
        ({"HOME": "/home/a", "XDG_DATA_HOME": "relative"}, "linux", "/home/a/.local/share/agent-server"),
        ({"HOME": "/Users/a"}, "darwin", "/Users/a/Library/Application Support/agent-server"),
    ],
)
def test_the_users_data_folder(environment: dict[str, str], platform: str, expected: str) -> None:
    """Where programs keep data on this platform; a relative XDG_DATA_HOME counts as unset, as its standard says."""
    assert user_data_folder(environment, platform) == Path(expected)


def test_no_home_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a home folder the operator is told to name one."""

    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(UsageError, match="--data DIR"):
        user_data_folder({}, "linux")


@contextmanager
def failing_commit(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the next transaction of a block fail once all of it is written, as a disk does that takes no commit."""

    @contextmanager
    def broken(connection: sa.Connection) -> Iterator[None]:
        undone.append(True)
        monkeypatch.setattr(database_file, "write_transaction", write_transaction)
        with write_transaction(connection):
            yield
            raise OperationalError("COMMIT", None, sqlite3.OperationalError("disk I/O error"))

    undone: list[bool] = []
    monkeypatch.setattr(database_file, "write_transaction", broken)
    yield
    assert undone == [True]


@pytest.mark.parametrize("outcome", ["done", "unknown"])
async def test_a_claim_that_was_not_won_does_not_end_anothers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock, outcome: ClaimStatus
) -> None:
    """Its commit failed, and another process has won the id meanwhile: that one's row and call end as it says."""
    async with (
        open_stores(tmp_path, inline, Noon()) as first,
        open_stores(tmp_path, inline, Noon()) as second,
    ):
        await with_calls(
            first.store, a_call("c1", runs_at="webhook", needs_approval=False, status="confirmed")
        )
        loser, winner = first.store.ledger, second.store.ledger
        for id in ("c1", "of a socket"):
            with failing_commit(monkeypatch), pytest.raises(StorageFailed, match="disk I/O error"):
                await loser.claim(id, "refund", NOW)
            assert await winner.claim(id, "refund", NOW)
        await trio.sleep(2 * LEDGER_RETRY)  # what the first had kept to be recorded is written
        # as its session tells of what could not be claimed
        said_of = CallTransition("c1", "failed", {"success": False})
        await first.store.threads.record_step(
            said(None, status=None, moves=(said_of, CallTransition("c1", "cancelled")))
        )
        await loser.record_outcome("c1", "failed", {"success": False}, NOW)
        assert {row.status for row in await winner.rows()} == {"claimed"}
        assert (await first.store.calls.call(HOUSE, "c1")).status == "claimed"
        for id in ("c1", "of a socket"):
            await winner.record_outcome(id, outcome, {"n": id}, NOW + 1)
        assert [(row.status, row.result) for row in await winner.rows()] == [
            (outcome, {"n": "of a socket"}),
            (outcome, {"n": "c1"}),
        ]
        call = await first.store.calls.call(HOUSE, "c1")
        assert (call.status, call.result) == (outcome, {"n": "c1"})


def _claim(id: str, refused: bool = False) -> FunctionRequest[bool]:
    """A request that claims `id`, and is refused after that if `refused`."""

    def write(transaction: Transaction) -> bool:
        won = ClaimRequest(suggestion_id=id, action="send_sms", at=NOW).write(transaction)
        if refused:
            raise Conflict("closed")
        return won

    return FunctionRequest(write)


def test_looks_for_what_is_due_make_no_cursor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is asked each second; `sqlite3` keeps something of each of 200 cursors, wherever there is room."""
    file = DatabaseFile(tmp_path, Noon())
    file.open()
    made: list[sqlite3.Connection] = []

    def make_cursor(connection: sqlite3.Connection) -> sqlite3.Cursor:
        made.append(connection)
        return sqlite3.Cursor(connection)

    monkeypatch.setattr(LastingCursor, "cursor", make_cursor)
    for _ in range(3):
        assert file.read(partial(is_anything_due, at=NOW)) is False
    assert made == []
    assert file._connection is not None
    driver = driver_of(file._connection)
    assert driver.execute("SELECT 1") is driver.execute("SELECT 2")
    file.close()


def test_a_refused_request_leaves_nothing_and_others_of_its_batch_are_written(tmp_path: Path) -> None:
    """Alone in its batch, and among others. A batch without a refusal has no savepoints."""
    file = DatabaseFile(tmp_path, Noon())
    file.open()
    assert file._connection is not None
    ran: list[str] = []
    driver_of(file._connection).set_trace_callback(ran.append)
    batches = {
        ("a",): [_claim("a")],
        (): [_claim("b", refused=True)],
        ("c", "d"): [_claim("c"), _claim("d")],
        ("e", "g"): [_claim("e"), _claim("f", refused=True), _claim("g")],
    }
    for won, batch in batches.items():
        ran.clear()
        report = file.commit(batch)
        assert report.trouble == ""
        assert [*report.refused] == [
            place for place in range(len(batch)) if report.answers[place] is not True
        ]
        assert ("SAVEPOINT request" in ran) == (len(won) < len(batch) > 1)
    kept = file.read(lambda connection: newest_rows(connection, 99))
    assert [row.suggestion_id for row in reversed(kept)] == ["a", "c", "d", "e", "g"]
    file.close()
