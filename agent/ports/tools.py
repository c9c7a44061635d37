"""Defines tools, as the operator or a request declares them, and checks the arguments of their calls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

Risk: TypeAlias = Literal["low", "medium", "high"]
RunsAt: TypeAlias = Literal["record", "webhook", "mcp", "caller", "function"]
Origin: TypeAlias = Literal["operator", "request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """A tool that a turn may call.

    `parameters` is the JSON Schema of its arguments, an object; both notations of definitions have become this.
    `requires_approval` is set by the definition; other rules can ask for approval too, and nothing can lower it.
    `runs_at` names the executor. A request's tool runs where the operator's actions do or, in a thread, at the caller,
    which takes each call and reports its result; a tool of an MCP server is named `SERVER.TOOL` and runs there; a tool
    of the operator's Python module runs as its `function`. `url` is the tool's own webhook.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    requires_approval: bool = True
    risk: Risk = "medium"
    runs_at: RunsAt = "record"
    url: str | None = None
    origin: Origin = "request"


@dataclass(frozen=True, slots=True)
class ToolFunction:
    """A Python function that carries out the calls of a tool.

    `read_arguments` returns its keyword arguments, in its types, from a call's arguments, and raises
    `msgspec.ValidationError` when they do not fit. `is_async`: the function runs on Trio's event loop. `only_reads`: an
    exception leaves no effect behind.
    """

    function: Callable[..., Any]
    read_arguments: Callable[[Mapping[str, Any]], dict[str, Any]]
    is_async: bool = False
    only_reads: bool = False


@dataclass(frozen=True, slots=True)
class ArgumentProblem:
    """One fault in the arguments of a call.

    `pointer` is its place, a JSON Pointer into the arguments. `found` is the value there, shortened JSON, for a model's
    second try and never for a client. `expected` describes a valid value, in one clause.
    """

    pointer: str
    found: str
    expected: str

    def __str__(self) -> str:
        """Return one line for the model or developer that must mend it."""
        return f"{self.pointer or 'the whole'}: found {self.found}; {self.expected}"


ReadTools: TypeAlias = Callable[[Sequence[Mapping[str, Any]]], tuple[ToolDefinition, ...]]
"""Makes tools of the JSON objects that came with a message. Raises `agent.errors.BadTool`."""


class Checker(Protocol):
    """Checks arguments against one tool's parameters."""

    def find_problems(self, arguments: object) -> tuple[ArgumentProblem, ...]:
        """Return all faults of the arguments at once; () when they are valid."""
        ...


class CheckerFactory(Protocol):
    """Makes checkers, and keeps those of parameters that were seen before."""

    def make_checker(self, parameters: Mapping[str, Any]) -> Checker:
        """Return the checker of some `parameters`.

        Raises `agent.errors.BadTool`, with the reason in one line, when they are no schema that can be used.
        """
        ...
