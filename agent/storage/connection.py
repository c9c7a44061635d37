"""A connection to a database, and what is done with it whatever it holds: pragmas, transactions, savepoints.

A statement that is open holds a lock, and whichever thread ends it waits for the connection. So none outlives its own
line: what has no rows is given to SQLite as it is, and what has some is read to its end or closed.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import StaticPool


@contextmanager
def written(connection: sa.Connection) -> Iterator[None]:
    """A write transaction, committed at the end of the block, or rolled back, whatever ended it."""
    roll_back(connection)  # what a rollback that failed has left open
    command(connection, "BEGIN IMMEDIATE")
    try:
        yield
        command(connection, "COMMIT")
    except BaseException:
        with suppress(SQLAlchemyError, sqlite3.Error):
            roll_back(connection)
        raise


@contextmanager
def savepoint(connection: sa.Connection) -> Iterator[None]:
    """A part of a transaction that is undone alone when the block raises."""
    command(connection, "SAVEPOINT request")
    try:
        yield
    except BaseException:
        with suppress(SQLAlchemyError, sqlite3.Error):  # where the fault has ended the whole transaction
            command(connection, "ROLLBACK TO request")
            command(connection, "RELEASE request")
        raise
    command(connection, "RELEASE request")


def roll_back(connection: sa.Connection) -> None:
    """End a transaction, if there is one, with nothing of it written."""
    if driver(connection).in_transaction:
        command(connection, "ROLLBACK")


def set_pragma(connection: sa.Connection, pragma: str) -> None:
    """Set a pragma, and end that: some tell what they are, and until that is read to its end the lock is held."""
    connection.exec_driver_sql(f"PRAGMA {pragma}").close()


def command(connection: sa.Connection, statement: str) -> None:
    """Give SQLite a statement that has no values and no rows: it needs nothing of what others are prepared with."""
    driver(connection).execute(statement)


def driver(connection: sa.Connection) -> sqlite3.Connection:
    """Return what a connection is made over."""
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


def connecting(file: Path | None, patience: float) -> sa.Engine:
    """Return what connects to a file, or with None to a database in memory; all of it is one connection.

    patience: seconds to wait for another's lock.
    """
    url = sa.URL.create("sqlite", database=":memory:" if file is None else str(file))
    return sa.create_engine(
        url,
        poolclass=StaticPool,
        isolation_level="AUTOCOMMIT",
        connect_args={"check_same_thread": False, "timeout": patience},
    )
