"""Asks another server over HTTP: one POST, on a connection of its own. Models, actions and served vectors do so.

One client and one connection a request, and none is kept: a kept one may have been closed by the other side, which
shows only at the next request (measured against a server of llama.cpp: 3 of 10), and a request that is cancelled once
its connection stands, before its first byte, leaves that connection in httpcore's pool for good, counted among the
pool's most. No redirect is followed, no proxy or credential is taken from the environment, no cookie is kept. httpx's
own loggers, which tell addresses, are raised to WARNING. Nothing waits by a clock here and nothing is tried again: that
is for whoever asks.

An answer that is left early is closed first and then read until that fails: httpx nests generators, and closing the
outermost alone would leave the others to the garbage collector. A request that is cancelled while it is sent would
leave the one that gives httpx the body, so ours is no generator. One that is cancelled in its TLS handshake would leave
its connection, so connections are noted as they are made (httpcore's trace extension) and closed here.

An answer's bytes are counted as they come and not as they are announced, so that a server which announces nothing, or
something else, fills no memory. httpx is installed only with what asks other servers, so those alone import this.
"""

import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx
import trio

from .config import HTTP_LEAVE_TIMEOUT

FAILURES = (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError, UnicodeError)
"""What a request and its answer may raise. Their texts hold what was sent, and where to."""

_CONNECTED = "connection.connect_tcp.complete"
_SENDING = "http11.send_request_headers.started"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer whose head has come. body: its bytes as they come over the wire, read at most once."""

    head: httpx.Response
    body: AsyncIterator[bytes]

    async def within(self, most: int) -> bytes | None:
        """Return the whole body, or None when it is longer than `most` bytes, read no further.

        Raises httpx.HTTPError when it breaks off before.
        """
        read = bytearray()
        async for piece in self.body:
            read += piece
            if len(read) > most:
                return None
        return bytes(read)


class HttpClient:
    """Asks one address.

    url: http or https; user and password in it are sent as basic authentication. headers: sent with each request.
    transport: makes what carries one request; None is the network.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        transport: Callable[[], httpx.AsyncBaseTransport] | None = None,
    ) -> None:
        for name in ("httpx", "httpcore"):
            logging.getLogger(name).setLevel(logging.WARNING)
        self._url = url
        self._headers = {"Accept-Encoding": "identity", "Content-Type": "application/json", **headers}
        self._transport = transport or _network(url)

    @asynccontextmanager
    async def post(
        self,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        sending: Callable[[], None] | None = None,
    ) -> AsyncGenerator[Answer, None]:
        """POST a body and give, for the time of a block, the answer, once its head has come.

        headers: sent with this request only. sending: called when the connection stands (TLS included) and before the
        first byte of the request leaves; what it raises ends the request there.

        Raises one of FAILURES. Left at any moment, cancelled too, the answer and then the connection are closed, each
        within HTTP_LEAVE_TIMEOUT seconds.
        """
        connections: list[Any] = []

        async def trace(event: str, info: Mapping[str, Any]) -> None:
            if event == _CONNECTED:
                connections.append(info["return_value"])
            elif event == _SENDING and sending is not None:
                sending()

        try:
            async with self._client() as client:
                request = client.build_request(
                    "POST", self._url, content=body, headers=headers, extensions={"trace": trace}
                )
                request.stream = _Body(body)
                response = await client.send(request, stream=True)
                pieces = response.aiter_raw()
                try:
                    yield Answer(response, pieces)
                finally:
                    await _leave(response, pieces)
        finally:
            with trio.move_on_after(HTTP_LEAVE_TIMEOUT, shield=True):
                for connection in connections:
                    await connection.aclose()

    def _client(self) -> httpx.AsyncClient:
        """Return a client for one request."""
        return httpx.AsyncClient(
            transport=self._transport(),
            timeout=None,
            trust_env=False,
            follow_redirects=False,
            headers=self._headers,
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
    if url.lower().startswith("https:"):
        trusted = httpx.create_ssl_context(trust_env=False)
    else:
        trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody: it is never asked
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=0)
    return lambda: httpx.AsyncHTTPTransport(verify=trusted, trust_env=False, limits=limits)


async def _leave(response: httpx.Response, pieces: AsyncIterator[bytes]) -> None:
    with trio.move_on_after(HTTP_LEAVE_TIMEOUT, shield=True):
        await response.aclose()
        with suppress(*FAILURES):
            async for _ in pieces:
                pass
