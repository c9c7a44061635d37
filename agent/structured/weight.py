"""Weighs a JSON Schema: the work that it causes for each value that is checked against it; pure.

Strategy: a validator visits at most every part of a schema for every value. So the weight of a schema is the number of
values in it, where a `$ref` counts as all that it leads to; the target of a reference is counted once and remembered.
"""

from math import inf

from .pointer import Json, parse_pointer


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
