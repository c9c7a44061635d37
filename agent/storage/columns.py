"""Building blocks of the schemas: columns, numbered tables and tables of moves."""

import json
from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

from .dialect import FOLLOWED, NUMBER, CleanText

Moves: TypeAlias = Collection[tuple[str, str]]


class Json(TypeDecorator[Any]):
    """A JSON value stored as text, since a `STRICT` table has no type for JSON."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        """Encode `value`; raises `ValueError` or `TypeError` when JSON cannot hold it."""
        return None if value is None else encode_json(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """Decode `value`."""
        return None if value is None else json.loads(value)


# made once: `json.dumps` makes an encoder at each call that has options
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def encode_json(value: Any) -> str:
    """Encode the value of a column of type `Json`; raises `ValueError` or `TypeError` when JSON cannot hold it."""
    return _ENCODER.encode(value)


def numbered_table(
    metadata: sa.MetaData,
    name: str,
    *columns: sa.Column[Any] | sa.Constraint | sa.Index,
    followed: bool = False,
) -> sa.Table:
    """Return a `STRICT` table whose `number` counts its rows in the order they came; no number is used twice.

    `followed` says that some reader reads its rows in the order of their commits (`dialect.place_of_row`).
    """
    number = sa.Column("number", NUMBER, primary_key=True, autoincrement=True)
    return sa.Table(
        name,
        metadata,
        number,
        *columns,
        info={FOLLOWED: followed},
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )


def text(name: str, *more: Any, null: bool = False) -> sa.Column[str]:
    """Return a column of text."""
    return sa.Column(name, CleanText, *more, nullable=null)


def whole(name: str, *more: Any, null: bool = False, server_default: str | None = None) -> sa.Column[int]:
    """Return a column of whole numbers; times are Unix milliseconds.

    `server_default` is the value in rows that are older than the column or are inserted without it.
    """
    return sa.Column(name, NUMBER, *more, nullable=null, server_default=server_default)


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
    """Return the options that restrict an index to the rows for which `condition` holds.

    `postgres.declarations` reads the condition from here: an option of PostgreSQL's own would load its drivers at every
    start.
    """
    return {"sqlite_where": sa.text(condition)}


def moves_of(metadata: sa.MetaData) -> sa.Table:
    """Return the table of the allowed moves: from status `a` to status `b`."""
    a, b = (sa.Column(column, sa.Text, primary_key=True) for column in "ab")
    return sa.Table("moves", metadata, a, b, sqlite_strict=True)


def fill_moves(connection: sa.Connection, table: sa.Table, moves: Moves) -> None:
    """Make the rows of a table of moves equal to `moves`."""
    if {(a, b) for a, b in connection.execute(sa.select(table.c.a, table.c.b))} != set(moves):
        connection.execute(sa.delete(table))
        connection.execute(sa.insert(table), [{"a": a, "b": b} for a, b in sorted(moves)])
