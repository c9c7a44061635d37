"""Bounds the cost of a JSON Schema from outside: its size, its depth, its references and its patterns; pure.

Strategy: a schema is compiled and used on the event loop, so it is bounded before. A `$ref` makes a small schema large:
twenty definitions that each refer twice to the next are a million schemas. So each reference counts as all that it
leads to, and a reference that leads to itself is refused. Every object counts as a schema, also where the standard sees
none, so every part that a validator could visit is counted here. Data that can neither refer nor match is not walked.
"""

from typing import Any

from ..errors import BadTool
from ..structured.pointer import Json, measure_json, parse_pointer
from .fault_places import place_of

TOOL_SCHEMA_BYTES = 16 * 1024  # of one tool's parameters, written as JSON ...
TOOL_SCHEMA_DEPTH = 16
TOOL_SCHEMA_PARTS = 2000  # ... and the schemas in it, where each $ref counts as all that it leads to ...
TOOL_SCHEMA_PATTERNS = 32  # ... and the patterns, counted so too: as many are matched in 0.1 s at the most

_NAMED = frozenset(
    ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
)
_DATA = frozenset(("enum", "const", "default", "examples", "example"))
_MOVING = ("$id", "$schema", "$dynamicRef", "$recursiveRef")  # these change the target of a reference
_CHAIN = 100  # nested objects and references; a Python stack holds several times as many


def check_bounds(schema: Json, text: bytes) -> None:
    """Raise `BadTool`, with the pointer into the schema, when the schema may cost too much.

    `text`: the schema as msgspec writes it in JSON.
    """
    if len(text) > TOOL_SCHEMA_BYTES:
        raise BadTool(f"has {len(text)} bytes; {TOOL_SCHEMA_BYTES} are the most")
    if measure_json(schema, TOOL_SCHEMA_DEPTH)[0] > TOOL_SCHEMA_DEPTH:
        raise BadTool(f"is nested over {TOOL_SCHEMA_DEPTH} deep")
    plain = not any(word in text for word in (b'"$', b'"patternProperties"', b'"regex"'))
    if plain and text.count(b'"pattern"') <= TOOL_SCHEMA_PATTERNS:
        return
    parts, patterns = _SchemaWalk(schema).measure_cost(schema, (), named=False)
    if parts > TOOL_SCHEMA_PARTS:
        raise BadTool(
            f"holds over {TOOL_SCHEMA_PARTS} schemas, where each $ref counts as all that it leads to"
        )
    if patterns > TOOL_SCHEMA_PATTERNS:
        raise BadTool(
            f"holds over {TOOL_SCHEMA_PATTERNS} patterns, where each $ref counts as all that it leads to"
        )


def count_patterns(value: Json) -> int:
    """Return the number of patterns in a value, each counted once."""
    count = 0
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (dict, list)):
            count += _count_own_patterns(node)
            waiting += node.values() if isinstance(node, dict) else node
    return count


class _SchemaWalk:
    """One walk through a schema, with the costs of the parts that were visited."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._known: dict[tuple[int, bool], tuple[int, int]] = {}
        self._open: set[tuple[int, bool]] = set()

    def measure_cost(self, node: Json, path: tuple[str | int, ...], *, named: bool) -> tuple[int, int]:
        """Return the numbers of schemas and patterns in a value. `named`: its keys are names and not keywords."""
        if not isinstance(node, (dict, list)):
            return 0, 0
        key = (id(node), named)
        if key in self._known:
            return self._known[key]
        if key in self._open:
            raise BadTool("a $ref leads back to where it stands", place_of(path))
        if len(self._open) >= _CHAIN:
            raise BadTool(f"objects and $ref lead over {_CHAIN} deep", place_of(path))
        self._open.add(key)
        inside = list(self._measure_inside(node, path, named))
        self._open.discard(key)
        cost = (
            sum(each[0] for each in inside) + isinstance(node, dict),
            sum(each[1] for each in inside) + (0 if named else _count_own_patterns(node)),
        )
        self._known[key] = cost
        return cost

    def _measure_inside(self, node: Any, path: tuple[str | int, ...], named: bool) -> list[tuple[int, int]]:
        if isinstance(node, list):
            return [self.measure_cost(each, (*path, index), named=False) for index, each in enumerate(node)]
        costs = []
        if not named:
            for word in _MOVING:
                if isinstance(node.get(word), str) and (path or word != "$schema"):
                    raise BadTool(
                        "cannot stand here, since it changes where a $ref leads", place_of((*path, word))
                    )
            if node.get("format") == "regex":
                raise BadTool(
                    "the format regex is not checked here; leave it out", place_of((*path, "format"))
                )
            if isinstance(node.get("$ref"), str):
                where = (*path, "$ref")
                costs.append(self.measure_cost(self._resolve(node["$ref"], where), where, named=False))
        for key, each in node.items():
            if named or key not in _DATA:
                costs.append(self.measure_cost(each, (*path, key), named=not named and key in _NAMED))
        return costs

    def _resolve(self, reference: str, path: tuple[str | int, ...]) -> Json:
        """Return the target of a reference.

        Raises `BadTool` for an encoded one, which may lead elsewhere than it seems to.
        """
        steps = parse_pointer(reference[1:]) if reference[:1] == "#" and "%" not in reference else None
        if steps is None:
            raise BadTool("must lead to a part of the same schema, as #/$defs/NAME", place_of(path))
        node = self._root
        for step in steps:
            if isinstance(node, dict) and step in node:
                node = node[step]
            elif isinstance(node, list) and step in map(str, range(len(node))):
                node = node[int(step)]
            else:
                raise BadTool("leads to nothing in the same schema", place_of(path))
        return node


def _count_own_patterns(node: Json) -> int:
    if isinstance(node, list):
        return 0
    keyed = node.get("patternProperties")
    return isinstance(node.get("pattern"), str) + (len(keyed) if isinstance(keyed, dict) else 0)
