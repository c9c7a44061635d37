"""Numbered steps that bring a file of an earlier schema to today's schema, in place and with all its rows.

`LEDGER_STEPS` and `MEMORY_STEPS` map a number to the step that makes a file of that schema from a file of the schema
before it. The highest number is the schema that this code reads and writes (`PRAGMA user_version`). `upgrade_file`
takes the missing steps when a file is opened, each in a transaction of its own: a step that fails leaves the file at
the schema before it. A new file takes no step: `prepare` makes it as it is declared today.

- A step changes tables that are in the file, and does nothing about a table that is not. After the last step `prepare`
  makes the tables, indexes and triggers that are missing, as they are declared today.
- A step is written in SQL of its own and uses no declaration of today, which later steps change.
- A step can run twice. Files of schema 2 got columns without another number, and a process that opened a file before
  its upgrade may write the old number into it.
- A released step never changes.
"""

import re
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from .connection import set_pragma, write_transaction
from .file_contents import read_version, stamp_version

Step: TypeAlias = Callable[[sa.Connection], None]

_PRAGMAS = (
    "foreign_keys=OFF",  # with it on, dropping a table would delete the rows that refer to the table
    "legacy_alter_table=ON",  # else a table takes no name that triggers of other tables use
    "secure_delete=ON",  # a table that is dropped leaves no copy of its rows in the file
)


def _add_leases(connection: sa.Connection) -> None:
    """Add the columns of `actions` for the knowledge base and the lease of a claim."""
    add_column(connection, "actions", "kb TEXT")
    add_column(connection, "actions", "lease_until INTEGER")


def _add_owners(connection: sa.Connection) -> None:
    """Add the columns for the project, user and attempt of a claim, and for the user who closed a call."""
    for name in ("project", "user", "thread"):
        add_column(connection, "actions", f"{name} TEXT")
    add_column(connection, "actions", "attempt TEXT DEFAULT '' NOT NULL")
    add_column(connection, "idempotency", "project_id TEXT")
    add_column(
        connection,
        "calls",
        "closed_by TEXT CHECK (closed_by IS NULL OR status IN ('rejected', 'answered', 'cancelled'))",
    )


def _add_functions(connection: sa.Connection) -> None:
    """Let calls run as Python functions."""
    old, new = "'mcp', 'caller')", "'mcp', 'caller', 'function')"
    rebuild_table(connection, "calls", lambda statement: statement.replace(old, new))


LEDGER_STEPS: Final[Mapping[int, Step]] = {2: _add_leases, 3: _add_owners, 4: _add_functions}
"""The steps of the ledger's file. Schema 2 also brought all tables but `actions`, and schema 3 indexes by age."""


def _count_reads(connection: sa.Connection) -> None:
    """Replace `tries` of `turns` by the columns for a model that reads turns: tries left, and until when it reads."""
    connection.exec_driver_sql("DROP INDEX IF EXISTS turns_to_extract")
    tries = re.compile(r"\s*(?:tries INTEGER NOT NULL|CHECK \(tries >= 0\)),")
    rebuild_table(connection, "turns", lambda statement: tries.sub("", statement))
    add_column(connection, "turns", "unread INTEGER DEFAULT '0' NOT NULL")
    add_column(connection, "turns", "taken INTEGER DEFAULT '0' NOT NULL")


MEMORY_STEPS: Final[Mapping[int, Step]] = {2: _count_reads}
"""The steps of the file of memory items. Schema 2 got the tables of vectors, too."""


def upgrade_file(connection: sa.Connection, steps: Mapping[int, Step]) -> None:
    """Take the `steps` that a file of an earlier schema lacks; a file that is new, or newer, is left as it is.

    Another process may do so at the same time: each step is taken once. Raises `sqlite3.IntegrityError` when a step
    leaves a row that refers to no other, and the errors of SQLite; the file then has the schema before that step.
    Leaves foreign keys unchecked on the `connection`.
    """
    while 0 < (version := read_version(connection)) < max(steps):
        for pragma in _PRAGMAS:
            set_pragma(connection, pragma)
        with write_transaction(connection):
            if read_version(connection) == version:
                before = _find_orphans(connection)
                steps[version + 1](connection)
                if _find_orphans(connection) - before:
                    raise sqlite3.IntegrityError(f"step {version + 1} leaves rows without parents")
                stamp_version(connection, version + 1)


def add_column(connection: sa.Connection, table: str, declaration: str) -> None:
    """Add a column to `table`, unless the file has the column already, or has no such table.

    `declaration` is the column as SQL declares it: its name, type and conditions.
    """
    name, *_ = declaration.split()
    columns = _list_columns(connection, table)
    if columns and name not in columns:
        connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {declaration}")


def rebuild_table(connection: sa.Connection, table: str, change: Callable[[str], str]) -> None:
    """Make `table` anew with its rows, numbers, indexes and triggers, by a changed statement; for use in a step.

    `change` gets the `CREATE TABLE` statement that is in the file and returns the wanted one; nothing is done when both
    are equal, or the file has no such table. Columns that the wanted statement lacks are dropped with their values;
    indexes and triggers that name such a column must be dropped before. SQLite itself can change no `CHECK`; these are
    the steps of https://www.sqlite.org/lang_altertable.html#otheralter, for which `upgrade_file` sets the pragmas.
    """
    made_by = "SELECT name, sql FROM sqlite_master WHERE tbl_name = ? AND sql IS NOT NULL"
    found = {name: str(sql) for name, sql in connection.exec_driver_sql(made_by, (table,))}
    statement = found.pop(table, "")
    wanted = statement and change(statement)
    if wanted == statement:
        return
    last = "SELECT seq FROM sqlite_sequence WHERE name = ?"
    sequence: Any = connection.exec_driver_sql(last, (table,)).scalar()
    connection.exec_driver_sql(f"CREATE TABLE remade {wanted[wanted.index('(') :]}")
    there = _list_columns(connection, table)
    columns = ", ".join(f'"{name}"' for name in _list_columns(connection, "remade") if name in there)
    connection.exec_driver_sql(f"INSERT INTO remade ({columns}) SELECT {columns} FROM {table}")
    connection.exec_driver_sql(f"DROP TABLE {table}")
    connection.exec_driver_sql(f"ALTER TABLE remade RENAME TO {table}")
    if sequence is not None:  # no number of a deleted row is used again
        connection.exec_driver_sql("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        connection.exec_driver_sql("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, sequence))
    for each in found.values():
        connection.exec_driver_sql(each)


def _list_columns(connection: sa.Connection, table: str) -> list[str]:
    """Return the names of a table's columns, none when the file has no such table."""
    return [name for _, name, *_ in connection.exec_driver_sql(f"PRAGMA table_info({table})")]


def _find_orphans(connection: sa.Connection) -> set[tuple[Any, ...]]:
    """Return the rows that refer to no other, as `PRAGMA foreign_key_check` lists them."""
    return {tuple(row) for row in connection.exec_driver_sql("PRAGMA foreign_key_check")}
