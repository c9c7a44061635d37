"""The ledger of a database: the port `Ledger` over the queue of `Database` and the statements of `rows.py`."""

import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import trio

from ..ports.clock import Clock
from ..ports.conversation import NO_SCOPE, Scope
from ..ports.ledger import ClaimStatus, LedgerRow
from ..ports.observe import Observer
from ..ports.work import RunSync
from . import rows
from .database import Database
from .places import Data, place_of
from .rows import ClaimRequest, OutcomeRequest


class DatabaseLedger:
    """Claims and outcomes in an open database (implements `agent.ports.ledger.Ledger`).

    Every method raises `agent.errors.StorageFailed` when the database cannot do it. `kb` names the server's knowledge
    base, which is noted with each claim.
    """

    def __init__(self, database: Database, kb: str | None = None) -> None:
        self._database = database
        self._kb = kb
        self._won: dict[str, str] = {}  # the attempt that won an id, until its outcome is recorded

    async def claim(self, suggestion_id: str, action: str, at: int, scope: Scope = NO_SCOPE) -> bool:
        """Claim an action at Unix milliseconds `at`; `True` for exactly one claimer of an id, in any process.

        A kept call can be claimed only while it is confirmed and the server runs it; it becomes claimed. Cancelled,
        nothing is claimed, or the row is recorded cancelled if it turns out to have been written.
        """
        attempt = secrets.token_hex(8)
        won = await self._database.claim(
            ClaimRequest(
                suggestion_id=suggestion_id, action=action, at=at, kb=self._kb, scope=scope, attempt=attempt
            )
        )
        if won:
            self._won[suggestion_id] = attempt
        return won

    async def record_outcome(
        self, suggestion_id: str, status: ClaimStatus, result: Mapping[str, Any], at: int
    ) -> None:
        """Record the outcome of an action that was claimed here, at Unix milliseconds `at`, and that of its call.

        The first outcome stands; for an action that another claimer won nothing is recorded. Returns when the outcome
        is on disk or, while the file does not work, as soon as it is kept for later. Cancelled, it is kept too. Rows
        that ended more than `TOMBSTONE_SECONDS` earlier are forgotten.
        """
        attempt = self._won.pop(suggestion_id, None)
        if attempt is None:
            await trio.lowlevel.checkpoint()
            return
        await self._database.record(
            OutcomeRequest(
                suggestion_id=suggestion_id, status=status, result=dict(result), at=at, attempt=attempt
            )
        )

    async def get_row(self, suggestion_id: str) -> LedgerRow | None:
        """Return the row of a claimed action, or `None`."""
        return await self._database.read(partial(rows.find_row, suggestion_id=suggestion_id))

    async def rows(self, limit: int = 100, kb: str | None = None) -> tuple[LedgerRow, ...]:
        """Return the newest `limit` rows by claim, newest first; with `kb` only those of that knowledge base."""
        return await self._database.read(partial(rows.newest_rows, limit=limit, kb=kb))


@asynccontextmanager
async def open_database_ledger(
    data: Data,
    run_sync: RunSync,
    clock: Clock,
    observer: Observer | None = None,
    told: Callable[[str], None] = lambda _: None,
    kb: str | None = None,
) -> AsyncGenerator[DatabaseLedger, None]:
    """Open a database (see `Database`) for the time of a block, for nothing but its ledger."""
    async with Database(place_of(data), run_sync, clock, observer, told) as database:
        yield DatabaseLedger(database, kb)
