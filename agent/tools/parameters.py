"""Reads a tool's parameters, in either form, as one JSON Schema of an object; pure.

Strategy: the simple form is `{name: {type, required, description, ...}}`, so each of its values is an object with a
word as its type. A JSON Schema has a word at `type`, a `$` word, or another key that no parameter could have. An object
that is both, or neither, is refused where it goes wrong, never guessed. Properties that the schema does not name are
refused unless the schema itself allows them.
"""

from collections.abc import Mapping
from typing import Any

from ..errors import BadTool
from ..structured.pointer import Json
from .fault_places import place_of

TYPES = ("string", "number", "integer", "boolean", "array", "object")
_DIALECTS = frozenset(
    (
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
    )
)
# Keys of a JSON Schema without a `type`; no parameter has such a name.
_TELLING = frozenset(("additionalProperties", "patternProperties", "unevaluatedProperties"))
_COMBINING = frozenset(("$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"))
_KEYWORDS = _TELLING | _COMBINING | {"properties", "propertyNames", "not", "definitions", "dependencies"}
_KEYWORDS |= {"default", "const", "examples", "example"}


def is_simple(given: Mapping[str, Any]) -> bool:
    """Return whether the parameters `given` are written in the simple form; an empty object is not."""
    if not given or any(key.startswith("$") or key in _TELLING for key in given):
        return False
    if isinstance(given.get("type"), (str, list)):
        return False
    if all(isinstance(each, dict) and isinstance(each.get("type"), str) for each in given.values()):
        return True
    return not ("properties" in given or isinstance(given.get("required"), list)) and not any(
        isinstance(given.get(word), list) for word in _COMBINING
    )


def schema_of(given: Json) -> dict[str, Any]:
    """Return the JSON Schema of the parameters `given`, an object's.

    `given`: a JSON value, or None for a tool without parameters. The result shares its parts. Raises `BadTool`, with
    the pointer into the parameters.
    """
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise BadTool("must be an object")
    if is_simple(given):
        return _convert_simple(given, ())
    return _complete_schema(given)


def _complete_schema(given: dict[str, Any]) -> dict[str, Any]:
    schema = {key: each for key, each in given.items() if key != "$id"}  # it only names the whole schema
    dialect = schema.get("$schema")
    if dialect is not None and not (isinstance(dialect, str) and dialect.removesuffix("#") in _DIALECTS):
        raise BadTool("must be that of draft 2020-12, 2019-09 or 7", "/$schema")
    if schema.setdefault("type", "object") != "object":
        raise BadTool("must be object", "/type")
    combines = not _COMBINING.isdisjoint(schema)
    if "properties" not in schema and not combines:
        for key, each in schema.items():
            if key not in _KEYWORDS and isinstance(each, dict) and not key.startswith(("$", "x-")):
                raise BadTool(
                    "is no keyword of JSON Schema; parameters stand in properties", place_of((key,))
                )
        schema["properties"] = {}
    if not isinstance(schema.get("properties", {}), dict):
        raise BadTool("must be an object", "/properties")
    if "additionalProperties" not in schema and "unevaluatedProperties" not in schema:
        # `additionalProperties` ignores properties that a part of a combination allows
        schema["unevaluatedProperties" if combines else "additionalProperties"] = False
    return schema


def _convert_simple(given: Mapping[str, Any], path: tuple[str | int, ...]) -> dict[str, Any]:
    """Return the schema of an object whose properties are written in the simple form, each with its own `required`."""
    properties, required = {}, []
    for name, entry in given.items():
        where = (*path, name)
        if not isinstance(entry, dict):
            raise BadTool("must be an object with a type", place_of(where))
        if entry.get("required") is True:
            required.append(name)
        properties[name] = _convert_entry(entry, where)
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def _convert_entry(entry: dict[str, Any], path: tuple[str | int, ...]) -> dict[str, Any]:
    kind = entry.get("type")
    if kind not in TYPES:
        raise BadTool(f"must be one of {', '.join(TYPES)}", place_of((*path, "type")))
    required = entry.get("required")
    if not (
        required is None or isinstance(required, bool) or (kind == "object" and isinstance(required, list))
    ):
        raise BadTool("must be true or false", place_of((*path, "required")))
    schema = {key: each for key, each in entry.items() if key != "required" or isinstance(each, list)}
    inner = schema.get("properties")
    if kind == "object" and isinstance(inner, dict) and "required" not in schema:
        inner_schema = _convert_simple(inner, (*path, "properties"))
        schema = {**inner_schema, **schema, "properties": inner_schema["properties"]}
    items = schema.get("items")
    if kind == "array" and isinstance(items, dict) and "type" in items:
        schema["items"] = _convert_entry(items, (*path, "items"))
    return schema
