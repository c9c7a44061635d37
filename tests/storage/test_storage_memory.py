"""The bounds of the ledger in memory; what every ledger does is in tests/contracts."""

import pytest

from agent.errors import AgentError
from agent.storage.memory_ledger import MemoryLedger
from agent.storage.settings import TOMBSTONE_SECONDS

DAY = int(TOMBSTONE_SECONDS * 1000)


async def test_the_row_that_finished_first_gives_way() -> None:
    """When it is full, a claim drops the row that finished longest ago, whatever the order of claims."""
    ledger = MemoryLedger(limit=3)
    for name in ("a", "b", "c"):
        await ledger.claim(name, "x", 0)
    await ledger.record_outcome("b", "done", {}, 1)
    await ledger.record_outcome("a", "done", {}, 2)
    assert await ledger.claim("d", "x", 3)
    assert [row.suggestion_id for row in await ledger.rows()] == ["d", "c", "a"]


async def test_running_rows_are_never_dropped() -> None:
    """A ledger full of running actions refuses the claim and keeps every row."""
    ledger = MemoryLedger(limit=2)
    await ledger.claim("a", "x", 0)
    await ledger.claim("b", "x", 0)
    with pytest.raises(AgentError):
        await ledger.claim("c", "x", 1)
    assert [row.suggestion_id for row in await ledger.rows()] == ["b", "a"]


async def test_tombstones_last_a_day() -> None:
    """A finished row is kept for 24 hours and forgotten after it."""
    ledger = MemoryLedger()
    await ledger.claim("a", "x", 0)
    await ledger.record_outcome("a", "done", {}, 10)
    await ledger.claim("b", "x", 10 + DAY)
    assert await ledger.get_row("a") is not None
    await ledger.claim("c", "x", 11 + DAY)
    assert await ledger.get_row("a") is None
    assert await ledger.get_row("b") is not None
