"""Runs the MCP servers of the operator's file; the SDK is imported only when the file names servers."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec

import trio

from ..errors import UsageError
from ..ports.action import Executor
from ..ports.mcp import McpConnect
from ..ports.tools import CheckerFactory
from ..tools.offering import Offering
from .server_keeper import ServerKeeper

MCP_START_WAIT = 3.0  # that the start of the agent waits for MCP servers; the slower ones join later


@asynccontextmanager
async def open_servers(
    offering: Offering, arguments: CheckerFactory, connect: McpConnect | None = None
) -> AsyncGenerator[Mapping[str, Executor], None]:
    """Run the servers of `offering` for the time of a block; yield an `Executor` for each server, by its name.

    Waits at most `MCP_START_WAIT` seconds for them to start; slower servers join when they have started. `connect`:
    starts a server; None is the SDK. Raises `agent.errors.UsageError` when the SDK is not installed. An exception of
    the block comes out as it is. On the way out, also when cancelled, all servers are ended at the same time.
    """
    if not offering.servers:
        yield {}
        return
    keepers = {
        server.name: ServerKeeper(server, connect or _import_sdk(), offering, arguments)
        for server in offering.servers
    }
    try:
        async with trio.open_nursery() as nursery:
            for keeper in keepers.values():
                nursery.start_soon(keeper.keep_running)
            with trio.move_on_after(MCP_START_WAIT):
                for keeper in keepers.values():
                    await keeper.first_try.wait()
            yield keepers
            nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        if len(group.exceptions) > 1:
            raise
        raise group.exceptions[0] from group.exceptions[0].__cause__  # the block's own: no keeper raises


def _import_sdk() -> McpConnect:
    if find_spec("mcp") is None:
        raise UsageError("mcpServers in the tools file need the MCP SDK: pip install 'agent-server[mcp]'")
    from .sdk import connect

    return connect
