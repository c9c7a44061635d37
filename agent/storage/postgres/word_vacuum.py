"""A `VACUUM` of the tables that words were taken out of, over a short connection of its own.

The server keeps the earlier version of each row that is changed or deleted until a `VACUUM` frees its place. Its own
comes within a minute or two; this one begins some seconds after the words were forgotten. It runs in no transaction of
ours, and no task waits for it: it is sent, and a later look finds its end. Tables for which it would have to wait are
left to the server.

A place that is free is written over when it is used again. Until then its bytes may stand in the table's file, where no
query reads them; as in the log, in standbys and in backups.
"""

import time
from collections.abc import Collection
from contextlib import suppress
from typing import Any, Final

import psycopg
import structlog

from .faults import FAULTS, Unusable, explain

_TIME: Final = "60s"  # for all tables of a database; then the server's own has to do
_LAST_WAIT: Final = 1.0  # seconds, when the database closes
_log = structlog.get_logger("agent.storage")


class WordVacuum:
    """Runs `VACUUM` over `tables` of the schema that `connect` opens. One thread uses it."""

    def __init__(self, connect: Any, tables: Collection[str]) -> None:
        self._connect = connect
        self._tables = ", ".join(sorted(tables))
        self._running: psycopg.Connection[Any] | None = None
        self._wanted = False

    def request(self) -> None:
        """Ask for one, since words were taken out of rows."""
        self._wanted = True

    def keep_up(self) -> None:
        """Begin the one that was asked for, unless one is running, or let go of the one that has ended."""
        if self._running is not None and self._has_ended(self._running):
            self._let_go()
        if self._wanted and self._running is None:
            self._wanted = False
            self._begin()

    def close(self) -> None:
        """Begin the one that was asked for, and wait for its end for a moment; a longer one goes on by itself."""
        self.keep_up()
        give_up = time.monotonic() + _LAST_WAIT
        while self._running is not None and not self._has_ended(self._running) and time.monotonic() < give_up:
            time.sleep(_LAST_WAIT / 100)
        self._let_go()

    def _let_go(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.close()

    def _begin(self) -> None:
        try:
            self._running = self._connect()
            self._running.execute(f"SET statement_timeout = '{_TIME}'".encode())
            self._running.pgconn.send_query(f"VACUUM (SKIP_LOCKED) {self._tables}".encode())
            self._running.pgconn.flush()
        except (*FAULTS, Unusable) as error:
            _log.info("no vacuum of forgotten words: the server's own will do", why=explain(error))
            self._let_go()

    def _has_ended(self, running: psycopg.Connection[Any]) -> bool:
        with suppress(psycopg.Error):
            running.pgconn.consume_input()
            return not running.pgconn.is_busy()
        return True
