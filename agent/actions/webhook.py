"""Carries out an action by one POST to the operator's URL.

`begin()` is called when the connection stands (TLS included) and before the first byte of the request leaves;
`agent.http_client` reports that moment. Up to there nothing has an effect: a failed connection is `ActionFailed`, and a
cancel is a plain cancel. From there on only the status of the answer decides: a 2xx means done, a 4xx means nothing was
done, and anything else (3xx, 5xx, silence, a reset, an answer too long) is unknown. So are four of the 4xx, which
servers and proxies also give while the request, or another with its key, is in progress.

Each action has its own client and connection, and none is reused (see `agent.http_client`): a reused connection may be
dead, without a way to tell whether the request arrived. Nothing is retried. Messages and logs hold neither the URL nor
the payload.
"""

from collections.abc import Callable, Mapping
from typing import Any

import httpx
import msgspec
import trio

from ..config import MAX_NESTING, WEBHOOK_TIMEOUT
from ..errors import ActionFailed, ActionUnknown
from ..http_client import HttpAnswer, HttpClient
from ..ports.action import Call
from ..protocol.payload import is_deeper_than

WEBHOOK_ANSWER_MAX = 16 * 1024

_UNDECIDED = frozenset(
    {
        408,  # a proxy timed out, perhaps after the server had begun
        409,  # the idempotency key is known: its action is in progress, or done
        425,  # a proxy may replay the request
        429,  # a proxy may try again by itself, and reports the last try
    }
)
_CONNECTIONS = 100  # at once; one more waits, and fails as not connected


class WebhookExecutor:
    """POSTs `{suggestionId, action, payload}` as JSON, with the suggestion id as `Idempotency-Key`.

    `url`: http or https; user and password in it are sent as basic authentication. `transport`: makes the transport of
    one request; None is the network.
    """

    def __init__(self, url: str, transport: Callable[[], httpx.AsyncBaseTransport] | None = None) -> None:
        self._client = HttpClient(url, {"Accept": "application/json"}, transport)
        self._connections = trio.CapacityLimiter(_CONNECTIONS)

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """POST the call and return the JSON answer of a 2xx ({} for another body).

        Raises `ActionFailed` if not connected or on a 4xx that means nothing was done, and `ActionUnknown` if the
        request began and neither that nor a 2xx came back within `WEBHOOK_TIMEOUT` seconds of the start. On cancel the
        connection is closed.
        """
        begun = False

        def sending() -> None:
            nonlocal begun
            begin()
            begun = True

        body = {"suggestionId": call.suggestion_id, "action": call.action, "payload": dict(call.payload)}
        headers = {"Idempotency-Key": call.suggestion_id}
        with trio.move_on_after(WEBHOOK_TIMEOUT):
            try:
                async with (
                    self._connections,
                    self._client.post(msgspec.json.encode(body), headers, sending) as answer,
                ):
                    return await _read_outcome(answer)
            except httpx.HTTPError as error:
                raise _make_cut_error(begun, type(error).__name__) from None
        raise _make_cut_error(begun, f"no answer in {WEBHOOK_TIMEOUT:g} s")


def _make_cut_error(begun: bool, why: str) -> ActionFailed | ActionUnknown:
    """Return the error for an exchange that ended without a status; `why` holds no text of the request."""
    if begun:
        return ActionUnknown(f"The webhook was called but its outcome is not known ({why}).")
    return ActionFailed(f"The webhook could not be reached ({why}).")


async def _read_outcome(answer: HttpAnswer) -> Mapping[str, Any]:
    status = answer.head.status_code
    if answer.head.is_client_error and status not in _UNDECIDED:
        raise ActionFailed(f"The webhook refused the action (status {status}).")
    if not answer.head.is_success:
        raise ActionUnknown(f"The webhook was called but its outcome is not known (status {status}).")
    body = await answer.read_body(WEBHOOK_ANSWER_MAX)
    if body is None:
        raise ActionUnknown(
            f"The webhook was called but its outcome is not known (answer over {WEBHOOK_ANSWER_MAX} bytes)."
        )
    return _parse_body(body)


def _parse_body(answer: bytes) -> Mapping[str, Any]:
    """Return a JSON object unchanged, any other JSON value under `answer`, and {} for a body that is too deep or not
    JSON.
    """
    try:
        value = msgspec.json.decode(answer)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return {}
    if is_deeper_than(MAX_NESTING, value):
        return {}
    return value if isinstance(value, dict) else {"answer": value}
