"""Whether a tool takes other arguments than those that were suggested; pure."""

from collections.abc import Callable, Mapping
from typing import Any

from ..ports.action import Payload
from ..ports.tools import Checker
from ..structured.pointer import tokens


def parameter_of(pointer: str) -> str:
    """Return the parameter that a JSON Pointer into arguments is in: its first part."""
    return (tokens(pointer) or [""])[0]


def accepts(checker: Checker, parameters: Mapping[str, Any]) -> Callable[[Payload], str | None]:
    """Return what says of other arguments why a tool does not take them, or None, without a value of theirs."""
    known = parameters.get("properties", {})

    def wrong(payload: Payload) -> str | None:
        problems = checker.problems(payload)
        if not problems:
            return None
        first = problems[0]
        name = parameter_of(first.pointer)
        return f"Change {name if name in known else 'payload'}: {first.expected}."

    return wrong
