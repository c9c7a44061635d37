"""The tools of one turn: the operator's, and those of its request; pure.

Strategy: a name means one tool. A request cannot bring a tool with an operator's name, since that tool could only be a
weaker one. Nor can it bring a name that differs from another only in its capitals: a model, and a user who approves,
would confuse the two.
"""

from collections.abc import Iterable, Iterator

from ..errors import BadTool
from ..ports.tools import ToolDefinition
from .offering import Offering


def check_request_tools(
    operator: Offering, request: tuple[ToolDefinition, ...]
) -> tuple[ToolDefinition, ...]:
    """Return the tools of a request when they may stand beside the operator's, also beside those that may join later.

    Raises `BadTool`.
    """
    for index, tool in enumerate(request):
        if operator.reserves(tool.name):
            raise BadTool("the operator has a server of this name", f"/{index}/name")
    Catalogue(operator, request)
    return request


class Catalogue:
    """Tools by name: the operator's in the order of their names, then the request's in its own order.

    Raises `BadTool`, with the pointer into the list, for a name that occurs twice.
    """

    def __init__(self, operator: Iterable[ToolDefinition], request: Iterable[ToolDefinition] = ()) -> None:
        self._tools: dict[str, ToolDefinition] = {}
        taken: set[str] = set()
        for index, tool in enumerate(operator):
            if tool.name.lower() in taken:
                raise BadTool(f"another tool has the name {tool.name}", f"/{index}/name")
            taken.add(tool.name.lower())
            self._tools[tool.name] = tool
        self._tools = dict(sorted(self._tools.items()))
        own = frozenset(taken)
        for index, tool in enumerate(request):
            if tool.name.lower() in own:
                raise BadTool("the operator has a tool of this name", f"/{index}/name")
            if tool.name.lower() in taken:
                raise BadTool("another tool has this name", f"/{index}/name")
            taken.add(tool.name.lower())
            self._tools[tool.name] = tool

    def get(self, name: str) -> ToolDefinition | None:
        """Return the tool of exactly this name, or None."""
        return self._tools.get(name)

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """All tools, in order."""
        return tuple(self._tools.values())

    def __iter__(self) -> Iterator[ToolDefinition]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)
