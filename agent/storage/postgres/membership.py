"""This process among the nodes of a server (`node.py`): its own place, and the work of dead nodes that it ends.

All functions block.
"""

import random
import time
from collections.abc import Sequence

import psycopg
import sqlalchemy as sa
import structlog

from ..contents import OwnerFunctions
from .connecting import BEGIN, BEGIN_READ, RETRY_PAUSE, ServerClock, driver_of
from .faults import FAULTS, is_conflict
from .node import (
    GRACE,
    NodePlace,
    find_silent_nodes,
    is_dead,
    remove_nodes,
    show_heartbeat,
    take_place,
)

_log = structlog.get_logger("agent.storage")


class NodeMembership:
    """The place of this process, and its view of the other nodes.

    `owned`: the functions for the rows that nodes work on. `place`: None before it is taken, and for a process that
    writes over another object.
    """

    def __init__(self, owned: OwnerFunctions, clock: ServerClock) -> None:
        self.place: NodePlace | None = None
        self._owned = owned
        self._clock = clock
        self._looks_from = 0.0  # when other nodes are looked at again after a lost connection

    def join(self, driver: psycopg.Connection[object], documents: str) -> None:
        """Take a place and show the digest of the `documents` served here; over a new connection, take it again."""
        before = self.place
        if before is not None:
            self._looks_from = time.monotonic() + GRACE
        self.place = take_place(driver, documents, before)
        if before is not None and self.place.id != before.id:
            _log.warning("this server was away for too long: other servers have ended what it had begun")

    def show(self, driver: psycopg.Connection[object], documents: str) -> None:
        """Show a heartbeat. Only a process with a place does so."""
        assert self.place is not None
        show_heartbeat(driver, self.place, documents)

    def has_silent_nodes(self, connection: sa.Connection) -> bool:
        """Tell whether a node shows no heartbeat; False while nodes may still come back to the server."""
        if time.monotonic() < self._looks_from:
            return False
        driver = driver_of(connection)
        driver.execute(BEGIN_READ)
        silent = find_silent_nodes(driver, self._owned.at_work(connection))
        driver.execute("COMMIT")
        return bool(silent)

    def settle(self, connection: sa.Connection, ended: Sequence[str], pruned: int, patience: float) -> int:
        """End the work of dead nodes and of those that have `ended`, prune old rows, and commit.

        Returns the time up to which rows are pruned; `pruned` is that of the last run. The transaction is run again,
        for `patience` seconds, when others write the same at the same time.
        """
        give_up = time.monotonic() + patience
        while True:
            try:
                return self._try_settling(connection, ended, pruned)
            except FAULTS as error:
                if not is_conflict(error) or time.monotonic() > give_up:
                    raise
                driver_of(connection).execute("ROLLBACK")
                time.sleep(random.uniform(*RETRY_PAUSE))

    def remove_if_dead(self, connection: sa.Connection, node: str) -> bool:
        """Tell whether a node is dead, and delete its row if so: it cannot come back as the owner of rows that are
        ended now. A later look ends the rest of its work.
        """
        dead = self._is_dead(connection, node)
        if dead:
            remove_nodes(driver_of(connection), [node])
        return dead

    def _try_settling(self, connection: sa.Connection, ended: Sequence[str], pruned: int) -> int:
        driver, now, owned = driver_of(connection), self._clock.now_ms(), self._owned
        driver.execute(BEGIN)
        silent = find_silent_nodes(driver, owned.at_work(connection)).difference(ended)
        dead = [*ended, *(node for node in silent if self._is_dead(connection, node))]
        owned.settle(connection, dead, now)
        remove_nodes(driver, dead)
        pruned = owned.prune(connection, now, pruned)
        driver.execute("COMMIT")
        return pruned

    def _is_dead(self, connection: sa.Connection, node: str) -> bool:
        if time.monotonic() < self._looks_from or (self.place is not None and node == self.place.id):
            return False
        return is_dead(driver_of(connection), node)
