"""One request through hypercorn's trio server, behind a stream of ours.

hypercorn's `TCPServer` is not documented API, so everything that touches it is in this file and its minor version is
pinned. It sees a stream that first gives the rewritten head and then nothing: whatever else the client sends is read
and dropped, so no second request exists for it. Its writes are shielded without a deadline; ours give them one, and
end them when the connection is cancelled.
"""

import logging
import socket
from typing import Any

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from starlette.types import ASGIApp

from ..config import HEAD_MAX, HTTP_TIMEOUT, WRITE_TIMEOUT
from .sniff import Head, hang_up

_READ = 4096


class HttpServer:
    """Answers one plain HTTP request per connection with an ASGI application."""

    def __init__(self, app: ASGIApp) -> None:
        wrapped: Any = app  # hypercorn's ASGI types are TypedDicts, Starlette's are mappings
        self._app = ASGIWrapper(wrapped)
        self._config = Config()
        self._config.errorlog = logging.getLogger("agent.http")
        self._config.h11_max_incomplete_size = 2 * HEAD_MAX  # rewriting can lengthen a head
        self._config.include_server_header = False

    async def serve(self, stream: trio.abc.Stream, head: Head) -> None:
        """Answer the request that `head` is, within HTTP_TIMEOUT seconds, and hang up.

        Cancelled, a write that blocks ends too.
        """
        request: Any = _OneRequest(stream, head)
        server = TCPServer(self._app, self._config, WorkerContext(None), {}, request)
        with trio.move_on_after(HTTP_TIMEOUT):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(request.give_up_when_cancelled)
                await server.run()
                nursery.cancel_scope.cancel()
        await hang_up(stream)


class _NoAddress:
    """Stands where hypercorn looks for a socket's addresses, which over memory streams do not exist."""

    family = socket.AF_UNSPEC

    def getpeername(self) -> None:
        """Return nothing."""

    def getsockname(self) -> None:
        """Return nothing."""


class _OneRequest:
    """The stream that hypercorn sees. Closing it closes nothing yet: `hang_up` does, gently."""

    def __init__(self, raw: trio.abc.Stream, head: Head) -> None:
        self.socket = _NoAddress()
        self._raw = raw
        self._head = head.rewritten()
        self._reading = trio.CancelScope()
        self._writing = trio.CancelScope()
        self._closed = False

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return the head, and then only the end."""
        if self._head:
            await trio.lowlevel.checkpoint()
            head, self._head = self._head, b""
            return head
        with trio.CancelScope() as self._reading:
            if self._closed:
                self._reading.cancel()
            while await self._raw.receive_some(_READ):
                pass
            return b""
        raise trio.ClosedResourceError

    async def send_all(self, data: bytes) -> None:
        """Send within WRITE_TIMEOUT seconds; raises BrokenResourceError when the client does not take it."""
        with trio.move_on_after(WRITE_TIMEOUT) as self._writing:
            if self._closed:
                self._writing.cancel()
            await self._raw.send_all(data)
            return
        self._give_up()
        raise trio.BrokenResourceError

    async def send_eof(self) -> None:
        """Leave that to `hang_up`."""
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """End a read that waits."""
        self._give_up()
        await trio.lowlevel.checkpoint()

    async def give_up_when_cancelled(self) -> None:
        """Wait to be cancelled, and then end what hypercorn shields."""
        try:
            await trio.sleep_forever()
        finally:
            self._give_up()
            self._writing.cancel()

    def _give_up(self) -> None:
        self._closed = True
        self._reading.cancel()
