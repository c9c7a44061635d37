"""The operator's present tools: those of the file, and those of the MCP servers that are running; pure.

Strategy: the offer depends only on the running servers, never on their order of arrival: the file's tools, then each
server's in the order of the file, until the bounds of all together are reached. Each change makes a new tuple, and a
turn uses the tuple that stands when it begins.
"""

from collections.abc import Iterator, Sequence

import msgspec

from ..config import TOOLS_OPERATOR
from ..errors import BadTool
from ..ports.mcp import McpServer
from ..ports.tools import ToolDefinition
from .servers import is_server_tool
from .settings import TOOLS_BYTES


class Offering:
    """The operator's tools, in order (a `Collection`); it changes when a server joins or leaves.

    `own`: the tools of the file. `servers`: those that may join. Raises `BadTool`, with the pointer into the file's
    tools, for a tool whose name a server's tool may have: it would stand in for that tool.
    """

    def __init__(self, own: Sequence[ToolDefinition] = (), servers: Sequence[McpServer] = ()) -> None:
        self.own = tuple(own)
        self.servers = tuple(servers)
        for tool in self.own:
            if self.reserves(tool.name):
                server = tool.name.partition(".")[0]
                raise BadTool(
                    f"the tool {tool.name} has a name that the MCP server {server} may give; rename one"
                )
        self._tools_by_server: dict[str, tuple[ToolDefinition, ...]] = {}
        self._tools = self.own

    def join(self, server: str, tools: Sequence[ToolDefinition]) -> int:
        """Offer a server's tools too; return the number of all servers' tools that are left out by the bounds."""
        self._tools_by_server[server] = tuple(tools)
        return self._select_tools()

    def leave(self, server: str) -> None:
        """Stop offering a server's tools."""
        self._tools_by_server.pop(server, None)
        self._select_tools()

    def reserves(self, name: str) -> bool:
        """Return whether a tool's name is reserved for a server's tool, whether the server is running or not."""
        return is_server_tool(name, (server.name for server in self.servers))

    def _select_tools(self) -> int:
        tools = list(self.own)
        size = sum(map(_size_of, tools))
        left_out = 0
        for server in self.servers:
            for tool in self._tools_by_server.get(server.name, ()):
                if len(tools) < TOOLS_OPERATOR and size + _size_of(tool) <= TOOLS_BYTES:
                    tools.append(tool)
                    size += _size_of(tool)
                else:
                    left_out += 1
        self._tools = tuple(tools)
        return left_out

    @property
    def server_run(self) -> "ServerRunTools":
        """The tools that this server, and no caller, carries out."""
        return ServerRunTools(self)

    def __contains__(self, tool: object) -> bool:
        return tool in self._tools

    def __iter__(self) -> Iterator[ToolDefinition]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)


class ServerRunTools:
    """The operator's tools that no caller carries out (a `Collection`), as they are now.

    A client on a socket is no caller: it has no way to take a call, or to report one.
    """

    def __init__(self, every: Offering) -> None:
        self._every = every

    def __contains__(self, tool: object) -> bool:
        return tool in tuple(self)

    def __iter__(self) -> Iterator[ToolDefinition]:
        return (tool for tool in self._every if tool.runs_at != "caller")

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _size_of(tool: ToolDefinition) -> int:
    return len(msgspec.json.encode((tool.name, tool.description, tool.parameters)))
