"""Making and upgrading the tables of a database on a server, by the first process that comes.

Each database has a schema of its own in PostgreSQL's sense, since some of their tables have the same names. Its number
stands in the table `schema_version`. All is done under an advisory lock that is taken before any snapshot: under
SERIALIZABLE two processes that start at once would both find no tables, and make them.
"""

import hashlib
from typing import Any, Final

import psycopg
import sqlalchemy as sa

from ..contents import DatabaseContents
from .connecting import driver_of
from .declarations import write_tables, write_triggers
from .faults import Unusable

_STEP_WAIT: Final = 60.0  # seconds for each statement
_LOCK: Final = 7_161_205_339_412_077_161  # of all processes that make tables
_NEWER: Final = (
    "its {} has schema {}, made by a newer version, and this version reads schemas up to {}: "
    "run the newer version"
)
_KNOWN: Final = """SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relkind = 'r'"""


def schema_name(contents: DatabaseContents) -> str:
    """Return the name of the schema that holds the tables of a database."""
    return f"agent_{contents.name}"


def prepare_schema(connection: sa.Connection, contents: DatabaseContents, now: int) -> None:
    """Make the tables that are missing, take the steps to today's schema, and write the triggers, all or nothing.

    Raises `Unusable` for a newer schema.
    """
    driver = driver_of(connection)
    driver.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
    try:
        driver.execute("SET LOCAL lock_timeout = '10s'")
        with driver.allow_time(_STEP_WAIT):
            driver.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            _prepare(connection, driver, contents, now)
            driver.execute("COMMIT")
    except BaseException:
        if not driver.closed:
            driver.execute("ROLLBACK")
        raise


def _prepare(
    connection: sa.Connection, driver: psycopg.Connection[Any], contents: DatabaseContents, now: int
) -> None:
    name = schema_name(contents)
    known = {each for (each,) in driver.execute(_KNOWN).fetchall()}
    declared = _declare_tables(contents)
    digest = _digest(declared, contents)
    if "schema_version" in known:
        version, made_of = _read_version(driver)
        if version > contents.version:
            raise Unusable(_NEWER.format(contents.name, version, contents.version))
        if (version, made_of) == (contents.version, digest) and known.issuperset(declared):
            return
        for number in range(version + 1, contents.version + 1):
            contents.steps[number](connection)
    else:
        _run(driver, f"CREATE SCHEMA IF NOT EXISTS {name}")
        _run(driver, "CREATE TABLE schema_version (version bigint NOT NULL, made_of text NOT NULL)")
        _run(driver, "INSERT INTO schema_version VALUES (0, '')")
    for table, statements in declared.items():
        for statement in statements if table not in known else ():
            _run(driver, statement)
    for statement in write_triggers(contents.triggers):
        _run(driver, statement)
    contents.fill(connection, now)
    driver.execute("UPDATE schema_version SET version = %s, made_of = %s", (contents.version, digest))


def _read_version(driver: psycopg.Connection[Any]) -> tuple[int, str]:
    row = driver.execute("SELECT version, made_of FROM schema_version").fetchone()
    return (0, "") if row is None else (int(row[0]), str(row[1]))


def _declare_tables(contents: DatabaseContents) -> dict[str, list[str]]:
    """Return the statements that make each table as it is declared today."""
    return write_tables(contents.tables) | write_tables(contents.server_tables)


def _digest(declared: dict[str, list[str]], contents: DatabaseContents) -> str:
    """Return a digest of the tables and triggers as they are declared today."""
    made = [each for table in declared.values() for each in table]
    return hashlib.sha256("\n".join([*made, *write_triggers(contents.triggers)]).encode()).hexdigest()


def _run(driver: psycopg.Connection[Any], statement: str) -> None:
    driver.execute(statement.encode())
