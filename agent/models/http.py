"""Asks a service over HTTP in any `ServiceProtocol`, and reads its answer as server-sent events.

Strategy: one request is one POST of `agent.http_client`, on its own connection. This module has no time limits and no
retries: the wrappers in `model_wrappers` add them. When a server refuses a request, its sentence is read, within bounds
and without secrets (`refusal`).
"""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from email.utils import parsedate_to_datetime
from math import isfinite
from urllib.parse import urlsplit

import httpx
import trio

from ..errors import ModelFailed
from ..http_client import FAILURES, HttpAnswer, HttpClient
from ..ports.model import Finish, ModelRequest, Piece
from .encoding import encode
from .refusal import REFUSAL_BYTES, advise, is_too_long, read_refusal
from .settings import MODEL_ANSWER_MAX, MODEL_EVENT_MAX
from .shape import ServiceAddress, ServiceProtocol, fault_of
from .sse import EventReader, ServerEvent

_REFUSAL_SECONDS = 2.0  # for the sentence of a refusal to come


class HttpModel:
    """A model behind a service's protocol (a `LanguageModel`).

    `transport`: makes the carrier of one request; None is the network.
    """

    def __init__(
        self, shape: ServiceProtocol, transport: Callable[[], httpx.AsyncBaseTransport] | None = None
    ) -> None:
        self._shape = shape
        place = shape.address
        self._client = HttpClient(place.url, {"Accept": "text/event-stream", **place.headers}, transport)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield the answer. When it returns, is closed or cancelled, the connection is closed."""
        body = encode(self._shape.make_body(request))
        answer = self._shape.make_reader()
        finish = None
        async with aclosing(self._read_events(body, request)) as events:
            async for event in events:
                for piece in answer.read_event(event.data):
                    if isinstance(piece, Finish):
                        finish = piece
                    else:
                        yield piece
                if finish is not None:
                    break
        if finish is None:
            raise ModelFailed("the model's answer ended before its end", "cut")
        yield finish

    async def _read_events(self, body: bytes, request: ModelRequest) -> AsyncGenerator[ServerEvent, None]:
        """Yield the events of one answer.

        Failures of httpx become `ModelFailed` without the text of httpx, which may hold the key.
        """
        reader, bytes_read, has_answer, failure = EventReader(MODEL_EVENT_MAX), 0, False, None
        try:
            async with self._client.post(body) as answer:
                has_answer = True
                if not answer.head.is_success:
                    raise await self._explain_refusal(answer, request)
                _check_kind(answer.head)
                async for piece in answer.body:
                    bytes_read += len(piece)
                    if bytes_read > MODEL_ANSWER_MAX:
                        raise ModelFailed(f"the model answered over {MODEL_ANSWER_MAX} bytes", "protocol")
                    for event in reader.feed(piece):
                        yield event
        except FAILURES as error:
            failure = _make_failure(has_answer, error)
        if failure is not None:
            raise failure

    async def _explain_refusal(self, answer: HttpAnswer, request: ModelRequest) -> ModelFailed:
        """Return the failure of a request that the server refused, with the sentence that the server gives."""
        status, address = answer.head.status_code, self._shape.address
        body = bytearray()
        with trio.move_on_after(_REFUSAL_SECONDS), suppress(*FAILURES):
            async for piece in answer.body:
                body += piece[: REFUSAL_BYTES - len(body)]
                if len(body) == REFUSAL_BYTES:
                    break
        too_long = status in (400, 413, 422) and is_too_long(bytes(body))
        advice = advise(status, address.key, too_long)
        return ModelFailed(
            f"the model's server refused the request (status {status}): {advice}",
            "length" if too_long else fault_of(status),
            parse_retry_after(answer.head.headers.get("retry-after"), time.time()),
            read_refusal(bytes(body), _list_keys(address), (message.text for message in request.messages)),
        )


def _list_keys(address: ServiceAddress) -> list[str]:
    """Return the credentials that a request carries: in its headers and in its address."""
    parts = urlsplit(address.url)
    headers = [
        address.headers.get(name, "").removeprefix("Bearer ") for name in ("Authorization", "x-api-key")
    ]
    return [key for key in (*headers, parts.username, parts.password) if key]


def _make_failure(has_answer: bool, error: Exception) -> ModelFailed:
    """Return the failure of a connection. It names only the type of `error`."""
    why = type(error).__name__
    if has_answer:
        return ModelFailed(f"the model's answer ended before its end ({why})", "cut")
    if isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol | httpx.InvalidURL):
        return ModelFailed(f"the request cannot be sent ({why}): see base-url", "request")
    return ModelFailed(
        f"the model's server cannot be reached ({why}): start it, or correct base-url", "connect"
    )


def _check_kind(response: httpx.Response) -> None:
    """Raise `ModelFailed` unless the response is a stream of events."""
    if response.headers.get("content-type", "").split(";")[0].strip().lower() != "text/event-stream":
        raise ModelFailed(
            "the model's server did not answer with a stream of events: see base-url", "protocol"
        )


def parse_retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds of a `Retry-After` header, given as seconds or as a date; None when it holds neither.

    `now`: Unix time in seconds.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if isfinite(seconds) else None
