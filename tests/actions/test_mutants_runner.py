"""What an app that ends in the middle of an action leaves behind, and what an executor or a ledger out of line does."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import structlog.testing
import trio
from trio.testing import MockClock

from agent.actions.runner import Runner
from agent.config import ACTION_TIMEOUT
from agent.ports.action import Call, Outcome
from agent.ports.conversation import NO_SCOPE, Scope
from agent.ports.ledger import ClaimStatus
from agent.storage.memory_ledger import MemoryLedger


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
        runner.start(Call(suggestion_id="s1", action="send_sms", payload={}), outcomes.append)
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert runner.running_count == 0
    row = await ledger.get_row("s1")
    assert row is not None
    assert [outcome.status for outcome in outcomes] == [row.status]
    assert row.status in ("cancelled", "unknown", "done")


class Insistent(Steps):
    """An executor that says again and again that it begins."""

    async def run(self, call: Call, begin: Callable[[], None]) -> dict[str, Any]:
        """Begin every second, without an end."""
        for second in itertools.count(1):
            begin()
            await trio.sleep_until(second)
        return {}


async def test_begin_again_gives_no_more_time(autojump_clock: MockClock) -> None:
    """An action has ACTION_TIMEOUT from its first begin(), however often it calls it."""
    outcomes: list[Outcome] = []
    parts = Steps()
    async with trio.open_nursery() as nursery:
        runner = Runner(nursery, MemoryLedger(), Insistent(), parts, parts)
        runner.start(Call(suggestion_id="s1", action="send_sms", payload={}), outcomes.append)
        await trio.sleep(10 * ACTION_TIMEOUT)
        assert [outcome.status for outcome in outcomes] == ["unknown"]
        assert runner.running_count == 0
        nursery.cancel_scope.cancel()


class Stuck(MemoryLedger):
    """A ledger that never finishes a record."""

    async def record_outcome(
        self, suggestion_id: str, status: ClaimStatus, result: Mapping[str, Any], at: int
    ) -> None:
        """Wait without an end."""
        await trio.sleep_forever()


async def test_a_record_that_comes_too_late_is_logged(autojump_clock: MockClock) -> None:
    """An operator is told of an outcome that the ledger may not have."""
    outcomes: list[Outcome] = []
    parts = Steps()
    with structlog.testing.capture_logs() as lines:
        async with trio.open_nursery() as nursery:
            runner = Runner(nursery, Stuck(), parts, parts, parts)
            runner.start(Call(suggestion_id="s1", action="send_sms", payload={}), outcomes.append)
            await runner.wait_idle()
    assert [outcome.status for outcome in outcomes] == ["done"]
    assert [(line["event"], line["suggestionId"]) for line in lines] == [("action record late", "s1")]


class Deaf(MemoryLedger):
    """A ledger that never answers a claim."""

    async def claim(self, suggestion_id: str, action: str, at: int, scope: Scope = NO_SCOPE) -> bool:
        """Wait without an end."""
        await trio.sleep_forever()
        return False


async def test_a_claim_without_an_answer_is_told_as_failed(autojump_clock: MockClock) -> None:
    """Its user is told that nothing was run; `ignored` would say that it had been run before."""
    outcomes: list[Outcome] = []
    parts = Steps()
    async with trio.open_nursery() as nursery:
        runner = Runner(nursery, Deaf(), parts, parts, parts)
        runner.start(Call(suggestion_id="s1", action="send_sms", payload={}), outcomes.append)
        await runner.wait_idle()
    assert [(each.claimed, each.status, each.result.get("success")) for each in outcomes] == [
        (True, "failed", False)
    ]
