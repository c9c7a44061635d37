"""Checks arguments that a user has edited after the tool call was suggested; pure."""

from collections.abc import Callable, Mapping
from typing import Any

from ..ports.action import Payload
from ..ports.tools import Checker
from ..structured.pointer import parse_pointer


def parameter_of(pointer: str) -> str:
    """Return the parameter that a JSON Pointer into arguments is in: its first part."""
    return (parse_pointer(pointer) or [""])[0]


def make_edit_check(checker: Checker, parameters: Mapping[str, Any]) -> Callable[[Payload], str | None]:
    """Return a function that gives the reason why the tool does not take edited arguments, or None.

    The reason holds no value of the arguments.
    """
    known = parameters.get("properties", {})

    def find_fault(payload: Payload) -> str | None:
        problems = checker.find_problems(payload)
        if not problems:
            return None
        first = problems[0]
        name = parameter_of(first.pointer)
        return f"Change {name if name in known else 'payload'}: {first.expected}."

    return find_fault
