"""The leaves of a call's arguments, each with what its schema says of it.

Strategy: arguments and schema are walked together. Below each place stand all schemas that may describe it (of
`properties`, `items`, `$ref` within the document, `anyOf` and the like), so a value that one of them names is its own.
What a leaf is, is decided elsewhere; whether a schema holds is not asked here. Pure; bounded in depth and in schemas.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agent.config import DOCUMENT_DEPTH

_SCHEMAS: Final = 64  # that are looked at for one place
_ALSO: Final = ("anyOf", "oneOf", "allOf")
_CONDITIONAL: Final = ("then", "else")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value that holds no other, or one that is too deep to look into.

    pointer: where it stands, a JSON Pointer. names: the keys above it that no schema names: they are data, too.
    allowed: a schema's const, enum or default is this value. required: it may not be left out. descriptions: what the
    schemas that describe it say in words.
    """

    pointer: str
    value: Any
    names: tuple[str, ...]
    allowed: bool
    required: bool
    descriptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Place:
    pointer: str
    names: tuple[str, ...]
    allowed: bool
    required: bool
    depth: int


def leaves(arguments: Mapping[str, Any], parameters: Mapping[str, Any]) -> Iterator[Leaf]:
    """Yield the leaves of some arguments, in their order. parameters: the JSON Schema of the whole."""
    yield from _below(
        arguments, _expanded([parameters], parameters), parameters, _Place("", (), False, True, 0)
    )


def _below(
    value: Any, schemas: list[Mapping[str, Any]], root: Mapping[str, Any], at: _Place
) -> Iterator[Leaf]:
    allowed = at.allowed or (at.depth > 0 and any(_names(schema, value) for schema in schemas))
    if at.depth > DOCUMENT_DEPTH or not isinstance(value, (dict, list)):
        said = [each["description"] for each in schemas if isinstance(each.get("description"), str)]
        yield Leaf(at.pointer, value, at.names, allowed, at.required, tuple(said))
        return
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        inner, named, required = _inside(key, schemas)
        place = _Place(
            f"{at.pointer}/{_escaped(key)}",
            at.names if named else (*at.names, str(key)),
            allowed,
            at.required and required,
            at.depth + 1,
        )
        yield from _below(each, _expanded(inner, root), root, place)


def _escaped(key: str | int) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


def _inside(key: str | int, schemas: list[Mapping[str, Any]]) -> tuple[list[Any], bool, bool]:
    """Return the schemas of what stands at a key, whether one of them names it, and whether it may not be left out."""
    inner: list[Any] = []
    named = required = isinstance(key, int)
    for schema in schemas:
        if isinstance(key, int):
            first = _listed(schema.get("prefixItems"))
            inner.append(first[key] if key < len(first) else schema.get("items"))
            continue
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and key in properties:
            named = True
            inner.append(properties[key])
        else:
            inner.append(schema.get("additionalProperties"))
        required = required or key in _listed(schema.get("required"))
    return inner, named, required


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _expanded(given: Sequence[Any], root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return some schemas and all that they refer to or are put together from."""
    waiting = [each for each in given if isinstance(each, Mapping)]
    for schema in waiting:  # which grows
        if len(waiting) > _SCHEMAS:
            break
        if isinstance(reference := schema.get("$ref"), str):
            waiting += _target(reference, root)
        more = [each for word in _ALSO for each in _listed(schema.get(word))]
        more += [schema[word] for word in _CONDITIONAL if word in schema]
        waiting += [each for each in more if isinstance(each, Mapping)]
    return waiting[:_SCHEMAS]


def _target(reference: str, root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what a reference within the document leads to; nothing where it leads nowhere."""
    if not reference.startswith("#"):
        return []
    at: Any = root
    for part in reference[1:].split("/")[1:]:
        at = at.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(at, Mapping) else None
    return [at] if isinstance(at, Mapping) else []


def _names(schema: Mapping[str, Any], value: Any) -> bool:
    """Tell whether a schema names a value: it is its const, its default or one of its enum."""
    return any(_same(value, schema[word]) for word in ("const", "default") if word in schema) or any(
        _same(value, each) for each in _listed(schema.get("enum"))
    )


def _same(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are equal; true is not 1."""
    if isinstance(one, dict) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
