"""Carries out an action by one POST to the operator's URL.

`begin()` is called when the connection stands (TLS included) and before the first byte of the request leaves, which
`agent.http_client` tells. So everything up to there is without an effect: not connected is `ActionFailed`, and a
cancel there is a plain cancel. From there on only the answer's status can tell: a 2xx says that it was done, a 4xx that
nothing was, and anything else (3xx, 5xx, silence, a reset, an answer too long) leaves it unknown. So do four of the
4xx, which servers and what stands before them also give while the request, or another with its key, is being done.

One client and one connection per action, none kept (see `agent.http_client`): a kept connection may be dead, and
whether a request on it arrived could not be told. Nothing is retried. Messages and logs hold neither the URL nor the
payload.
"""

from collections.abc import Callable, Mapping
from typing import Any

import httpx
import msgspec
import trio

from ..config import MAX_NESTING, WEBHOOK_ANSWER_MAX, WEBHOOK_TIMEOUT
from ..errors import ActionFailed, ActionUnknown
from ..http_client import Answer, HttpClient
from ..ports.action import Call
from ..protocol.payload import deeper_than

_UNDECIDED = frozenset(
    {
        408,  # somebody was tired of waiting, perhaps for a server that had begun
        409,  # the idempotency key is known: what it stands for is in progress, or was done
        425,  # the request may be replayed by what stands between
        429,  # what stands between may try again by itself, and tells how the last try went
    }
)
_CONNECTIONS = 100  # at once; one more waits, and fails like any that cannot connect


class WebhookExecutor:
    """POSTs `{suggestionId, action, payload}` as JSON, with the suggestion id as `Idempotency-Key`.

    url: http or https; user and password in it are sent as basic authentication.
    transport: makes what carries one request; None is the network.
    """

    def __init__(self, url: str, transport: Callable[[], httpx.AsyncBaseTransport] | None = None) -> None:
        self._client = HttpClient(url, {"Accept": "application/json"}, transport)
        self._connections = trio.CapacityLimiter(_CONNECTIONS)

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """POST the call and return the JSON answer of a 2xx ({} when it is not JSON).

        Raises `ActionFailed` when not connected or on a 4xx that says nothing was done, `ActionUnknown` when the
        request began and neither that nor a 2xx came back within WEBHOOK_TIMEOUT seconds of the start. On cancel
        the connection is closed.
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
                    return await _outcome(answer)
            except httpx.HTTPError as error:
                raise _cut_short(begun, type(error).__name__) from None
        raise _cut_short(begun, f"no answer in {WEBHOOK_TIMEOUT:g} s")


def _cut_short(begun: bool, why: str) -> ActionFailed | ActionUnknown:
    """Return the error for an exchange that ended without a status; `why` holds no text of the request."""
    if begun:
        return ActionUnknown(f"The webhook was called but its outcome is not known ({why}).")
    return ActionFailed(f"The webhook could not be reached ({why}).")


async def _outcome(answer: Answer) -> Mapping[str, Any]:
    status = answer.head.status_code
    if answer.head.is_client_error and status not in _UNDECIDED:
        raise ActionFailed(f"The webhook refused the action (status {status}).")
    if not answer.head.is_success:
        raise ActionUnknown(f"The webhook was called but its outcome is not known (status {status}).")
    body = await answer.within(WEBHOOK_ANSWER_MAX)
    if body is None:
        raise ActionUnknown(
            f"The webhook was called but its outcome is not known (answer over {WEBHOOK_ANSWER_MAX} bytes)."
        )
    return _data(body)


def _data(answer: bytes) -> Mapping[str, Any]:
    """Return a JSON object as it is, any other JSON value under `answer`, and what cannot be shown as {}."""
    try:
        value = msgspec.json.decode(answer)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return {}
    if deeper_than(MAX_NESTING, value):
        return {}
    return value if isinstance(value, dict) else {"answer": value}
