"""Sends a request to another server over HTTP, on a connection of its own: for models, actions and served vectors.

Each request has one client and one connection, and no connection is reused: the other side may have closed it, which
shows only at the next request (measured against a server of llama.cpp: 3 of 10), and a request that is cancelled after
its connection was made, before its first byte, leaves that connection in httpcore's pool for good, where it counts
towards the pool's limit. No redirect is followed, no proxy or credential is taken from the environment, no cookie is
kept. httpx's own loggers, which write addresses, are raised to WARNING. There are no timeouts and no retries here:
these are left to the caller.

An answer that is left early is closed first and then read until that fails: httpx nests generators, and closing the
outermost alone would leave the others to the garbage collector. A request that is cancelled while it is sent would
leave a generator that gives httpx the body, so `RequestBody` is none. A request that is cancelled in its TLS handshake
would leave its connection, so connections are recorded as they are made (httpcore's trace extension) and closed here.

An answer's bytes are counted as they arrive and not by their announced length, so that a server that announces no
length, or a wrong one, fills no memory. httpx takes a while to import, so only modules that ask other servers import
this one.
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

HTTP_LEAVE_TIMEOUT = 1.0  # for letting go of an answer, and of its connection

FAILURES = (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError, UnicodeError)
"""The exceptions of a request and its answer. Their texts hold the sent data and the address."""

_CONNECTED = "connection.connect_tcp.complete"
_SENDING = "http11.send_request_headers.started"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer whose head has come. `body`: its bytes as they come over the wire, read at most once."""

    head: httpx.Response
    body: AsyncIterator[bytes]

    async def read_body(self, most: int) -> bytes | None:
        """Return the whole body, or `None` when it is longer than `most` bytes, read no further.

        Raises `httpx.HTTPError` when it breaks off before its end.
        """
        read = bytearray()
        async for piece in self.body:
            read += piece
            if len(read) > most:
                return None
        return bytes(read)


class HttpClient:
    """Sends requests to one address.

    `url`: http or https; user and password in it are sent as basic authentication. `headers`: sent with each request.
    `transport`: makes the transport of one request; `None` means the network.
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
        self._transport = transport or _find_transport(url)

    @asynccontextmanager
    async def post(
        self,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        sending: Callable[[], None] | None = None,
        method: str = "POST",
    ) -> AsyncGenerator[HttpAnswer, None]:
        """POST a body and yield the answer once its head has come, for the time of a block.

        `headers`: sent with this request only. `sending`: called when the connection is made (TLS included), before the
        first byte of the request leaves; its exceptions end the request there. `method`: another one, such as `GET`.

        Raises one of `FAILURES`. On leaving, also by a cancel, the answer and then the connection are closed, each
        within `HTTP_LEAVE_TIMEOUT` seconds.
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
                    method, self._url, content=body, headers=headers, extensions={"trace": trace}
                )
                request.stream = RequestBody(body)
                response = await client.send(request, stream=True)
                pieces = response.aiter_raw()
                try:
                    yield HttpAnswer(response, pieces)
                finally:
                    await _close_response(response, pieces)
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


class RequestBody(httpx.AsyncByteStream):
    """A body that is sent in one piece, also when httpx iterates over it again."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __aiter__(self) -> AsyncIterator[bytes]:
        return OnePiece(self._body)


class OnePiece:
    def __init__(self, body: bytes) -> None:
        self._left = [body]

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self._left:
            raise StopAsyncIteration
        return self._left.pop()


def _find_transport(url: str) -> Callable[[], httpx.AsyncBaseTransport]:
    """Return a function that makes transports to `url`. Authorities are read once, 30 ms, and only for TLS."""
    if url.lower().startswith("https:"):
        trusted = httpx.create_ssl_context(trust_env=False)
    else:
        trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts no authority: it is never used
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=0)
    return lambda: httpx.AsyncHTTPTransport(verify=trusted, trust_env=False, limits=limits)


async def _close_response(response: httpx.Response, pieces: AsyncIterator[bytes]) -> None:
    with trio.move_on_after(HTTP_LEAVE_TIMEOUT, shield=True):
        await response.aclose()
        with suppress(*FAILURES):
            async for _ in pieces:
                pass
