"""A session with a server, by the official SDK over pipes of our own; imported only where servers are named.

The SDK carries out the protocol: the handshake, the numbers of requests, the matching of answers, and the checks of
results. Its own pipes are not used: they keep a line of any length, log the output of the server, and take seconds to
close. `_SdkStream` stands between the two. It writes no call of a tool for which `begin()` was not called, in the
instant before the write. Of the incoming lines it lets through the answers to our requests, and a bounded number of
requests to us. Everything else is noise, which is read no faster than `MCP_NOISE_RATE` lines a second, so that the
server has to wait until its pipe is emptied.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from importlib import metadata
from typing import Any

import anyio
import mcp_types as types
import msgspec
import trio
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import TypeAdapter, ValidationError

from ..config import TOOLS_OPERATOR
from ..errors import McpFailed
from ..ports.mcp import McpServer, McpSession
from ..wire.bucket import Bucket
from .stdio import MCP_OWED, Pipes, start_server

MCP_PAGES = 16  # of one list of tools
MCP_NOISE = 1000  # unrequested lines, at once; after them ...
MCP_NOISE_RATE = 500.0  # ... so many a second are read
MCP_NOISE_PAUSE = 0.05  # until the rate is looked at again
MCP_NOTICE = 1.0  # for sending a server the cancel of a request

_CALL = "tools/call"
_REFUSED = (types.PARSE_ERROR, types.INVALID_REQUEST, types.METHOD_NOT_FOUND, types.INVALID_PARAMS)
_JSON: Any = TypeAdapter(dict[str, Any])  # results as they came, after the checks
_begin: ContextVar[Callable[[], None] | None] = ContextVar("begin", default=None)


@asynccontextmanager
async def connect(server: McpServer) -> AsyncGenerator[McpSession, None]:
    """Start a server for the time of a block (an `McpConnect`)."""
    async with start_server(server) as pipes:
        wire = _SdkStream(pipes)
        async with ClientSession(wire, wire, client_info=_client_info()) as session:
            yield _SdkSession(session, pipes)


class _SdkSession:
    """One life of a server (implements `McpSession`)."""

    def __init__(self, session: ClientSession, pipes: Pipes) -> None:
        self._session = session
        self._pipes = pipes

    async def tools(self) -> Sequence[Mapping[str, Any]]:
        """Shake hands, and read the list of tools page by page.

        Reads up to `MCP_PAGES` pages, or `TOOLS_OPERATOR` tools and the rest of their page.
        """
        try:
            await self._session.initialize()
        except (MCPError, ValidationError, RuntimeError) as error:
            raise _make_failure(error) from None
        tools: list[Mapping[str, Any]] = []
        cursor = None
        for _ in range(MCP_PAGES):
            params = types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None
            page = await self._send_request(types.ListToolsRequest(params=params))
            tools += page["tools"]
            cursor = page.get("nextCursor")
            if cursor is None or len(tools) > TOOLS_OPERATOR:
                break
        return tools

    async def call(
        self, tool: str, arguments: Mapping[str, Any], begin: Callable[[], None]
    ) -> Mapping[str, Any]:
        """Call a tool, as `McpSession.call` says. The result is not checked against the tool's own output schema."""
        params = types.CallToolRequestParams(name=tool, arguments=dict(arguments))
        token = _begin.set(begin)
        try:
            return await self._send_request(types.CallToolRequest(params=params))
        finally:
            _begin.reset(token)

    async def ping(self) -> None:
        """Ping the server, as `McpSession.ping`; an error is an answer too."""
        try:
            await self._send_request(types.PingRequest())
        except McpFailed as error:
            if error.kind == "gone":
                raise

    async def wait_ended(self) -> None:
        """Wait for the end of the server, as `McpSession.wait_ended`."""
        await self._pipes.ended.wait()

    async def _send_request(self, request: Any) -> dict[str, Any]:
        try:
            result: dict[str, Any] = await self._session.send_request(request, _JSON)
            return result
        except (MCPError, ValidationError) as error:
            raise _make_failure(error) from None


