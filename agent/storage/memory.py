"""The ledger of one process: a dict in claim order, and the finished ids in the order they finished.

Every method decides in one synchronous step beside one checkpoint: a claim after it, so that one that is cancelled
has claimed nothing; a record before it, so that one that is cancelled is recorded all the same. What is finished
stays as a tombstone for TOMBSTONE_SECONDS, or until LEDGER_ROWS rows are held and it is the one that finished longest
ago; a row that is not finished is never dropped.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import trio

from ..config import LEDGER_ROWS, TOMBSTONE_SECONDS
from ..errors import AgentError
from ..ports.conversation import NO_SCOPE, Scope
from ..ports.ledger import Row, Status


class MemoryLedger:
    """Claims and outcomes of this process; they end with it.

    limit: how many rows are held at most. kb: the knowledge base of its server.
    """

    def __init__(self, limit: int = LEDGER_ROWS, kb: str | None = None) -> None:
        self._limit = limit
        self._kb = kb
        self._rows: dict[str, Row] = {}  # in the order they were claimed
        self._finished: dict[str, int] = {}  # id -> Unix ms of its end, in the order they finished

    async def claim(self, suggestion_id: str, action: str, at: int, scope: Scope = NO_SCOPE) -> bool:
        """Claim an action at Unix milliseconds `at`; True for exactly one claimer of an id.

        Raises `agent.errors.AgentError` when every row held is still running: what cannot be remembered
        is not run. Cancelled, nothing was claimed.
        """
        await trio.lowlevel.checkpoint()
        if suggestion_id in self._rows:
            return False
        self._forget(at)
        if len(self._rows) >= self._limit:
            raise AgentError("the ledger is full of running actions")
        self._rows[suggestion_id] = Row(suggestion_id, action, "claimed", at, kb=self._kb)
        return True

    async def record(self, suggestion_id: str, status: Status, result: Mapping[str, Any], at: int) -> None:
        """Record the outcome of a claimed action at Unix milliseconds `at`; the first outcome stands.

        An id that was never claimed is ignored. Cancelled, it is recorded all the same.
        """
        row = self._rows.get(suggestion_id)
        if row is not None and row.status == "claimed":
            self._rows[suggestion_id] = replace(row, status=status, ended_at=at, result=dict(result))
            self._finished[suggestion_id] = at
        await trio.lowlevel.checkpoint()

    def holds(self, suggestion_id: str) -> bool:
        """Whether it has a row of an action."""
        return suggestion_id in self._rows

    async def get(self, suggestion_id: str) -> Row | None:
        """Return the row of a claimed action, or None."""
        await trio.lowlevel.checkpoint()
        return self._rows.get(suggestion_id)

    async def rows(self, limit: int = 100, kb: str | None = None) -> tuple[Row, ...]:
        """Return the newest `limit` rows by claim, newest first; with `kb` only those of that knowledge base."""
        await trio.lowlevel.checkpoint()
        found = (row for row in reversed(self._rows.values()) if kb in (None, row.kb))
        return tuple(islice(found, limit))

    def _forget(self, now: int) -> None:
        """Drop the tombstones that are too old, and the oldest one when there is no room for one more row."""
        oldest_kept = now - int(TOMBSTONE_SECONDS * 1000)
        while self._finished:
            suggestion_id, ended_at = next(iter(self._finished.items()))
            if ended_at >= oldest_kept and len(self._rows) < self._limit:
                return
            del self._finished[suggestion_id], self._rows[suggestion_id]
