"""Checks the arguments of calls by JSON Schema, behind the port of tools; pure.

What a schema may be is said in `schema`: no `$ref` leaves the document, patterns run in linear time, compiled ones are
kept by digest. What a check may cost is bounded here: it runs on the event loop, and a list of 5,000 numbers, none of
which is any of 800 words, would be told 4 million times over why, for most of a minute.
"""

from collections.abc import Mapping
from typing import Any

import jsonschema_rs

from ..config import (
    ARGUMENT_FOUND,
    ARGUMENT_WORK,
    ARGUMENT_WORK_TOLD,
    PAYLOAD_BYTES,
    PAYLOAD_NESTING,
)
from ..errors import BadTool
from ..ports.tools import ArgumentProblem
from ..protocol.payload import fits
from .check import against, fits_schema
from .pointer import measure
from .schema import BadSchema, compiled
from .weight import weight

_TOO_MUCH = ArgumentProblem("", "arguments that are too much for their schema", "fewer and shorter lists")
_UNTOLD = ArgumentProblem(
    "", "arguments that do not fit their schema", "arguments as the tool's schema describes"
)


class SchemaChecker:
    """Checks arguments against one compiled schema. weight: of the schema."""

    def __init__(self, validator: jsonschema_rs.Validator, weight: float) -> None:
        self._validator = validator
        self._weight = weight

    def problems(self, arguments: object) -> tuple[ArgumentProblem, ...]:
        """Return everything that is wrong with the arguments, of the first PROBLEMS_MAX; () when they are valid.

        What is larger or deeper than an action's payload may be is one problem, and is not looked at further; so is
        what is too much to be checked, or does not fit and is too much to be told why.
        """
        if isinstance(arguments, Mapping) and not fits(arguments):
            most = f"at most {PAYLOAD_BYTES} bytes of JSON, nested at most {PAYLOAD_NESTING} deep"
            return (ArgumentProblem("", "arguments that are too much, or no JSON", most),)
        work = measure(arguments)[1] * self._weight
        if work > ARGUMENT_WORK:
            return (_TOO_MUCH,)
        if work > ARGUMENT_WORK_TOLD:
            return () if fits_schema(self._validator, arguments) else (_UNTOLD,)
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
            return SchemaChecker(compiled(parameters), weight(parameters))
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