def _client_info() -> types.Implementation:
    try:
        version = metadata.version("agent-server")
    except metadata.PackageNotFoundError:  # run from its source
        version = "0"
    return types.Implementation(name="agent-server", version=version)


def _make_failure(error: Exception) -> McpFailed:
    if isinstance(error, MCPError):
        if error.code == types.CONNECTION_CLOSED:
            return McpFailed("gone", "the server has ended")
        return McpFailed(
            "refused" if error.code in _REFUSED else "broken",
            f"the server answered with an error ({error.code})",
        )
    return McpFailed("broken", "the server's answer is none of the protocol")


class _SdkStream:
    """The pipes as the SDK reads and writes them: messages, in both directions."""

    def __init__(self, pipes: Pipes) -> None:
        self._pipes = pipes
        self._pending: set[object] = set()  # ids of requests that were written and have no answer
        self._owed = 0  # requests of the server that the SDK has yet to answer
        self._noise = Bucket(MCP_NOISE_RATE, MCP_NOISE)

    async def __aenter__(self) -> "_SdkStream":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Do nothing: `start_server` ends the server."""

    def __aiter__(self) -> "_SdkStream":
        return self

    async def __anext__(self) -> SessionMessage:
        message = await self._read_message()
        if message is None:
            raise StopAsyncIteration
        return SessionMessage(message)

    async def receive(self) -> SessionMessage:
        """Return the next message. Raises `anyio.EndOfStream` at the end."""
        message = await self._read_message()
        if message is None:
            raise anyio.EndOfStream
        return SessionMessage(message)

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message; a call of a tool right after its `begin()`.

        Raises `anyio.BrokenResourceError`, which the SDK knows, when the server has ended, and any exception of
        `begin`.
        """
        message = item.message
        line = message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        try:
            if isinstance(message, types.JSONRPCNotification):
                await self._notify(message, line)
            elif isinstance(message, types.JSONRPCRequest):
                await self._pipes.write_line(line, self._make_begin(message))
            else:
                try:
                    await self._pipes.write_line(line)
                finally:
                    self._owed -= 1
        except McpFailed:
            raise anyio.BrokenResourceError from None

    def _make_begin(self, request: types.JSONRPCRequest) -> Callable[[], None]:
        """Return the function to call when the first byte of a request is the next thing to leave."""
        begin = _begin.get() if request.method == _CALL else lambda: None
        if begin is None:
            raise AssertionError("a tool is to be called without its begin()")

        def before() -> None:
            begin()
            self._pending.add(request.id)

        return before

    async def _notify(self, message: types.JSONRPCNotification, line: bytes) -> None:
        """Send a notification, which the server need not answer.

        A cancelled request is reported only when it was written, and while no other line is being written. The caller
        that cancelled it waits for this, at most `MCP_NOTICE` seconds; a server that does not read its pipe is then
        given up.
        """
        if message.method != "notifications/cancelled":
            await self._pipes.write_line(line)
            return
        request = (message.params or {}).get("requestId")
        was_written = request in self._pending
        self._pending.discard(request)
        if was_written and not self._pipes.is_busy:
            with trio.move_on_after(MCP_NOTICE):
                await self._pipes.write_line(line)

    async def _read_message(self) -> types.JSONRPCMessage | None:
        while True:
            line = await self._pipes.read_line()
            if line is None:
                return None
            message = self._parse_wanted(line)
            if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                return message
            while not self._noise.take_token(trio.current_time()):  # noqa: ASYNC110 - time alone makes room
                await trio.sleep(MCP_NOISE_PAUSE)
            if message is not None:
                return message

    def _parse_wanted(self, line: bytes) -> types.JSONRPCMessage | None:
        """Return the message in a line when it answers our request or is a request that we can still answer."""
        if not line.lstrip().startswith(b"{"):
            return None
        try:
            message = types.jsonrpc_message_adapter.validate_python(msgspec.json.decode(line), by_name=False)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
            return None
        if isinstance(message, types.JSONRPCRequest):
            if self._owed >= MCP_OWED:
                return None
            self._owed += 1
            return message
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) and message.id in self._pending:
            self._pending.discard(message.id)
            return message
        return None
