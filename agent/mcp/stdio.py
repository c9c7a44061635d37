"""A server as a process: lines in, lines out, and an end within a deadline.

Strategy: whatever stands on the other side of the pipes may print anything, read nothing and never end. So a line is
bounded while it grows, and what is over the bound is thrown away as it comes; each line is written as a whole or the
server is given up; and it lives in a process group of its own, which is ended with all that it has started. It gets
what every command needs of our environment, and none of our keys. What it prints on standard error is dropped, since
it may repeat what it was told.
"""

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import trio

from ..config import MCP_LEAVE, MCP_LINE_MAX
from ..errors import McpFailed
from ..ports.mcp import McpServer
from ..process import group

_ENVIRONMENT = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
_READ = 64 * 1024


class Pipes:
    """A server's pipes. What ends either of them is the end of both."""

    def __init__(self, send: trio.abc.SendStream, receive: trio.abc.ReceiveStream) -> None:
        self._send = send
        self._receive = receive
        self._buffer = bytearray()
        self._seen = 0  # of the buffer, without an end of a line
        self._skipping = False  # the rest of a line that was too long
        self._writing = trio.Lock()
        self.ended = trio.Event()

    async def line(self) -> bytes | None:
        """Return the next line without its end; b"" for a piece of one over MCP_LINE_MAX bytes; None at the end."""
        while True:
            end = self._buffer.find(b"\n", self._seen)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                self._seen = 0
                skipped, self._skipping = self._skipping, False
                return b"" if skipped or end > MCP_LINE_MAX else line
            self._seen = len(self._buffer)
            if self._seen > MCP_LINE_MAX or (self._skipping and self._seen):
                self._buffer.clear()
                self._seen = 0
                self._skipping = True
                return b""
            try:
                piece = await self._receive.receive_some(_READ)
            except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
                piece = b""
            if not piece or self.ended.is_set():
                self.ended.set()
                return None
            self._buffer += piece

    async def write(self, line: bytes, before: Callable[[], None] | None = None) -> None:
        """Write a line with its end. before: called synchronously when the next thing to happen is its first byte.

        Lines are written one after the other; cancelled while it waits for its turn, nothing is written. Once begun it
        is written as a whole: a cancel then, as any failure, is the end of the server. Raises `McpFailed`.
        """
        async with self._writing:
            if self.ended.is_set():
                raise McpFailed("gone", "the server has ended")
            if before is not None:
                before()
            try:
                await self._send.send_all(line)
            except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
                self.ended.set()
                raise McpFailed("gone", "the server does not read any more") from None
            except trio.Cancelled:
                self.ended.set()
                raise

    @property
    def busy(self) -> bool:
        """Whether a line is being written, so that another would wait."""
        return self._writing.locked()


@asynccontextmanager
async def started(server: McpServer) -> AsyncGenerator[Pipes, None]:
    """Run a server for the time of a block.

    Raises OSError when it cannot be started. On leaving, cancelled too, its input is ended; MCP_LEAVE seconds later,
    or once it has ended, all that it has started is (see `agent.process.group`).
    """
    environment = {key: os.environ[key] for key in _ENVIRONMENT if key in os.environ}
    command = (server.command, *server.args)
    async with group(command, server.cwd or os.curdir, {**environment, **server.env}) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        pipes = Pipes(process.stdin, process.stdout)
        try:
            yield pipes
        finally:
            pipes.ended.set()
            with trio.move_on_after(MCP_LEAVE, shield=True):
                await process.stdin.aclose()
                await process.wait()
