"""JSON Patch (RFC 6902) on a document that a model wrote; pure.

Strategy: operations are applied one at a time to one deep copy, so that a patch is applied as a whole or not at all.
The first operation that fails is reported with its index and a reason that a model can use. The code is our own for two
reasons: every value that no operation names must come out exactly as it was; and an operation may be anything: `copy`
can double a document each time, so depth and size are bounded at every step.
"""

from collections.abc import Callable
from typing import NamedTuple

from ..config import DOCUMENT_DEPTH
from ..errors import AgentError
from .pointer import Json, are_equal, copy_json, measure_json, parse_pointer

DOCUMENT_VALUES = 20_000  # in one document that operations build: `copy` may double it each time
PATCH_OPERATIONS = 256  # in one patch


class PatchFailed(AgentError):
    """An operation cannot be applied.

    `index`: of the operation, from 0; -1 when the patch itself is no list of operations. `reason`: one clause.
    """

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(f"operation {index}: {reason}" if index >= 0 else reason)
        self.index = index
        self.reason = reason


class _OperationRefused(Exception):
    """The reason that the operation at hand cannot be applied."""


class _PatchTarget(NamedTuple):
    """A place in a document: its parent and the last part of its pointer."""

    parent: Json
    part: str


class _PatchedDocument:
    """One document while operations are applied to it."""

    def __init__(self, document: Json) -> None:
        self.document = copy_json(document)
        self._room: int | None = None  # counted when it is needed: most operations replace one small value

    @property
    def room(self) -> int:
        """The number of values that the document may still gain."""
        if self._room is None:
            self._room = DOCUMENT_VALUES - measure_json(self.document)[1]
        return self._room

    def get_value(self, path: list[str]) -> Json:
        """Return the value at an existing place."""
        value = self.document
        for part in path:
            value = value[_find_key(value, part)]
        return value

    def add_value(self, path: list[str], value: Json) -> None:
        """Add a value, as the operation `add` does."""
        if not path:
            self._reserve_room(path, value, measure_json(self.document)[1])
            self.document = value
            return
        parent, part = self._find_target(path)
        if isinstance(parent, dict):
            self._reserve_room(path, value, measure_json(parent[part])[1] if part in parent else 0)
            parent[part] = value
        elif isinstance(parent, list):
            place = len(parent) if part == "-" else _parse_index(part, len(parent))
            self._reserve_room(path, value, 0)
            parent.insert(place, value)
        else:
            raise _OperationRefused(f"what should hold {_quote(part)} is no object or array")

    def remove_value(self, path: list[str]) -> Json:
        """Remove an existing value and return it."""
        if not path:
            raise _OperationRefused("the whole document cannot be removed")
        parent, part = self._find_target(path)
        key = _find_key(parent, part)
        value = parent.pop(key)
        if self._room is not None:
            self._room += measure_json(value)[1]
        return value

    def replace_value(self, path: list[str], value: Json) -> None:
        """Replace an existing value; its object keeps the order of its keys."""
        if not path:
            self.add_value(path, value)
            return
        parent, part = self._find_target(path)
        key = _find_key(parent, part)
        self._reserve_room(path, value, measure_json(parent[key])[1])
        parent[key] = value

    def _reserve_room(self, path: list[str], value: Json, freed: int) -> None:
        """Reserve the room for a value at a place. `freed`: the number of values that leave the place."""
        depth, count = measure_json(value)
        if len(path) + depth > DOCUMENT_DEPTH:
            raise _OperationRefused(f"the document would be nested over {DOCUMENT_DEPTH} deep")
        if count == freed:
            return
        if self.room + freed < count:
            raise _OperationRefused(f"the document would hold over {DOCUMENT_VALUES} values")
        self._room = self.room + freed - count

    def _find_target(self, path: list[str]) -> _PatchTarget:
        return _PatchTarget(self.get_value(path[:-1]), path[-1])


