"""Makes a type of a function's signature: the source of a JSON Schema, and of the conversion of its arguments; pure."""

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Annotated, Any, get_type_hints

import docstring_parser
import msgspec

from ..errors import UsageError


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return the description in a docstring, and those of its parameters by name."""
    documented = docstring_parser.parse(text)
    described = {each.arg_name: " ".join((each.description or "").split()) for each in documented.params}
    return (documented.description or "").strip(), described


def make_struct(
    where: str, name: str, function: Callable[..., Any], described: Mapping[str, str]
) -> type[msgspec.Struct]:
    """Return a type with a field for each parameter. `described`: the descriptions of parameters, by name."""
    hints = get_type_hints(function, include_extras=True)
    fields: list[tuple[str, Any, Any]] = []
    for each in signature(function).parameters.values():
        if each.kind not in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY):
            raise UsageError(f"{where}: the parameter {each} cannot be given by name: list named parameters")
        if each.name not in hints:
            raise UsageError(f"{where}: the parameter {each.name} has no type: write {each.name}: str")
        hint = hints[each.name]
        notes = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, str)]
        if text := " ".join(notes) or described.get(each.name):
            hint = Annotated[hint, msgspec.Meta(description=text)]
        default = msgspec.NODEFAULT if each.default is Parameter.empty else each.default
        fields.append((each.name, hint, default))
    return msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)


def make_schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a type, an object's. Raises TypeError for types that JSON does not have."""
    msgspec.json.Decoder(struct)  # finds types that have a schema and cannot be read
    (root,), parts = msgspec.json.schema_components([struct], ref_template="#/$defs/{name}")
    schema = parts.pop(root["$ref"].removeprefix("#/$defs/"))
    del schema["title"]
    return {**schema, "$defs": parts} if parts else schema


def read_arguments(struct: type[msgspec.Struct], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of a call, in the types of the function; those not `given` keep their defaults."""
    read = msgspec.convert(given, struct)
    return {name: getattr(read, name) for name in given}
