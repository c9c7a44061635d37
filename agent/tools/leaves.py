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

    `pointer`: the place of the value, a JSON Pointer. `names`: the keys above the value that no schema names; such keys
    are data, too. `allowed`: the value is the `const`, the `default` or one of the `enum` of a schema. `required`: the
    value may not be left out. `descriptions`: the `description`s of the schemas for the value.
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
        inner, is_named, required = _find_inner_schemas(key, schemas)
        place = _LeafPosition(
            f"{at.pointer}/{_escape_key(key)}",
            at.names if is_named else (*at.names, str(key)),
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
    is_named = required = isinstance(key, int)
    for schema in schemas:
        if isinstance(key, int):
            prefix_items = _as_list(schema.get("prefixItems"))
            inner.append(prefix_items[key] if key < len(prefix_items) else schema.get("items"))
            continue
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and key in properties:
            is_named = True
            inner.append(properties[key])
        else:
            inner.append(schema.get("additionalProperties"))
        required = required or key in _as_list(schema.get("required"))
    return inner, is_named, required


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _expand_schemas(schemas: Sequence[Any], root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the `schemas` schemas and all that they refer to or are composed of, at most `_SCHEMAS`."""
    waiting = [each for each in schemas if isinstance(each, Mapping)]
    for schema in waiting:  # grows while it is read
        if len(waiting) > _SCHEMAS:
            break
        if isinstance(reference := schema.get("$ref"), str):
            waiting += _resolve(reference, root)
        composed = [each for word in _ALSO for each in _as_list(schema.get(word))]
        composed += [schema[word] for word in _CONDITIONAL if word in schema]
        waiting += [each for each in composed if isinstance(each, Mapping)]
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


def _are_equal(value: Any, other_value: Any) -> bool:
    """Return whether two JSON values are equal; true is not 1."""
    if isinstance(value, dict) and isinstance(other_value, Mapping):
        return value.keys() == other_value.keys() and all(
            _are_equal(value[key], other_value[key]) for key in value
        )
    if isinstance(value, list) and isinstance(other_value, (list, tuple)):
        return len(value) == len(other_value) and all(map(_are_equal, value, other_value))
    return isinstance(value, bool) == isinstance(other_value, bool) and bool(value == other_value)
