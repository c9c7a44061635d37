"""What every ledger must do. A new one joins by a line in LEDGERS."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path

import pytest
import trio

from agent.host import WallClock, WorkerThreads
from agent.ports.ledger import Ledger, LedgerRow
from agent.storage.database_ledger import open_database_ledger
from agent.storage.memory_ledger import MemoryLedger
from agent.testing.network import inline
from tests.servers import place_for


@asynccontextmanager
async def ledger_on_server(folder: Path) -> AsyncGenerator[Ledger, None]:
    """The ledger of a PostgreSQL server."""
    with place_for("postgres", folder) as place:
        async with open_database_ledger(place, WorkerThreads(2), WallClock(), kb="/docs") as opened:
            yield opened


LEDGERS: dict[str, Callable[[Path], AbstractAsyncContextManager[Ledger]]] = {
    "memory": lambda _: nullcontext(MemoryLedger(kb="/docs")),
    "sqlite in memory": lambda _: open_database_ledger(None, inline, WallClock(), kb="/docs"),
    "sqlite": lambda folder: open_database_ledger(folder, WorkerThreads(2), WallClock(), kb="/docs"),
    "postgres": ledger_on_server,
}
PROOFS = {"postgres": pytest.mark.proof}


@pytest.fixture(params=[pytest.param(name, marks=PROOFS.get(name, ())) for name in sorted(LEDGERS)])
async def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Ledger, None]:
    async with LEDGERS[request.param](tmp_path) as opened:
        yield opened


async def test_first_claim_wins_and_every_later_one_loses(ledger: Ledger) -> None:
    """Only the first claim of an id is won."""
    assert await ledger.claim("s1", "send_sms", 1000) is True
    assert await ledger.claim("s1", "send_sms", 1001) is False
    assert await ledger.claim("s2", "send_sms", 1002) is True


async def test_eight_claimers_have_one_winner(ledger: Ledger) -> None:
    """Of eight claimers at once exactly one wins."""
    won: list[bool] = []

    async def claimer() -> None:
        won.append(await ledger.claim("s1", "send_sms", 1000))

    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(claimer)
    assert sorted(won) == [False] * 7 + [True]


async def test_a_claim_is_a_row_without_an_end(ledger: Ledger) -> None:
    """A claimed action shows as claimed, with no end and no result."""
    await ledger.claim("s1", "send_sms", 1000)
    assert await ledger.get_row("s1") == LedgerRow(
        suggestion_id="s1", action="send_sms", status="claimed", claimed_at=1000, kb="/docs"
    )


@pytest.mark.parametrize("status", ["done", "failed", "cancelled", "unknown"])
async def test_the_first_outcome_stands(ledger: Ledger, status: str) -> None:
    """A recorded outcome is what get returns, and a second record changes nothing."""
    await ledger.claim("s1", "send_sms", 1000)
    await ledger.record_outcome("s1", status, {"success": True, "data": {"n": [1, "å"]}}, 2000)  # type: ignore[arg-type]
    await ledger.record_outcome("s1", "failed", {"success": False}, 3000)
    row = await ledger.get_row("s1")
    assert row is not None
    assert (row.status, row.claimed_at, row.ended_at) == (status, 1000, 2000)
    assert row.result == {"success": True, "data": {"n": [1, "å"]}}


async def test_a_finished_action_cannot_be_claimed_again(ledger: Ledger) -> None:
    """A tombstone refuses a claim a second, and 23 hours, after the end."""
    await ledger.claim("s1", "send_sms", 0)
    await ledger.record_outcome("s1", "cancelled", {"cancelled": True}, 1)
    assert await ledger.claim("s1", "send_sms", 31_000) is False
    assert await ledger.claim("s1", "send_sms", 23 * 3600 * 1000) is False


async def test_recording_what_was_never_claimed_makes_no_row(ledger: Ledger) -> None:
    """An outcome without a claim is ignored."""
    await ledger.record_outcome("s1", "done", {}, 1)
    assert await ledger.get_row("s1") is None
    assert await ledger.rows() == ()


async def test_a_stored_result_does_not_change_with_its_source(ledger: Ledger) -> None:
    """Changing the mapping after it was recorded changes nothing in the ledger."""
    result = {"success": True}
    await ledger.claim("s1", "send_sms", 0)
    await ledger.record_outcome("s1", "done", result, 1)
    result["success"] = False
    row = await ledger.get_row("s1")
    assert row is not None
    assert row.result == {"success": True}


async def test_rows_are_newest_first_and_at_most_the_limit(ledger: Ledger) -> None:
    """The listing is by claim, newest first, and cut at the limit."""
    for at, name in enumerate(["a", "b", "c"]):
        await ledger.claim(name, "send_sms", at)
    await ledger.record_outcome("a", "done", {}, 9)
    assert [row.suggestion_id for row in await ledger.rows(2)] == ["c", "b"]
    assert [row.suggestion_id for row in await ledger.rows()] == ["c", "b", "a"]


async def test_a_cancelled_claim_leaves_nothing_running(ledger: Ledger) -> None:
    """Whenever it is cancelled: it was answered, or there is no row, or one that says cancelled."""
    for steps in range(12):
        name, won = f"s{steps}", list[bool]()
        scope = trio.CancelScope()

        async def claimer(name: str = name, won: list[bool] = won, scope: trio.CancelScope = scope) -> None:
            with scope:
                won.append(await ledger.claim(name, "send_sms", 0))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(claimer)
            for _ in range(steps):
                await trio.lowlevel.checkpoint()
            scope.cancel()
        again = await ledger.claim(name, "send_sms", 1)
        row = await ledger.get_row(name)
        assert row is not None
        # the first won and was told so; or the second did; or neither, and the row is closed
        assert (won, again, row.status) in (
            ([True], False, "claimed"),
            ([], True, "claimed"),
            ([], False, "cancelled"),
        )


async def test_a_cancelled_record_is_recorded(ledger: Ledger) -> None:
    """Whenever it is cancelled the outcome stands in the row, if not at once then soon."""
    for steps in range(6):
        name, scope = f"s{steps}", trio.CancelScope()
        await ledger.claim(name, "send_sms", 0)

        async def recorder(name: str = name, scope: trio.CancelScope = scope) -> None:
            with scope:
                await ledger.record_outcome(name, "done", {"success": True}, 1)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(recorder)
            await trio.lowlevel.checkpoint()  # it has been asked for
            for _ in range(steps):
                await trio.lowlevel.checkpoint()
            scope.cancel()
        await ledger.claim(f"{name}-later", "send_sms", 2)
        row = await ledger.get_row(name)
        assert row is not None
        assert (row.status, row.result) == ("done", {"success": True})


async def test_rows_are_those_of_a_knowledge_base_where_one_is_named(ledger: Ledger) -> None:
    """Each claim is of the ledger's own."""
    assert await ledger.claim("a", "send_sms", 1)
    assert [(row.suggestion_id, row.kb) for row in await ledger.rows(9, "/docs")] == [("a", "/docs")]
    assert await ledger.rows(9, "/other") == ()
    assert len(await ledger.rows()) == 1
