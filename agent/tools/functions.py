"""Marks Python functions as tools: `@tool(requires_approval=False, risk="low")`, also as `from agent import tool`.

The mark changes nothing about a function. `agent serve --tools MODULE` finds the marked functions (`python_module.py`),
and `agent.actions.function_executor` calls them. This module imports no part of the server, since a program's own code
imports it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import getattr_static
from typing import Any, TypeVar, overload

from ..ports.tools import Risk

Marked = TypeVar("Marked", bound=Callable[..., Any])

_MARK = "agent_tool"  # the attribute of a function that holds its mark


@dataclass(frozen=True, slots=True)
class ToolMark:
    """The rules of a function's tool: those fields of its `ToolDefinition` that no signature has."""

    requires_approval: bool
    risk: Risk


@overload
def tool(function: Marked, /) -> Marked: ...


@overload
def tool(*, requires_approval: bool = True, risk: Risk = "medium") -> Callable[[Marked], Marked]: ...


def tool(
    function: Callable[..., Any] | None = None, /, *, requires_approval: bool = True, risk: Risk = "medium"
) -> Any:
    """Mark a function as a tool, as `@tool` or `@tool(...)`, and return the same function.

    `requires_approval`: each call waits for its user's approval. `risk`: how much a call can harm: low, medium or high.
    The values are checked when a server reads the module.
    """

    def mark(marked: Marked) -> Marked:
        setattr(marked, _MARK, ToolMark(requires_approval, risk))
        return marked

    return mark if function is None else mark(function)


def find_mark(value: object) -> ToolMark | None:
    """Return the mark of a function; `None` for any other value. Runs no code of the value."""
    mark = getattr_static(value, _MARK, None)
    return mark if isinstance(mark, ToolMark) else None
