"""Calls that many processes decide on at once, and what SIGKILL leaves of them. STORE_TIMES=20 takes minutes."""

import os
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import trio

from agent.host import WallClock, WorkerThreads
from agent.ports.calls import StoredCall
from agent.ports.ledger import LedgerRow
from agent.ports.pages import Window
from agent.ports.projects import HOUSE
from agent.storage.places import Data
from agent.storage.stores import open_stores
from tests.servers import place_for

from . import store_race
from .test_ledger_kill import process, told

pytestmark = pytest.mark.proof

TIMES = int(os.environ.get("STORE_TIMES", "1"))
RACERS = 8
CALLS = 16 * TIMES  # of so many, some are run and some are not
KILLS = 6 * TIMES
TURNS = 12 * TIMES  # that each process tries to begin
MAY_BE_TOLD = (  # the last three on a machine that is too busy
    "begun",
    "turn_in_progress",
    "database is locked",
    "its disk does not answer",
    "others write the same at the same time",
)
ORDER = ("suggested", "confirmed", "claimed", "done")
AFTER_A_KILL = {
    "record": {"suggested", "cancelled", "unknown", "done"},
    "caller": {"suggested", "confirmed", "claimed", "done"},
}


@pytest.fixture(params=["file", "postgres"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Data]:
    """A place that several processes share."""
    with place_for(request.param, tmp_path) as place:
        yield place


def test_turns_that_many_processes_begin_in_one_thread_come_one_by_one(data: Data, tmp_path: Path) -> None:
    """Each begins after the one before has ended; whoever is refused is told that a turn is in progress."""

    async def make() -> None:
        async with open_stores(data, WorkerThreads(), WallClock()) as kept:
            await store_race.turn(kept.store, "m1", "t1", True)

    trio.run(make)
    log = tmp_path / "turns"
    answers: Counter[str] = Counter()
    with ExitStack() as stack:
        pipes = [
            stack.enter_context(process(store_race.beginner, data, f"p{number}", log, TURNS))[1]
            for number in range(RACERS)
        ]
        assert [told(pipe) for pipe in pipes] == ["open"] * RACERS
        for pipe in pipes:
            pipe.send("go")
        for pipe in pipes:
            answers += told(pipe)
    lines = log.read_text().splitlines()
    begun = [line.removeprefix("begin ") for line in lines[::2]]
    assert lines == [f"{what} {id}" for id in begun for what in ("begin", "end")]
    assert answers["begun"] == len(begun) > 0
    assert answers["turn_in_progress"] > 0
    others = {answer for answer in answers if not any(may in answer for may in MAY_BE_TOLD)}
    assert others == set()


def test_eight_processes_decide_on_each_call_once(data: Data) -> None:
    """One process approves or edits, one rejects or answers, one begins and one reports, of all that try."""

    async def calls() -> list[str]:
        async with open_stores(data, WorkerThreads(), WallClock()) as kept:
            kinds: list[dict[str, Any]] = [{} for _ in range(CALLS)]
            return await store_race.turn(kept.store, "m1", "t1", True, *kinds)

    ids = trio.run(calls)
    won: dict[str, list[tuple[str, str]]] = defaultdict(list)
    with ExitStack() as stack:
        racers = [
            (f"p{number}", stack.enter_context(process(store_race.racer, data, f"p{number}", ids))[1])
            for number in range(RACERS)
        ]
        assert [told(pipe) for _, pipe in racers] == ["open"] * RACERS
        for _, pipe in racers:
            pipe.send("go")
        for name, pipe in racers:
            for id, operation in told(pipe):
                won[id].append((operation, name))
    found, rows = trio.run(everything, data)
    assert sorted(won) == sorted(ids)
    for id, call in found.items():
        _is_the_winners(call, dict(won[id]), Counter(operation for operation, _ in won[id]))
    run = {call.id for call in found.values() if call.status == "done"}
    assert 0 < len(run) < CALLS
    assert {row.suggestion_id: row.status for row in rows} == dict.fromkeys(run, "done")
    assert len(rows) == len(run)


def _is_the_winners(call: StoredCall, winner: dict[str, str], times: Counter[str]) -> None:
    """Check that a call is as its deciders left it: one approves or refuses; a rejection may take an approval back."""
    approved, refused = times["approve"] + times["edit"], times["reject"] + times["answer"]
    assert max(approved, refused, *times.values()) == 1, (call.id, times)
    if approved and refused:
        assert (call.status, times["reject"], times["begin"], times["report"]) == ("cancelled", 1, 0, 0)
    elif approved:
        by = winner.get("edit", "the model")
        assert (call.arguments, call.arguments_hash) == ({"by": by}, by)
        assert call.approved_by == winner.get("edit", winner.get("approve"))
        assert times["begin"] == 1
        assert (call.status, call.result) == ("done", {"success": True, "data": {"by": winner["report"]}})
    else:
        assert (times["begin"], times["report"]) == (0, 0)
        assert call.status == ("rejected" if "reject" in winner else "answered")


def test_killed_at_any_moment_every_call_is_in_a_legal_status(tmp_path: Path) -> None:
    """All that was told is there or further, nothing is half there, nothing runs late, and leases go on."""
    drawn = random.Random(3)
    known: dict[str, str] = {}
    statuses: Counter[tuple[str, str]] = Counter()
    for number in range(KILLS):
        with process(store_race.liver, tmp_path, f"p{number}") as (killed, pipe):
            assert told(pipe) == ("open", "", "")
            # A busy machine may need longer than the time until the kill: the first process has run a call before it.
            while number == 0 and not any(id.endswith(".1") and known[id] == "done" for id in known):
                assert pipe.poll(20)
                _, id, status = pipe.recv()
                known[id] = status
            assert pipe.poll(20)
            time.sleep(drawn.uniform(0, 0.25))
            killed.kill()
            killed.join(20)
            while True:
                try:
                    _, id, status = pipe.recv()
                except EOFError:
                    break
                known[id] = status
    found, rows = trio.run(everything, tmp_path)
    messages = trio.run(pending, tmp_path)
    ledger = {row.suggestion_id: row.status for row in rows}
    assert len(ledger) == len(rows)
    for id, status in known.items():
        if id not in found:
            assert messages[id] == status
            continue
        call = found[id]  # the message with its result has the same id
        statuses[call.runs_at, call.status] += 1
        assert call.status in AFTER_A_KILL[call.runs_at], (id, status, call.status)
        if call.status in ORDER:
            assert ORDER.index(call.status) >= ORDER.index(status), (id, status, call.status)
        else:
            assert status != "done"
    assert "pending" not in messages.values()
    for id, call in found.items():
        ran = call.status in ("claimed", "done", "unknown")
        assert ledger.get(id) == (call.status if ran else None), (id, call.status)
    assert {("record", "cancelled"), ("record", "done"), ("caller", "claimed")} <= set(statuses)


async def everything(data: Data) -> tuple[dict[str, StoredCall], tuple[LedgerRow, ...]]:
    """Every call, and every row of the ledger, after a restart."""
    async with open_stores(data, WorkerThreads(), WallClock()) as kept:
        found: dict[str, StoredCall] = {}
        after: int | None = 0
        while after is not None:
            page = await kept.store.calls.calls(HOUSE, Window(200, after))
            found.update({call.id: call for call in page.entries})
            after = page.after
        return found, await kept.store.ledger.rows(1_000_000)


async def pending(folder: Path) -> dict[str, str]:
    """The status of every message."""
    async with open_stores(folder, WorkerThreads(), WallClock()) as kept:
        found: dict[str, str] = {}
        for thread in (await kept.store.threads.threads(HOUSE, Window(100_000))).entries:
            page = await kept.store.threads.messages(HOUSE, thread.id, Window(100_000))
            found.update({message.id: message.status for message in page.entries})
        return found
