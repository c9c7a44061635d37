"""Names the executor that the settings ask for; httpx is imported only when one needs it.

To add an action: its keywords go to a field of `Keywords` in `agent.lang.language`, and what its payload takes from the
user's text to `_payload` in `triggers`. Actions are carried out by one executor, but for tools of the operator that say
otherwise: the webhook POSTs `{suggestionId, action, payload}` with an `Idempotency-Key`; another is a class with
`run(call, begin)` (see `agent.ports.action`), opened here and added to the contract in tests/contracts/. Nothing
outside the process may happen before `begin()`: that is what makes a cancel before it safe, and a second run
impossible.
"""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec

from ..errors import UsageError
from ..ports.action import Executor
from ..ports.tools import ToolDefinition
from ..protocol.url import is_web_address
from .dispatch import DispatchExecutor
from .executors import RecordExecutor
from .settings import ActionSettings


@asynccontextmanager
async def opened_executor(
    settings: ActionSettings,
    tools: Iterable[ToolDefinition] = (),
    by_server: Mapping[str, Executor] | None = None,
    own: Mapping[str, Executor] | None = None,
) -> AsyncGenerator[Executor, None]:
    """Give, for the time of a block, the webhook executor when there is a URL for it, else the one that only records.

    tools: the operator's. One that its caller runs is passed over, one with a URL of its own is carried out there, one
    that is to be recorded is recorded, and every other action goes where it would without them. by_server: what calls
    the tools of each MCP server. own: what carries out actions of the server itself, whose names no tool may have.
    Raises `agent.errors.UsageError`, without the URL's text, when the URL cannot be called or httpx is not installed,
    and when a tool runs at a webhook that nobody has given.
    """
    before, after = settings.action_delay_ms
    record = RecordExecutor(before / 1000, after / 1000)
    otherwise: Executor = record
    if settings.action_webhook is not None:
        if not is_web_address(settings.action_webhook):
            raise UsageError("action-webhook must be a URL like https://example.com/hook")
        otherwise = _webhook("action-webhook", settings.action_webhook)
    by_name: dict[str, Executor] = dict(own or {})
    for tool in tools:
        if own and tool.name in own:
            raise UsageError(
                f"the tool {tool.name} has the name of an action of the server's own: give it another"
            )
        if tool.runs_at == "caller":
            continue
        if tool.runs_at == "record":
            by_name[tool.name] = record
        elif tool.url is not None:
            by_name[tool.name] = _webhook(f"the url of the tool {tool.name}", tool.url)
        elif settings.action_webhook is None:
            raise UsageError(
                f"the tool {tool.name} runs at a webhook: give it a url, or all with action-webhook"
            )
    yield DispatchExecutor(by_name, otherwise, by_server) if by_name or by_server else otherwise


def can_post() -> bool:
    """Return whether httpx, which calls webhooks, is installed."""
    return find_spec("httpx") is not None


def _webhook(setting: str, url: str) -> Executor:
    if not can_post():
        raise UsageError(f"{setting} needs httpx: pip install 'agent-server[webhook]'")
    from .webhook import WebhookExecutor

    return WebhookExecutor(url)
