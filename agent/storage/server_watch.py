"""Finds out that a database server is away, and says so once that has lasted.

All servers of an application lose their database in the same moment, and most absences are short: a restart of
PostgreSQL, a failover. If each server then said at once that it is not ready, a load balancer would have none left for
questions that need no database. So a trouble counts from its `AWAY_AFTER`th second on.

A folder's disk fails for one server alone, and is told at once, without this watch.
"""

from collections.abc import Callable
from contextlib import suppress

import trio

from ..errors import StorageFailed
from .database import Database
from .transaction import Transaction

AWAY_AFTER = 5.0  # seconds
LOOK_EVERY = 1.0  # seconds between two looks at a server without requests


class ServerWatch:
    """A watch on the server of one database. `report` gets the reason why it cannot be used, and "" when it can again.

    `report` never blocks.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._trouble = ""
        self._since = 0.0  # when the trouble was noticed, on the loop's clock
        self._is_away = False

    def note_trouble(self, trouble: str) -> None:
        """Note the trouble of the database, or "" when it works again."""
        if trouble and not self._trouble:
            self._since = trio.current_time()
        self._trouble = trouble
        if self._is_away:
            self._is_away = bool(trouble)
            self._report(trouble)

    async def run(self, database: Database) -> None:
        """Write nothing every `LOOK_EVERY` seconds, so that an absence is noticed, until cancelled.

        While there is trouble the database itself tries again.
        """
        while True:
            if not self._trouble:
                asked = trio.current_time()
                with suppress(StorageFailed):
                    await database.write(_write_nothing)
                self._since = min(self._since, asked)
            if self._trouble and not self._is_away and trio.current_time() - self._since >= AWAY_AFTER:
                self._is_away = True
                self._report(self._trouble)
            await trio.sleep(LOOK_EVERY)


def _write_nothing(_: Transaction) -> None:
    """Ask for a commit, without which nothing is known of the server."""
