"""What may be called: a tool as its operator, or a request, has defined it, and what checks the arguments of a call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

Risk: TypeAlias = Literal["low", "medium", "high"]
RunsAt: TypeAlias = Literal["record", "webhook", "mcp", "caller"]
Origin: TypeAlias = Literal["operator", "request"]


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool that a turn may call.

    parameters: JSON Schema of its arguments, an object; both ways of writing one have become this.
    requires_approval: what its definition says; more than that can ask for approval, and nothing can lower it.
    runs_at: what carries it out; a request's tool runs where the operator's actions do or, in a thread, at the caller,
    who takes each call and reports its result; one of an MCP server is named `SERVER.TOOL` and runs there. url: of a
    webhook of its own.
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
class ArgumentProblem:
    """One thing that is wrong with the arguments of a call.

    pointer: where, a JSON Pointer into the arguments. found: what stands there, shortened JSON, for a model's second
    try and never for a client. expected: what should, one clause.
    """

    pointer: str
    found: str
    expected: str

    def __str__(self) -> str:
        """One line for whoever must mend it."""
        return f"{self.pointer or 'the whole'}: found {self.found}; {self.expected}"


ReadTools: TypeAlias = Callable[[Sequence[Mapping[str, Any]]], tuple[ToolDefinition, ...]]
"""Makes tools of the JSON objects that came with a message. Raises `agent.errors.BadTool`."""


class Checker(Protocol):
    """Checks arguments against one tool's parameters."""

    def problems(self, arguments: object) -> tuple[ArgumentProblem, ...]:
        """Return everything that is wrong with the arguments at once; () when they are valid."""
        ...


class Arguments(Protocol):
    """Makes checkers. Those of parameters that were seen before are kept."""

    def checker(self, parameters: Mapping[str, Any]) -> Checker:
        """Return what checks against some parameters.

        Raises `agent.errors.BadTool`, one line that says why, when they are no schema that can be used.
        """
        ...
