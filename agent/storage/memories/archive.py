"""The memory of all users, for operators (implements `agent.ports.archive.MemoryArchive`).

The archive only reads. Decisions go through the store, in the scope of the item.
"""

from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, OperationalError

from ...ports.archive import ArchiveEntry, ArchiveTally, ScopeFilter
from ...ports.clock import Clock
from ...ports.conversation import Scope
from ...ports.memory import Item, ItemStatus, StoredTurn
from ...ports.pages import Page, Window
from ...ports.work import RunSync
from ..backend import reason
from ..database import Database
from ..dialect import list_damage
from ..places import Data, place_of
from . import items as item_rows
from . import turns as turn_rows
from . import unread_turns, vectors
from .item_decisions import find_replaced
from .listing import load_line_history
from .memory_contents import MEMORY
from .schema import items, scopes, turn_words, turns
from .store import DatabaseMemory

T = TypeVar("T")

_READ: Final = replace(
    MEMORY,
    unusable="the memory in {data} cannot be opened: {why}",
    instead=(
        "nothing in it was changed. Run this command as a user who may write there, or name another folder with "
        "--data DIR"
    ),
)
_FAULTS: Final = 20  # the most that are listed
_BY_STATUS = sa.select(items.c.status, sa.func.count()).group_by(items.c.status)
_SAID = sa.select(sa.func.count()).select_from(turn_words).where(turn_words.c.text != "")


class DatabaseArchive:
    """The archive of an open database (implements `agent.ports.archive.MemoryArchive`)."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def scope(self, id: str) -> Scope:
        """Return the scope of an item."""
        return await self._database.read(
            lambda connection: item_rows.find_any_item(connection, id).item.scope
        )

    async def entry(self, id: str) -> ArchiveEntry:
        """Return an item with its history, both of the same moment."""
        return await self._database.read(
            lambda connection: _entry(connection, item_rows.find_any_item(connection, id))
        )

    async def items(
        self, scope_filter: ScopeFilter, window: Window, statuses: Collection[ItemStatus] = ()
    ) -> Page[Item]:
        """Return a page of items in the order they were made."""
        return await self._database.read(partial(_items, scope_filter, window, statuses))

    async def entries(self, scope_filter: ScopeFilter, window: Window) -> Page[ArchiveEntry]:
        """Return a page of items of every status with their history, in the order they were made."""
        return await self._database.read(partial(_entries, scope_filter, window))

    async def turns(self, scope_filter: ScopeFilter, window: Window) -> Page[StoredTurn]:
        """Return a page of turns in the order they were kept."""
        return await self._database.read(partial(_turns, scope_filter, window))

    async def tally(self) -> ArchiveTally:
        """Return the numbers of kept rows."""
        return await self._database.read(_tally)

    async def faults(self) -> tuple[str, ...]:
        """Return the faults of the file, one line each, the first `_FAULTS` of each kind."""
        return await self._database.read(_faults)


@asynccontextmanager
async def open_database_archive(
    data: Data, run_sync: RunSync, clock: Clock
) -> AsyncGenerator[tuple[DatabaseMemory, DatabaseArchive], None]:
    """Open the memory in the folder `data` for the block; other processes may have it open too.

    Raises `agent.errors.UsageError` when there is no memory, which is not made then, or it cannot be used.
    """
    async with Database(place_of(data), run_sync, clock, contents=_READ) as database:
        yield DatabaseMemory(database, database), DatabaseArchive(database)


def _of(scope_filter: ScopeFilter) -> list[sa.ColumnElement[bool]]:
    names = (("project", scope_filter.project), ("user", scope_filter.user), ("thread", scope_filter.thread))
    return [scopes.c[column] == name for column, name in names if name is not None]


def _page(found: list[T], window: Window, numbers: list[int]) -> Page[T]:
    """Return a page of `found`, which holds one entry more than the page if there is another page."""
    more = len(found) > window.limit
    return Page(tuple(found[: window.limit]), numbers[window.limit - 1] if more else None)


def _rows(
    connection: sa.Connection,
    scope_filter: ScopeFilter,
    window: Window,
    statuses: Collection[ItemStatus] = (),
) -> tuple[item_rows.ItemRow, ...]:
    wanted = item_rows.SELECT.where(items.c.number > window.after, *_of(scope_filter))
    if statuses:
        wanted = wanted.where(items.c.status.in_(sorted(statuses)))
    found = connection.execute(wanted.order_by(items.c.number).limit(window.limit + 1)).all()
    return item_rows.load_items(connection, found)


def _items(
    scope_filter: ScopeFilter, window: Window, statuses: Collection[ItemStatus], connection: sa.Connection
) -> Page[Item]:
    rows = _rows(connection, scope_filter, window, statuses)
    return _page([row.item for row in rows], window, [row.number for row in rows])


def _entries(scope_filter: ScopeFilter, window: Window, connection: sa.Connection) -> Page[ArchiveEntry]:
    rows = _rows(connection, scope_filter, window)
    return _page([_entry(connection, row) for row in rows], window, [row.number for row in rows])


def _entry(connection: sa.Connection, row: item_rows.ItemRow) -> ArchiveEntry:
    item = row.item
    replaces = find_replaced(connection, item) if item.status == "proposed" else ()
    return ArchiveEntry(item, load_line_history(connection, row.number), replaces)


def _turns(scope_filter: ScopeFilter, window: Window, connection: sa.Connection) -> Page[StoredTurn]:
    wanted = turn_rows.SELECT.where(turns.c.number > window.after, *_of(scope_filter))
    found: list[Any] = [*connection.execute(wanted.order_by(turns.c.number).limit(window.limit + 1))]
    return _page([*turn_rows.turns_of(found)], window, [row.number for row in found])


def _tally(connection: sa.Connection) -> ArchiveTally:
    unread, given_up = unread_turns.count_unread(connection)
    return ArchiveTally(
        items={row[0]: int(row[1]) for row in connection.execute(_BY_STATUS)},
        turns=connection.execute(_SAID).scalar_one(),
        gaps=turn_rows.count_gaps(connection),
        vectors=vectors.count_vectors(connection),
        unread=unread,
        given_up=given_up,
    )


def _faults(connection: sa.Connection) -> tuple[str, ...]:
    try:
        return list_damage(connection, _FAULTS)
    except DatabaseError as error:
        if isinstance(error, OperationalError):  # a lock, or the disk
            raise
        return (reason(error),)  # it is damaged so that even that cannot be read
