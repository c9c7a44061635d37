"""What a process that died leaves of turns and calls: each ends in one way, and what is nobody's stays."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent.errors import Conflict
from agent.ports.calls import CallApproval, CallReport
from agent.ports.pages import Window
from agent.ports.projects import HOUSE
from agent.ports.requests import StoredAnswer
from agent.storage import call_transitions, requests, turns
from agent.storage.rows import LOST, ClaimRequest
from agent.storage.settings import TOMBSTONE_SECONDS
from agent.storage.sqlite.database_file import DatabaseFile
from agent.storage.sqlite.owners import FOLDER as OWNERS
from agent.storage.sqlite.trust import FILE
from agent.storage.store import Store
from agent.storage.stores import open_stores
from agent.storage.transaction import Transaction
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.stored import NOW, a_call, an_answer, an_opening, said

RUN: dict[str, Any] = {"needs_approval": False, "status": "confirmed"}
ALL = Window(99)
DAY = int(TOMBSTONE_SECONDS * 1000)


class Do:
    """A write of the stores, as the file takes it."""

    def __init__(self, work: Callable[[Transaction], Any]) -> None:
        self.write = work


class Process:
    """One that has a database open, until it dies or is closed."""

    def __init__(self, folder: Path) -> None:
        self.file = DatabaseFile(folder, Noon())
        self.file.open()

    def do(self, *works: Callable[[Transaction], Any]) -> None:
        report = self.file.commit([Do(work) for work in works])
        assert (report.trouble, report.faults, report.refused) == ("", {}, {})

    def die(self) -> None:
        """End as a killed process does: the kernel closes its files, and nothing is tidied up."""
        assert self.file._engine is not None
        assert self.file._connection is not None
        assert self.file._owner is not None
        self.file._connection.close()
        self.file._engine.dispose()
        self.file._owner.leave(tidy=False)


def at_work(process: Process) -> None:
    """Leave one of each: calls in every status that waits, a turn, a request, a lease."""
    calls = (
        a_call("c1"),
        a_call("c2"),
        a_call("c3", runs_at="webhook"),
        a_call("c4", runs_at="webhook", **RUN),
        a_call("c5", **RUN),
        a_call("c6", **RUN),
    )
    process.do(
        partial(turns.begin_turn, an_opening()),
        partial(turns.record_step, said(answer=an_answer(), calls=calls), None),
        partial(turns.begin_turn, an_opening("m2", new=False)),
        partial(
            call_transitions.approve_call, approval=CallApproval(project=HOUSE, call="c2", by="u1", at=NOW)
        ),
        partial(
            call_transitions.approve_call, approval=CallApproval(project=HOUSE, call="c3", by="u1", at=NOW)
        ),
        ClaimRequest(suggestion_id="c4", action="refund", at=NOW).write,
        ClaimRequest(suggestion_id="of a socket", action="send_sms", at=NOW).write,
        partial(call_transitions.begin_call, project=HOUSE, id="c6", at=NOW, lease_until=NOW + 9, kb=None),
        partial(requests._begin_request, "o", "k", "d", NOW, HOUSE),
        partial(requests._begin_request, "o", "k2", "d", NOW, HOUSE),
    )


async def left(store: Store) -> dict[str, str]:
    """What every call, message and row of the ledger says."""
    calls = (await store.calls.calls(HOUSE, ALL)).entries
    messages = (await store.threads.messages(HOUSE, "t1", ALL)).entries
    found: dict[str, str] = {call.id: call.status for call in calls}
    found.update({message.id: message.status for message in messages})
    found.update({f"{row.suggestion_id}, claimed": row.status for row in await store.ledger.rows()})
    return found


WAITS = {"c1": "suggested", "c2": "confirmed", "c5": "confirmed", "m1": "done", "a1": "done"}
LEASED = {"c6": "claimed", "c6, claimed": "claimed"}
RUNNING = {"c3": "confirmed", "c4": "claimed", "m2": "pending"}
CLAIMED = {"c4, claimed": "claimed", "of a socket, claimed": "claimed"}
SETTLED = {"c3": "cancelled", "c4": "unknown", "m2": "cancelled"}
UNKNOWN = {"c4, claimed": "unknown", "of a socket, claimed": "unknown"}


async def test_after_a_restart_nothing_runs_late_and_nothing_that_waits_is_lost(tmp_path: Path) -> None:
    """What was approved and not claimed is cancelled, what was claimed unknown; suggestions and leases go on."""
    dead = Process(tmp_path)
    at_work(dead)
    dead.die()
    async with open_stores(tmp_path, inline, Noon()) as kept:
        store = kept.store
        assert await left(store) == WAITS | LEASED | SETTLED | UNKNOWN
        lost = await store.calls.call(HOUSE, "c4")
        assert (lost.result, lost.ended_at) == (LOST, NOW)
        assert not await store.ledger.claim("c3", "refund", NOW)
        assert await store.requests.begin_request("o", "k", "d", NOW) is None
        await store.threads.begin_turn(an_opening("m3", new=False, alone=False))
        await store.calls.approve_call(CallApproval(project=HOUSE, call="c1", by="u1", at=NOW))
    # closed with a turn and a request going on: the proof stays
    assert list((tmp_path / OWNERS).iterdir()) != []


@contextmanager
def alive(folder: Path, yes: bool) -> Iterator[None]:
    """Another process that has the database open, or none."""
    other = Process(folder) if yes else None
    yield
    if other is not None:
        other.file.close()


@pytest.mark.parametrize("others", [True, False])
async def test_without_its_lock_a_dead_process_is_known_by_being_nowhere(
    tmp_path: Path, others: bool
) -> None:
    """While another has the database open its rows stay; who is alone with it ends them."""
    dead = Process(tmp_path)
    at_work(dead)
    with alive(tmp_path, others):
        shutil.rmtree(tmp_path / OWNERS)
        dead.die()
        async with open_stores(tmp_path, inline, Noon()) as kept:
            expected = RUNNING | CLAIMED if others else SETTLED | UNKNOWN
            assert await left(kept.store) == WAITS | LEASED | expected


async def test_what_a_living_process_does_is_its_own(tmp_path: Path) -> None:
    """Whoever else opens the file changes nothing of it, and cannot take its turn, its call or its request."""
    living = Process(tmp_path)
    at_work(living)
    async with open_stores(tmp_path, inline, Noon()) as kept:
        store = kept.store
        assert await left(store) == WAITS | LEASED | RUNNING | CLAIMED
        for alone in (True, False):
            with pytest.raises(Conflict, match="turn_in_progress"):
                await store.threads.begin_turn(an_opening("m3", new=False, alone=alone))
        with pytest.raises(Conflict, match="in_progress"):
            await store.requests.begin_request("o", "k", "d", NOW)
        living.die()
        begun = await store.threads.begin_turn(an_opening("m3", new=False, alone=False))
        assert begun.thread.turn == 3
        assert await store.requests.begin_request("o", "k", "d", NOW) is None
        await store.requests.record_answer("o", "k", StoredAnswer(200, b"{}"))
        found = await left(store)
        assert (found["m2"], found["m3"], found["c3"]) == ("cancelled", "pending", "confirmed")
        await store.threads.record_step(said("m3"))
    async with open_stores(tmp_path, inline, Noon()) as kept:
        assert (await left(kept.store))["c3"] == "cancelled"
        assert await kept.store.requests.begin_request("o", "k", "d", NOW) == StoredAnswer(200, b"{}")
    assert list((tmp_path / OWNERS).iterdir()) == []


async def test_an_owner_whose_file_was_lost_takes_all_that_it_does_along(tmp_path: Path) -> None:
    """With its next write it has a new place, by which its death can be proved again."""
    first, other = Process(tmp_path), Process(tmp_path)
    at_work(first)
    shutil.rmtree(tmp_path / OWNERS)
    first.do(ClaimRequest(suggestion_id="another", action="x", at=NOW).write)
    first.die()
    async with open_stores(tmp_path, inline, Noon()) as kept:
        assert await left(kept.store) == WAITS | LEASED | SETTLED | UNKNOWN | {"another, claimed": "unknown"}
    other.file.close()


def without_attempts(folder: Path) -> None:
    """Make a file what the second version had."""
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as older:
        older.execute("ALTER TABLE actions DROP COLUMN attempt")
        older.execute("PRAGMA user_version=2")


async def test_an_upgrade_settles_a_turn_whose_process_is_nowhere(tmp_path: Path) -> None:
    """Also where nothing was claimed, and its lock is lost."""
    dead = Process(tmp_path)
    dead.do(partial(turns.begin_turn, an_opening()))
    dead.die()
    shutil.rmtree(tmp_path / OWNERS)
    without_attempts(tmp_path)
    async with open_stores(tmp_path, inline, Noon()) as kept:
        assert await left(kept.store) == {"m1": "cancelled"}


async def test_a_lease_outlives_an_upgrade(tmp_path: Path) -> None:
    """What the last process was doing is settled; what a caller has begun can be reported."""
    dead = Process(tmp_path)
    at_work(dead)
    dead.die()
    without_attempts(tmp_path)
    async with open_stores(tmp_path, inline, Noon()) as kept:
        assert await left(kept.store) == WAITS | LEASED | SETTLED | UNKNOWN
        reported, _ = await kept.store.calls.report_call(
            CallReport(project=HOUSE, call="c6", ok=True, result={"success": True}, digest="d", at=NOW + 1)
        )
        row = await kept.store.ledger.get_row("c6")
        assert row is not None
        assert (reported.status, row.status, row.result) == ("done", "done", {"success": True})


class TwoDaysLater:
    """A clock that has gone on since noon."""

    def now_ms(self) -> int:
        """Return the moment."""
        return NOW + 2 * DAY


async def test_a_tombstone_of_a_call_outlives_the_day(tmp_path: Path) -> None:
    """As long as the call does: other rows are forgotten when they are old, at a start and between two."""
    async with open_stores(tmp_path, inline, Noon()) as kept:
        store = kept.store
        await store.threads.begin_turn(an_opening())
        await store.threads.record_step(said(calls=(a_call("c1", runs_at="record", **RUN),)))
        for id, at in (("c1", NOW), ("of a socket", NOW), ("new", NOW + DAY + 1), ("newer", NOW + DAY + 1)):
            await store.ledger.claim(id, "x", NOW)
            await store.ledger.record_outcome(id, "done", {}, at)
        assert {row.suggestion_id for row in await store.ledger.rows()} == {"c1", "new", "newer"}
    async with open_stores(tmp_path, inline, TwoDaysLater()) as kept:
        assert {row.suggestion_id for row in await kept.store.ledger.rows()} == {"c1", "new", "newer"}
        await kept.store.ledger.claim("newest", "x", NOW + 2 * DAY)
        await kept.store.ledger.record_outcome("newest", "done", {}, NOW + 2 * DAY + 2)
        assert {row.suggestion_id for row in await kept.store.ledger.rows()} == {"c1", "newest"}
        await kept.store.threads.delete_thread(HOUSE, "t1")
    async with open_stores(tmp_path, inline, TwoDaysLater()) as kept:
        assert {row.suggestion_id for row in await kept.store.ledger.rows()} == {"newest"}


async def test_a_claim_that_is_refused_leaves_the_batch_as_it_is(tmp_path: Path) -> None:
    """One transaction with a claim that is lost, a write that is refused and one at fault: the others are on disk."""
    process = Process(tmp_path)
    at_work(process)
    report = process.file.commit(
        [
            ClaimRequest(suggestion_id="c1", action="refund", at=NOW),
            ClaimRequest(suggestion_id="a", action="x", at=NOW),
            Do(
                partial(
                    call_transitions.approve_call,
                    approval=CallApproval(project=HOUSE, call="c5", by="u1", at=NOW),
                )
            ),
            Do(
                lambda transaction: transaction.connection.exec_driver_sql(
                    "INSERT INTO audit (at) VALUES (1)"
                )
            ),
            ClaimRequest(suggestion_id="b", action="x", at=NOW),
        ]
    )
    assert report.answers == [False, True, None, None, True]
    assert {place: str(why) for place, why in report.refused.items()} == {2: "closed"}
    assert (list(report.faults), report.trouble) == ([3], "")
    process.file.close()


async def test_the_answer_of_a_half_done_write_is_undone(tmp_path: Path) -> None:
    """What a write that is refused had written before is not there, nor is its claim won."""
    process = Process(tmp_path)

    def claims_and_is_refused(transaction: Transaction) -> None:
        ClaimRequest(suggestion_id="half", action="x", at=NOW).write(transaction)
        raise Conflict("closed")

    report = process.file.commit(
        [Do(claims_and_is_refused), ClaimRequest(suggestion_id="whole", action="x", at=NOW)]
    )
    assert (report.answers, report.trouble) == ([None, True], "")
    process.file.close()
    with closing(sqlite3.connect(tmp_path / FILE)) as seen:
        assert seen.execute("SELECT suggestion_id FROM actions").fetchall() == [("whole",)]
