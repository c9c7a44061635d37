"""How much work a JSON Schema is for each value that is checked against it; pure.

Strategy: a validator looks at most at every part of a schema for every value. So its weight is the number of values
that it holds, where a `$ref` counts as all that it leads to: what is referred to is counted once and remembered.
"""

from math import inf

from .pointer import Json, tokens


def weight(schema: Json) -> float:
    """Return how many values a schema holds, itself too; infinity where a `$ref` leads back to where it stands.

    One that leads nowhere, or elsewhere, counts for nothing. A schema's depth is bounded before.
    """
    return _Count(schema).of(schema)


class _Count:
    """One count, and what was counted."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._known: dict[int, float] = {}

    def of(self, node: Json) -> float:
        """Return the weight of a part."""
        if not isinstance(node, (dict, list)):
            return 1
        known = self._known.get(id(node))
        if known is not None:
            return known
        self._known[id(node)] = inf  # for whatever leads back here
        reference = node.get("$ref") if isinstance(node, dict) else None
        meant = self._meant(reference) if isinstance(reference, str) else None
        inside = node.values() if isinstance(node, dict) else node
        count = 1 + sum(self.of(each) for each in inside) + (self.of(meant) if meant is not None else 0)
        self._known[id(node)] = count
        return count

    def _meant(self, reference: str) -> Json:
        """Return what a reference leads to, or None."""
        node = self._root
        for step in (tokens(reference[1:]) or ()) if reference[:1] == "#" else (reference,):
            if isinstance(node, dict):
                node = node.get(step)
            elif isinstance(node, list) and step.isdecimal() and int(step) < len(node):
                node = node[int(step)]
            else:
                return None
        return node
