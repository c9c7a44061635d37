"""What a JSON Schema of somebody else's may cost: its size, its depth, its references and its patterns; pure.

Strategy: a schema is compiled and asked on the event loop, so it is bounded before. `$ref` is what makes a small one
large: twenty definitions that each refer twice to the next are a million schemas. So each reference counts as all that
it leads to, and one that leads to itself is refused. Every object counts as a schema, also where the standard sees
none, so whatever a validator would look at has been looked at here; what can neither refer nor match is not walked.
"""

from typing import Any

from ..config import (
    TOOL_SCHEMA_BYTES,
    TOOL_SCHEMA_DEPTH,
    TOOL_SCHEMA_PARTS,
    TOOL_SCHEMA_PATTERNS,
)
from ..errors import BadTool
from ..structured.pointer import Json, measure, tokens
from .places import place

_NAMED = frozenset(
    ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
)
_DATA = frozenset(("enum", "const", "default", "examples", "example"))
_MOVING = ("$id", "$schema", "$dynamicRef", "$recursiveRef")  # they change where a reference leads
_CHAIN = 100  # objects and references in each other; a Python stack holds several times as many


def bounded(schema: Json, text: bytes) -> None:
    """Raise `BadTool`, with the pointer into the schema, when it may cost too much.

    text: the schema, written as JSON by msgspec.
    """
    if len(text) > TOOL_SCHEMA_BYTES:
        raise BadTool(f"has {len(text)} bytes; {TOOL_SCHEMA_BYTES} are the most")
    if measure(schema, TOOL_SCHEMA_DEPTH)[0] > TOOL_SCHEMA_DEPTH:
        raise BadTool(f"is nested over {TOOL_SCHEMA_DEPTH} deep")
    plain = not any(word in text for word in (b'"$', b'"patternProperties"', b'"regex"'))
    if plain and text.count(b'"pattern"') <= TOOL_SCHEMA_PATTERNS:
        return
    parts, patterns = _Walk(schema).cost(schema, (), named=False)
    if parts > TOOL_SCHEMA_PARTS:
        raise BadTool(
            f"holds over {TOOL_SCHEMA_PARTS} schemas, where each $ref counts as all that it leads to"
        )
    if patterns > TOOL_SCHEMA_PATTERNS:
        raise BadTool(
            f"holds over {TOOL_SCHEMA_PATTERNS} patterns, where each $ref counts as all that it leads to"
        )


def patterns_in(value: Json) -> int:
    """Return how many patterns stand in a value, each once."""
    found = 0
    left = [value]
    while left:
        node = left.pop()
        if isinstance(node, (dict, list)):
            found += _patterns(node)
            left += node.values() if isinstance(node, dict) else node
    return found


class _Walk:
    """One walk through a schema: what was counted, and what is being counted."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._known: dict[tuple[int, bool], tuple[int, int]] = {}
        self._open: set[tuple[int, bool]] = set()

    def cost(self, node: Json, path: tuple[str | int, ...], *, named: bool) -> tuple[int, int]:
        """Return how many schemas and how many patterns stand in a value. named: its keys are names, no keywords."""
        if not isinstance(node, (dict, list)):
            return 0, 0
        key = (id(node), named)
        if key in self._known:
            return self._known[key]
        if key in self._open:
            raise BadTool("a $ref leads back to where it stands", place(path))
        if len(self._open) >= _CHAIN:
            raise BadTool(f"objects and $ref lead over {_CHAIN} deep", place(path))
        self._open.add(key)
        inside = list(self._inside(node, path, named))
        self._open.discard(key)
        counted = (
            sum(each[0] for each in inside) + isinstance(node, dict),
            sum(each[1] for each in inside) + (0 if named else _patterns(node)),
        )
        self._known[key] = counted
        return counted

    def _inside(self, node: Any, path: tuple[str | int, ...], named: bool) -> list[tuple[int, int]]:
        if isinstance(node, list):
            return [self.cost(each, (*path, index), named=False) for index, each in enumerate(node)]
        costs = []
        if not named:
            for word in _MOVING:
                if isinstance(node.get(word), str) and (path or word != "$schema"):
                    raise BadTool(
                        "cannot stand here, since it changes where a $ref leads", place((*path, word))
                    )
            if node.get("format") == "regex":
                raise BadTool("regex is no format that is checked here", place((*path, "format")))
            if isinstance(node.get("$ref"), str):
                where = (*path, "$ref")
                costs.append(self.cost(self._meant(node["$ref"], where), where, named=False))
        for key, each in node.items():
            if named or key not in _DATA:
                costs.append(self.cost(each, (*path, key), named=not named and key in _NAMED))
        return costs

    def _meant(self, reference: str, path: tuple[str | int, ...]) -> Json:
        """Return what a reference leads to. One that is encoded may lead elsewhere than it seems to."""
        steps = tokens(reference[1:]) if reference[:1] == "#" and "%" not in reference else None
        if steps is None:
            raise BadTool("must lead to a part of the same schema, as #/$defs/NAME", place(path))
        node = self._root
        for step in steps:
            if isinstance(node, dict) and step in node:
                node = node[step]
            elif isinstance(node, list) and step in map(str, range(len(node))):
                node = node[int(step)]
            else:
                raise BadTool("leads to nothing in the same schema", place(path))
        return node


def _patterns(node: Json) -> int:
    if isinstance(node, list):
        return 0
    keyed = node.get("patternProperties")
    return isinstance(node.get("pattern"), str) + (len(keyed) if isinstance(keyed, dict) else 0)
