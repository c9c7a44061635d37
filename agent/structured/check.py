r"""Checks whether a document is valid for its tool, and lists every problem when it is not; pure.

Strategy: a document is valid when both checks accept it, JSON Schema and, for a tool that is a type or a function, its
conversion to the value, by msgspec or pydantic. The two differ in details: `1.0` is an integer to a schema only, and
`\\d` matches Arabic digits in msgspec only. The schema reports all problems at once. msgspec stops at its first one, so
it runs when the schema has found none.
"""

import re
from dataclasses import dataclass
from itertools import islice
from typing import Any

import jsonschema_rs
import msgspec

from .pointer import Json, make_pointer, shorten_json
from .schema import ToolShape

PROBLEMS_MAX = 64  # of one document, in the order in which they are found

_PLACE = re.compile(r" - at (?:`key` in )?`\$")
_STEP = re.compile(r"\.([^.\[]*)|\[(\d+|\.\.\.)\]")
_ABSENT = "nothing"


@dataclass(frozen=True, slots=True)
class DocumentProblem:
    """One problem of a document.

    `pointer`: its place, a JSON Pointer. `found`: the value there as JSON, at most `FOUND_CHARACTERS`. `expected`: the
    value that belongs there, one clause.
    """

    pointer: str
    found: str
    expected: str

    def __str__(self) -> str:
        """Return one line that tells the model how to repair it."""
        return f"{self.pointer or 'the whole'}: found {self.found}; {self.expected}"


def check_document(shape: ToolShape, document: Json) -> tuple[Any, tuple[DocumentProblem, ...]]:
    """Return the value of a document and (), or None and its problems, at most `PROBLEMS_MAX`.

    The value is of the tool's type. A tool without a type returns the document itself, which the caller must not
    change.
    """
    problems = find_problems(shape.validator, document)
    if problems or shape.convert is None:
        return (None if problems else document), problems
    try:
        return shape.convert(document), ()
    except msgspec.ValidationError as error:
        return None, (_convert_msgspec_error(document, str(error)),)
    except ValueError as error:  # pydantic's ValidationError is one, and lists its errors
        listed = error.errors(include_url=False) if hasattr(error, "errors") else ()
        problems = tuple(
            DocumentProblem(make_pointer(each["loc"]), shorten_json(each.get("input")), each["msg"])
            for each in listed[:PROBLEMS_MAX]
        )
        return None, problems or (DocumentProblem("", shorten_json(document), "another value"),)


def find_problems(validator: jsonschema_rs.Validator, document: Json) -> tuple[DocumentProblem, ...]:
    """Return the problems that a schema finds in any document."""
    try:
        if validator.is_valid(document):
            return ()
        return tuple(
            problem
            for error in islice(validator.iter_errors(document), PROBLEMS_MAX)
            for problem in _convert_schema_error(document, error)
        )[:PROBLEMS_MAX]
    except (ValueError, TypeError, RecursionError):
        # Half a UTF-16 pair, a value that is no JSON, or one nested too deep for it.
        return (DocumentProblem("", "a value that is not JSON", "whole characters and JSON values only"),)


def fits_schema(validator: jsonschema_rs.Validator, document: Json) -> bool:
    """Return whether a schema accepts any document."""
    try:
        return validator.is_valid(document)
    except (ValueError, TypeError, RecursionError):
        return False


def _convert_schema_error(document: Json, error: jsonschema_rs.ValidationError) -> list[DocumentProblem]:
    """Return the problems of a schema's error; missing and unknown properties are one problem each."""
    kind, path = error.kind, list(error.instance_path)
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.Required):
        return [
            DocumentProblem(make_pointer([*path, str(kind.property)]), _ABSENT, "this property is required")
        ]
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
        inside = _get_value(document, path)
        return [
            DocumentProblem(
                make_pointer([*path, name]),
                shorten_json(inside.get(name)),
                "no property of this name is allowed",
            )
            for name in kind.unexpected
        ]
    return [
        DocumentProblem(make_pointer(path), shorten_json(_get_value(document, path)), error.message[:300])
    ]


def _get_value(document: Json, path: list[str | int]) -> Json:
    for part in path:
        document = document[part]
    return document


def _convert_msgspec_error(document: Json, message: str) -> DocumentProblem:
    """Return the problem of msgspec's error.

    Its path separates keys by dots, so it is followed as far as it leads.
    """
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
    return DocumentProblem(
        make_pointer(path), shorten_json(value), message[: place.start()] if place else message
    )
