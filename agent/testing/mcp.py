"""MCP servers in memory, which can be slow, silent, broken or dead."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio

from ..errors import McpFailed
from ..ports.mcp import McpServer, McpSession


class FakeMcpSession:
    """One life of a fake MCP server (an `McpSession`)."""

    def __init__(self, servers: "FakeMcpServers") -> None:
        self._servers = servers
        self._end = trio.Event()

    def end(self) -> None:
        """End the server, as if it was killed."""
        self._end.set()

    async def tools(self) -> Sequence[Mapping[str, Any]]:
        """Return the tools, after `start` seconds."""
        await self._or_end(self._servers.start)
        return self._servers.tools

    async def call(
        self, tool: str, arguments: Mapping[str, Any], begin: Callable[[], None]
    ) -> Mapping[str, Any]:
        """Begin after `before` seconds, and answer after `after` more."""
        await self._or_end(self._servers.before)
        begin()
        self._servers.effect()
        self._servers.called.append((tool, dict(arguments)))
        await self._or_end(self._servers.after)
        if isinstance(self._servers.answer, McpFailed):
            raise self._servers.answer
        return self._servers.answer

    async def ping(self) -> None:
        """Answer, unless the server is `deaf`."""
        await self._or_end(float("inf") if self._servers.deaf else 0.0)

    async def wait_ended(self) -> None:
        """Wait until the server has ended."""
        await self._end.wait()

    async def _or_end(self, seconds: float) -> None:
        with trio.move_on_after(seconds):
            await self._end.wait()
            raise McpFailed("gone", "the server has ended")


class FakeMcpServers:
    """Starts fake MCP servers, which all have the same `tools` (an `McpConnect`).

    Their behaviour can be set at any time: `start`, `before`, `after` (seconds, `inf` is silence), `answer`, `deaf`,
    `fault` (raised by the next start), `effect` (called by each call that has begun). Their history is kept: `lives`,
    `started` and `left` (seconds), and `called`, with the arguments.
    """

    def __init__(self, *tools: Mapping[str, Any]) -> None:
        self.tools: Sequence[Mapping[str, Any]] = tools
        self.start = 0.1
        self.before = 0.1
        self.after = 0.1
        self.leave = 0.0
        self.answer: Mapping[str, Any] | McpFailed = {"content": [{"type": "text", "text": "done"}]}
        self.deaf = False
        self.effect: Callable[[], None] = lambda: None
        self.fault: Exception | None = None
        self.lives: list[FakeMcpSession] = []
        self.started: list[float] = []
        self.called: list[tuple[str, Mapping[str, Any]]] = []
        self.left: list[float] = []

    @asynccontextmanager
    async def __call__(self, server: McpServer) -> AsyncGenerator[McpSession, None]:
        """Start a server for the time of a block."""
        self.started.append(trio.current_time())
        if self.fault is not None:
            raise self.fault
        session = FakeMcpSession(self)
        self.lives.append(session)
        try:
            yield session
        finally:
            session.end()
            with trio.CancelScope(shield=True, deadline=trio.current_time() + self.leave + 1.0):
                await trio.sleep(self.leave)
            self.left.append(trio.current_time())
