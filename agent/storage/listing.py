"""What the stores share: pages of a table, and what is not there."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa

from ..config import PAGE_BYTES
from ..errors import NotFound
from ..ports.pages import Page, Window
from .schema import projects, threads

T = TypeVar("T")
_encode = msgspec.json.Encoder().encode
_NAMES = 256  # bytes by which an entry may be longer as it is told, by its other names


def page(
    connection: sa.Connection,
    table: sa.Table,
    wanted: sa.Select[Any],
    window: Window,
    made: Callable[[Any], T],
) -> Page[T]:
    """Return a page of the rows of a table that are wanted, in the order in which they came. made: of one row.

    It has no more entries than are asked for, and no more of PAGE_BYTES than they fill, but at least one entry.
    """
    shown: list[T] = []
    room, last = PAGE_BYTES, 0
    ordered = wanted.where(table.c.number > window.after).order_by(table.c.number).limit(window.limit + 1)
    with connection.execute(ordered) as rows:  # one by one: what does not fit is not read
        for each in rows:
            entry = made(each)
            room -= len(_encode(entry)) + _NAMES
            if shown and (room < 0 or len(shown) == window.limit):
                return Page(tuple(shown), last)
            shown.append(entry)
            last = each.number
    return Page(tuple(shown))


def row(connection: sa.Connection, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> "sa.Row[Any]":
    """Return the one row for which these hold; raises `NotFound`."""
    return found(connection.execute(sa.select(table).where(*conditions)).one_or_none())


def found(one: "sa.Row[Any] | None") -> "sa.Row[Any]":
    """Return a row that was looked for; raises `NotFound` where it is none."""
    if one is None:
        raise NotFound("there is no such thing")
    return one


OF_THREAD = (threads.c.project_id == sa.bindparam("project"), threads.c.id == sa.bindparam("thread"))
KNOWN_THREAD = sa.select(threads).where(*OF_THREAD)
"""The thread `thread` of the project `project`."""
_KNOWN_PROJECT = sa.select(projects.c.number).where(projects.c.id == sa.bindparam("project"))


def known_project(connection: sa.Connection, project: str) -> None:
    """Raise `NotFound` for a project that is not there."""
    found(connection.execute(_KNOWN_PROJECT, {"project": project}).one_or_none())


def one_thread(connection: sa.Connection, project: str, thread: str) -> "sa.Row[Any]":
    """Return the row of a thread; raises `NotFound` for one that is not there, or another project's."""
    return found(connection.execute(KNOWN_THREAD, {"project": project, "thread": thread}).one_or_none())


def known_thread(connection: sa.Connection, project: str, thread: str) -> None:
    """Raise `NotFound` for a thread that is not there, or another project's."""
    one_thread(connection, project, thread)
