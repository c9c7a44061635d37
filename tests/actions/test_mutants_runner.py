"""What an app that ends in the middle of an action leaves behind: a level of nought and a row with an end."""

from collections.abc import Callable
from typing import Any

import pytest
import trio

from agent.actions.runner import Runner
from agent.ports.action import Call, Outcome
from agent.storage.memory import MemoryLedger


class Steps:
    """An executor of a few steps, and an observer and a clock that do nothing."""

    async def run(self, call: Call, begin: Callable[[], None]) -> dict[str, Any]:
        """Take a step, begin, take another."""
        await trio.lowlevel.checkpoint()
        begin()
        await trio.lowlevel.checkpoint()
        return {}

    def now_ms(self) -> int:
        return 1000

    def count(self, metric: str, label: str = "") -> None: ...

    def measure(self, metric: str, seconds: float) -> None: ...

    def gauge(self, metric: str, change: int) -> None: ...


@pytest.mark.parametrize("steps", range(12))
async def test_every_action_is_accounted_for_when_the_app_ends(steps: int) -> None:
    """Wherever the end comes, nothing counts as running, one outcome was reported, and the row has the same end."""
    outcomes: list[Outcome] = []
    ledger, parts = MemoryLedger(), Steps()
    async with trio.open_nursery() as nursery:
        runner = Runner(nursery, ledger, parts, parts, parts)
        runner.start(Call("s1", "send_sms", {}), outcomes.append)
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert runner.running == 0
    row = await ledger.get("s1")
    assert row is not None
    assert [outcome.status for outcome in outcomes] == [row.status]
    assert row.status in ("cancelled", "unknown", "done")
