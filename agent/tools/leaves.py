"""Walks the leaves of a call's arguments, each with the facts that its schema states about it.

Strategy: arguments and schema are walked together. At each place the walk holds all schemas that may describe it (of
`properties`, `items`, `$ref` within the document, `anyOf` and the like), so a value that one of them names belongs to
the schema. This module neither judges a leaf nor checks a schema. Pure; bounded in depth and in schemas.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..config import DOCUMENT_DEPTH

_SCHEMAS: Final = 64  # that are read for one place
_ALSO: Final = ("anyOf", "oneOf", "allOf")
_CONDITIONAL: Final = ("then", "else")


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A value that holds no other value, or one that is too deep to walk.

    `pointer`: its place, a JSON Pointer. `names`: the keys above it that no schema names: they are data, too.
    `allowed`: a schema's `const`, `enum` or `default` is this value. `required`: it may not be left out.
    `descriptions`: of the schemas that describe it.
    """

    pointer: str
    value: Any
    names: tuple[str, ...]
    allowed: bool
    required: bool
    descriptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _LeafPosition:
    pointer: str
    names: tuple[str, ...]
    allowed: bool
    required: bool
    depth: int


def walk_leaves(arguments: Mapping[str, Any], parameters: Mapping[str, Any]) -> Iterator[Leaf]:
    """Yield the leaves of `arguments` in their order. `parameters`: the JSON Schema of the whole."""
    yield from _walk(
        arguments,
        _expand_schemas([parameters], parameters),
        parameters,
        _LeafPosition("", (), False, True, 0),
    )


def _walk(
    value: Any, schemas: list[Mapping[str, Any]], root: Mapping[str, Any], at: _LeafPosition
) -> Iterator[Leaf]:
    allowed = at.allowed or (at.depth > 0 and any(_names_value(schema, value) for schema in schemas))
    if at.depth > DOCUMENT_DEPTH or not isinstance(value, (dict, list)):
        descriptions = [each["description"] for each in schemas if isinstance(each.get("description"), str)]
        yield Leaf(
            pointer=at.pointer,
            value=value,
            names=at.names,
            allowed=allowed,
            required=at.required,
            descriptions=tuple(descriptions),
        )
        return
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        inner, named, required = _find_inner_schemas(key, schemas)
        place = _LeafPosition(
            f"{at.pointer}/{_escape_key(key)}",
            at.names if named else (*at.names, str(key)),
            allowed,
            at.required and required,
            at.depth + 1,
        )
        yield from _walk(each, _expand_schemas(inner, root), root, place)


def _escape_key(key: str | int) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


def _find_inner_schemas(key: str | int, schemas: list[Mapping[str, Any]]) -> tuple[list[Any], bool, bool]:
    """Return the schemas of the value at a key, whether a schema names the key, and whether the value is required."""
    inner: list[Any] = []
    named = required = isinstance(key, int)
    for schema in schemas:
        if isinstance(key, int):
            first = _as_list(schema.get("prefixItems"))
            inner.append(first[key] if key < len(first) else schema.get("items"))
            continue
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and key in properties:
            named = True
            inner.append(properties[key])
        else:
            inner.append(schema.get("additionalProperties"))
        required = required or key in _as_list(schema.get("required"))
    return inner, named, required


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _expand_schemas(given: Sequence[Any], root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the `given` schemas and all that they refer to or are composed of, at most `_SCHEMAS`."""
    waiting = [each for each in given if isinstance(each, Mapping)]
    for schema in waiting:  # grows while it is read
        if len(waiting) > _SCHEMAS:
            break
        if isinstance(reference := schema.get("$ref"), str):
            waiting += _resolve(reference, root)
        more = [each for word in _ALSO for each in _as_list(schema.get(word))]
        more += [schema[word] for word in _CONDITIONAL if word in schema]
        waiting += [each for each in more if isinstance(each, Mapping)]
    return waiting[:_SCHEMAS]


def _resolve(reference: str, root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the target of a `reference` within `root`; [] when it leads nowhere."""
    if not reference.startswith("#"):
        return []
    at: Any = root
    for part in reference[1:].split("/")[1:]:
        at = at.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(at, Mapping) else None
    return [at] if isinstance(at, Mapping) else []


def _names_value(schema: Mapping[str, Any], value: Any) -> bool:
    """Return whether `schema` names `value`: as its `const`, its `default` or one of its `enum`."""
    return any(_are_equal(value, schema[word]) for word in ("const", "default") if word in schema) or any(
        _are_equal(value, each) for each in _as_list(schema.get("enum"))
    )


def _are_equal(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; true is not 1."""
    if isinstance(one, dict) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_are_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_are_equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
