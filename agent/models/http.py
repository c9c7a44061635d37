"""Asks a service over HTTP, whatever its protocol is, and reads its answer as server-sent events.

One client and one connection a request, and none is kept: a kept one may have been closed by the other side, which
shows only at the next request (measured against a server of llama.cpp: 3 of 10), and a request that is cancelled at
the wrong moment stays in httpcore's pool for good. No redirect is followed, no proxy or credential is taken from the
environment, no cookie is kept. Nothing waits by a clock here and nothing is tried again: that is for whoever holds this
model. What a server says of its failure is not read, since it may repeat what it was sent.

An answer that is left early is closed first and then read until that fails: httpx nests generators, and closing the
outermost alone would leave the others to the garbage collector. A request that is cancelled while it is sent would
leave the one that gives httpx the body, so ours is no generator. One that is cancelled in its TLS handshake would leave
its connection, so connections are noted as they are made (httpcore's trace extension) and closed here.
"""

import logging
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from math import isfinite
from typing import Any

import httpx
import trio

from ..config import MODEL_ANSWER_MAX, MODEL_EVENT_MAX, MODEL_LEAVE_TIMEOUT
from ..errors import ModelFailed
from ..ports.model import Finished, Piece, Request
from .encoding import encoded
from .shape import Shape, fault_of
from .sse import Event, EventReader

_CONNECTED = "connection.connect_tcp.complete"
_FOREIGN = (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError, UnicodeError)


class HttpModel:
    """A model behind a service's protocol (a `LanguageModel`).

    transport: makes what carries one request; None is the network.
    """

    def __init__(self, shape: Shape, transport: Callable[[], httpx.AsyncBaseTransport] | None = None) -> None:
        for name in ("httpx", "httpcore"):
            logging.getLogger(name).setLevel(logging.WARNING)
        self._shape = shape
        self._transport = transport or _network(shape.place.url)

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
        place = self._shape.place
        connections: list[Any] = []

        async def trace(event: str, info: Mapping[str, Any]) -> None:
            if event == _CONNECTED:
                connections.append(info["return_value"])

        try:
            async with self._client() as client:
                headers = {**place.headers, "Content-Length": str(len(body))}
                request = client.build_request(
                    "POST", place.url, headers=headers, extensions={"trace": trace}
                )
                request.stream = _Body(body)
                response = await client.send(request, stream=True)
                pieces = response.aiter_raw()
                try:
                    begun = True
                    _accept(response, place.key)
                    async for piece in pieces:
                        read += len(piece)
                        if read > MODEL_ANSWER_MAX:
                            raise ModelFailed(f"the model answered over {MODEL_ANSWER_MAX} bytes", "protocol")
                        for event in reader.feed(piece):
                            yield event
                finally:
                    await _leave(response, pieces)
        except _FOREIGN as error:
            failure = _failed(begun, error)
        finally:
            with trio.move_on_after(MODEL_LEAVE_TIMEOUT, shield=True):
                for connection in connections:
                    await connection.aclose()
        if failure is not None:
            raise failure

    def _client(self) -> httpx.AsyncClient:
        """Return a client for one request."""
        return httpx.AsyncClient(
            transport=self._transport(),
            timeout=None,
            trust_env=False,
            follow_redirects=False,
            headers={
                "Accept": "text/event-stream",
                "Accept-Encoding": "identity",
                "Content-Type": "application/json",
            },
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )


class _Body(httpx.AsyncByteStream):
    """Gives a body in one piece, each time that it is asked for."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _Once(self._body)


class _Once:
    def __init__(self, body: bytes) -> None:
        self._left = [body]

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self._left:
            raise StopAsyncIteration
        return self._left.pop()


def _network(url: str) -> Callable[[], httpx.AsyncBaseTransport]:
    """Return what makes connections to `url`. Authorities are read once, 30 ms, and only where there is TLS."""
    if url.startswith("https:"):
        trusted = httpx.create_ssl_context(trust_env=False)
    else:
        trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody: it is never asked
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=0)
    return lambda: httpx.AsyncHTTPTransport(verify=trusted, trust_env=False, limits=limits)


async def _leave(response: httpx.Response, pieces: AsyncIterator[bytes]) -> None:
    with trio.move_on_after(MODEL_LEAVE_TIMEOUT, shield=True):
        await response.aclose()
        with suppress(*_FOREIGN):
            async for _ in pieces:
                pass


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
