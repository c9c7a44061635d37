"""Runs one server: starts it, offers its tools, calls them, and restarts it after it has ended.

Strategy: a server lives in one task, in a nursery that outlives the sessions and the actions, since it takes a while to
end a server that ignores its closed pipe. A call runs in the task of its caller and only uses the server. The outcomes
of a call:

| the server | before the request is written | after it |
| --- | --- | --- |
| is not running, or may hang | failed | - |
| answers a result, an error of the tool's | - | done, failed |
| refuses the request | - | failed |
| answers any other error, or nonsense; ends | - | unknown |
| says nothing | - | unknown, at the runner's deadline |

A server that did not answer a call in time is pinged, and none of its tools is called until it has answered. A server
that does not answer the ping is ended and started again. The tools of a server are read once after each start, and are
withdrawn when the server ends.
"""

from collections.abc import Callable, Mapping
from typing import Any

import structlog
import trio

from ..errors import ActionFailed, ActionUnknown, BadTool, McpFailed
from ..ports.action import Call
from ..ports.mcp import McpConnect, McpServer, McpSession
from ..ports.tools import CheckerFactory, ToolDefinition
from ..tools.definitions import name_of
from ..tools.offering import Offering
from ..tools.servers import make_tool
from .answers import data_of

# All in seconds.
MCP_START = 30.0  # for a server to start and to list its tools; its command may have to fetch it first
MCP_PAUSE_FIRST = 1.0  # before a server that ended is started again, twice as long each time ...
MCP_PAUSE_MOST = 60.0  # ... up to this
MCP_SETTLED = 60.0  # of a server's life, after which its end counts as a first one
MCP_PING_EVERY = 30.0  # between two pings of a server; it is pinged at once when a call got no answer
MCP_PING_ANSWER = 5.0  # after which a server that has not answered a ping is ended

_log = structlog.get_logger("agent.mcp")

_NOT_RUNNING = "The server of this tool is not running now, so nothing was done. Try again later."
_NO_SUCH_TOOL = "The server of this tool no longer offers it, so nothing was done."
_REFUSED = "The server of this tool refused the call, so nothing was done."
_UNKNOWN_OUTCOME = "The tool was called but its outcome is not known: {why}."


