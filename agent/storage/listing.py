"""What the stores share: pages of a table, and what is not there."""

from collections.abc import Callable
from typing import Any, TypeVar

import sqlalchemy as sa

from ..errors import NotFound
from ..ports.pages import Page, Window
from .schema import projects, threads

T = TypeVar("T")


def page(
    connection: sa.Connection,
    table: sa.Table,
    wanted: sa.Select[Any],
    window: Window,
    made: Callable[[Any], T],
) -> Page[T]:
    """Return a page of the rows of a table that are wanted, in the order in which they came. made: of one row."""
    found = connection.execute(
        wanted.where(table.c.number > window.after).order_by(table.c.number).limit(window.limit + 1)
    ).all()
    shown = found[: window.limit]
    return Page(tuple(map(made, shown)), shown[-1].number if len(found) > len(shown) else None)


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
