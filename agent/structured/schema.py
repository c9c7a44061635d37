"""Compiles the tools that calls are checked against; pure.

Strategy: a tool is a type (its JSON Schema is msgspec's or pydantic's, and a valid document becomes a value of it), a
function (its parameters are the schema, and a valid document becomes its keyword arguments) or a mapping with a JSON
Schema that is known at run time only. pydantic's types are known by their methods, without an import. The schema is
copied through JSON once, so that no caller can change it afterwards, and is bounded before it is compiled. It is
compiled with these choices: formats are checked (by default the library ignores them); patterns run in linear time (so
look-around is refused, and so is a pattern that is large when compiled, since time grows with that too); and no `$ref`
is fetched (the default fetches http and file). Compiled schemas are cached by digest.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from inspect import getdoc
from typing import Any, NoReturn, TypeAlias

import jsonschema_rs
import msgspec

from ..config import DOCUMENT_DEPTH
from ..errors import AgentError, UsageError
from ..ports.model import Tool
from .pointer import Json, make_pointer, measure_json
from .signatures import make_schema, make_struct, read_arguments, read_docstring

SCHEMA_BYTES = 64 * 1024  # of one tool's JSON Schema, written as JSON
SCHEMAS_KEPT = 128  # compiled, by their digest
# Bytes of a schema's pattern, compiled; 16 KiB are matched with it in 3 ms, with 1 MiB in 400.
PATTERN_BYTES = 64 * 1024

GivenTool: TypeAlias = type | Tool | Mapping[str, Any] | Callable[..., Any]

MASK = "the value"  # stands in messages for a document's value, which may be long
_UNNAMEABLE = re.compile(r"[^A-Za-z0-9_.-]+")
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")  # as the common chat services take them
_SCHEMA_KEYS = ("parameters", "inputSchema", "input_schema")  # OpenAI, MCP, Anthropic
_NO_PARAMETERS = {"type": "object", "properties": {}}
CHOICES: Mapping[str, Any] = {
    "validate_formats": True,
    "pattern_options": jsonschema_rs.RegexOptions(size_limit=PATTERN_BYTES),
    "mask": MASK,
}
_compiled: OrderedDict[bytes, jsonschema_rs.Validator] = OrderedDict()


class BadSchema(AgentError):
    """A tool or its schema cannot be used; the message names it and gives the reason.

    `place`: the JSON Pointer of a schema's fault, "" where the library gave none; None where the message is our own.
    """

    def __init__(self, message: str, place: str | None = None) -> None:
        super().__init__(message)
        self.place = place


@dataclass(frozen=True, slots=True, eq=False)
class ToolShape:
    """A compiled tool.

    `convert`: makes the value of a valid document, or raises a `msgspec.ValidationError` or a `ValueError`; None where
    the value is plain JSON. `kind`: the type of the value, where the tool is one.
    """

    tool: Tool
    convert: Callable[[Any], Any] | None
    validator: jsonschema_rs.Validator
    kind: type | None = None

    @property
    def name(self) -> str:
        """The name of its calls."""
        return self.tool.name


def make_tool_shape(given: GivenTool) -> ToolShape:
    """Return a given tool, compiled.

    `given`: a type that msgspec has a schema for (Struct, dataclass, TypedDict ...), a pydantic model, a function, a
    `Tool`, a JSON Schema with a `title`, or a mapping in the form of OpenAI (`{"name", "description", "parameters"}`,
    also within `{"type": "function", "function": ...}`), Anthropic (`input_schema`) or MCP (`inputSchema`). Raises
    `BadSchema`.
    """
    if isinstance(given, Tool):
        return _make_shape(given.name, given.description, given.schema)
    if isinstance(given, type):
        return _make_shape_of_type(given)
    if not isinstance(given, Mapping):
        if callable(given):
            return _make_shape_of_function(given)
        raise BadSchema(f"a tool is a type, a function, a Tool or a mapping, not {type(given).__name__}")
    if "name" not in given and "function" not in given and isinstance(given.get("title"), str):
        name = _UNNAMEABLE.sub("_", given["title"])[:64]
        return _make_shape(name, given.get("description") or "", given)
    inner = given.get("function", given)
    if not isinstance(inner, Mapping):
        raise BadSchema("a tool's function must be a mapping")
    schema = next((inner[key] for key in _SCHEMA_KEYS if inner.get(key) is not None), _NO_PARAMETERS)
    return _make_shape(inner.get("name"), inner.get("description") or "", schema)


def compile_validator(schema: Json) -> jsonschema_rs.Validator:
    """Return the validator of a JSON Schema, 2020-12 where its `$schema` names no draft. Raises `BadSchema`."""
    return _compile(_encode_schema(schema))[1]


def _make_shape_of_function(function: Callable[..., Any]) -> ToolShape:
    name = getattr(function, "__name__", type(function).__name__)
    try:
        description, described = read_docstring(getdoc(function) or "")
        struct = make_struct(name, name, function, described)
        schema = make_schema(struct)
    except UsageError as error:
        raise BadSchema(str(error)) from None
    except (TypeError, ValueError, NameError) as error:
        raise BadSchema(f"{name} has no JSON Schema: {str(error).splitlines()[-1]}") from None
    return _make_shape(name, description, schema, partial(read_arguments, struct))


def _make_shape_of_type(kind: type) -> ToolShape:
    model_schema, validate = getattr(kind, "model_json_schema", None), getattr(kind, "model_validate", None)
    if callable(model_schema) and callable(validate):
        schema = model_schema()
        return _make_shape(kind.__name__, schema.get("description", ""), schema, validate, kind)
    try:
        schema = msgspec.json.schema(kind)
    except (TypeError, ValueError) as error:
        raise BadSchema(f"{kind.__name__} has no JSON Schema: {str(error).splitlines()[-1]}") from None
    reference = str(schema.get("$ref", ""))
    if reference.startswith("#/$defs/"):  # services want an object at the top
        definitions = dict(schema["$defs"])
        name = reference.removeprefix("#/$defs/")
        top = definitions[name]
        if reference.encode() not in msgspec.json.encode(definitions):
            del definitions[name]
        schema = {**top, "$defs": definitions} if definitions else top
    convert = partial(msgspec.convert, type=kind, str_keys=True)
    return _make_shape(kind.__name__, str(schema.get("description", "")), schema, convert, kind)


def _make_shape(
    name: object,
    description: object,
    schema: Json,
    convert: Callable[[Any], Any] | None = None,
    kind: type | None = None,
) -> ToolShape:
    if not isinstance(name, str) or NAME.fullmatch(name) is None:
        raise BadSchema("a tool's name must be 1 to 64 of A-Z a-z 0-9 _ . -")
    try:
        if not isinstance(schema, Mapping):
            raise BadSchema("it is no object")
        own, validator = _compile(_encode_schema(schema))
    except BadSchema as error:
        raise BadSchema(f"the schema of {name} cannot be used: {error}") from None
    return ToolShape(Tool(name, str(description), own), convert, validator, kind)


def _encode_schema(schema: Json) -> bytes:
    """Return a schema as JSON of at most `SCHEMA_BYTES`. Raises `BadSchema`."""
    try:
        text = msgspec.json.encode(schema)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadSchema(f"it is not JSON ({type(error).__name__})") from None
    if len(text) > SCHEMA_BYTES:
        raise BadSchema(f"it has {len(text)} bytes; {SCHEMA_BYTES} are the most")
    return text


def _compile(text: bytes) -> tuple[Json, jsonschema_rs.Validator]:
    schema = msgspec.json.decode(text)
    if measure_json(schema)[0] > DOCUMENT_DEPTH:
        raise BadSchema(f"it is nested over {DOCUMENT_DEPTH} deep")
    digest = sha256(text).digest()
    if digest in _compiled:
        _compiled.move_to_end(digest)
        return schema, _compiled[digest]
    try:
        validator = jsonschema_rs.validator_for(schema, retriever=_refuse_fetch, **CHOICES)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        path = error.instance_path if isinstance(error, jsonschema_rs.ValidationError) else []
        raise BadSchema(str(error).split("\n", 1)[0], make_pointer(path)) from None
    _compiled[digest] = validator
    if len(_compiled) > SCHEMAS_KEPT:
        _compiled.popitem(last=False)
    return schema, validator


def _refuse_fetch(uri: str) -> NoReturn:
    raise ValueError("a schema must stand by itself: nothing is fetched")
