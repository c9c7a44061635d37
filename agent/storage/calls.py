"""Tool calls in a database: pages of them, and the requests that move them (see `call_transitions.py`)."""

import secrets
from functools import partial

import sqlalchemy as sa

from ..ports.calls import (
    CallApproval,
    CallRejection,
    CallReport,
    CallStatus,
    ClosingStatus,
    OverdueCall,
    StoredCall,
)
from ..ports.pages import Page, Window
from . import call_groups, call_transitions, turns
from .database import Database
from .listing import load_page, require_project, require_thread
from .pending_requests import wait_on
from .rows import CALLER, OutcomeRequest
from .schema import calls
from .transaction import Transaction


class DatabaseCalls:
    """Calls in an open database (implements `agent.ports.calls.CallStore`).

    `kb` names the server's knowledge base; the ledger notes it with each call that a caller claims.
    """

    def __init__(self, database: Database, kb: str | None = None) -> None:
        self._database = database
        self._kb = kb

    async def call(self, project: str, id: str) -> StoredCall:
        """Return a call."""
        return await self._database.read(
            lambda connection: call_transitions.call_of(call_transitions.find_call(connection, project, id))
        )

    async def has(self, id: str) -> bool:
        """Return whether the database keeps a call of this `id`, of any project."""
        return await self._database.read(partial(call_transitions.is_kept, id=id))

    async def may_begin(self, project: str, id: str) -> bool:
        """Return whether no cancel of its thread has withdrawn the claim of a call."""
        return await self._database.read(partial(call_transitions.may_begin, project=project, id=id))

    async def calls(
        self, project: str, window: Window, status: CallStatus | None = None, thread: str | None = None
    ) -> Page[StoredCall]:
        """Return a page of a project's calls in the order they were made, of one `status` or one `thread` if given."""
        return await self._database.read(partial(_select_page, project, window, status, thread))

    async def keep_call(self, call: StoredCall) -> None:
        """Insert a call that runs within its turn, confirmed, before it can be claimed. Idempotent."""

        def keep(transaction: Transaction) -> None:
            require_thread(transaction.connection, call.project, call.thread)
            turns.check_pending(transaction.connection, call.project, call.thread, call.message)
            call_transitions.keep_call(transaction, call, self._kb)

        await self._database.write(keep)

    async def approve_call(self, approval: CallApproval) -> StoredCall:
        """Confirm a suggested call in time, with its arguments frozen; return it."""
        return await self._database.write(
            partial(call_transitions.approve_call, approval=approval),
            partial(call_transitions.withdraw_approval, approval=approval),
        )

    async def close_call(
        self, project: str, id: str, status: ClosingStatus, at: int, by: str | None = None
    ) -> StoredCall:
        """Close a suggested call or cancel a confirmed one; a call with this `status` already is returned as it is.

        Rejecting an approved call cancels it. `by` is the user who decided, if known.
        """
        closing = call_transitions.Closing(by=by)
        close = partial(call_transitions.close_call, project=project, id=id, status=status, at=at)
        return await self._database.write(partial(close, closing=closing))

    async def reject_call(self, rejection: CallRejection) -> StoredCall:
        """Reject a suggested call, or cancel an approved one that is not claimed."""
        return await self._database.write(partial(call_transitions.reject_call, rejection=rejection))

    async def begin_call(self, project: str, id: str, at: int, lease_until: int) -> StoredCall:
        """Claim a confirmed call that the caller runs, in the ledger too; exactly one wins."""
        attempt = secrets.token_hex(8)
        never = OutcomeRequest(
            suggestion_id=id,
            status="cancelled",
            result={"cancelled": True},
            at=at,
            attempt=attempt,
            owner=CALLER,
        )
        begin = partial(call_transitions.begin_call, project=project, id=id, at=at, lease_until=lease_until)
        return await self._database.write(partial(begin, kb=self._kb, attempt=attempt), never.write)

    async def report_call(self, report: CallReport) -> tuple[StoredCall, bool]:
        """Record the outcome of a begun call, in its thread too; return the call and whether it was reported before.

        A call that needs no approval is begun by a report that it was done.
        """

        def keep(transaction: Transaction) -> tuple[StoredCall, bool]:
            call, known = call_transitions.record_report(transaction, report, self._kb)
            if call.result is not None and not known:
                turns.keep_result(transaction, call, report.at)
            return call, known

        return await self._database.write(keep)

    async def expire_calls(self, at: int) -> tuple[OverdueCall, ...]:
        """Expire calls that were not approved or taken in time, mark unreported ones unknown; return them all.

        When no call is due, nothing is written.
        """
        if not await self._database.read(partial(call_groups.is_anything_due, at=at)):
            return ()
        return await self._database.write(partial(call_groups.expire_calls, at=at), late=wait_on)


def _select_page(
    project: str, window: Window, status: CallStatus | None, thread: str | None, connection: sa.Connection
) -> Page[StoredCall]:
    wanted = sa.select(calls).where(calls.c.project_id == project)
    if thread is None:
        require_project(connection, project)
    else:
        require_thread(connection, project, thread)
        wanted = wanted.where(calls.c.thread_id == thread)
    if status is not None:
        wanted = wanted.where(calls.c.status == status)
    return load_page(connection, calls, wanted, window, call_transitions.call_of)
