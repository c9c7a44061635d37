"""Names the executor that the settings ask for; httpx is imported only when one needs it.

To add an action: its keywords go to a field of `Keywords` in `agent.lang.language`, and what its payload takes from
the user's text to `_payload` in `triggers`. All actions are carried out by one executor: the webhook POSTs
`{suggestionId, action, payload}` with an `Idempotency-Key`; another is a class with `run(call, begin)` (see
`agent.ports.action`), opened here and added to the contract in tests/contracts/. Nothing outside the process may happen
before `begin()`: that is what makes a cancel before it safe, and a second run impossible.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from urllib.parse import urlsplit

from ..errors import UsageError
from ..ports.action import Executor
from .executors import RecordExecutor
from .settings import ActionSettings


@asynccontextmanager
async def opened_executor(settings: ActionSettings) -> AsyncGenerator[Executor, None]:
    """Give, for the time of a block, the webhook executor when there is a URL for it, else the one that only records.

    Raises `agent.errors.UsageError`, without the URL's text, when the URL cannot be called or httpx is not installed.
    """
    if settings.action_webhook is None:
        before, after = settings.action_delay_ms
        yield RecordExecutor(before / 1000, after / 1000)
        return
    _check_url(settings.action_webhook)
    if find_spec("httpx") is None:
        raise UsageError("action-webhook needs httpx: pip install 'agent-server[webhook]'")
    from .webhook import WebhookExecutor

    yield WebhookExecutor(settings.action_webhook)


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        raise UsageError("action-webhook must be a URL like https://example.com/hook")
