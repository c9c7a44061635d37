"""Copies a record of the ports into a shape of the wire or of the HTTP API, field by field, by name; pure.

A memory item, a call or a thread is one record in `agent.ports`. Its shapes in `consult_frames.py` and `views.py` show
the same fields under the same names, and only the differences are written down where a shape is filled.
"""

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, TypeVar

import msgspec

S = TypeVar("S", bound=msgspec.Struct)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def make_time(at: int) -> datetime:
    """Return Unix milliseconds, within the years 1970 to 9999, as a time in UTC."""
    return _EPOCH + timedelta(milliseconds=at)


@cache
def _time_fields(shape: type[msgspec.Struct]) -> frozenset[str]:
    fields = msgspec.structs.fields(shape)
    return frozenset(field.name for field in fields if field.type in (datetime, datetime | None))


def from_record(shape: type[S], record: object, /, **fields: Any) -> S:
    """Make a `shape`: its `fields` as given, each other field from the attribute of `record` with the same name.

    Unix milliseconds become a time where the shape has one. Raises `AttributeError` for a field that `record` lacks and
    `fields` leave out, even where `shape` has a default.
    """
    copied = {name: getattr(record, name) for name in shape.__struct_fields__ if name not in fields}
    for name in _time_fields(shape) & copied.keys():
        copied[name] = None if copied[name] is None else make_time(copied[name])
    return shape(**copied, **fields)
