"""Whether a document is what its tool asks for, and if not, everything that is wrong with it; pure.

Strategy: valid means that both say so, JSON Schema and, for a tool that is a type, msgspec, since they disagree in
small things: `1.0` is an integer to a schema only, and `\\d` matches Arabic digits in msgspec only. The schema tells
all problems at once; msgspec, which stops at its first, is asked when the schema has none.
"""

import re
from dataclasses import dataclass
from itertools import islice
from typing import Any

import jsonschema_rs
import msgspec

from ..config import PROBLEMS_MAX
from .pointer import Json, brief, pointer
from .schema import Shape

_PLACE = re.compile(r" - at (?:`key` in )?`\$")
_STEP = re.compile(r"\.([^.\[]*)|\[(\d+|\.\.\.)\]")
_ABSENT = "nothing"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a document.

    pointer: where, a JSON Pointer. found: what stands there, written as JSON, at most `FOUND_CHARACTERS`.
    expected: what should, one clause.
    """

    pointer: str
    found: str
    expected: str

    def __str__(self) -> str:
        """One line for whoever must mend it."""
        return f"{self.pointer or 'the whole'}: found {self.found}; {self.expected}"


def check(shape: Shape, document: Json) -> tuple[Any, tuple[Problem, ...]]:
    """Return the value that a document is, and no problems; or None and its problems, at most `PROBLEMS_MAX`.

    The value is of the tool's type; where it has none, the document itself, which the caller must not change.
    """
    problems = against(shape.validator, document)
    if problems or shape.kind is None:
        return (None if problems else document), problems
    try:
        return msgspec.convert(document, shape.kind, str_keys=True), ()
    except msgspec.ValidationError as error:
        return None, (_of_msgspec(document, str(error)),)


def against(validator: jsonschema_rs.Validator, document: Json) -> tuple[Problem, ...]:
    """Return what a schema finds wrong with a document, whatever it is."""
    try:
        if validator.is_valid(document):
            return ()
        return tuple(
            problem
            for error in islice(validator.iter_errors(document), PROBLEMS_MAX)
            for problem in _of_schema(document, error)
        )[:PROBLEMS_MAX]
    except (
        ValueError,
        TypeError,
        RecursionError,
    ):  # half a UTF-16 pair, what is no JSON, or nested too deep for it
        return (Problem("", "a value that is not JSON", "whole characters and JSON values only"),)


def fits_schema(validator: jsonschema_rs.Validator, document: Json) -> bool:
    """Return whether a schema finds nothing wrong with a document, whatever it is."""
    try:
        return validator.is_valid(document)
    except (ValueError, TypeError, RecursionError):
        return False


def _of_schema(document: Json, error: jsonschema_rs.ValidationError) -> list[Problem]:
    """Return an error of a schema: of what is missing or too much, one for each property."""
    kind, path = error.kind, list(error.instance_path)
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.Required):
        return [Problem(pointer([*path, str(kind.property)]), _ABSENT, "this property is required")]
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
        inside = _inside(document, path)
        return [
            Problem(pointer([*path, name]), brief(inside.get(name)), "no property of this name is allowed")
            for name in kind.unexpected
        ]
    return [Problem(pointer(path), brief(_inside(document, path)), error.message[:300])]


def _inside(document: Json, path: list[str | int]) -> Json:
    for part in path:
        document = document[part]
    return document


def _of_msgspec(document: Json, message: str) -> Problem:
    """Return msgspec's error; its path names keys with dots between, so it is followed as far as it leads."""
    place = _PLACE.search(message) if message.endswith("`") else None
    path: list[str | int] = []
    value = document
    for step in _STEP.finditer(message[place.end() : -1] if place else ""):
        part: str | int = step[1] if step[1] is not None else step[2]
        if isinstance(value, list) and step[2] not in (None, "..."):
            part = int(step[2])
            if part >= len(value):
                break
        elif not isinstance(value, dict) or part not in value:
            break
        value = value[part]
        path.append(part)
    return Problem(pointer(path), brief(value), message[: place.start()] if place else message)
