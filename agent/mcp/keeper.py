"""Keeps one server: starts it, offers its tools, calls them, and starts it again when it has ended.

Strategy: a server lives in one task, in a nursery that outlives the sessions and the actions, since to leave one that
does not listen takes a while. A call belongs to whoever makes it and only uses the server. What it comes to:

| the server | before the request is written | after it |
| --- | --- | --- |
| is not there, or is not sure to be | failed | - |
| answers a result, an error of the tool's | - | done, failed |
| refuses the request | - | failed |
| answers any other error, or nonsense; ends | - | unknown |
| says nothing | - | unknown, at the runner's deadline |

A server whose call got no answer in time is asked whether it answers at all; until it has, nothing is called. One that
does not is ended and started again. Tools are read once in each life of a server, and go with it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import structlog
import trio

from ..config import (
    MCP_PAUSE_FIRST,
    MCP_PAUSE_MOST,
    MCP_PING_ANSWER,
    MCP_PING_EVERY,
    MCP_SETTLED,
    MCP_START,
)
from ..errors import ActionFailed, ActionUnknown, BadTool, McpFailed
from ..ports.action import Call
from ..ports.mcp import McpConnect, McpServer, McpSession
from ..ports.tools import Arguments, ToolDefinition
from ..tools.definitions import name_of
from ..tools.offering import Offering
from ..tools.servers import tool_of
from .answers import data_of

_log = structlog.get_logger("agent.mcp")

_NOT_THERE = "The server of this tool is not there at present, so nothing was done. Try again later."
_NOT_ITS = "The server of this tool does not have it any more, so nothing was done."
_REFUSED = "The server of this tool refused the call, so nothing was done."
_NOT_KNOWN = "The tool was called but its outcome is not known: {why}."


class Keeper:
    """One server (an `Executor` of its tools). `keep` it in a nursery that outlives who calls.

    connect: starts it. offering: what its tools join. arguments: compiles their schemas.
    """

    def __init__(
        self, server: McpServer, connect: McpConnect, offering: Offering, arguments: Arguments
    ) -> None:
        self.tried = trio.Event()  # the first start has come to something
        self._server = server
        self._connect = connect
        self._offering = offering
        self._arguments = arguments
        self._session: McpSession | None = None
        self._names: frozenset[str] = frozenset()
        self._doubt = trio.Event()  # whether it still answers

    async def keep(self) -> None:
        """Start the server and start it again whenever it ends, MCP_PAUSE_FIRST to MCP_PAUSE_MOST seconds later.

        Never returns. Cancelled, the server is ended.
        """
        pause = MCP_PAUSE_FIRST
        while True:
            began = trio.current_time()
            why = await self._live()
            self.tried.set()
            if trio.current_time() - began >= MCP_SETTLED:
                pause = MCP_PAUSE_FIRST
            _log.warning("MCP server is not there", server=self._server.name, why=why, again_in=pause)
            await trio.sleep(pause)
            pause = min(2 * pause, MCP_PAUSE_MOST)

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Call the tool of an action, `SERVER.TOOL`, and return what it answers; see the table above.

        Raises `ActionFailed` and `ActionUnknown`. Cancelled after `begin()`, the server is told, and is in doubt.
        """
        session = self._session
        tool = call.action.partition(".")[2]
        if session is None or self._doubt.is_set():
            raise ActionFailed(_NOT_THERE)
        if tool not in self._names:
            raise ActionFailed(_NOT_ITS)
        begun = False

        def beginning() -> None:
            nonlocal begun
            begin()
            begun = True

        try:
            result = await session.call(tool, call.payload, beginning)
        except McpFailed as error:
            if not begun:
                raise ActionFailed(_NOT_THERE) from None
            if error.kind == "refused":
                raise ActionFailed(_REFUSED) from None
            raise ActionUnknown(_NOT_KNOWN.format(why=error)) from None
        except trio.Cancelled:
            if begun and session is self._session:
                self._doubt.set()
            raise
        return data_of(result)

    async def _live(self) -> str:
        """Start the server, offer its tools and watch it to its end; return why it ended."""
        why = "it has ended"
        try:
            async with self._connect(self._server) as session:
                with trio.fail_after(MCP_START):
                    tools = await self._read(session)
                try:
                    self._offer(session, tools)
                    why = await self._watched(session) or why
                finally:
                    self._withdraw()
        except* Exception as broken:  # noqa: BLE001  the edge of one server: others' programs, through others' code
            why = _why(broken)
        return why

    async def _read(self, session: McpSession) -> list[ToolDefinition]:
        """Return the tools of a server that can be offered; each other one is a line in the log."""
        tools: dict[str, ToolDefinition] = {}
        missing = set(self._server.auto)
        for raw in await session.tools():
            await trio.lowlevel.checkpoint()  # each schema is compiled
            missing.discard(raw.get("name", ""))
            try:
                tool = tool_of(self._server, raw, self._arguments)
                if tool.name.lower() in tools:
                    raise BadTool("another tool has this name", "/name")
            except BadTool as bad:
                self._say("MCP tool left out", tool=name_of(raw) or "?", why=str(bad))
                continue
            tools[tool.name.lower()] = tool
        if missing:
            self._say("MCP server has no tool that auto names", tools=len(missing))
        return list(tools.values())

    def _offer(self, session: McpSession, tools: list[ToolDefinition]) -> None:
        self._names = frozenset(tool.name.partition(".")[2] for tool in tools)
        self._doubt = trio.Event()
        self._session = session
        left_out = self._offering.join(self._server.name, tools)
        _log.info("MCP server is there", server=self._server.name, tools=len(tools))
        if left_out:
            self._say("there are too many tools, so some of MCP servers are left out", left_out=left_out)
        self.tried.set()

    def _withdraw(self) -> None:
        self._session = None
        self._offering.leave(self._server.name)

    async def _watched(self, session: McpSession) -> str:
        """Return when the server has ended, with "", or does not answer any more, with that."""
        why = ""
        async with trio.open_nursery() as nursery:

            async def until_its_end() -> None:
                await session.ended()
                nursery.cancel_scope.cancel()

            nursery.start_soon(until_its_end)
            await self._until_deaf(session)
            why = f"it did not answer within {MCP_PING_ANSWER:g} s"
            nursery.cancel_scope.cancel()
        return why

    async def _until_deaf(self, session: McpSession) -> None:
        while True:
            with trio.move_on_after(MCP_PING_EVERY):
                await self._doubt.wait()
            with trio.move_on_after(MCP_PING_ANSWER) as late:
                await session.ping()
            if late.cancelled_caught:
                return
            self._doubt = trio.Event()

    def _say(self, event: str, **fields: Any) -> None:
        _log.warning(event, server=self._server.name, **fields)


def _why(broken: BaseException) -> str:
    """Return why a server ended, without a word of its own: of a group the first reason."""
    while isinstance(broken, BaseExceptionGroup):
        broken = broken.exceptions[0]
    if isinstance(broken, OSError):
        return f"its command cannot be started ({broken.strerror or type(broken).__name__})"
    if isinstance(broken, trio.TooSlowError):
        return f"it did not tell its tools within {MCP_START:g} s"
    if isinstance(broken, McpFailed):
        return str(broken)
    return f"something broke ({type(broken).__name__})"
