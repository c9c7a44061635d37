"""Building blocks of the schemas: columns, numbered tables, tables of moves, and the statements that create them."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement
from sqlalchemy.types import TypeDecorator

Moves: TypeAlias = Collection[tuple[str, str]]


class Json(TypeDecorator[Any]):
    """A JSON value stored as text, since a `STRICT` table has no type for JSON."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        """Encode `value`; raises `ValueError` or `TypeError` when JSON cannot hold it."""
        return None if value is None else json.dumps(value, allow_nan=False, separators=(",", ":"))

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """Decode `value`."""
        return None if value is None else json.loads(value)


def numbered_table(
    metadata: sa.MetaData, name: str, *columns: sa.Column[Any] | sa.Constraint | sa.Index
) -> sa.Table:
    """Return a `STRICT` table whose `number` counts its rows in the order they came; no number is used twice."""
    number = sa.Column("number", sa.Integer, primary_key=True, autoincrement=True)
    return sa.Table(name, metadata, number, *columns, sqlite_autoincrement=True, sqlite_strict=True)


def text(name: str, *more: Any, null: bool = False) -> sa.Column[str]:
    """Return a column of text."""
    return sa.Column(name, sa.Text, *more, nullable=null)


def whole(name: str, *more: Any, null: bool = False, server_default: str | None = None) -> sa.Column[int]:
    """Return a column of whole numbers; times are Unix milliseconds.

    `server_default` is the value in rows that are older than the column or are inserted without it.
    """
    return sa.Column(name, sa.Integer, *more, nullable=null, server_default=server_default)


def json_value(name: str, null: bool = False) -> sa.Column[Any]:
    """Return a column of JSON values."""
    return sa.Column(name, Json, nullable=null)


def one_of(column: str, words: Sequence[str]) -> sa.CheckConstraint:
    """Return the condition that a column has one of `words`.

    A schema writes its words down and does not derive them from a `Literal`: another word is another table, which takes
    a step that upgrades older files (`migrations.py`).
    """
    return sa.CheckConstraint(f"{column} IN ({', '.join(map(repr, words))})")


def where(condition: str) -> dict[str, Any]:
    """Return the options that restrict an index to the rows for which `condition` holds."""
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def moves_of(metadata: sa.MetaData, name: str = "moves") -> sa.Table:
    """Return a table of the allowed moves: from status `a` to status `b`."""
    a, b = (sa.Column(column, sa.Text, primary_key=True) for column in "ab")
    return sa.Table(name, metadata, a, b, sqlite_strict=True)


def fill_moves(connection: sa.Connection, table: sa.Table, moves: Moves) -> None:
    """Make the rows of a table of moves equal to `moves`."""
    if {(a, b) for a, b in connection.execute(sa.select(table.c.a, table.c.b))} != set(moves):
        connection.execute(sa.delete(table))
        connection.execute(sa.insert(table), [{"a": a, "b": b} for a, b in sorted(moves)])


def statements(metadata: sa.MetaData, triggers: Mapping[str, str]) -> dict[str, str]:
    """Return the `CREATE` statement of each table, index and trigger by name, in an order in which they can be
    executed.
    """
    made: dict[str, ExecutableDDLElement] = {
        table.name: CreateTable(table) for table in metadata.sorted_tables
    }
    indexes = {
        str(each.name): CreateIndex(each) for table in metadata.sorted_tables for each in table.indexes
    }
    written = {name: str(each.compile(dialect=dialect())) for name, each in (made | indexes).items()}
    return {**written, **triggers}


def drop_changed(connection: sa.Connection, triggers: Mapping[str, str]) -> None:
    """Drop the triggers of the file whose text differs from `triggers`, as in a file of an earlier version."""
    for name, made_by in connection.exec_driver_sql(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    ).all():
        if name in triggers and triggers[name] != made_by:
            connection.exec_driver_sql(f"DROP TRIGGER {name}")


def list_names(connection: sa.Connection) -> set[str]:
    """Return the names of the tables, indexes and triggers in the file."""
    return {name for (name,) in connection.exec_driver_sql("SELECT name FROM sqlite_master")}
