"""Descriptions of the contents of a file, given to `database_file.py`: its name, its tables, and how its owners' rows
are settled.
"""

import sqlite3
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import inf

import sqlalchemy as sa


@dataclass(frozen=True, slots=True)
class OwnerFunctions:
    """The functions of a ledger file (`rows.py`), whose rows name the process that works on them (`database_file.py`).

    `anybody_at_work` returns whether any row names an owner; it reads a file of any version. `at_work` returns the ids
    of the owners that rows name. `settle` ends the work of these owners, at Unix milliseconds. `move` hands the rows of
    one owner id to another. `prune` forgets rows that ended long before Unix milliseconds; it takes and returns the
    time up to which rows were looked at.
    """

    anybody_at_work: Callable[[sqlite3.Connection], bool]
    at_work: Callable[[sa.Connection], list[str]]
    settle: Callable[[sa.Connection, Collection[str], int], None]
    move: Callable[[sa.Connection, str, str], None]
    prune: Callable[[sa.Connection, int, int], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContents:
    """The contents of one file.

    `file` is its name in the folder, `name` its name in errors and the log. `unusable` is the message for an operator
    whose folder cannot hold the file, with places for `data` and `why`. `steps` upgrade a file of an earlier schema
    (`migrations.py`). `prepare` creates missing tables in a write transaction, at Unix milliseconds. `pragmas` are set
    on its connection. `patience` is how many seconds callers wait while its disk does not answer.
    """

    file: str
    name: str
    unusable: str
    steps: Mapping[int, Callable[[sa.Connection], None]]
    prepare: Callable[[sa.Connection, int], None]
    pragmas: tuple[str, ...] = ()
    patience: float = inf
    owned: OwnerFunctions | None = None

    @property
    def version(self) -> int:
        """The `PRAGMA user_version` that this code reads and writes."""
        return max(self.steps)


def stamp_version(connection: sa.Connection, version: int) -> None:
    """Write the version of the tables into the file; SQLite writes a page even when that version is already there."""
    connection.exec_driver_sql(f"PRAGMA user_version={version}")


def read_version(connection: sa.Connection) -> int:
    """Return the version of the tables in the file, 0 for a new file."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
