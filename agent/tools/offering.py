"""The operator's tools as they are now: those of the file, and those of the MCP servers that are there; pure.

Strategy: what is offered follows from who is there alone, never from who came first: the file's tools, then each
server's in the order of the file, until the bounds of all together are reached. Each change makes a new tuple, and a
turn takes the one that stands when it begins.
"""

from collections.abc import Iterator, Sequence

import msgspec

from ..config import TOOLS_BYTES, TOOLS_OPERATOR
from ..errors import BadTool
from ..ports.mcp import McpServer
from ..ports.tools import ToolDefinition
from .servers import belongs


class Offering:
    """The operator's tools, in order (a `Collection`); what it holds changes when a server joins or leaves.

    own: those of the file. servers: that may join. Raises `BadTool`, with the pointer into the file's tools, for one
    that has a name which a server's may have: it would stand in for it.
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
        self._there: dict[str, tuple[ToolDefinition, ...]] = {}
        self._tools = self.own

    def join(self, server: str, tools: Sequence[ToolDefinition]) -> int:
        """Offer a server's tools too; return how many of all servers' are left out, since there are too many."""
        self._there[server] = tuple(tools)
        return self._gather()

    def leave(self, server: str) -> None:
        """Offer nothing of a server any more."""
        self._there.pop(server, None)
        self._gather()

    def reserves(self, name: str) -> bool:
        """Return whether a tool's name is kept for a server's, whether that is there or not."""
        return belongs(name, (server.name for server in self.servers))

    def _gather(self) -> int:
        tools = list(self.own)
        size = sum(map(_size, tools))
        left_out = 0
        for server in self.servers:
            for tool in self._there.get(server.name, ()):
                if len(tools) < TOOLS_OPERATOR and size + _size(tool) <= TOOLS_BYTES:
                    tools.append(tool)
                    size += _size(tool)
                else:
                    left_out += 1
        self._tools = tuple(tools)
        return left_out

    @property
    def here(self) -> "Here":
        """Those of them that the server carries out itself."""
        return Here(self)

    def __contains__(self, tool: object) -> bool:
        return tool in self._tools

    def __iter__(self) -> Iterator[ToolDefinition]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)


class Here:
    """Of the operator's tools those that no caller carries out (a `Collection`), as they are now.

    Who talks over a socket is no caller: it has nowhere to take a call, or to report one.
    """

    def __init__(self, every: Offering) -> None:
        self._every = every

    def __contains__(self, tool: object) -> bool:
        return tool in tuple(self)

    def __iter__(self) -> Iterator[ToolDefinition]:
        return (tool for tool in self._every if tool.runs_at != "caller")

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _size(tool: ToolDefinition) -> int:
    return len(msgspec.json.encode((tool.name, tool.description, tool.parameters)))
