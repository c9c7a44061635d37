"""Asks a service over HTTP, whatever its protocol is, and reads its answer as server-sent events.

Strategy: one request is one POST of `agent.http_client`, on a connection of its own. Nothing waits by a clock here and
nothing is tried again: that is for whoever holds this model. What a server says of its failure is not read, since it
may repeat what it was sent.
"""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from email.utils import parsedate_to_datetime
from math import isfinite

import httpx

from ..config import MODEL_ANSWER_MAX, MODEL_EVENT_MAX
from ..errors import ModelFailed
from ..http_client import FAILURES, HttpClient
from ..ports.model import Finished, Piece, Request
from .encoding import encoded
from .shape import Shape, fault_of
from .sse import Event, EventReader


class HttpModel:
    """A model behind a service's protocol (a `LanguageModel`).

    transport: makes what carries one request; None is the network.
    """

    def __init__(self, shape: Shape, transport: Callable[[], httpx.AsyncBaseTransport] | None = None) -> None:
        self._shape = shape
        place = shape.place
        self._client = HttpClient(place.url, {"Accept": "text/event-stream", **place.headers}, transport)

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the answer. The connection is closed when it returns, is closed or cancelled."""
        body = encoded(self._shape.body(request))
        answer = self._shape.answer()
        finished = None
        async with aclosing(self._events(body)) as events:
            async for event in events:
                for piece in answer.take(event.data):
                    if isinstance(piece, Finished):
                        finished = piece
                    else:
                        yield piece
                if finished is not None:
                    break
        if finished is None:
            raise ModelFailed("the model's answer ended before its end", "cut")
        yield finished

    async def _events(self, body: bytes) -> AsyncGenerator[Event, None]:
        """Yield the events of one answer; every failure of httpx is ours, and holds none of its: they hold the key."""
        reader, read, begun, failure = EventReader(MODEL_EVENT_MAX), 0, False, None
        try:
            async with self._client.post(body) as answer:
                begun = True
                _accept(answer.head, self._shape.place.key)
                async for piece in answer.body:
                    read += len(piece)
                    if read > MODEL_ANSWER_MAX:
                        raise ModelFailed(f"the model answered over {MODEL_ANSWER_MAX} bytes", "protocol")
                    for event in reader.feed(piece):
                        yield event
        except FAILURES as error:
            failure = _failed(begun, error)
        if failure is not None:
            raise failure


def _failed(begun: bool, error: Exception) -> ModelFailed:
    """Return the failure of a connection; of the error only its type is told."""
    why = type(error).__name__
    if begun:
        return ModelFailed(f"the model's answer ended before its end ({why})", "cut")
    if isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol | httpx.InvalidURL):
        return ModelFailed(f"the request cannot be sent ({why}): see base-url", "request")
    return ModelFailed(f"the model's server is not reached ({why})", "connect")


def _accept(response: httpx.Response, key: str) -> None:
    """Raise `ModelFailed` unless the answer is a stream of events."""
    status = response.status_code
    if not response.is_success:
        kind = fault_of(status)
        hint = {
            "auth": f": see {key}",
            "request": ": see the model's name, base-url, and how long a prompt it takes",
        }.get(kind, "")
        message = f"the model's server refused the request (status {status}){hint}"
        raise ModelFailed(message, kind, retry_after(response.headers.get("retry-after"), time.time()))
    if response.headers.get("content-type", "").split(";")[0].strip().lower() != "text/event-stream":
        raise ModelFailed("the model's server answered something else than a stream of events", "protocol")


def retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds that a Retry-After header asks for, given as such or as a date; None where it says nothing.

    now: Unix time in seconds.
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
