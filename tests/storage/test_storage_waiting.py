"""The ledger when its file is slow, locked, or does not answer: who is answered when, and what is written at last."""

import io
import sqlite3
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from agent.actions.runner import Runner
from agent.config import RECORD_TIMEOUT
from agent.errors import AgentError, Conflict, NotFound, StorageFailed
from agent.log import short_hash
from agent.ports.action import Call, Outcome
from agent.ports.calls import CallApproval
from agent.ports.ledger import LedgerRow
from agent.ports.projects import HOUSE
from agent.ports.requests import StoredAnswer
from agent.storage import database
from agent.storage.committer import (
    BESIDE_READS,
    LEDGER_BATCH,
    LEDGER_CLOSE_TIMEOUT,
    LEDGER_READS,
    LEDGER_RETRY,
)
from agent.storage.database import Database
from agent.storage.database_ledger import DatabaseLedger, open_database_ledger
from agent.storage.places import place_of
from agent.storage.rows import OutcomeRequest
from agent.storage.schema import audit
from agent.storage.sqlite import database_file
from agent.storage.sqlite.trust import FILE
from agent.storage.store import Store
from agent.storage.stores import open_stores
from agent.storage.transaction import Transaction
from agent.testing.breakable import BreakableExecutor
from agent.testing.fakes import Figures, Noon
from agent.testing.network import Disk
from tests.logs import logged
from tests.stored import a_call, an_opening, said, with_calls

NOW = Noon().now_ms()


class Rig:
    """A ledger on a disk that can hang, the level it keeps, and what it told."""

    def __init__(self, folder: Path | None, beside: bool = False) -> None:
        self.disk = Disk()
        self.unrecorded = 0
        self.told: list[str] = []
        self.database = Database(place_of(folder), self.disk, Noon(), self, self.told.append, beside=beside)
        self.ledger = DatabaseLedger(self.database)

    def count(self, metric: str, label: str = "") -> None:
        raise AssertionError

    def measure(self, metric: str, seconds: float) -> None:
        raise AssertionError

    def gauge(self, metric: str, change: int) -> None:
        assert metric == "actions_unrecorded"
        self.unrecorded += change

    async def row(self, suggestion_id: str) -> LedgerRow:
        row = await self.ledger.get_row(suggestion_id)
        assert row is not None
        return row


def note(name: str, transaction: Transaction) -> None:
    """Write a line that nothing else does."""
    transaction.connection.execute(
        sa.insert(audit).values(at=NOW, project_id="", user_id="", event=name, subject="")
    )


def noted(connection: sa.Connection) -> list[str]:
    """Read those lines."""
    return list(connection.execute(sa.select(audit.c.event).order_by(audit.c.number)).scalars())


async def why_not(asked: Awaitable[object]) -> str:
    """Wait for an answer of a ledger; return the error that it is, or ""."""
    try:
        await asked
    except AgentError as error:
        return str(error)
    return ""


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What is logged."""
    with logged("info") as stream:
        yield stream


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], object]]:
    """Another connection to the ledger's file, to lock it with; nobody waits for its lock."""
    monkeypatch.setattr(database_file, "LOCK_WAIT", 0.0)
    others: list[sqlite3.Connection] = []

    def do(statement: str) -> None:
        if not others:
            others.append(sqlite3.connect(tmp_path / FILE, isolation_level=None))
        others[0].execute(statement)

    yield do
    for other in others:
        other.close()


# --- many at once


async def test_what_waits_is_written_in_one_transaction(autojump_clock: MockClock) -> None:
    """Three hundred claims and then their outcomes take the file a handful of times, not six hundred."""
    rig = Rig(None)
    won = []

    async def action(name: str) -> None:
        won.append(await rig.ledger.claim(name, "x", NOW))
        await trio.sleep(1)
        await rig.ledger.record_outcome(name, "done", {"n": name}, NOW)

    async with rig.database:
        opened = rig.disk.calls
        async with trio.open_nursery() as nursery:
            for number in range(300):
                nursery.start_soon(action, f"s{number}")
        assert rig.disk.calls - opened <= 2 * (300 // LEDGER_BATCH + 2)
        assert won == [True] * 300
        found = await rig.ledger.rows(1000)
    assert {(row.status, row.result == {"n": row.suggestion_id}) for row in found} == {("done", True)}
    assert (len(found), rig.unrecorded) == (300, 0)


async def test_in_one_transaction_the_first_claimer_wins(autojump_clock: MockClock) -> None:
    """Claimers of one id that are written together have one winner, the one that asked first."""
    rig = Rig(None)
    won: list[tuple[int, bool]] = []

    async def claimer(number: int) -> None:
        won.append((number, await rig.ledger.claim("s", "x", NOW + number)))

    async with rig.database:
        rig.disk.hang()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rig.ledger.claim, "other", "x", NOW)
            await wait_all_tasks_blocked()
            for number in range(8):
                nursery.start_soon(claimer, number)
                await wait_all_tasks_blocked()
            rig.disk.work()
        assert [number for number, first in won if first] == [0]
        assert (await rig.row("s")).claimed_at == NOW


