"""What every executor must do with `begin()`. A new one joins by a line in EXECUTORS.

Each is made so that it waits a second before `begin()` and a second after its effect, and tells its effects.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import httpx
import pytest
import structlog
import trio
from trio.testing import MockClock

from agent.actions.executors import DispatchExecutor, RecordExecutor
from agent.actions.function_executor import FunctionExecutor
from agent.actions.runner import BeginRefused, Runner
from agent.actions.webhook import WebhookExecutor
from agent.mcp.open import open_servers
from agent.ports.action import Call, Executor, Outcome
from agent.ports.mcp import McpServer
from agent.ports.tools import ToolFunction
from agent.storage.memory_ledger import MemoryLedger
from agent.structured.arguments import SchemaArguments
from agent.testing.fakes import Figures, Noon
from agent.testing.mcp import FakeMcpServers
from agent.testing.network import inline
from agent.tools.offering import Offering

T = TypeVar("T")
Effect = Callable[[], None]
CALL = Call(suggestion_id="s1", action="send_sms", payload={"phone": "070-1234567"})


def _record(effect: Effect) -> Executor:
    def processor(logger: object, method: str, event: Mapping[str, Any]) -> str:
        effect()
        raise structlog.DropEvent

    structlog.configure(processors=[processor])
    return RecordExecutor(1.0, 1.0)


def _webhook(effect: Effect) -> Executor:
    class Network(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await trio.sleep(1.0)
            await request.extensions["trace"]("http11.send_request_headers.started", {})
            effect()
            await trio.sleep(1.0)
            return httpx.Response(200, stream=httpx.ByteStream(b'{"sent": true}'))

    return WebhookExecutor("http://hook.test/", Network)


def _tool(effect: Effect) -> Executor:
    return DispatchExecutor({CALL.action: _webhook(effect)}, RecordExecutor())


def _mcp(effect: Effect) -> Executor:
    servers = FakeMcpServers({"name": "send_sms"})
    servers.start, servers.before, servers.after = 0.0, 1.0, 1.0
    servers.effect = effect

    class Started:
        """Starts the server for each run, which takes no time."""

        async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
            offering = Offering((), (McpServer(name="crm", command="crm"),))
            async with open_servers(offering, SchemaArguments(), servers) as by_server:
                executor = DispatchExecutor({}, RecordExecutor(), by_server)
                return await executor.run(replace(call, action="crm.send_sms"), begin)

    return Started()


def _function(effect: Effect) -> Executor:
    async def in_thread(function: Callable[[], T], begin: Callable[[], None]) -> T:
        await trio.sleep(1.0)
        begin()
        result = function()
        await trio.sleep(1.0)
        return result

    def send_sms(phone: str) -> dict[str, bool]:
        effect()
        return {"sent": True}

    return FunctionExecutor({"send_sms": ToolFunction(send_sms, dict)}, in_thread)


def _async_function(effect: Effect) -> Executor:
    async def send_sms(phone: str) -> dict[str, bool]:
        effect()
        await trio.sleep(1.0)
        return {"sent": True}

    class Late:
        """Calls the function a second later: there is nothing that it waits for before it begins."""

        async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
            await trio.sleep(1.0)
            executor = FunctionExecutor({"send_sms": ToolFunction(send_sms, dict, is_async=True)}, inline)
            return await executor.run(call, begin)

    return Late()


def _no_tool(effect: Effect) -> Executor:
    return DispatchExecutor({"create_ticket": RecordExecutor()}, _record(effect))


EXECUTORS = {
    "record": _record,
    "webhook": _webhook,
    "mcp": _mcp,
    "function": _function,
    "async function": _async_function,
    "tool": _tool,
    "no tool": _no_tool,
}


class Rig:
    def __init__(self, name: str) -> None:
        self.effects = 0
        self.executor = EXECUTORS[name](self._effect)

    def _effect(self) -> None:
        self.effects += 1


@pytest.fixture(params=sorted(EXECUTORS))
def rig(request: pytest.FixtureRequest) -> Any:
    yield Rig(request.param)
    structlog.reset_defaults()


async def test_begin_is_called_once_and_before_the_effect(rig: Rig, autojump_clock: MockClock) -> None:
    """A run calls begin once, has its effect once and after it, and returns what a client can be shown."""
    before: list[int] = []
    data = await rig.executor.run(CALL, lambda: before.append(rig.effects))
    assert before == [0]
    assert rig.effects == 1
    assert isinstance(data, dict)


async def test_cancelled_before_begin_there_is_no_effect(rig: Rig, autojump_clock: MockClock) -> None:
    """A cancel before begin ends the run at once; begin is not called and nothing happens."""
    begun: list[bool] = []
    with trio.move_on_after(0.5) as scope:
        await rig.executor.run(CALL, lambda: begun.append(True))
    await trio.sleep(5.0)
    assert scope.cancelled_caught
    assert (begun, rig.effects) == ([], 0)
    assert trio.current_time() == pytest.approx(5.5)


async def test_cancelled_at_begin_there_is_no_effect(rig: Rig, autojump_clock: MockClock) -> None:
    """A begin that is refused ends the run without an effect."""

    def refuse() -> None:
        raise BeginRefused("stop was first")

    with pytest.raises(BeginRefused):
        await rig.executor.run(CALL, refuse)
    await trio.sleep(5.0)
    assert rig.effects == 0


@pytest.mark.parametrize(
    ("at", "effects", "status"), [(0.5, 0, "cancelled"), (1.5, 1, "done"), (2.5, 1, "done")]
)
async def test_a_stop_is_answered_by_the_truth(
    rig: Rig, nursery: trio.Nursery, autojump_clock: MockClock, at: float, effects: int, status: str
) -> None:
    """Under the runner, a stop before begin is cancelled without an effect; after it the real result is reported."""
    outcomes: list[Outcome] = []
    runner = Runner(nursery, MemoryLedger(), rig.executor, Noon(), Figures())
    running = runner.start(CALL, outcomes.append)
    await trio.sleep(at)
    running.stop()
    await runner.wait_idle()
    await trio.sleep(5.0)
    assert rig.effects == effects
    assert [outcome.status for outcome in outcomes] == [status]


async def test_stopped_in_the_tick_of_begin_the_first_of_the_two_counts(
    rig: Rig, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """A stop right after begin was granted is too late: one effect, and its real result."""
    outcomes: list[Outcome] = []

    class StopAtBegin:
        async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
            def begin_then_stop() -> None:
                begin()
                running.stop()

            return await rig.executor.run(call, begin_then_stop)

    runner = Runner(nursery, MemoryLedger(), StopAtBegin(), Noon(), Figures())
    running = runner.start(CALL, outcomes.append)
    await runner.wait_idle()
    assert rig.effects == 1
    assert [outcome.status for outcome in outcomes] == ["done"]
