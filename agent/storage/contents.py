"""What a file holds: its name, its tables, and what is done for those who own rows of it. Values for file.py."""

import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass
from math import inf

import sqlalchemy as sa


@dataclass(frozen=True, slots=True)
class Owned:
    """What is done in a file whose rows say who works on them (owners.py), and that is a ledger (rows.py).

    anybody_at_work: whether any row says so, asked of a file of any version. at_work: the ids of the owners that some
    row names. settle: ends what these have left, at Unix milliseconds. move: gives what one is doing to another id.
    prune: forgets what ended long before Unix milliseconds; given and returned is until when that was looked at.
    """

    anybody_at_work: Callable[[sqlite3.Connection], bool]
    at_work: Callable[[sa.Connection], list[str]]
    settle: Callable[[sa.Connection, Collection[str], int], None]
    move: Callable[[sa.Connection, str, str], None]
    prune: Callable[[sa.Connection, int, int], int]


@dataclass(frozen=True, slots=True)
class Contents:
    """What one file holds.

    file: its name. name: what errors and the log call it. unusable: what an operator is told of a folder in which it
    cannot be kept, with places for `data` and `why`. version: PRAGMA user_version of a file that this code reads and
    writes. prepare: makes what is missing, in a write transaction, at Unix milliseconds. pragmas: of its connection.
    patience: seconds for which callers wait while its disk does not answer.
    """

    file: str
    name: str
    unusable: str
    version: int
    prepare: Callable[[sa.Connection, int], None]
    pragmas: tuple[str, ...] = ()
    patience: float = inf
    owned: Owned | None = None


def stamp(connection: sa.Connection, version: int) -> None:
    """Write the version of the tables into the file; that writes a page even when it stands there already."""
    connection.exec_driver_sql(f"PRAGMA user_version={version}")


def version(connection: sa.Connection) -> int:
    """Return the version of the tables that the file was written by, 0 for a new one."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