class ServerKeeper:
    """One server (an `Executor` of its tools). Run `keep_running` in a nursery that outlives the callers.

    `connect`: starts the server. `offering`: the `Offering` that its tools join. `arguments`: compiles their schemas.
    """

    def __init__(
        self, server: McpServer, connect: McpConnect, offering: Offering, arguments: CheckerFactory
    ) -> None:
        self.first_try = trio.Event()  # set when the first start has succeeded or failed
        self._server = server
        self._connect = connect
        self._offering = offering
        self._arguments = arguments
        self._session: McpSession | None = None
        self._names: frozenset[str] = frozenset()
        self._may_hang = trio.Event()  # set while it is unknown whether the server answers

    async def keep_running(self) -> None:
        """Start the server, and start it again whenever it ends, `MCP_PAUSE_FIRST` to `MCP_PAUSE_MOST` seconds later.

        Never returns. When it is cancelled, the server is ended.
        """
        pause = MCP_PAUSE_FIRST
        while True:
            began = trio.current_time()
            why = await self._run_once()
            self.first_try.set()
            if trio.current_time() - began >= MCP_SETTLED:
                pause = MCP_PAUSE_FIRST
            _log.warning("MCP server is not there", server=self._server.name, why=why, again_in=pause)
            await trio.sleep(pause)
            pause = min(2 * pause, MCP_PAUSE_MOST)

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Call the tool of an action, `SERVER.TOOL`, and return its data; the table above lists the outcomes.

        Raises `ActionFailed` and `ActionUnknown`. Cancelled after `begin()`, the server is notified, and is pinged
        before the next call.
        """
        session = self._session
        tool = call.action.partition(".")[2]
        if session is None or self._may_hang.is_set():
            raise ActionFailed(_NOT_RUNNING)
        if tool not in self._names:
            raise ActionFailed(_NO_SUCH_TOOL)
        has_begun = False

        def note_begin() -> None:
            nonlocal has_begun
            begin()
            has_begun = True

        try:
            result = await session.call(tool, call.payload, note_begin)
        except McpFailed as error:
            if not has_begun:
                raise ActionFailed(_NOT_RUNNING) from None
            if error.kind == "refused":
                raise ActionFailed(_REFUSED) from None
            raise ActionUnknown(_UNKNOWN_OUTCOME.format(why=error)) from None
        except trio.Cancelled:
            if has_begun and session is self._session:
                self._may_hang.set()
            raise
        return data_of(result)

    async def _run_once(self) -> str:
        """Start the server, offer its tools and watch it to its end; return the reason that it ended."""
        why = "it has ended"
        try:
            async with self._connect(self._server) as session:
                with trio.fail_after(MCP_START):
                    tools = await self._read_tools(session)
                try:
                    self._offer(session, tools)
                    why = await self._watch_session(session) or why
                finally:
                    self._withdraw()
        except* Exception as failure:  # noqa: BLE001  the edge of one server: foreign programs, foreign code
            why = _describe_end(failure)
        return why

    async def _read_tools(self, session: McpSession) -> list[ToolDefinition]:
        """Return the tools of a server that can be offered; each other tool is a line in the log."""
        tools: dict[str, ToolDefinition] = {}
        missing_auto = set(self._server.auto)
        for raw in await session.tools():
            await trio.lowlevel.checkpoint()  # each schema is compiled
            missing_auto.discard(raw.get("name", ""))
            try:
                tool = make_tool(self._server, raw, self._arguments)
                if tool.name.lower() in tools:
                    raise BadTool("another tool has this name", "/name")
            except BadTool as bad:
                self._warn("MCP tool left out", tool=name_of(raw) or "?", why=str(bad))
                continue
            tools[tool.name.lower()] = tool
        if missing_auto:
            self._warn("MCP server has no such tool: correct auto in its settings", tools=len(missing_auto))
        return list(tools.values())

    def _offer(self, session: McpSession, tools: list[ToolDefinition]) -> None:
        self._names = frozenset(tool.name.partition(".")[2] for tool in tools)
        self._may_hang = trio.Event()
        self._session = session
        left_out = self._offering.join(self._server.name, tools)
        _log.info("MCP server is there", server=self._server.name, tools=len(tools))
        if left_out:
            self._warn(
                "too many tools: some MCP tools are left out, so name fewer servers", left_out=left_out
            )
        self.first_try.set()

    def _withdraw(self) -> None:
        self._session = None
        self._offering.leave(self._server.name)

    async def _watch_session(self, session: McpSession) -> str:
        """Return "" when the server has ended, or the reason when it does not answer any more."""
        why = ""
        async with trio.open_nursery() as nursery:

            async def wait_for_end() -> None:
                await session.wait_ended()
                nursery.cancel_scope.cancel()

            nursery.start_soon(wait_for_end)
            await self._ping_until_silent(session)
            why = f"it did not answer within {MCP_PING_ANSWER:g} s"
            nursery.cancel_scope.cancel()
        return why

    async def _ping_until_silent(self, session: McpSession) -> None:
        while True:
            with trio.move_on_after(MCP_PING_EVERY):
                await self._may_hang.wait()
            with trio.move_on_after(MCP_PING_ANSWER) as late:
                await session.ping()
            if late.cancelled_caught:
                return
            self._may_hang = trio.Event()

    def _warn(self, event: str, **fields: Any) -> None:
        _log.warning(event, server=self._server.name, **fields)


def _describe_end(failure: BaseException) -> str:
    """Return the reason that a server ended, without the server's words; for a group, that of its first exception."""
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    if isinstance(failure, OSError):
        return f"its command cannot be started ({failure.strerror or type(failure).__name__})"
    if isinstance(failure, trio.TooSlowError):
        return f"it did not list its tools within {MCP_START:g} s"
    if isinstance(failure, McpFailed):
        return str(failure)
    return f"something broke ({type(failure).__name__})"
