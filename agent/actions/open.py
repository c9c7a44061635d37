"""Makes the executor that the settings name; httpx is imported only for a webhook.

To add an action: put its keywords in a field of `Keywords` in `agent.lang.acting`, and the parts of its payload that
come from the user's text in `agent.intents.triggers`. One executor carries out all actions, except tools of the
operator with a place of their own. The webhook POSTs `{suggestionId, action, payload}` with an `Idempotency-Key`. To
add an executor, follow `agent/guide/extending.md`. Nothing outside the process may happen before `begin()`: that makes
a cancel before it safe, and a second run impossible.
"""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager

from ..errors import UsageError
from ..ports.action import Executor
from ..ports.tools import RunsAt, ToolDefinition
from ..protocol.url import is_web_address
from .executors import DispatchExecutor, RecordExecutor
from .settings import ActionSettings


@asynccontextmanager
async def open_executor(
    settings: ActionSettings,
    tools: Iterable[ToolDefinition] = (),
    by_server: Mapping[str, Executor] | None = None,
    own: Mapping[str, Executor] | None = None,
    functions: Executor | None = None,
) -> AsyncGenerator[Executor, None]:
    """Open the executor for the time of a block: the webhook if it has a URL, else one that only records.

    `tools`: the operator's tools. One that its caller runs is skipped, one with its own URL is posted there, one whose
    `runs_at` is in `places` goes to the executor there, and a function goes to `functions`; every other action goes to
    the default. `by_server`: the executors of MCP servers. `own`: executors of the server's own actions, whose names no
    tool may have. `functions`: the executor of all calls that run as functions.

    Raises `agent.errors.UsageError`, without the URL's text, if the URL is not a web address, or a tool runs at a
    webhook without a URL.
    """
    before, after = settings.action_delay_ms
    record = RecordExecutor(before / 1000, after / 1000)
    places: dict[RunsAt, Executor] = {"record": record}
    otherwise: Executor = record
    if settings.action_webhook is not None:
        if not is_web_address(settings.action_webhook):
            raise UsageError("action-webhook must be a URL like https://example.com/hook")
        otherwise = _make_webhook(settings.action_webhook)
    by_name: dict[str, Executor] = dict(own or {})
    for tool in tools:
        if own and tool.name in own:
            raise UsageError(
                f"the tool {tool.name} has the name of one of the server's own actions: rename it"
            )
        if tool.runs_at in ("caller", "function"):
            continue
        if tool.runs_at in places:
            by_name[tool.name] = places[tool.runs_at]
        elif tool.url is not None:
            by_name[tool.name] = _make_webhook(tool.url)
        elif settings.action_webhook is None:
            raise UsageError(
                f"the tool {tool.name} runs at a webhook: give it a url, or set action-webhook for all tools"
            )
    named = by_name or by_server or functions
    yield DispatchExecutor(by_name, otherwise, by_server, functions) if named else otherwise


def _make_webhook(url: str) -> Executor:
    from .webhook import WebhookExecutor

    return WebhookExecutor(url)
