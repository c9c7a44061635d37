"""Numbered steps that bring a database of an earlier schema to today's schema, in place and with all its rows.

`LEDGER_STEPS`, `MEMORY_STEPS` and `STORY_STEPS` map a number to the step that makes a file of that schema from a file
of the schema before it. The highest number is the schema that this code reads and writes. A backend takes the missing
steps when a file is opened, each in a transaction of its own: a step that fails leaves the file at the schema before
it. A new file takes no step: its tables are made as they are declared today. On a server all missing steps are one
transaction.

Files and servers take the same steps, each of which is written once: `add_column` and `change_words` work
in any database. `rebuild_table` is for files alone; servers' databases began with schema 5, and 3 for memory.

- A step changes tables that are in the file, and does nothing about a table that is not. After the last step
  the tables, indexes and triggers that are missing are made, as they are declared today.
- A step is written in SQL of its own and uses no declaration of today, which later steps change.
- A step can run twice. Files of schema 2 got columns without another number, and a process that opened a file before
  its upgrade may write the old number into it.
- A released step never changes its effect.
- On a server processes of the earlier schema go on beside it: a step adds, and takes nothing away that they use.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from .dialect import changes_checks, declare_column

Step: TypeAlias = Callable[[sa.Connection], None]


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
    change_words(connection, "calls", "runs_at", ("record", "webhook", "mcp", "caller", "function"))


def _add_decisions(connection: sa.Connection) -> None:
    """Add columns: an answer's confidence and refusal, who decided about a call and why, the report of a document."""
    add_column(connection, "documents", "report TEXT")
    for column in ("confidence", "blocked"):
        add_column(connection, "messages", f"{column} TEXT")
    for column in ("approver", "key_id", "tool", "arguments_hash"):
        add_column(connection, "audit", f"{column} TEXT")
    add_column(connection, "calls", "reason TEXT")


LEDGER_STEPS: Final[Mapping[int, Step]] = {
    2: _add_leases,
    3: _add_owners,
    4: _add_functions,
    5: _add_decisions,
}
"""The steps of the ledger's file.

Schema 2 also brought all tables but `actions` and `feedback`, schema 3 indexes by age, schema 5 the table `feedback`.
"""


def _count_reads(connection: sa.Connection) -> None:
    """Replace `tries` of `turns` by the columns for a model that reads turns: tries left, and until when it reads."""
    connection.exec_driver_sql("DROP INDEX IF EXISTS turns_to_extract")
    tries = re.compile(r"\s*(?:tries INTEGER NOT NULL|CHECK \(tries >= 0\)),")
    rebuild_table(connection, "turns", lambda statement: tries.sub("", statement))
    add_column(connection, "turns", "unread INTEGER DEFAULT '0' NOT NULL")
    add_column(connection, "turns", "taken INTEGER DEFAULT '0' NOT NULL")


def _keep_threads(_: sa.Connection) -> None:
    """Change no table: the tables of threads are new, and an earlier version would leave words in them."""


MEMORY_STEPS: Final[Mapping[int, Step]] = {2: _count_reads, 3: _keep_threads}
"""The steps of the file of memory items. Schema 2 got the tables of vectors, too, schema 3 those of threads."""


def _begin_stories(_: sa.Connection) -> None:
    """Change no table: the first schema of stories is made as it is declared."""


STORY_STEPS: Final[Mapping[int, Step]] = {1: _begin_stories}
"""The steps of the file of stories."""


def add_column(connection: sa.Connection, table: str, declaration: str) -> None:
    """Add a column to `table`, unless the file has the column already, or has no such table.

    `declaration` is the column as SQL declares it for a file: its name, type (TEXT, INTEGER, REAL or BLOB) and
    conditions. An INTEGER has 64 bits in any database.
    """
    name, *_ = declaration.split()
    columns = _list_columns(connection, table)
    if columns and name not in columns:
        connection.exec_driver_sql(
            f"ALTER TABLE {table} ADD COLUMN {declare_column(connection, declaration)}"
        )


def change_words(connection: sa.Connection, table: str, column: str, words: Sequence[str]) -> None:
    """Let `column` of `table` have one of `words` (`columns.one_of`); nothing is done where there is no such table.

    Every word that rows may have is among them: a server does not read the rows again, which would lock
    the table. Raises `LookupError` for a column without such a condition.
    """
    condition = f"CHECK ({column} IN ({', '.join(map(repr, words))}))"
    if not _list_columns(connection, table):
        return
    if not changes_checks(connection):
        present = re.compile(rf"CHECK \({column} IN \([^()]*\)\)")
        rebuild_table(connection, table, lambda statement: _replace_once(present, condition, statement))
        return
    begins = f"{column} = ANY (ARRAY["
    checks = sa.inspect(connection).get_check_constraints(table)
    names = [each["name"] for each in checks if each["sqltext"].strip("(").startswith(begins)]
    if len(names) != 1:
        raise LookupError(f"{table}.{column} has no condition of words")
    name = connection.dialect.identifier_preparer.quote(names[0] or "")
    connection.exec_driver_sql(
        f"ALTER TABLE {table} DROP CONSTRAINT {name}, ADD CONSTRAINT {name} {condition} NOT VALID"
    )


def _replace_once(present: re.Pattern[str], wanted: str, statement: str) -> str:
    changed, count = present.subn(wanted, statement)
    if count != 1:
        raise LookupError(f"{count} conditions are like {present.pattern}")
    return changed


def rebuild_table(connection: sa.Connection, table: str, change: Callable[[str], str]) -> None:
    """Make `table` of a file anew with its rows, numbers, indexes and triggers, by a changed statement; for a step.

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
    """Return the names of a table's columns, none when there is no such table."""
    inspector = sa.inspect(connection)
    return [each["name"] for each in inspector.get_columns(table)] if inspector.has_table(table) else []
