"""Runs a server as a process: lines in, lines out, and an end within a deadline.

Strategy: the program behind the pipes may print anything, read nothing and never end. So a line is bounded while it
grows, and bytes over the bound are discarded as they come. A line is written as a whole, or the server is given up. The
server lives in a process group of its own, which is ended with all its processes. It gets the variables of our
environment that every command needs (`_ENVIRONMENT`), and none of our keys. Its standard error is dropped, since it may
repeat our input.
"""

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import trio

from ..errors import McpFailed
from ..ports.mcp import McpServer
from ..process import run_in_group

MCP_LEAVE = 0.5  # for a server to end by itself, when its input has
MCP_OWED = 16  # questions of a server that wait for our answer; further ones get none
MCP_LINE_MAX = 1024 * 1024  # bytes of one message: all tools, of TOOLS_BYTES, with their descriptions

_ENVIRONMENT = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
_READ = 64 * 1024


class Pipes:
    """The pipes of a server. The end of one is the end of both."""

    def __init__(self, send: trio.abc.SendStream, receive: trio.abc.ReceiveStream) -> None:
        self._send = send
        self._receive = receive
        self._buffer = bytearray()
        self._searched = 0  # bytes of the buffer that hold no line end
        self._skipping = False  # whether the rest of an overlong line is being discarded
        self._writing = trio.Lock()
        self.ended = trio.Event()

    async def read_line(self) -> bytes | None:
        """Return the next line without its end, or None at the end.

        A piece of a line over `MCP_LINE_MAX` bytes is b"".
        """
        while True:
            end = self._buffer.find(b"\n", self._searched)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                self._searched = 0
                skipped, self._skipping = self._skipping, False
                return b"" if skipped or end > MCP_LINE_MAX else line
            self._searched = len(self._buffer)
            if self._searched > MCP_LINE_MAX or (self._skipping and self._searched):
                self._buffer.clear()
                self._searched = 0
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

    async def write_line(self, line: bytes, before: Callable[[], None] | None = None) -> None:
        """Write a line with its end. `before`: called synchronously right before its first byte.

        Lines are written one after the other. Cancelled while it waits for its turn, nothing is written. A line that
        has begun is written as a whole: a cancel then, like any failure, ends the server. Raises `McpFailed`.
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
                raise McpFailed("gone", "the server has stopped reading") from None
            except trio.Cancelled:
                self.ended.set()
                raise

    @property
    def is_busy(self) -> bool:
        """Whether a line is being written, so that another would wait."""
        return self._writing.locked()


@asynccontextmanager
async def start_server(server: McpServer) -> AsyncGenerator[Pipes, None]:
    """Run a server for the time of a block.

    Raises `OSError` when the server cannot be started. On leaving, also when cancelled, its input is closed;
    `MCP_LEAVE` seconds later, or once it has ended, `agent.process.run_in_group` ends all processes of its group.
    """
    environment = {key: os.environ[key] for key in _ENVIRONMENT if key in os.environ}
    command = (server.command, *server.args)
    async with run_in_group(command, server.cwd or os.curdir, {**environment, **server.env}) as process:
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
