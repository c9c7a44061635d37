"""The points at which databases differ, as types and expressions that each database compiles in its own words.

An expression is written for SQLite and, where PostgreSQL says it otherwise, once more for PostgreSQL (`vary`). Tables
and statements use these, and name no database themselves.
"""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.dialects.sqlite.dml import OnConflictDoNothing
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

__all__ = [
    "EVERY",
    "FOLLOWED",
    "NUL",
    "NUMBER",
    "PLACE",
    "REAL",
    "CleanText",
    "are_among",
    "changes_checks",
    "clean_text",
    "commits_in_order",
    "declare_column",
    "find_bytes",
    "greatest",
    "insert",
    "last_place",
    "list_damage",
    "lone_row_size",
    "look_size",
    "made_row",
    "name_parameters",
    "place_of_row",
    "snapshot_of",
]

NUMBER: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""The type of whole numbers: 64 bits, for numbers of rows and Unix milliseconds."""
REAL: Final[sa.types.TypeEngine[float]] = sa.REAL().with_variant(sa.Double(), "postgresql")
"""The type of fractions: 64 bits."""

EVERY: Final = 2**62
"""More than there are places or rows."""
NUL, NO_NUL = "\0", "\ufffd"
"""The character that not every database can hold in a text, and the one in its place."""
PLACE: Final = "tx"
"""The column of the transaction that made a row, where numbers of rows are not given in the order of commits."""
FOLLOWED: Final = "followed"
"""The mark in `Table.info` of tables whose rows are read in the order of their commits: `place_of_row`."""
_LONE_ROW: Final = 4_000  # of a page of 4,096; from 4,061 on most of a row stands in other pages
_TYPES: Final = {"TEXT": "TEXT", "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION", "BLOB": "BYTEA"}
_SETTLED: Final = "(pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)"


class CleanText(sa.types.TypeDecorator[str]):
    """Text without U+0000, the same in every database."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Return `value` with U+FFFD in place of U+0000."""
        return value if value is None or NUL not in value else clean_text(value)


def clean_text(text: str) -> str:
    """Return `text` with U+FFFD in place of U+0000."""
    return text.replace(NUL, NO_NUL)


class DialectChoice(FunctionElement[Any]):
    """An expression for SQLite, and one for PostgreSQL."""

    inherit_cache = True


@compiles(DialectChoice)
def _compile_usual(element: DialectChoice, compiler: SQLCompiler, **options: Any) -> str:
    usual, _ = element.clauses
    return compiler.process(usual, **options)


@compiles(DialectChoice, "postgresql")
def _compile_other(element: DialectChoice, compiler: SQLCompiler, **options: Any) -> str:
    _, other = element.clauses
    return compiler.process(other, **options)


@compiles(OnConflictDoNothing, "postgresql")
def _compile_conflict(element: OnConflictDoNothing, compiler: SQLCompiler, **options: Any) -> str:
    columns: Any = element.inferred_target_elements or ()
    target = ", ".join(compiler.preparer.quote(getattr(each, "name", each)) for each in columns)
    return f"ON CONFLICT ({target}) DO NOTHING" if target else "ON CONFLICT DO NOTHING"


def vary(usual: Any, postgresql: Any, kind: Any = None) -> Any:
    """Return an expression that is `usual` on SQLite, and `postgresql` there. `kind`: its type."""
    made = DialectChoice(sa.type_coerce(usual, kind) if kind else usual, postgresql)
    made.type = sa.types.to_instance(kind)
    return made


def greatest(*values: Any) -> Any:
    """Return the greatest of two or more numbers, none of which is null."""
    return vary(sa.func.max(*values), sa.func.greatest(*values), NUMBER)


def find_bytes(held: Any, wanted: Any) -> Any:
    """Return the place of the bytes `wanted` in `held`, from 1, or 0."""
    return vary(sa.func.instr(held, wanted), sa.func.pg_catalog.position(held, wanted), sa.Integer)


