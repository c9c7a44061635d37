"""Descriptions of the contents of a database, given to a backend: its name, its tables, and how its owners' rows are
settled.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from math import inf

import sqlalchemy as sa

from .triggers import Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerFunctions:
    """The functions of a database whose rows name the process that works on them (for the ledger `rows.py`,
    `settle.py`).

    `at_work` returns the ids of the owners that rows name. `settle` ends the work of these owners, at Unix
    milliseconds. `move` hands the rows of one owner id to another. `prune` forgets rows that ended long before Unix
    milliseconds; it takes and returns the time up to which rows were looked at. `find_work` returns the query for the
    owners that the rows of a file name, by the number of its schema. `folder` holds the owners' locks: each database
    has its own, since a lock is thrown away with the rows of its dead owner.
    """

    at_work: Callable[[sa.Connection], list[str]]
    settle: Callable[[sa.Connection, Collection[str], int], None]
    move: Callable[[sa.Connection, str, str], None]
    prune: Callable[[sa.Connection, int, int], int]
    find_work: Callable[[int], str]
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseContents:
    """The contents of one database.

    `file` is its file's name in a folder, `name` its name in errors and the log. `unusable` is the message for an
    operator whose place cannot hold the database, with places for `data` and `why`; after it stands the remedy
    `instead`, where the place is a folder. `steps` upgrade a database of an earlier schema (`migrations.py`). `tables`
    and `triggers` are made where they are missing; `fill` then writes the rows that belong to the schema, in a write
    transaction, at Unix milliseconds. `patience` is how many seconds callers wait while its disk does not answer.
    `watched` says that somebody asks whether other processes have written. `server_tables` are made on a server alone.
    """

    file: str
    name: str
    unusable: str
    instead: str
    steps: Mapping[int, Callable[[sa.Connection], None]]
    tables: sa.MetaData
    triggers: tuple[Trigger, ...]
    fill: Callable[[sa.Connection, int], None]
    patience: float = inf
    watched: bool = False
    server_tables: sa.MetaData = field(default_factory=sa.MetaData)
    owned: OwnerFunctions | None = None

    @property
    def version(self) -> int:
        """The number of the schema that this code reads and writes."""
        return max(self.steps)