def apply_patch(document: Json, operations: Json) -> Json:
    """Return a copy of a document with the operations applied, in order.

    `document`: any JSON value within `DOCUMENT_DEPTH` and `DOCUMENT_VALUES`, null too. `operations`: a model's array of
    RFC 6902 operations. Raises `PatchFailed` at the first operation that cannot be applied, and nothing else.
    """
    if not isinstance(operations, list):
        raise PatchFailed(-1, "operations must be an array")
    if len(operations) > PATCH_OPERATIONS:
        raise PatchFailed(-1, f"there are over {PATCH_OPERATIONS} operations")
    patching = _PatchedDocument(document)
    for index, operation in enumerate(operations):
        try:
            _apply_operation(patching, operation)
        except _OperationRefused as wrong:
            raise PatchFailed(index, str(wrong)) from None
    return patching.document


def _apply_operation(patching: _PatchedDocument, operation: Json) -> None:
    if not isinstance(operation, dict):
        raise _OperationRefused("it is no object")
    name = operation.get("op")
    run = _OPERATIONS.get(name) if isinstance(name, str) else None
    if run is None:
        raise _OperationRefused(f"op must be one of {', '.join(_OPERATIONS)}")
    run(patching, operation)


def _add(patching: _PatchedDocument, operation: dict[str, Json]) -> None:
    patching.add_value(_read_path(operation), _read_value(operation))


def _remove(patching: _PatchedDocument, operation: dict[str, Json]) -> None:
    patching.remove_value(_read_path(operation))


def _replace(patching: _PatchedDocument, operation: dict[str, Json]) -> None:
    patching.replace_value(_read_path(operation), _read_value(operation))


def _move(patching: _PatchedDocument, operation: dict[str, Json]) -> None:
    origin, path = _read_path(operation, "from"), _read_path(operation)
    if origin == path:
        patching.get_value(origin)
        return
    if path[: len(origin)] == origin:
        raise _OperationRefused("a value cannot be moved into itself")
    patching.add_value(path, patching.remove_value(origin))


def _copy(patching: _PatchedDocument, operation: dict[str, Json]) -> None:
    value = patching.get_value(_read_path(operation, "from"))
    if measure_json(value)[1] > patching.room:
        raise _OperationRefused(f"the document would hold over {DOCUMENT_VALUES} values")
    patching.add_value(_read_path(operation), copy_json(value))


def _test(patching: _PatchedDocument, operation: dict[str, Json]) -> None:
    if not are_equal(patching.get_value(_read_path(operation)), _read_value(operation)):
        raise _OperationRefused("the value there is another")


_OPERATIONS: dict[str, Callable[[_PatchedDocument, dict[str, Json]], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _read_path(operation: dict[str, Json], member: str = "path") -> list[str]:
    text = operation.get(member)
    if not isinstance(text, str):
        raise _OperationRefused(f"{member} is missing, or no string")
    path = parse_pointer(text)
    if path is None:
        raise _OperationRefused(f'{member} must be a JSON Pointer, such as "/a/0", or ""')
    return path


def _read_value(operation: dict[str, Json]) -> Json:
    if "value" not in operation:
        raise _OperationRefused("value is missing")
    value = operation["value"]
    if measure_json(value)[0] > DOCUMENT_DEPTH:
        raise _OperationRefused(f"its value is nested over {DOCUMENT_DEPTH} deep")
    return copy_json(value)


def _find_key(parent: Json, part: str) -> str | int:
    """Return the key or index of an existing value."""
    if isinstance(parent, dict):
        if part not in parent:
            raise _OperationRefused(f"there is no {_quote(part)}")
        return part
    if isinstance(parent, list):
        return _parse_index(part, len(parent) - 1)
    raise _OperationRefused(f"what should hold {_quote(part)} is no object or array")


def _parse_index(part: str, most: int) -> int:
    """Return an array's index; the digits are ASCII, without leading zeros (RFC 6901, section 4)."""
    if not (part.isascii() and part.isdigit()) or (part[0] == "0" and part != "0"):
        raise _OperationRefused(f"{_quote(part)} is no index of an array")
    if len(part) > 9 or int(part) > most:
        raise _OperationRefused(f"the array has no place {_quote(part)}")
    return int(part)


def _quote(part: str) -> str:
    return f'"{part[:40]}"'
