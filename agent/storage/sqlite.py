"""The ledger of a database: what the port asks for, over the queue and the statements that all stores share."""

import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import trio

from ..ports.clock import Clock
from ..ports.conversation import NO_SCOPE, Scope
from ..ports.ledger import Row, Status
from ..ports.observe import Observer
from ..ports.work import RunSync
from . import rows
from .database import Database
from .rows import Claim, Record


class SqliteLedger:
    """Claims and outcomes in a database that is open.

    Every method raises `agent.errors.StorageFailed` when the database cannot do it. kb: the knowledge base of its
    server, noted with each claim.
    """

    def __init__(self, database: Database, kb: str | None = None) -> None:
        self._database = database
        self._kb = kb
        self._won: dict[str, str] = {}  # the attempt that won an id, until its outcome is recorded

    async def claim(self, suggestion_id: str, action: str, at: int, scope: Scope = NO_SCOPE) -> bool:
        """Claim an action at Unix milliseconds `at`; True for exactly one claimer of an id, in any process.

        Of a call that is kept, only while it is confirmed and the server is to run it; it becomes claimed.
        Cancelled, nothing was claimed, or the row is recorded cancelled when it turns out to have been made.
        """
        attempt = secrets.token_hex(8)
        won = await self._database.claim(Claim(suggestion_id, action, at, self._kb, scope, attempt))
        if won:
            self._won[suggestion_id] = attempt
        return won

    async def record(self, suggestion_id: str, status: Status, result: Mapping[str, Any], at: int) -> None:
        """Record the outcome of an action that was claimed here, at Unix milliseconds `at`, and of its call.

        The first one stands; of what another has claimed nothing is recorded. Returns when it is on disk or, when the
        file does not work, as soon as it is kept to be written when it does. Cancelled, it is kept too. What ended
        more than TOMBSTONE_SECONDS before is forgotten.
        """
        attempt = self._won.pop(suggestion_id, None)
        if attempt is None:
            await trio.lowlevel.checkpoint()
            return
        await self._database.record(Record(suggestion_id, status, dict(result), at, attempt))

    async def get(self, suggestion_id: str) -> Row | None:
        """Return the row of a claimed action, or None."""
        return await self._database.read(partial(rows.one, suggestion_id=suggestion_id))

    async def rows(self, limit: int = 100, kb: str | None = None) -> tuple[Row, ...]:
        """Return the newest `limit` rows by claim, newest first; with `kb` only those of that knowledge base."""
        return await self._database.read(partial(rows.newest, limit=limit, kb=kb))


@asynccontextmanager
async def ledger_in(
    data: Path | None,
    run_sync: RunSync,
    clock: Clock,
    observer: Observer | None = None,
    told: Callable[[str], None] = lambda _: None,
    kb: str | None = None,
) -> AsyncGenerator[SqliteLedger, None]:
    """Open a database (see `Database`) for the time of a block, for nothing but its ledger."""
    async with Database(data, run_sync, clock, observer, told) as database:
        yield SqliteLedger(database, kb)
