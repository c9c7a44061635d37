"""What every ledger must do. A new one joins by a line in LEDGERS."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path

import pytest
import trio

from agent.app import Threads, WallClock
from agent.ports.ledger import Ledger, Row
from agent.storage.memory import MemoryLedger
from agent.storage.sqlite import SqliteLedger
from agent.testing.network import inline

LEDGERS: dict[str, Callable[[Path], AbstractAsyncContextManager[Ledger]]] = {
    "memory": lambda _: nullcontext(MemoryLedger()),
    "sqlite in memory": lambda _: SqliteLedger(None, inline, WallClock()),
    "sqlite": lambda folder: SqliteLedger(folder, Threads(2), WallClock()),
}


@pytest.fixture(params=sorted(LEDGERS))
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
    assert await ledger.get("s1") == Row("s1", "send_sms", "claimed", 1000)


@pytest.mark.parametrize("status", ["done", "failed", "cancelled", "unknown"])
async def test_the_first_outcome_stands(ledger: Ledger, status: str) -> None:
    """A recorded outcome is what get returns, and a second record changes nothing."""
    await ledger.claim("s1", "send_sms", 1000)
    await ledger.record("s1", status, {"success": True, "data": {"n": [1, "å"]}}, 2000)  # type: ignore[arg-type]
    await ledger.record("s1", "failed", {"success": False}, 3000)
    row = await ledger.get("s1")
    assert row is not None
    assert (row.status, row.claimed_at, row.ended_at) == (status, 1000, 2000)
    assert row.result == {"success": True, "data": {"n": [1, "å"]}}


async def test_a_finished_action_cannot_be_claimed_again(ledger: Ledger) -> None:
    """A tombstone refuses a claim a second, and 23 hours, after the end."""
    await ledger.claim("s1", "send_sms", 0)
    await ledger.record("s1", "cancelled", {"cancelled": True}, 1)
    assert await ledger.claim("s1", "send_sms", 31_000) is False
    assert await ledger.claim("s1", "send_sms", 23 * 3600 * 1000) is False


async def test_recording_what_was_never_claimed_makes_no_row(ledger: Ledger) -> None:
    """An outcome without a claim is ignored."""
    await ledger.record("s1", "done", {}, 1)
    assert await ledger.get("s1") is None
    assert await ledger.rows() == ()


async def test_a_stored_result_does_not_change_with_its_source(ledger: Ledger) -> None:
    """Changing the mapping after it was recorded changes nothing in the ledger."""
    result = {"success": True}
    await ledger.claim("s1", "send_sms", 0)
    await ledger.record("s1", "done", result, 1)
    result["success"] = False
    row = await ledger.get("s1")
    assert row is not None
    assert row.result == {"success": True}


async def test_rows_are_newest_first_and_at_most_the_limit(ledger: Ledger) -> None:
    """The listing is by claim, newest first, and cut at the limit."""
    for at, name in enumerate(["a", "b", "c"]):
        await ledger.claim(name, "send_sms", at)
    await ledger.record("a", "done", {}, 9)
    assert [row.suggestion_id for row in await ledger.rows(2)] == ["c", "b"]
    assert [row.suggestion_id for row in await ledger.rows()] == ["c", "b", "a"]


async def test_a_cancelled_claim_has_claimed_or_not(ledger: Ledger) -> None:
    """After a claim that was cancelled, a later claim and the row say the same thing."""
    with trio.CancelScope() as scope:
        scope.cancel()
        await ledger.claim("s1", "send_sms", 0)
    claimed = await ledger.get("s1") is not None
    assert await ledger.claim("s1", "send_sms", 1) is not claimed
