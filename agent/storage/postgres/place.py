"""A PostgreSQL server as a place for databases."""

import trio

from ...ports.clock import Clock
from ...ports.hints import Hints
from ...ports.work import RunSync
from ..backend import Backend
from ..contents import DatabaseContents
from ..settings import hide_login
from .connecting import check_url
from .postgres_database import PostgresDatabase
from .signals import PostgresHints


class DatabaseServer:
    """The server and database of `url` (implements `agent.storage.backend.DatabasePlace`).

    `checks_clock`: whether this machine's clock must agree with the server's. `needs_sync`: whether the server must
    have a synchronous standby. Raises `UsageError` for a URL that names no database.
    """

    is_server = True
    reads_beside = False  # a node has few connections, and a statement of this one is over in seconds

    def __init__(self, url: str, checks_clock: bool = True, needs_sync: bool = False) -> None:
        check_url(url)
        self._url = url
        self._checks_clock = checks_clock
        self._needs_sync = needs_sync

    def __str__(self) -> str:
        return hide_login(self._url)

    def make_backend(self, clock: Clock, contents: DatabaseContents, beside: bool = False) -> Backend:
        """Return a database that is not open yet."""
        return PostgresDatabase(self._url, clock, contents, beside, self._checks_clock, self._needs_sync)

    def carry_hints(self, run_sync: RunSync, nursery: trio.Nursery) -> Hints:
        """Return hints that a connection of their own carries until `nursery` is cancelled."""
        hints = PostgresHints(self._url, run_sync)
        nursery.start_soon(hints.run)
        return hints
