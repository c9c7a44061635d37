"""Calls that are kept, in a database: who may see which, a page at a time; how they go on is in moves.py."""

import secrets
from functools import partial

import sqlalchemy as sa

from ..ports.calls import ApprovalGiven, CallReport, CallStatus, Closed, Due, StoredCall
from ..ports.pages import Page, Window
from . import moves, turns
from .asked import wait_on
from .database import Database
from .listing import known_project, known_thread, page
from .rows import CALLER, Record
from .schema import calls
from .transaction import Transaction


class SqliteCalls:
    """Calls in a database that is open (implements `agent.ports.calls.CallStore`).

    kb: the knowledge base of its server, noted in the ledger with each call that its caller takes.
    """

    def __init__(self, database: Database, kb: str | None = None) -> None:
        self._database = database
        self._kb = kb

    async def call(self, project: str, id: str) -> StoredCall:
        """Return a call."""
        return await self._database.read(lambda connection: moves.read(moves.one(connection, project, id)))

    async def has(self, id: str) -> bool:
        """Whether there is a call of an id, whoever's it is."""
        return await self._database.read(partial(moves.is_kept, id=id))

    async def calls(
        self, project: str, window: Window, status: CallStatus | None = None, thread: str | None = None
    ) -> Page[StoredCall]:
        """Return a project's calls in the order they were made; of one status, of one thread."""
        return await self._database.read(partial(_listed, project, window, status, thread))

    async def keep_call(self, call: StoredCall) -> None:
        """Keep a call that runs within its turn, confirmed, before anybody claims it. Idempotent."""

        def keep(transaction: Transaction) -> None:
            known_thread(transaction.connection, call.project, call.thread)
            turns.check_pending(transaction.connection, call.project, call.thread, call.message)
            moves.keep(transaction, call, self._kb)

        await self._database.write(keep)

    async def approve(self, approval: ApprovalGiven) -> StoredCall:
        """Confirm a suggested call in time, with its arguments frozen; return it."""
        return await self._database.write(
            partial(moves.approve, approval=approval), partial(moves.withdraw, approval=approval)
        )

    async def close(
        self, project: str, id: str, status: Closed, at: int, by: str | None = None
    ) -> StoredCall:
        """Close a suggested call, or cancel a confirmed one; one that is closed so already is returned as it is.

        `rejected` cancels a call that was approved. by: the user who decided that, where that is known.
        """
        close = partial(moves.close, project=project, id=id, status=status, at=at, by=by)
        return await self._database.write(close)

    async def begin(self, project: str, id: str, at: int, lease_until: int) -> StoredCall:
        """Claim a confirmed call that the caller runs, in the ledger too; exactly one wins."""
        attempt = secrets.token_hex(8)
        never = Record(id, "cancelled", {"cancelled": True}, at, attempt, CALLER)
        begin = partial(moves.begin, project=project, id=id, at=at, lease_until=lease_until)
        return await self._database.write(partial(begin, kb=self._kb, attempt=attempt), never.write)

    async def report(self, report: CallReport) -> tuple[StoredCall, bool]:
        """Record how a begun call ended, as its thread's too; return it, and whether the same was reported before."""

        def keep(transaction: Transaction) -> tuple[StoredCall, bool]:
            call, known = moves.report(transaction, report)
            if call.result is not None and not known:
                turns.keep_result(transaction, call, report.at)
            return call, known

        return await self._database.write(keep)

    async def due(self, at: int) -> tuple[Due, ...]:
        """Expire what was not approved or not taken in time, call unknown what was not reported in time; say which.

        Where there is nothing, nothing is written.
        """
        if not await self._database.read(partial(moves.anything_due, at=at)):
            return ()
        return await self._database.write(partial(moves.due, at=at), late=wait_on)


def _listed(
    project: str, window: Window, status: CallStatus | None, thread: str | None, connection: sa.Connection
) -> Page[StoredCall]:
    wanted = sa.select(calls).where(calls.c.project_id == project)
    if thread is None:
        known_project(connection, project)
    else:
        known_thread(connection, project, thread)
        wanted = wanted.where(calls.c.thread_id == thread)
    if status is not None:
        wanted = wanted.where(calls.c.status == status)
    return page(connection, calls, wanted, window, moves.read)