async def test_a_request_that_cannot_be_written_fails_alone(
    autojump_clock: MockClock, log: io.StringIO
) -> None:
    """A result that is no JSON is an error of its own recorder; what was in the same transaction is written."""
    rig = Rig(None)
    failed: list[str] = []

    async def ask(name: str, asked: Awaitable[object]) -> None:
        if await why_not(asked):
            failed.append(name)

    async with rig.database:
        for name in ("a", "b", "c"):
            await rig.ledger.claim(name, "x", NOW)
        async with trio.open_nursery() as nursery:
            for name, result in (("a", 1), ("b", {"31337"}), ("c", 3)):
                nursery.start_soon(ask, name, rig.ledger.record_outcome(name, "done", {"data": result}, NOW))
            nursery.start_soon(ask, "d", rig.ledger.claim("d", "x", NOW))
        assert failed == ["b"]
        assert [(await rig.row(name)).status for name in "abcd"] == ["done", "claimed", "done", "claimed"]
        assert (rig.unrecorded, rig.told) == (0, [])
    assert "outcome can never be recorded" in log.getvalue()
    assert "31337" not in log.getvalue()


async def test_what_cannot_be_remembered_is_not_taken(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More waiting claims, or more unrecorded outcomes, than the limits are refused at once."""
    monkeypatch.setattr(database, "LEDGER_WAITING", 2)
    monkeypatch.setattr(database, "LEDGER_UNRECORDED", 1)
    rig = Rig(None)
    async with rig.database:
        await rig.ledger.claim("a", "x", NOW)
        rig.disk.hang()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rig.ledger.get_row, "a")
            await wait_all_tasks_blocked()  # it has begun; the others wait
            for name in ("b", "c"):
                nursery.start_soon(rig.ledger.claim, name, "x", NOW)
            await wait_all_tasks_blocked()
            with pytest.raises(AgentError, match="too many requests wait"):
                await rig.ledger.claim("d", "x", NOW)
            nursery.start_soon(rig.ledger.record_outcome, "a", "done", {}, NOW)
            nursery.start_soon(
                rig.database.record, OutcomeRequest(suggestion_id="z", status="done", result={}, at=NOW)
            )
            await wait_all_tasks_blocked()
            with pytest.raises(AgentError, match="too many outcomes"):
                await rig.ledger.claim("d", "x", NOW)
            with pytest.raises(AgentError, match="too many outcomes"):
                await rig.database.record(OutcomeRequest(suggestion_id="y", status="done", result={}, at=NOW))
            rig.disk.work()
        assert {row.suggestion_id for row in await rig.ledger.rows()} == {"a", "b", "c"}


# --- a disk that hangs


async def test_a_claim_that_waits_is_withdrawn(autojump_clock: MockClock) -> None:
    """Cancelled before its batch began, at once, and when the disk answers nothing of it is there."""
    rig = Rig(None)
    async with rig.database:
        rig.disk.hang()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rig.ledger.claim, "first", "x", NOW)
            await wait_all_tasks_blocked()
            with trio.move_on_after(0.5):
                await rig.ledger.claim("second", "x", NOW)
            assert trio.current_time() == 0.5
            rig.disk.work()
        assert await rig.ledger.get_row("second") is None
        assert await rig.ledger.claim("second", "x", NOW)


async def test_a_claim_that_nobody_waits_for_never_ran(autojump_clock: MockClock) -> None:
    """Cancelled while its batch is written, at once; when it turns out won the row says cancelled, and stays won."""
    rig = Rig(None)
    async with rig.database:
        rig.disk.hang()
        with trio.move_on_after(2):
            await rig.ledger.claim("s", "x", NOW - 5)
        assert trio.current_time() == 2
        assert rig.told == ["its disk does not answer"]
        rig.disk.work()
        assert await rig.ledger.claim("s", "x", NOW) is False
        assert await rig.row("s") == LedgerRow(
            suggestion_id="s",
            action="x",
            status="cancelled",
            claimed_at=NOW - 5,
            ended_at=NOW,
            result={"cancelled": True},
        )
        assert (rig.told[-1], rig.unrecorded) == ("", 0)


async def test_the_end_of_a_claim_that_was_left_is_not_anothers(autojump_clock: MockClock) -> None:
    """Of two claimers of one id in one batch the loser leaves: the winner's row stays claimed."""
    rig, loser = Rig(None), trio.CancelScope()
    won: list[bool] = []

    async def winner() -> None:
        won.append(await rig.ledger.claim("s", "x", NOW))

    async def leaver() -> None:
        with loser:
            await rig.ledger.claim("s", "x", NOW)

    async with rig.database:
        rig.disk.hang()
        async with trio.open_nursery() as nursery:
            for claimer in (partial(rig.ledger.claim, "first", "x", NOW), winner, leaver):
                nursery.start_soon(claimer)
                await wait_all_tasks_blocked()
            rig.disk.work()
            rig.disk.hang()
            await wait_all_tasks_blocked()  # the batch of the two has begun
            loser.cancel()
            await wait_all_tasks_blocked()
            assert won == []
            rig.disk.work()
        assert won == [True]
        assert (await rig.row("s")).status == "claimed"


async def test_an_outcome_is_kept_whoever_waits(autojump_clock: MockClock) -> None:
    """A record that is cancelled while the disk hangs is written when it answers, and counted until then."""
    rig = Rig(None)
    async with rig.database:
        await rig.ledger.claim("s", "x", NOW)
        rig.disk.hang()
        with trio.move_on_after(2):
            await rig.ledger.record_outcome("s", "done", {"n": 1}, NOW)
        assert (trio.current_time(), rig.unrecorded) == (2, 1)
        rig.disk.work()
        row = await rig.row("s")
        assert (row.status, row.result, rig.unrecorded) == ("done", {"n": 1}, 0)


async def test_a_disk_that_never_answers_does_not_hold_up_the_end(
    autojump_clock: MockClock, log: io.StringIO
) -> None:
    """Closing takes LEDGER_CLOSE_TIMEOUT and says what is unrecorded; whoever still waits is answered."""
    rig = Rig(None)
    refused: list[str] = []

    async def claimer(name: str) -> None:
        with pytest.raises(AgentError, match=r"closed|does not answer"):
            await rig.ledger.claim(name, "x", NOW)
        refused.append(name)

    async with trio.open_nursery() as nursery:
        async with rig.database:
            await rig.ledger.claim("s", "x", NOW)
            rig.disk.hang()
            nursery.start_soon(claimer, "a")
            await wait_all_tasks_blocked()
            nursery.start_soon(claimer, "b")
            with trio.move_on_after(1):
                await rig.ledger.record_outcome("s", "done", {}, NOW)
        assert trio.current_time() == pytest.approx(LEDGER_CLOSE_TIMEOUT)  # it was asked at 0
    assert sorted(refused) == ["a", "b"]
    assert '"unrecorded": 1' in log.getvalue()
    unrecorded = f'"outcome not recorded", "suggestionId": "{short_hash("s")}", "status": "done"'
    assert unrecorded in log.getvalue()
    assert rig.unrecorded == 0
    with pytest.raises(AgentError, match="closed"):
        await rig.ledger.get_row("s")
    rig.database._committer.backend.close()


async def test_another_write_is_whole_or_not_at_all(autojump_clock: MockClock) -> None:
    """Cancelled while it waits it is withdrawn; while it is written, it is written."""
    rig = Rig(None)
    async with rig.database:
        rig.disk.hang()
        async with trio.open_nursery() as nursery:
            for name in ("begun", "withdrawn"):
                nursery.start_soon(rig.database.write, partial(note, name))
                await wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        rig.disk.work()
        assert await rig.database.read(noted) == ["begun"]


@pytest.mark.parametrize("beside", [False, True])
async def test_readers_go_together_and_each_gets_its_own(autojump_clock: MockClock, beside: bool) -> None:
    """Forty take the thread three times, or where nobody writes once; one that finds nothing, and one at fault, are
    told so alone.
    """
    rig, at_once = Rig(None, beside), BESIDE_READS if beside else LEDGER_READS
    answers: dict[int, object] = {}

    async def reader(number: int) -> None:
        try:
            answers[number] = await rig.database.read(partial(read, number))
        except AgentError as error:
            answers[number] = (type(error), str(error))

    def read(number: int, connection: sa.Connection) -> int:
        if number == 7:
            raise NotFound("there is no such thing")
        return int(connection.exec_driver_sql(f"SELECT {number} / {number != 9 or 'x'}").scalar_one())

    async with rig.database:
        before = rig.disk.calls
        rig.disk.hang()
        async with trio.open_nursery() as nursery:
            for number in range(40):
                nursery.start_soon(reader, number)
            await wait_all_tasks_blocked()
            rig.disk.work()
        assert rig.disk.calls - before <= -(-40 // at_once) + 1
    assert answers.pop(7) == (NotFound, "there is no such thing")
    assert answers.pop(9) == (StorageFailed, "the ledger: no such column: x")
    assert answers == {number: number for number in range(40) if number not in (7, 9)}


async def test_what_a_request_raises_holds_nothing_of_the_database(autojump_clock: MockClock) -> None:
    """Whoever lets go of the error would wait for the database, to end a statement that it still held open."""
    rig, opened = Rig(None), []

    def refuse(connection: sa.Connection) -> None:
        rows = connection.exec_driver_sql("SELECT 1 UNION SELECT 2")
        opened.append(weakref.ref(rows.cursor))
        for _ in rows:
            raise Conflict("refused") from ValueError()

    async with rig.database:
        with pytest.raises(Conflict, match="refused"):
            await rig.database.read(refuse)
        with pytest.raises(Conflict, match="refused"):
            await rig.database.write(lambda transaction: refuse(transaction.connection))
        assert [each() for each in opened] == [None, None]


# --- a file that is locked


async def test_a_write_in_a_locked_file_fails_and_is_not_made_later(
    tmp_path: Path, autojump_clock: MockClock, lock: Callable[[str], object]
) -> None:
    """It says so without a name of a file; what is read is as it was; unlocked, it can be tried again."""
    rig = Rig(tmp_path)
    async with rig.database:
        lock("BEGIN IMMEDIATE")
        with pytest.raises(StorageFailed, match=r"^the ledger: database is locked$"):
            await rig.database.write(partial(note, "a"))
        assert rig.told == ["database is locked"]
        assert await rig.database.read(noted) == []
        lock("ROLLBACK")
        await trio.sleep(2 * LEDGER_RETRY)
        assert await rig.database.read(noted) == []
        await rig.database.write(partial(note, "a"))
        assert await rig.database.read(noted) == ["a"]
    with pytest.raises(StorageFailed, match="closed"):
        await rig.database.write(partial(note, "b"))


async def test_an_outcome_is_written_when_the_lock_is_gone(
    tmp_path: Path, autojump_clock: MockClock, log: io.StringIO, lock: Callable[[str], object]
) -> None:
    """Locked between claim and record: the recorder is let go at once, the outcome is kept, said, and then written."""
    rig = Rig(tmp_path)
    async with rig.database:
        await rig.ledger.claim("s", "x", NOW)
        lock("BEGIN IMMEDIATE")
        assert await why_not(rig.ledger.record_outcome("s", "done", {"n": 1}, NOW)) == ""
        assert (rig.told, rig.unrecorded) == (["database is locked"], 1)
        with pytest.raises(AgentError, match=r"^the ledger: database is locked$"):
            await rig.ledger.claim("other", "x", NOW)
        await trio.sleep(10 * LEDGER_RETRY)
        assert (rig.told, rig.unrecorded) == (["database is locked"], 1)
        lock("ROLLBACK")
        await trio.sleep(2 * LEDGER_RETRY)
        assert (rig.told, rig.unrecorded) == (["database is locked", ""], 0)
        row = await rig.row("s")
        assert (row.status, row.result) == ("done", {"n": 1})
        assert await rig.ledger.get_row("other") is None
    assert log.getvalue().count("ledger does not work") == 1
    assert log.getvalue().count("ledger works again") == 1


async def test_it_works_again_without_being_asked(
    tmp_path: Path, autojump_clock: MockClock, lock: Callable[[str], object]
) -> None:
    """After a claim that failed the file is tried until it works, though nothing waits for it."""
    rig = Rig(tmp_path)
    async with rig.database:
        lock("BEGIN IMMEDIATE")
        with pytest.raises(AgentError):
            await rig.ledger.claim("s", "x", NOW)
        lock("ROLLBACK")
        await trio.sleep(2 * LEDGER_RETRY)
        assert rig.told == ["database is locked", ""]


async def test_the_end_tries_once_more(
    tmp_path: Path, autojump_clock: MockClock, log: io.StringIO, lock: Callable[[str], object]
) -> None:
    """What is kept when the ledger closes is written if the lock goes in time, and said if it does not."""
    for unlocks_after, status in ((0.5, "done"), (60.0, "unknown")):
        rig = Rig(tmp_path)
        name = f"s{unlocks_after}"
        async with trio.open_nursery() as nursery:

            async def unlock(after: float = unlocks_after) -> None:
                await trio.sleep(after)
                lock("ROLLBACK")

            async with rig.database:
                await rig.ledger.claim(name, "x", NOW)
                lock("BEGIN IMMEDIATE")
                await rig.ledger.record_outcome(name, "done", {}, NOW)
                nursery.start_soon(unlock)
                began = trio.current_time()
            assert trio.current_time() - began < LEDGER_CLOSE_TIMEOUT
        async with (after := Rig(tmp_path)).database:
            assert (await after.row(name)).status == status
    assert log.getvalue().count("ledger closed with outcomes unrecorded") == 1


# --- who begins or decides something while the disk hangs


class LateLoop:
    """Does blocking work at once, and hears of its end late, as a loop does that has too much to do."""

    def __init__(self) -> None:
        self.late = 0.0

    async def __call__(self, function: Callable[[], Any]) -> Any:
        await trio.lowlevel.checkpoint()
        done = function()
        await trio.sleep(self.late)
        return done


async def test_a_loop_that_is_late_is_no_disk_that_hangs(autojump_clock: MockClock) -> None:
    """What the thread has written counts, however late that is heard: an action is claimed, runs and is recorded."""
    loop, outcomes, told = LateLoop(), list[Outcome](), list[str]()
    async with (
        open_database_ledger(None, loop, Noon(), told=told.append) as ledger,
        trio.open_nursery() as nursery,
    ):
        runner = Runner(nursery, ledger, BreakableExecutor(0.0, 0.0), Noon(), Figures())
        loop.late = 2 * RECORD_TIMEOUT
        runner.start(Call(suggestion_id="s1", action="send_sms", payload={}), outcomes.append)
        await runner.wait_idle()
        assert [each.status for each in outcomes] == ["done"]
        row = await ledger.get_row("s1")
        assert row is not None
        assert (row.status, told) == ("done", [])


async def test_one_call_after_another_is_no_disk_that_hangs(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that needs most of a second for each of many is waited for."""
    monkeypatch.setattr("agent.storage.committer.LEDGER_BATCH", 8)
    rig, waited = Rig(None), list[float]()

    async def claim(name: str) -> None:
        assert await rig.ledger.claim(name, "x", NOW)
        waited.append(trio.current_time())

    async with rig.database, trio.open_nursery() as nursery:
        rig.disk.hang()
        for number in range(6 * 8):
            nursery.start_soon(claim, f"s{number}")
        for _ in range(6):
            await trio.sleep(0.9 * RECORD_TIMEOUT)
            rig.disk.work()
            rig.disk.hang()
        rig.disk.work()
    assert max(waited) > 2 * RECORD_TIMEOUT


Operations = dict[str, tuple[Callable[[Store], Awaitable[object]], str, str]]
NEVER: Operations = {
    "approve": (
        lambda store: store.calls.approve_call(CallApproval(project=HOUSE, call="c1", by="u1", at=NOW)),
        "c1",
        "cancelled",
    ),
    "approve theirs": (
        lambda store: store.calls.approve_call(CallApproval(project=HOUSE, call="c2", by="u1", at=NOW)),
        "c2",
        "cancelled",
    ),
    "begin": (lambda store: store.calls.begin_call(HOUSE, "c3", NOW, NOW + 9), "c3", "cancelled"),
    "claim": (lambda store: store.ledger.claim("c4", "refund", NOW), "c4", "cancelled"),
    "reject": (lambda store: store.calls.close_call(HOUSE, "c1", "rejected", NOW), "c1", "rejected"),
    "cancel": (lambda store: store.threads.cancel_turn(HOUSE, "t1", NOW, calls=True), "c3", "cancelled"),
    "read": (lambda store: store.calls.call(HOUSE, "c1"), "c1", "suggested"),
}
RUN: dict[str, Any] = {"needs_approval": False, "status": "confirmed"}


@asynccontextmanager
async def with_thread(disk: Disk) -> AsyncGenerator[Store, None]:
    """A store with a thread, and a call of it in each status in which somebody can decide something."""
    async with open_stores(None, disk, Noon()) as kept:
        theirs = (a_call("c1", runs_at="webhook"), a_call("c2"), a_call("c3", **RUN))
        await with_calls(kept.store, *theirs, a_call("c4", runs_at="webhook", **RUN))
        yield kept.store


@pytest.mark.parametrize("operation", sorted(NEVER))
async def test_what_is_given_up_while_the_disk_hangs_never_begins(
    autojump_clock: MockClock, operation: str
) -> None:
    """Its caller is told in RECORD_TIMEOUT, another one at once; what was written all the same is undone."""
    disk = Disk()
    does, call, status = NEVER[operation]
    async with with_thread(disk) as store:
        disk.hang()
        began = trio.current_time()
        for patience in (RECORD_TIMEOUT, 0.0):
            with pytest.raises(StorageFailed, match="does not answer"):
                await does(store)
            assert trio.current_time() - began == pytest.approx(patience)
            began = trio.current_time()
        await trio.sleep(60)
        disk.work()
        await trio.sleep(2 * LEDGER_RETRY)
        kept = await store.calls.call(HOUSE, call)
        assert kept.status == status
        if status != "suggested":
            assert not await store.ledger.claim(call, "refund", NOW)
            with pytest.raises(Conflict):
                await store.calls.begin_call(HOUSE, call, NOW, NOW + 9)


async def test_what_waited_behind_a_disk_that_hangs_is_not_written(autojump_clock: MockClock) -> None:
    """Nothing of it is there, and its caller may ask again."""
    disk = Disk()
    async with with_thread(disk) as store, trio.open_nursery() as nursery:
        disk.hang()
        nursery.start_soon(why_not, store.calls.call(HOUSE, "c1"))
        await wait_all_tasks_blocked()
        with pytest.raises(StorageFailed):
            await store.calls.approve_call(CallApproval(project=HOUSE, call="c1", by="u1", at=NOW))
        disk.work()
        await trio.sleep(LEDGER_RETRY)
        assert (
            await store.calls.approve_call(CallApproval(project=HOUSE, call="c1", by="u1", at=NOW))
        ).status == "confirmed"


async def test_a_turn_that_is_given_up_is_in_nobodys_way(autojump_clock: MockClock) -> None:
    """Its message is cancelled once it is there, whoever begins the next one; so may be who sends the same request."""
    disk = Disk()
    async with with_thread(disk) as store:
        for ask in (
            lambda: store.threads.begin_turn(an_opening("m2", new=False)),
            lambda: store.requests.begin_request("o", "k", "d", NOW, HOUSE),
        ):
            disk.hang()
            with pytest.raises(StorageFailed):
                await ask()
            disk.work()
            await trio.sleep(2 * LEDGER_RETRY)
        assert (await store.threads.message(HOUSE, "m2")).status == "cancelled"
        await store.threads.begin_turn(an_opening("m3", new=False, alone=False))
        assert await store.requests.begin_request("o", "k", "d", NOW + 1, HOUSE) is None


async def test_an_answer_that_cannot_be_noted_yet_is_noted_at_last(autojump_clock: MockClock) -> None:
    """Who asked has it in RECORD_TIMEOUT; who sends the same again later gets it, and not that it is in progress."""
    disk = Disk()
    async with with_thread(disk) as store:
        await store.requests.begin_request("o", "k", "d", NOW, HOUSE)
        disk.hang()
        began = trio.current_time()
        await store.requests.record_answer("o", "k", StoredAnswer(200, b"{}"))
        assert trio.current_time() - began == pytest.approx(RECORD_TIMEOUT)
        disk.work()
        await wait_all_tasks_blocked()
        assert await store.requests.begin_request("o", "k", "d", NOW, HOUSE) == StoredAnswer(200, b"{}")


async def test_what_takes_long_is_waited_for(autojump_clock: MockClock) -> None:
    """A turn's end is kept however late; who waits for it is told once that it is."""
    disk, told = Disk(), list[float]()
    async with with_thread(disk) as store, trio.open_nursery() as nursery:
        await store.threads.begin_turn(an_opening("m2", new=False))
        disk.hang()
        say = partial(store.threads.record_step, said("m2"), lambda: told.append(trio.current_time()))
        nursery.start_soon(say)
        await trio.sleep(RECORD_TIMEOUT + 0.1)
        assert told == [RECORD_TIMEOUT]
        await trio.sleep(60)
        disk.work()
        await wait_all_tasks_blocked()
        assert ((await store.threads.message(HOUSE, "m2")).status, len(told)) == ("done", 1)
