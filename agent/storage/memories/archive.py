"""What is remembered of everybody, over the same database: see `agent.ports.archive.MemoryArchive`.

It only reads. What is decided goes through the store, in the scope of whose it is.
"""

from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, OperationalError

from ...errors import UsageError
from ...ports.archive import Entry, Tally, Whose
from ...ports.clock import Clock
from ...ports.conversation import Scope
from ...ports.memory import Item, ItemStatus, StoredTurn
from ...ports.pages import Page, Window
from ...ports.work import RunSync
from ..database import Database
from ..file import reason
from . import FILE, unread, vectors
from . import items as kept
from . import turns as said
from .deciding import closed_by
from .listing import history_of
from .schema import MEMORY, items, scopes, turn_words, turns
from .store import SqliteMemory

T = TypeVar("T")

_READ: Final = replace(
    MEMORY,
    unusable=(
        "the memory in {data} cannot be opened: {why}; nothing in it was changed. Take the version that wrote it, "
        "as a user who may write there, or name another folder with --data DIR"
    ),
)
_FAULTS: Final = 20  # that are told
_BY_STATUS = sa.select(items.c.status, sa.func.count()).group_by(items.c.status)
_SAID = sa.select(sa.func.count()).select_from(turn_words).where(turn_words.c.text != "")


class SqliteArchive:
    """All of a memory's database that is open (implements `agent.ports.archive.MemoryArchive`)."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def scope(self, id: str) -> Scope:
        """Return whose an item is."""
        return await self._database.read(lambda connection: kept.anybodys(connection, id).item.scope)

    async def entry(self, id: str) -> Entry:
        """Return an item with its history, as of one moment."""
        return await self._database.read(lambda connection: _entry(connection, kept.anybodys(connection, id)))

    async def items(self, whose: Whose, window: Window, statuses: Collection[ItemStatus] = ()) -> Page[Item]:
        """Return items in the order they were made."""
        return await self._database.read(partial(_items, whose, window, statuses))

    async def entries(self, whose: Whose, window: Window) -> Page[Entry]:
        """Return items of every status with their history, in the order they were made."""
        return await self._database.read(partial(_entries, whose, window))

    async def turns(self, whose: Whose, window: Window) -> Page[StoredTurn]:
        """Return what was said, in its order."""
        return await self._database.read(partial(_turns, whose, window))

    async def tally(self) -> Tally:
        """Return how much is kept."""
        return await self._database.read(_tally)

    async def faults(self) -> tuple[str, ...]:
        """Return what is wrong with the file, one line each, the first _FAULTS of each kind."""
        return await self._database.read(_faults)


@asynccontextmanager
async def archive_in(
    data: Path, run_sync: RunSync, clock: Clock
) -> AsyncGenerator[tuple[SqliteMemory, SqliteArchive], None]:
    """Open the memory that a folder holds, beside whoever else has it open, for the time of a block.

    Raises `agent.errors.UsageError` when there is none, which is not made, or it cannot be used.
    """
    if not (data / FILE).is_file():
        raise UsageError(f"there is no memory in {data}: name the folder that a server keeps, its --data DIR")
    async with Database(data, run_sync, clock, contents=_READ) as database:
        yield SqliteMemory(database, database), SqliteArchive(database)


def _of(whose: Whose) -> list[sa.ColumnElement[bool]]:
    names = (("project", whose.project), ("user", whose.user), ("thread", whose.thread))
    return [scopes.c[column] == name for column, name in names if name is not None]


def _page(found: list[T], window: Window, numbers: list[int]) -> Page[T]:
    """Return a page of one more than were wanted, where there were so many."""
    more = len(found) > window.limit
    return Page(tuple(found[: window.limit]), numbers[window.limit - 1] if more else None)


def _rows(
    connection: sa.Connection, whose: Whose, window: Window, statuses: Collection[ItemStatus] = ()
) -> tuple[kept.Row, ...]:
    wanted = kept.SELECT.where(items.c.number > window.after, *_of(whose))
    if statuses:
        wanted = wanted.where(items.c.status.in_(sorted(statuses)))
    found = connection.execute(wanted.order_by(items.c.number).limit(window.limit + 1)).all()
    return kept.read(connection, found)


def _items(
    whose: Whose, window: Window, statuses: Collection[ItemStatus], connection: sa.Connection
) -> Page[Item]:
    rows = _rows(connection, whose, window, statuses)
    return _page([row.item for row in rows], window, [row.number for row in rows])


def _entries(whose: Whose, window: Window, connection: sa.Connection) -> Page[Entry]:
    rows = _rows(connection, whose, window)
    return _page([_entry(connection, row) for row in rows], window, [row.number for row in rows])


def _entry(connection: sa.Connection, row: kept.Row) -> Entry:
    item = row.item
    replaces = closed_by(connection, item) if item.status == "proposed" else ()
    return Entry(item, history_of(connection, row.number), replaces)


def _turns(whose: Whose, window: Window, connection: sa.Connection) -> Page[StoredTurn]:
    wanted = said.SELECT.where(turns.c.number > window.after, *_of(whose))
    found: list[Any] = [*connection.execute(wanted.order_by(turns.c.number).limit(window.limit + 1))]
    return _page([*said.read(found)], window, [row.number for row in found])


def _tally(connection: sa.Connection) -> Tally:
    counted = {row[0]: int(row[1]) for row in connection.execute(_BY_STATUS)}
    return Tally(
        counted,
        connection.execute(_SAID).scalar_one(),
        said.counted_gaps(connection),
        vectors.counted(connection),
        *unread.counted(connection),
    )


def _faults(connection: sa.Connection) -> tuple[str, ...]:
    try:
        checked = connection.exec_driver_sql(f"PRAGMA integrity_check({_FAULTS})").scalars().all()
        with connection.exec_driver_sql("PRAGMA foreign_key_check") as found:
            lost = found.fetchmany(_FAULTS)
    except DatabaseError as error:
        if isinstance(error, OperationalError):  # a lock, or the disk
            raise
        return (reason(error),)  # it is damaged so that even that cannot be read
    return (
        *(str(line) for line in checked if line != "ok"),
        *(f"a row of {row[0]} belongs to a row of {row[2]} that is not there" for row in lost),
    )
