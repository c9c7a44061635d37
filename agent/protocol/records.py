"""Copies a record of the ports into a shape of the wire or of the HTTP API, field by field, by name; pure.

A memory item, a call or a thread is one record in `agent.ports`. Its shapes in `outbound.py` and `views.py` show the
same fields under the same names, and only the differences are written down where a shape is filled.
"""

from typing import Any, TypeVar

import msgspec

S = TypeVar("S", bound=msgspec.Struct)


def from_record(shape: type[S], record: object, /, **fields: Any) -> S:
    """Make a `shape`: its `fields` as given, each other field from the attribute of `record` with the same name.

    Raises `AttributeError` for a field that `record` lacks and `fields` leave out, even where `shape` has a default.
    """
    copied = {name: getattr(record, name) for name in shape.__struct_fields__ if name not in fields}
    return shape(**copied, **fields)
