"""JSON Patch (RFC 6902) on what a model wrote; pure.

Strategy: operations are applied one at a time to one deep copy, so that a patch is applied whole or not at all, and
the first that fails is told with its index and a reason that a model can use. Our own, since a document must come out
with every value that no operation names exactly as it was, and since an operation may be anything: `copy` can double a
document each time, so depth and size are bounded at every step.
"""

from collections.abc import Callable
from typing import NamedTuple

from ..config import DOCUMENT_DEPTH, DOCUMENT_VALUES, PATCH_OPERATIONS
from ..errors import AgentError
from .pointer import Json, copied, measure, same, tokens


class PatchFailed(AgentError):
    """An operation cannot be applied. index: which, from 0; -1 where the patch itself is none. reason: one clause."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(f"operation {index}: {reason}" if index >= 0 else reason)
        self.index = index
        self.reason = reason


class _Wrong(Exception):
    """Why the operation at hand cannot be applied."""


class _At(NamedTuple):
    """A place in a document: its parent and the last part of its pointer."""

    parent: Json
    part: str


class _Patching:
    """One document while operations are applied to it."""

    def __init__(self, document: Json) -> None:
        self.document = copied(document)
        self._room: int | None = None  # counted when something needs it: most operations swap one small value

    @property
    def room(self) -> int:
        """How many values the document may hold besides those that it does."""
        if self._room is None:
            self._room = DOCUMENT_VALUES - measure(self.document)[1]
        return self._room

    def get(self, path: list[str]) -> Json:
        """Return the value at a place that must exist."""
        value = self.document
        for part in path:
            value = value[_found(value, part)]
        return value

    def put(self, path: list[str], value: Json) -> None:
        """Add a value, as `add` does."""
        if not path:
            self._hold(path, value, measure(self.document)[1])
            self.document = value
            return
        parent, part = self._at(path)
        if isinstance(parent, dict):
            self._hold(path, value, measure(parent[part])[1] if part in parent else 0)
            parent[part] = value
        elif isinstance(parent, list):
            place = len(parent) if part == "-" else _index(part, len(parent))
            self._hold(path, value, 0)
            parent.insert(place, value)
        else:
            raise _Wrong(f"what should hold {_quoted(part)} is no object or array")

    def take(self, path: list[str]) -> Json:
        """Remove a value that must exist, and return it."""
        if not path:
            raise _Wrong("the whole document cannot be removed")
        parent, part = self._at(path)
        key = _found(parent, part)
        value = parent.pop(key)
        if self._room is not None:
            self._room += measure(value)[1]
        return value

    def swap(self, path: list[str], value: Json) -> None:
        """Put a value in place of one that must exist; its object keeps the order of its keys."""
        if not path:
            self.put(path, value)
            return
        parent, part = self._at(path)
        key = _found(parent, part)
        self._hold(path, value, measure(parent[key])[1])
        parent[key] = value

    def _hold(self, path: list[str], value: Json, freed: int) -> None:
        """Make sure that a value may stand at a place. freed: how many values leave it."""
        depth, count = measure(value)
        if len(path) + depth > DOCUMENT_DEPTH:
            raise _Wrong(f"the document would be nested over {DOCUMENT_DEPTH} deep")
        if count == freed:
            return
        if self.room + freed < count:
            raise _Wrong(f"the document would hold over {DOCUMENT_VALUES} values")
        self._room = self.room + freed - count

    def _at(self, path: list[str]) -> _At:
        return _At(self.get(path[:-1]), path[-1])


def apply(document: Json, operations: Json) -> Json:
    """Return a document with the operations applied, in order; the one given is left as it is.

    document: any JSON value within the bounds of `agent.config`, null too. operations: what a model wrote for an array
    of RFC 6902 operations. Raises `PatchFailed` at the first that cannot be applied, and nothing else.
    """
    if not isinstance(operations, list):
        raise PatchFailed(-1, "operations must be an array")
    if len(operations) > PATCH_OPERATIONS:
        raise PatchFailed(-1, f"there are over {PATCH_OPERATIONS} operations")
    patching = _Patching(document)
    for index, operation in enumerate(operations):
        try:
            _apply(patching, operation)
        except _Wrong as wrong:
            raise PatchFailed(index, str(wrong)) from None
    return patching.document


def _apply(patching: _Patching, operation: Json) -> None:
    if not isinstance(operation, dict):
        raise _Wrong("it is no object")
    name = operation.get("op")
    run = _OPERATIONS.get(name) if isinstance(name, str) else None
    if run is None:
        raise _Wrong(f"op must be one of {', '.join(_OPERATIONS)}")
    run(patching, operation)


def _add(patching: _Patching, operation: dict[str, Json]) -> None:
    patching.put(_path(operation), _value(operation))


def _remove(patching: _Patching, operation: dict[str, Json]) -> None:
    patching.take(_path(operation))


def _replace(patching: _Patching, operation: dict[str, Json]) -> None:
    patching.swap(_path(operation), _value(operation))


def _move(patching: _Patching, operation: dict[str, Json]) -> None:
    source, path = _path(operation, "from"), _path(operation)
    if source == path:
        patching.get(source)
        return
    if path[: len(source)] == source:
        raise _Wrong("a value cannot be moved into itself")
    patching.put(path, patching.take(source))


def _copy(patching: _Patching, operation: dict[str, Json]) -> None:
    value = patching.get(_path(operation, "from"))
    if measure(value)[1] > patching.room:
        raise _Wrong(f"the document would hold over {DOCUMENT_VALUES} values")
    patching.put(_path(operation), copied(value))


def _test(patching: _Patching, operation: dict[str, Json]) -> None:
    if not same(patching.get(_path(operation)), _value(operation)):
        raise _Wrong("the value there is another")


_OPERATIONS: dict[str, Callable[[_Patching, dict[str, Json]], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _path(operation: dict[str, Json], member: str = "path") -> list[str]:
    text = operation.get(member)
    if not isinstance(text, str):
        raise _Wrong(f"{member} is missing, or no string")
    path = tokens(text)
    if path is None:
        raise _Wrong(f'{member} must be a JSON Pointer, such as "/a/0", or ""')
    return path


def _value(operation: dict[str, Json]) -> Json:
    if "value" not in operation:
        raise _Wrong("value is missing")
    value = operation["value"]
    if measure(value)[0] > DOCUMENT_DEPTH:
        raise _Wrong(f"its value is nested over {DOCUMENT_DEPTH} deep")
    return copied(value)


def _found(parent: Json, part: str) -> str | int:
    """Return the key or index of something that exists."""
    if isinstance(parent, dict):
        if part not in parent:
            raise _Wrong(f"there is no {_quoted(part)}")
        return part
    if isinstance(parent, list):
        return _index(part, len(parent) - 1)
    raise _Wrong(f"what should hold {_quoted(part)} is no object or array")


def _index(part: str, most: int) -> int:
    """Return an array's index; the digits are ASCII, without leading zeros (RFC 6901, section 4)."""
    if not (part.isascii() and part.isdigit()) or (part[0] == "0" and part != "0"):
        raise _Wrong(f"{_quoted(part)} is no index of an array")
    if len(part) > 9 or int(part) > most:
        raise _Wrong(f"the array has no place {_quoted(part)}")
    return int(part)


def _quoted(part: str) -> str:
    return f'"{part[:40]}"'
