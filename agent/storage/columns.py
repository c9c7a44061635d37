"""What the schemas of the files share: columns, numbered tables, tables of moves, and making what is missing."""

import json
from collections.abc import Collection, Mapping
from typing import Any, TypeAlias, get_args

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable, ExecutableDDLElement
from sqlalchemy.types import TypeDecorator

Moves: TypeAlias = Collection[tuple[str, str]]


class Json(TypeDecorator[Any]):
    """A JSON value as text: what a STRICT table takes."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        """Write it; raises ValueError or TypeError for what JSON cannot hold."""
        return None if value is None else json.dumps(value, allow_nan=False, separators=(",", ":"))

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """Read it."""
        return None if value is None else json.loads(value)


def numbered(
    metadata: sa.MetaData, name: str, *columns: sa.Column[Any] | sa.Constraint | sa.Index
) -> sa.Table:
    """Return a STRICT table whose rows are numbered in the order in which they came; no number comes twice."""
    number = sa.Column("number", sa.Integer, primary_key=True, autoincrement=True)
    return sa.Table(name, metadata, number, *columns, sqlite_autoincrement=True, sqlite_strict=True)


def text(name: str, *more: Any, null: bool = False) -> sa.Column[str]:
    """Return a column of text."""
    return sa.Column(name, sa.Text, *more, nullable=null)


def whole(name: str, *more: Any, null: bool = False, server_default: str | None = None) -> sa.Column[int]:
    """Return a column of whole numbers; Unix milliseconds, where it is a time.

    server_default: its value in rows that were there before the column, and in those that are made without it.
    """
    return sa.Column(name, sa.Integer, *more, nullable=null, server_default=server_default)


def json_value(name: str, null: bool = False) -> sa.Column[Any]:
    """Return a column of JSON values."""
    return sa.Column(name, Json, nullable=null)


def one_of(column: str, words: Any) -> sa.CheckConstraint:
    """Return the condition that a column has one of a Literal's words."""
    return sa.CheckConstraint(f"{column} IN ({', '.join(repr(word) for word in get_args(words))})")


def where(condition: str) -> dict[str, Any]:
    """Return what makes an index one of those rows only."""
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def moves_of(metadata: sa.MetaData, name: str = "moves") -> sa.Table:
    """Return a table that says from which status (a) something goes to which (b)."""
    a, b = (sa.Column(column, sa.Text, primary_key=True) for column in "ab")
    return sa.Table(name, metadata, a, b, sqlite_strict=True)


def fill(connection: sa.Connection, table: sa.Table, moves: Moves) -> None:
    """Make a table of moves say these."""
    if {(a, b) for a, b in connection.execute(sa.select(table.c.a, table.c.b))} != set(moves):
        connection.execute(sa.delete(table))
        connection.execute(sa.insert(table), [{"a": a, "b": b} for a, b in sorted(moves)])


def statements(metadata: sa.MetaData, triggers: Mapping[str, str]) -> dict[str, str]:
    """Return the statement that makes each table, index and trigger, by its name, in an order in which they can be."""
    made: dict[str, ExecutableDDLElement] = {
        table.name: CreateTable(table) for table in metadata.sorted_tables
    }
    indexes = {
        str(each.name): CreateIndex(each) for table in metadata.sorted_tables for each in table.indexes
    }
    written = {name: str(each.compile(dialect=dialect())) for name, each in (made | indexes).items()}
    return {**written, **triggers}


def add(connection: sa.Connection, column: sa.Column[Any], known: Collection[str]) -> None:
    """Add a column that came later to its table, where that is there without it. known: what `names` returned."""
    table = column.table.name
    if table in known:
        columns = {name for _, name, *_ in connection.exec_driver_sql(f"PRAGMA table_info({table})")}
        if column.name not in columns:
            spec = CreateColumn(column).compile(dialect=dialect())
            connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {spec}")


def drop_undeclared(connection: sa.Connection, table: sa.Table) -> None:
    """Make a table anew, with its rows, where it has a column that is declared no more.

    SQLite drops no column that a condition names, and refuses a row without a value for one that has no default.
    Indexes and triggers of the table go too. In a write transaction, at whose end rows that refer to it still do.
    """
    there = {name for _, name, *_ in connection.exec_driver_sql(f"PRAGMA table_info({table.name})")}
    declared = [column.name for column in table.columns]
    if there <= {*declared}:
        return
    kept = ", ".join(name for name in declared if name in there)
    for statement in (
        "PRAGMA defer_foreign_keys=ON",
        f"CREATE TEMP TABLE remade AS SELECT {kept} FROM {table.name}",
        f"DROP TABLE {table.name}",
        str(CreateTable(table).compile(dialect=dialect())),
        f"INSERT INTO {table.name} ({kept}) SELECT {kept} FROM remade",
        "DROP TABLE remade",
    ):
        connection.exec_driver_sql(statement)


def drop_changed(connection: sa.Connection, triggers: Mapping[str, str]) -> None:
    """Drop the triggers that are there and read otherwise, as a file of an earlier version has them."""
    for name, made_by in connection.exec_driver_sql(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    ).all():
        if name in triggers and triggers[name] != made_by:
            connection.exec_driver_sql(f"DROP TRIGGER {name}")


def names(connection: sa.Connection) -> set[str]:
    """Return the names of the tables, indexes and triggers that are there."""
    return {name for (name,) in connection.exec_driver_sql("SELECT name FROM sqlite_master")}
