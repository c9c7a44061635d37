"""Taking the steps of `agent/storage/migrations.py` in a file, and making the tables that it lacks."""

import sqlite3
from collections.abc import Mapping
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement

from ..contents import DatabaseContents
from ..migrations import Step
from ..triggers import Trigger
from .connection import execute_raw, set_pragma, write_transaction

_LINE = 90  # characters of a trigger's first line
_PRAGMAS = (
    "foreign_keys=OFF",  # with it on, dropping a table would delete the rows that refer to the table
    "legacy_alter_table=ON",  # else a table takes no name that triggers of other tables use
    "secure_delete=ON",  # a table that is dropped leaves no copy of its rows in the file
)


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


def create_missing(connection: sa.Connection, contents: DatabaseContents, now: int) -> None:
    """Create missing tables, indexes and triggers, in a write transaction, at Unix milliseconds `now`."""
    triggers = _write_triggers(contents.triggers)
    _drop_changed(connection, triggers)
    known = _list_names(connection)
    for name, statement in (_list_statements(contents.tables) | triggers).items():
        if name not in known:
            execute_raw(connection, statement)
    contents.fill(connection, now)


def stamp_version(connection: sa.Connection, version: int) -> None:
    """Write the version of the tables into the file; SQLite writes a page even when that version is already there."""
    connection.exec_driver_sql(f"PRAGMA user_version={version}")


def read_version(connection: sa.Connection) -> int:
    """Return the version of the tables in the file, 0 for a new file."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def _find_orphans(connection: sa.Connection) -> set[tuple[Any, ...]]:
    """Return the rows that refer to no other, as `PRAGMA foreign_key_check` lists them."""
    return {tuple(row) for row in connection.exec_driver_sql("PRAGMA foreign_key_check")}


@cache
def _list_statements(metadata: sa.MetaData) -> dict[str, str]:
    """Return the `CREATE` statement of each table and index by name, in an order in which they can be executed."""
    made: dict[str, ExecutableDDLElement] = {
        table.name: CreateTable(table) for table in metadata.sorted_tables
    }
    indexes = {
        str(each.name): CreateIndex(each) for table in metadata.sorted_tables for each in table.indexes
    }
    return {name: str(each.compile(dialect=dialect())) for name, each in (made | indexes).items()}


@cache
def _write_triggers(triggers: tuple[Trigger, ...]) -> dict[str, str]:
    """Return the `CREATE` statement of each trigger by name."""
    return {trigger.name: _write_trigger(trigger) for trigger in triggers}


def _write_trigger(trigger: Trigger) -> str:
    """Return the `CREATE` statement of a trigger, to the byte as files have it."""
    line = "\n" + trigger.indent * " "
    head = f"CREATE TRIGGER {trigger.name} {trigger.event} ON {trigger.table}"
    if trigger.when:
        in_one = len(head) + len(trigger.when) < _LINE
        head += f"{' ' if in_one else line}WHEN {trigger.when}"
    body = trigger.follow_up
    if not body:
        body = f"SELECT RAISE(ABORT, '{trigger.refusal}')" if trigger.refusal else "SELECT RAISE(IGNORE)"
    return f"{head}{line}BEGIN {body}; END"


def _drop_changed(connection: sa.Connection, triggers: Mapping[str, str]) -> None:
    """Drop the triggers of the file whose text differs from `triggers`, as in a file of an earlier version."""
    for name, made_by in connection.exec_driver_sql(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    ).all():
        if name in triggers and triggers[name] != made_by:
            connection.exec_driver_sql(f"DROP TRIGGER {name}")


def _list_names(connection: sa.Connection) -> set[str]:
    """Return the names of the tables, indexes and triggers in the file."""
    return {name for (name,) in connection.exec_driver_sql("SELECT name FROM sqlite_master")}
