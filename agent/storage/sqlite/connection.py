"""One connection to SQLite and its pragmas, transactions and savepoints, independent of the tables.

An open statement holds a lock, and the thread that ends the statement waits for the connection. So no statement
outlives its own line: one without rows goes to SQLite directly (`execute_raw`), and one with rows is read to its end or
closed.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import StaticPool


@contextmanager
def write_transaction(connection: sa.Connection) -> Iterator[None]:
    """Run the block in a write transaction: commit at its end, or roll back on any exception."""
    driver = driver_of(connection)
    if driver.in_transaction:  # after a rollback that failed
        driver.execute("ROLLBACK")
    driver.execute("BEGIN IMMEDIATE")
    try:
        yield
        driver.execute("COMMIT")
    except BaseException:
        with suppress(SQLAlchemyError, sqlite3.Error):
            roll_back(connection)
        raise


@contextmanager
def savepoint(connection: sa.Connection) -> Iterator[None]:
    """Run the block in a savepoint, which is undone alone when the block raises."""
    driver = driver_of(connection)
    driver.execute("SAVEPOINT request")
    try:
        yield
    except BaseException:
        with suppress(SQLAlchemyError, sqlite3.Error):  # where the fault has ended the whole transaction
            driver.execute("ROLLBACK TO request")
            driver.execute("RELEASE request")
        raise
    driver.execute("RELEASE request")


def roll_back(connection: sa.Connection) -> None:
    """Roll back the transaction, if one is open."""
    if driver_of(connection).in_transaction:
        execute_raw(connection, "ROLLBACK")


def set_pragma(connection: sa.Connection, pragma: str) -> None:
    """Set a pragma and close its cursor: some return a row, and SQLite holds the lock until that row is read."""
    connection.exec_driver_sql(f"PRAGMA {pragma}").close()


def execute_raw(connection: sa.Connection, statement: str) -> None:
    """Pass SQLite a statement that has no values and no rows, without SQLAlchemy's preparation."""
    driver_of(connection).execute(statement)


class LastingCursor(sqlite3.Connection):
    """A connection whose `execute` uses one cursor, so that only the rows of the last statement can be read.

    `sqlite3` keeps a weak reference for each new cursor, up to 200 of them when the cursors are long gone. A few of
    them in each second of a crowd of clients kept up to 30 MB of its memory from being returned.
    """

    _cursor: sqlite3.Cursor | None = None

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Run a statement; the next one drops the rows that were not read."""
        cursor = self._cursor
        if cursor is None:
            cursor = self._cursor = self.cursor()
        return cursor.execute(sql, parameters)

    def close(self) -> None:
        """Close the connection, and drop the cursor, which refers to it."""
        self._cursor = None
        super().close()


def driver_of(connection: sa.Connection) -> sqlite3.Connection:
    """Return the `sqlite3` connection below a SQLAlchemy connection."""
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


def make_engine(file: Path | None, patience: float) -> sa.Engine:
    """Return an engine with a single connection to `file`, or with `None` to a database in memory.

    `patience` is how many seconds the connection waits for a lock of another process.
    """
    url = sa.URL.create("sqlite", database=":memory:" if file is None else str(file))
    return sa.create_engine(
        url,
        poolclass=StaticPool,
        isolation_level="AUTOCOMMIT",
        connect_args={"check_same_thread": False, "timeout": patience, "factory": LastingCursor},
    )
