"""Where an action is carried out: where its tool says, or where all are."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agent.actions.executors import DispatchExecutor
from agent.actions.function_executor import FunctionExecutor
from agent.actions.open import open_executor
from agent.actions.settings import ActionSettings
from agent.errors import ActionFailed, UsageError
from agent.ports.action import Call
from agent.ports.tools import RunsAt, ToolDefinition, ToolFunction
from agent.testing.network import inline


class Named:
    def __init__(self, name: str) -> None:
        self._name = name

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        begin()
        return {"by": self._name}


def tool(name: str, runs_at: RunsAt, url: str | None = None) -> ToolDefinition:
    return ToolDefinition(
        name=name, description="", parameters={"type": "object"}, runs_at=runs_at, url=url, origin="operator"
    )


async def ran(executor: Any, action: str, runs_at: RunsAt = "record") -> Mapping[str, Any]:
    call = Call(suggestion_id="s1", action=action, payload={}, runs_at=runs_at)
    result: Mapping[str, Any] = await executor.run(call, lambda: None)
    return result


async def test_an_action_goes_to_the_executor_of_its_name() -> None:
    """Letter for letter; any other goes to the one for the rest."""
    executor = DispatchExecutor({"a": Named("own")}, Named("rest"))
    assert [await ran(executor, name) for name in ("a", "A", "b")] == [
        {"by": "own"},
        {"by": "rest"},
        {"by": "rest"},
    ]


async def test_a_call_of_a_function_goes_nowhere_else() -> None:
    """Its place as it was proposed decides: not a webhook's, nor a function's that has the name of another tool."""
    functions = FunctionExecutor({"a": ToolFunction(lambda: {"by": "function"}, dict)}, inline)
    async with open_executor(ActionSettings(), (tool("a", "function"),), functions=functions) as executor:
        assert await ran(executor, "a", "function") == {"by": "function"}
        assert (await ran(executor, "a", "record"))["recorded"] is True
        with pytest.raises(ActionFailed, match="no function of this name any more"):
            await ran(executor, "b", "function")


async def test_tools_run_where_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """One with a URL at that, one to be recorded only recorded, and the rest at the operator's webhook."""
    monkeypatch.setattr("agent.actions.webhook.WebhookExecutor", Named)
    settings = ActionSettings(action_webhook="https://all.test/")
    tools = (tool("a", "webhook", "https://own.test/"), tool("b", "record"), tool("c", "webhook"))
    async with open_executor(settings, tools) as executor:
        assert await ran(executor, "a") == {"by": "https://own.test/"}
        assert (await ran(executor, "b"))["recorded"] is True
        assert await ran(executor, "c") == {"by": "https://all.test/"}
        assert await ran(executor, "send_sms") == {"by": "https://all.test/"}


async def test_without_a_webhook_what_is_no_tool_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool's own webhook takes nothing but that tool."""
    monkeypatch.setattr("agent.actions.webhook.WebhookExecutor", Named)
    async with open_executor(ActionSettings(), (tool("a", "webhook", "https://own.test/"),)) as executor:
        assert await ran(executor, "a") == {"by": "https://own.test/"}
        assert (await ran(executor, "send_sms"))["recorded"] is True


async def test_a_webhook_that_nobody_has_given_is_asked_for() -> None:
    """It is not recorded in silence."""
    with pytest.raises(UsageError, match="the tool a runs at a webhook: give it a url"):
        await open_executor(ActionSettings(), (tool("a", "webhook"),)).__aenter__()
