"""Checks the arguments of calls by JSON Schema, behind the port of tools; pure.

`schema.py` says which schemas are taken: no `$ref` leaves the document, patterns run in linear time, compiled schemas
are cached by digest. This module bounds the cost of a check, which runs on the event loop: explaining why each of 5,000
numbers is none of 800 words would take 4 million comparisons, most of a minute.

Weighs a JSON Schema: the work that it causes for each value that is checked against it; pure.

Strategy: a validator visits at most every part of a schema for every value. So the weight of a schema is the number of
values in it, where a `$ref` counts as all that it leads to; the target of a reference is counted once and remembered.
"""

from collections.abc import Mapping
from math import inf
from typing import Any

import jsonschema_rs

from ..config import PAYLOAD_BYTES, PAYLOAD_NESTING
from ..errors import BadTool
from ..ports.tools import ArgumentProblem
from ..protocol.payload import is_valid_payload
from .check import find_problems, fits_schema
from .pointer import Json, measure_json, parse_pointer
from .schema import BadSchema, compile_validator


def weigh_schema(schema: Json) -> float:
    """Return the number of values in a schema, itself included; infinity when a `$ref` leads back to its own place.

    A `$ref` that leads nowhere, or out of the document, counts for nothing. The schema's depth is bounded before.
    """
    return _SchemaWeigher(schema).weigh(schema)


class _SchemaWeigher:
    """Counts the values of one schema."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._known: dict[int, float] = {}

    def weigh(self, node: Json) -> float:
        """Return the weight of a part."""
        if not isinstance(node, (dict, list)):
            return 1
        known = self._known.get(id(node))
        if known is not None:
            return known
        self._known[id(node)] = inf  # for a reference that leads back here
        reference = node.get("$ref") if isinstance(node, dict) else None
        target = self._resolve(reference) if isinstance(reference, str) else None
        inside = node.values() if isinstance(node, dict) else node
        count = (
            1 + sum(self.weigh(each) for each in inside) + (self.weigh(target) if target is not None else 0)
        )
        self._known[id(node)] = count
        return count

    def _resolve(self, reference: str) -> Json:
        """Return the target of a reference, or None."""
        node = self._root
        for step in (parse_pointer(reference[1:]) or ()) if reference[:1] == "#" else (reference,):
            if isinstance(node, dict):
                node = node.get(step)
            elif isinstance(node, list) and step.isdecimal() and int(step) < len(node):
                node = node[int(step)]
            else:
                return None
        return node


ARGUMENT_FOUND = 40  # characters of a wrong argument that are told
# Values in arguments, times those in their schema, each $ref counted as all that it leads to: more than so many are
# refused unchecked (60 ns each at the worst), and of more than so many that do not fit the fault is not named
# (7 us each: the library makes every error of every branch, and cannot be stopped).
ARGUMENT_WORK = 500_000
ARGUMENT_WORK_TOLD = 5_000

_TOO_MUCH_WORK = ArgumentProblem(
    "", "arguments that are too much for their schema", "fewer and shorter lists"
)
_UNEXPLAINED = ArgumentProblem(
    "", "arguments that do not fit their schema", "arguments as the tool's schema describes"
)


class SchemaChecker:
    """Checks arguments against one compiled schema. `weight`: of the schema (`weigh_schema`)."""

    def __init__(self, validator: jsonschema_rs.Validator, weight: float) -> None:
        self._validator = validator
        self._weight = weight

    def find_problems(self, arguments: object) -> tuple[ArgumentProblem, ...]:
        """Return the problems of the arguments, at most `PROBLEMS_MAX`; () when they are valid.

        Arguments that are larger or deeper than an action's payload may be are one problem, and are not checked
        further. So are arguments that are too much work to check, or that are invalid and too much work to explain.
        """
        if isinstance(arguments, Mapping) and not is_valid_payload(arguments):
            most = f"at most {PAYLOAD_BYTES} bytes of JSON, nested at most {PAYLOAD_NESTING} deep"
            return (ArgumentProblem("", "arguments that are too much, or no JSON", most),)
        work = measure_json(arguments)[1] * self._weight
        if work > ARGUMENT_WORK:
            return (_TOO_MUCH_WORK,)
        if work > ARGUMENT_WORK_TOLD:
            return () if fits_schema(self._validator, arguments) else (_UNEXPLAINED,)
        return tuple(
            ArgumentProblem(each.pointer, _shorten(each.found), " ".join(each.expected.split()))
            for each in find_problems(self._validator, arguments)
        )


class SchemaArguments:
    """Makes checkers of JSON Schemas (implements `agent.ports.tools.CheckerFactory`)."""

    def make_checker(self, parameters: Mapping[str, Any]) -> SchemaChecker:
        """Return the checker for `parameters`.

        Raises `BadTool`, with the pointer into `parameters`, when they are no schema, when the schema is too large, or
        when one of its patterns is too large or uses look-around or back-references.
        """
        try:
            return SchemaChecker(compile_validator(parameters), weigh_schema(parameters))
        except BadSchema as bad:
            if bad.place is None:
                raise BadTool(str(bad)) from None
            raise BadTool(_describe_fault(bad.place), _shorten(bad.place, 300)) from None


def _describe_fault(place: str) -> str:
    if place.endswith("/pattern") or "/patternProperties" in place:
        return "cannot be matched in linear time: it uses look-around or back-references, or is too large"
    return "is not valid JSON Schema"


def _shorten(text: str, most: int = ARGUMENT_FOUND) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
