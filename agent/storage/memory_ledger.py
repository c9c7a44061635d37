"""The ledger of one process: a dict in claim order, and the finished ids in the order they finished.

Every method decides in one synchronous step beside one checkpoint. A claim decides after the checkpoint, so a cancelled
one has claimed nothing; a record decides before it, so a cancelled one is recorded all the same. A finished row stays
as a tombstone for `TOMBSTONE_SECONDS`, or until `LEDGER_ROWS` rows are held and it is the one that finished longest
ago. A row that is not finished is never dropped.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import trio

from ..errors import AgentError
from ..ports.conversation import NO_SCOPE, Scope
from ..ports.ledger import ClaimStatus, LedgerRow
from .settings import TOMBSTONE_SECONDS

LEDGER_ROWS = 100_000


class MemoryLedger:
    """Claims and outcomes of this process, which end with it.

    `limit` is the greatest number of rows; `kb` names the server's knowledge base.
    """

    def __init__(self, limit: int = LEDGER_ROWS, kb: str | None = None) -> None:
        self._limit = limit
        self._kb = kb
        self._rows: dict[str, LedgerRow] = {}  # in the order they were claimed
        self._finished: dict[str, int] = {}  # id -> Unix ms of its end, in the order they finished

    async def claim(self, suggestion_id: str, action: str, at: int, scope: Scope = NO_SCOPE) -> bool:
        """Claim an action at Unix milliseconds `at`; `True` for exactly one claimer of an id.

        Raises `AgentError` when every row is still running: an action that cannot be remembered must not run.
        Cancelled, nothing is claimed.
        """
        await trio.lowlevel.checkpoint()
        if suggestion_id in self._rows:
            return False
        self._forget(at)
        if len(self._rows) >= self._limit:
            raise AgentError("the ledger is full of running actions")
        self._rows[suggestion_id] = LedgerRow(
            suggestion_id=suggestion_id, action=action, status="claimed", claimed_at=at, kb=self._kb
        )
        return True

    async def record_outcome(
        self, suggestion_id: str, status: ClaimStatus, result: Mapping[str, Any], at: int
    ) -> None:
        """Record the outcome of a claimed action at Unix milliseconds `at`; the first outcome stands.

        An id that was never claimed is ignored. Cancelled, the outcome is recorded all the same.
        """
        row = self._rows.get(suggestion_id)
        if row is not None and row.status == "claimed":
            self._rows[suggestion_id] = replace(row, status=status, ended_at=at, result=dict(result))
            self._finished[suggestion_id] = at
        await trio.lowlevel.checkpoint()

    def holds(self, suggestion_id: str) -> bool:
        """Return whether this ledger has the row of `suggestion_id`."""
        return suggestion_id in self._rows

    async def get_row(self, suggestion_id: str) -> LedgerRow | None:
        """Return the row of a claimed action, or `None`."""
        await trio.lowlevel.checkpoint()
        return self._rows.get(suggestion_id)

    async def rows(self, limit: int = 100, kb: str | None = None) -> tuple[LedgerRow, ...]:
        """Return the newest `limit` rows by claim, newest first; with `kb` only those of that knowledge base."""
        await trio.lowlevel.checkpoint()
        found = (row for row in reversed(self._rows.values()) if kb in (None, row.kb))
        return tuple(islice(found, limit))

    def _forget(self, now: int) -> None:
        """Drop tombstones that are too old, and the oldest one when there is no room for another row."""
        oldest_kept = now - int(TOMBSTONE_SECONDS * 1000)
        while self._finished:
            suggestion_id, ended_at = next(iter(self._finished.items()))
            if ended_at >= oldest_kept and len(self._rows) < self._limit:
                return
            del self._finished[suggestion_id], self._rows[suggestion_id]
