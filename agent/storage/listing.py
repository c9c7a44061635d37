"""Queries that the stores share: pages of a table, rows that must exist, and records made of rows."""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa

from ..errors import NotFound
from ..ports.pages import Page, Window
from .prepared import PreparedStatement
from .schema import projects, threads

PAGE_BYTES = 1024 * 1024  # of one page, told as JSON, unless its only entry has more

T = TypeVar("T")
_encode = msgspec.json.Encoder().encode
_NAMES = 256  # bytes by which an entry may be longer on the wire, where its fields have other names


def load_page(
    connection: sa.Connection,
    table: sa.Table,
    wanted: sa.Select[Any],
    window: Window,
    made: Callable[[Any], T],
) -> Page[T]:
    """Return one page of the `wanted` rows of `table`, in the order they came. `made` turns a row into an entry.

    The page holds at most `window.limit` entries and about `PAGE_BYTES` bytes, but at least one entry if there is any.
    """
    shown: list[T] = []
    room, last = PAGE_BYTES, 0
    ordered = wanted.where(table.c.number > window.after).order_by(table.c.number).limit(window.limit + 1)
    with connection.execute(ordered) as rows:  # one by one: rows that do not fit are not read
        for each in rows:
            entry = made(each)
            room -= len(_encode(entry)) + _NAMES
            if shown and (room < 0 or len(shown) == window.limit):
                return Page(tuple(shown), last)
            shown.append(entry)
            last = each.number
    return Page(tuple(shown))


def find_row(
    connection: sa.Connection, table: sa.Table, *conditions: sa.ColumnElement[bool]
) -> "sa.Row[Any]":
    """Return the only row for which `conditions` hold; raises `NotFound`."""
    return require_row(connection.execute(sa.select(table).where(*conditions)).one_or_none())


def require_row(one: "sa.Row[Any] | None") -> "sa.Row[Any]":
    """Return the row `one`; raises `NotFound` if it is `None`."""
    if one is None:
        raise NotFound("there is no such thing")
    return one


@cache
def field_names(record: type[Any]) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass."""
    return tuple(field.name for field in fields(record))


def make_record(record: type[T], row: Any, /, **given: Any) -> T:
    """Make a `record`: its fields as `given`, each other field from the column of `row` with the same name."""
    names = field_names(record)  # type: ignore[arg-type]  # mypy: a type[T] is hashable
    copied = {name: getattr(row, name) for name in names if name not in given}
    return record(**copied, **given)


OF_THREAD = (threads.c.project_id == sa.bindparam("project"), threads.c.id == sa.bindparam("thread"))
SELECT_THREAD = sa.select(threads).where(*OF_THREAD)
"""Selects the thread `thread` of the project `project`."""
_KNOWN_PROJECT = PreparedStatement(
    sa.select(projects.c.number).where(projects.c.id == sa.bindparam("project"))
)


def require_project(connection: sa.Connection, project: str) -> None:
    """Raise `NotFound` if the project does not exist."""
    if not _KNOWN_PROJECT.rows(connection, project=project):
        raise NotFound("there is no such thing")


def find_thread(connection: sa.Connection, project: str, thread: str) -> "sa.Row[Any]":
    """Return the row of a thread; raises `NotFound` if it does not exist or belongs to another project."""
    return require_row(
        connection.execute(SELECT_THREAD, {"project": project, "thread": thread}).one_or_none()
    )


def require_thread(connection: sa.Connection, project: str, thread: str) -> None:
    """Raise `NotFound` if the thread does not exist or belongs to another project."""
    find_thread(connection, project, thread)
