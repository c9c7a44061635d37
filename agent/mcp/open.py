"""Keeps the MCP servers of the operator's file; the SDK is imported only when there are some."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec

import trio

from ..config import MCP_START_WAIT
from ..errors import UsageError
from ..ports.action import Executor
from ..ports.mcp import McpConnect
from ..ports.tools import Arguments
from ..tools.offering import Offering
from .keeper import Keeper


@asynccontextmanager
async def opened_servers(
    offering: Offering, arguments: Arguments, connect: McpConnect | None = None
) -> AsyncGenerator[Mapping[str, Executor], None]:
    """Keep the servers of an offering for the time of a block; give what calls the tools of each, by its name.

    Waits MCP_START_WAIT seconds at most for them to start; those that take longer join when they are there.
    connect: starts them; None is the SDK. Raises `agent.errors.UsageError` when that is not installed. What is raised
    in the block comes out of it as it is. On the way out, cancelled too, each is ended, all at the same time.
    """
    if not offering.servers:
        yield {}
        return
    keepers = {
        server.name: Keeper(server, connect or _sdk(), offering, arguments) for server in offering.servers
    }
    try:
        async with trio.open_nursery() as nursery:
            for keeper in keepers.values():
                nursery.start_soon(keeper.keep)
            with trio.move_on_after(MCP_START_WAIT):
                for keeper in keepers.values():
                    await keeper.tried.wait()
            yield keepers
            nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        if len(group.exceptions) > 1:
            raise
        raise group.exceptions[0] from group.exceptions[0].__cause__  # the block's: no keeper raises anything


def _sdk() -> McpConnect:
    if find_spec("mcp") is None:
        raise UsageError("mcpServers in the tools file need the MCP SDK: pip install 'agent-server[mcp]'")
    from .sdk import connect

    return connect