def are_among(column: sa.ColumnElement[Any], name: str) -> Any:
    """Return the condition that `column` is one of the values of the JSON array in the parameter `name`."""
    values: Any = sa.bindparam(name, type_=sa.Text)
    listed = sa.func.json_each(values).table_valued("value")
    texts = sa.func.json_array_elements_text(sa.cast(values, sa.JSON)).column_valued("value")
    one = sa.cast(texts, column.type)
    return vary(column.in_(sa.select(listed.c.value)), column.in_(sa.select(one)))


def place_of_row(table: Any) -> Any:
    """Return the place of a row of a followed table: numbers that grow with commits, the same for one transaction."""
    return vary(table.c.number, sa.literal_column(f"{table.name}.{PLACE}"), NUMBER)


def snapshot_of(table: Any) -> Any:
    """Return the last number of a followed table or, where transactions overlap, the text of the snapshot."""
    return vary(_last_number(table), sa.literal_column("pg_current_snapshot()::text"))


def last_place(*tables: Any) -> Any:
    """Return the last place that has been reached: no row comes before it, or at it, any more."""
    latest = [_last_number(each) for each in tables]
    usual = latest[0] if len(latest) == 1 else sa.func.max(*latest)
    return vary(usual, sa.literal_column(_SETTLED), NUMBER)


def _last_number(table: Any) -> Any:
    return sa.func.coalesce(sa.select(sa.func.max(table.c.number)).scalar_subquery(), 0)


def commits_in_order(connection: sa.Connection) -> bool:
    """Return whether rows get their numbers in the order of their commits, as with one writer at a time."""
    return connection.dialect.name == "sqlite"


def look_size(connection: sa.Connection, places: int) -> int:
    """Return how many places to look at in one read: `places`, or all where other databases count them too."""
    return places if commits_in_order(connection) else EVERY


def lone_row_size(connection: sa.Connection) -> int:
    """Return how many bytes of text a row must hold to be alone in its page, or 0 where rows do not move in pages."""
    return _LONE_ROW if connection.dialect.name == "sqlite" else 0


def changes_checks(connection: sa.Connection) -> bool:
    """Return whether a `CHECK` of a table can be changed; else the table is made anew."""
    return connection.dialect.name != "sqlite"


def declare_column(connection: sa.Connection, declaration: str) -> str:
    """Return the declaration of a column, whose type is one of SQLite's `STRICT` tables, in a database's own words."""
    if connection.dialect.name == "sqlite":
        return declaration
    name, kind, *conditions = declaration.split(maxsplit=2)
    return " ".join((connection.dialect.identifier_preparer.quote(name), _TYPES[kind], *conditions))


def made_row(result: sa.CursorResult[Any]) -> bool:
    """Return whether an `INSERT` that returns a column made a row."""
    return result.first() is not None


def list_damage(connection: sa.Connection, most: int) -> tuple[str, ...]:
    """Return the damage of a database that can be found by reading it all, the first `most` lines of each kind.

    A server looks after its own files (`data_checksums`), and lets no row lose the row that it belongs to.
    """
    if connection.dialect.name != "sqlite":
        return ()
    checked = connection.exec_driver_sql(f"PRAGMA integrity_check({most})").scalars().all()
    with connection.exec_driver_sql("PRAGMA foreign_key_check") as found:
        lost = found.fetchmany(most)
    return (
        *(str(line) for line in checked if line != "ok"),
        *(f"a row of {row[0]} belongs to a row of {row[2]} that is not there" for row in lost),
    )


def name_parameters(dialect: str) -> sa.Dialect:
    """Return the dialect of a name for statements that a driver runs itself, with named parameters."""
    url, style = ("sqlite://", "named") if dialect == "sqlite" else ("postgresql+psycopg://", "pyformat")
    make: Any = sa.make_url(url).get_dialect()
    made: sa.Dialect = make(paramstyle=style)
    return made
