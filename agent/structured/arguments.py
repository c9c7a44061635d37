"""Checks the arguments of calls by JSON Schema, behind the port of tools; pure.

What a schema may be is said in `schema`: no `$ref` leaves the document, patterns run in linear time, compiled ones are
kept by digest.
"""

from collections.abc import Mapping
from typing import Any

import jsonschema_rs

from ..config import ARGUMENT_FOUND, PAYLOAD_BYTES, PAYLOAD_NESTING
from ..errors import BadTool
from ..ports.tools import ArgumentProblem
from ..protocol.payload import fits
from .check import against
from .schema import BadSchema, compiled


class SchemaChecker:
    """Checks arguments against one compiled schema."""

    def __init__(self, validator: jsonschema_rs.Validator) -> None:
        self._validator = validator

    def problems(self, arguments: object) -> tuple[ArgumentProblem, ...]:
        """Return everything that is wrong with the arguments, of the first PROBLEMS_MAX; () when they are valid.

        What is larger or deeper than an action's payload may be is one problem, and is not looked at further.
        """
        if isinstance(arguments, Mapping) and not fits(arguments):
            most = f"at most {PAYLOAD_BYTES} bytes of JSON, nested at most {PAYLOAD_NESTING} deep"
            return (ArgumentProblem("", "arguments that are too much, or no JSON", most),)
        return tuple(
            ArgumentProblem(each.pointer, _short(each.found), " ".join(each.expected.split()))
            for each in against(self._validator, arguments)
        )


class SchemaArguments:
    """Makes checkers of JSON Schemas."""

    def checker(self, parameters: Mapping[str, Any]) -> SchemaChecker:
        """Return what checks against some parameters.

        Raises `BadTool`, with the pointer into them, when they are no schema, or one that is too large, or when one of
        its patterns looks around or back, or is too large.
        """
        try:
            return SchemaChecker(compiled(parameters))
        except BadSchema as bad:
            if bad.place is None:
                raise BadTool(str(bad)) from None
            raise BadTool(_why(bad.place), _short(bad.place, 300)) from None


def _why(place: str) -> str:
    if place.endswith("/pattern") or "/patternProperties" in place:
        return "is no pattern that is matched in linear time: it looks around or back, or is too large"
    return "is not valid JSON Schema"


def _short(text: str, most: int = ARGUMENT_FOUND) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
