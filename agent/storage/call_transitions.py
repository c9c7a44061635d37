"""The moves of one call between statuses: each function is one compare-and-set that says why it refused.

Calls that move together, at a deadline or with their thread, are in `call_groups.py`.

The transaction holds the write lock, so nothing changes between the check and the change. The statements state their
conditions all the same, and a trigger asks the table `moves` once more.
"""

from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from ..errors import Conflict
from ..ports.calls import (
    UNNAMED,
    Approver,
    CallApproval,
    CallRejection,
    CallReport,
    CallStatus,
    CallTransition,
    ClosingStatus,
    StoredCall,
)
from ..ports.inbox import DecisionEvent
from . import rows
from .decisions import EVENT_OF, note_decision
from .dialect import insert, made_row
from .listing import field_names, make_record, require_row
from .rows import CALLER, ClaimRequest, OutcomeRequest
from .schema import MOVES, actions, calls
from .transaction import Transaction

NEVER_RAN = frozenset({"suggested", "confirmed"})  # statuses before a claim

_IDS = {"project": "project_id", "thread": "thread_id", "message": "message_id"}
"""The fields of a `StoredCall` whose columns have another name."""
_OF_END = frozenset(("lease_until", "result", "result_hash", "ended_at", "closed_by", "reason"))
"""The fields that a call gets after it was kept."""


def call_of(row: Any) -> StoredCall:
    """Return a row as a call."""
    return make_record(
        StoredCall,
        row,
        **{field: getattr(row, column) for field, column in _IDS.items()},
        needs_approval=bool(row.needs_approval),
        why=tuple(row.why),
        missing=tuple(row.missing),
    )


_ONE = sa.select(calls).where(
    calls.c.id == sa.bindparam("call"), calls.c.project_id == sa.bindparam("project")
)
_WITHDRAWN = sa.select(
    sa.exists().where(actions.c.suggestion_id == sa.bindparam("call"), actions.c.lease_until.is_not(None))
)
_KEEP = insert(calls).on_conflict_do_nothing(index_elements=["id"]).returning(calls.c.number)


def find_call(connection: sa.Connection, project: str, id: str) -> Any:
    """Return the row of a call; raises `NotFound`."""
    return require_row(connection.execute(_ONE, {"project": project, "call": id}).one_or_none())


def is_kept(connection: sa.Connection, id: str) -> bool:
    """Return whether a call of this `id` exists, in any project."""
    return connection.execute(sa.select(calls.c.number).where(calls.c.id == id)).first() is not None


def may_begin(connection: sa.Connection, project: str, id: str) -> bool:
    """Return whether the claim of a call was not withdrawn; raises `NotFound` for a deleted call."""
    find_call(connection, project, id)
    return not connection.execute(_WITHDRAWN, {"call": id}).scalar_one()


def keep_call(transaction: Transaction, call: StoredCall, kb: str | None = None) -> None:
    """Insert a call unless its id exists; a call handed over as `claimed` is claimed in the same step."""
    taken = call.status == "claimed"
    status = "confirmed" if taken else call.status
    runs_here = status == "confirmed" and call.runs_at != CALLER
    names = [name for name in field_names(StoredCall) if name not in _OF_END]
    values = {_IDS.get(name, name): getattr(call, name) for name in names}
    values |= {
        "arguments": dict(call.arguments),
        "sources": dict(call.sources),
        "parameters": None if call.parameters is None else dict(call.parameters),
        "needs_approval": int(call.needs_approval),
        "status": status,
        "owner": transaction.owner if runs_here else None,
    }
    if not made_row(transaction.connection.execute(_KEEP, values)):
        find_call(transaction.connection, call.project, call.id)  # raises for an id of another project
    elif taken:
        until = call.lease_until or call.created_at
        begin_call(transaction, call.project, call.id, call.created_at, until, kb)


def approve_call(transaction: Transaction, approval: CallApproval) -> StoredCall:
    """Confirm a suggested call before its deadline."""
    values: dict[str, Any] = {"approved_by": approval.by, "approved_at": approval.at}
    if approval.arguments is not None:
        values |= {"arguments": dict(approval.arguments), "arguments_hash": approval.arguments_hash}
    conditions = [calls.c.status == "suggested", calls.c.deadline > approval.at]
    if approval.seen is not None:
        conditions.append(calls.c.arguments_hash == approval.seen)
    changed = transaction.connection.execute(
        sa.update(calls)
        .where(calls.c.id == approval.call, calls.c.project_id == approval.project, *conditions)
        .values(
            status="confirmed",
            owner=sa.case((calls.c.runs_at == CALLER, None), else_=transaction.owner),
            **values,
        )
        .returning(calls)
    ).one_or_none()
    if changed is None:
        call = find_call(transaction.connection, approval.project, approval.call)
        why = _why_not(call, approval.at)
        raise Conflict("arguments_changed" if why == "not_approved" else why)
    approved = call_of(changed)
    event: DecisionEvent = "approved" if approval.arguments is None else "edited"
    note_decision(transaction, approved, event, approval.at, approval.by, approval.approver)
    return approved


def reject_call(transaction: Transaction, rejection: CallRejection) -> StoredCall:
    """Reject a suggested call, or cancel an approved one that is not claimed, unless the call must still wait."""
    if rejection.waiting:
        call = find_call(transaction.connection, rejection.project, rejection.call)
        if call.status != "suggested":
            why = _why_not(call, rejection.at)
            raise Conflict("closed" if why == "not_approved" else why)
    closing = Closing(by=rejection.by, approver=rejection.approver, reason=rejection.reason)
    return close_call(
        transaction, rejection.project, rejection.call, "rejected", rejection.at, closing=closing
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """A decision that closes a call.

    `by` is the user in whose name `approver` decided, for `reason`. With `once`, a call that has the status already is
    refused.
    """

    by: str | None = None
    approver: Approver = UNNAMED
    reason: str | None = None
    once: bool = False


_UNSAID = Closing()


def close_call(
    transaction: Transaction,
    project: str,
    id: str,
    status: ClosingStatus,
    at: int,
    *,
    closing: Closing = _UNSAID,
) -> StoredCall:
    """Close a call that can still be approved, or cancel a confirmed one that is not claimed.

    Rejecting an approved call cancels it.
    """
    call = find_call(transaction.connection, project, id)
    if status == "rejected" and (call.approved_by is not None or not call.needs_approval):
        status = "cancelled"
    late = status == "answered" and call.deadline <= at
    may = call.status == "suggested" or (call.status == "confirmed" and status == "cancelled")
    if may and not late:
        closed = _move(transaction, call, status, at, closed_by=closing.by, reason=closing.reason)
        if closing.by is not None or closing.approver.key:
            note_decision(transaction, closed, EVENT_OF[status], at, closing.by, closing.approver)
        return closed
    if call.status == status and not closing.once:
        return call_of(call)
    why = _why_not(call, at)
    raise Conflict("closed" if why == "not_approved" else why)


def withdraw_approval(transaction: Transaction, approval: CallApproval) -> None:
    """Cancel a call that `approval` confirmed after its caller had given up, unless the call has begun."""
    withdrawn = transaction.connection.execute(
        sa.update(calls)
        .where(
            calls.c.id == approval.call,
            calls.c.project_id == approval.project,
            calls.c.status == "confirmed",
            calls.c.approved_by == approval.by,
            calls.c.approved_at == approval.at,
        )
        .values(status="cancelled", owner=None, ended_at=approval.at)
        .returning(calls)
    ).one_or_none()
    if withdrawn is not None:
        note_decision(
            transaction, call_of(withdrawn), "cancelled", approval.at, approval.by, approval.approver
        )


def begin_call(
    transaction: Transaction,
    project: str,
    id: str,
    at: int,
    lease_until: int,
    kb: str | None,
    attempt: str = "",
) -> StoredCall:
    """Claim a confirmed call for its caller, in the ledger too."""
    call = find_call(transaction.connection, project, id)
    if call.status != "confirmed" or call.runs_at != CALLER or call.deadline <= at:
        raise Conflict(_why_not(call, at))
    if not rows.lease_call(
        transaction,
        ClaimRequest(suggestion_id=id, action=call.tool, at=at, kb=kb, attempt=attempt),
        lease_until,
    ):
        raise Conflict("begun")
    return _move(transaction, call, "claimed", None, lease_until=lease_until)


def record_report(transaction: Transaction, report: CallReport, kb: str | None) -> tuple[StoredCall, bool]:
    """Record how a claimed call ended for its caller; return it, and whether the same report came before.

    A report that a call was done begins it first, where the call needs no approval and has not begun.
    """
    call = find_call(transaction.connection, report.project, report.call)
    if call.result_hash is not None:
        if call.result_hash != report.digest:
            raise Conflict("already_reported")
        return call_of(call), True
    if call.status in NEVER_RAN and not report.ok and (call.status == "suggested" or call.runs_at == CALLER):
        if call.deadline <= report.at:
            raise Conflict("expired")
        declined: CallStatus = "rejected" if call.status == "suggested" else "cancelled"
        return _move(transaction, call, declined, report.at, result_hash=report.digest), False
    if call.status == "confirmed" and call.runs_at == CALLER and not call.needs_approval:
        begin_call(transaction, report.project, report.call, report.at, report.at + 1, kb)
        call = find_call(transaction.connection, report.project, report.call)
    if call.status != "claimed" or call.runs_at != CALLER:
        raise Conflict(_why_not_reported(call, report.at))
    if call.lease_until <= report.at:
        raise Conflict("lease_over")
    if report.seen is not None and report.seen != call.arguments_hash:
        raise Conflict("arguments_changed")
    status: Literal["done", "failed"] = "done" if report.ok else "failed"
    OutcomeRequest(
        suggestion_id=report.call,
        status=status,
        result=report.result,
        at=report.at,
        attempt=None,
        owner=CALLER,
    ).write(transaction)
    transaction.connection.execute(
        sa.update(calls)
        .where(calls.c.id == report.call, calls.c.status == status)
        .values(result_hash=report.digest)
    )
    return call_of(find_call(transaction.connection, report.project, report.call)), False


def move_call(transaction: Transaction, project: str, thread: str, move: CallTransition, at: int) -> None:
    """Move a call of a turn to its next status, if `MOVES` allows that from its current status.

    Only the claimer notes a claim or its end, through the ledger or a report. A call that is not kept is ignored.
    """
    call = transaction.connection.execute(_ONE, {"project": project, "call": move.call}).one_or_none()
    if call is None or call.thread_id != thread or (call.status, move.status) not in MOVES:
        return
    if "claimed" in (call.status, move.status):
        return
    confirmed = move.status == "confirmed"
    runs_here = confirmed and call.runs_at != CALLER
    _move(
        transaction,
        call,
        move.status,
        None if confirmed else at,
        owner=transaction.owner if runs_here else None,
    )


def _move(
    transaction: Transaction, call: Any, status: CallStatus, ended_at: int | None, **more: Any
) -> StoredCall:
    changed = transaction.connection.execute(
        sa.update(calls)
        .where(calls.c.id == call.id, calls.c.status == call.status)
        .values(**{"status": status, "ended_at": ended_at, "owner": None, **more})
        .returning(calls)
    ).one()
    return call_of(changed)


def _why_not(call: Any, at: int) -> str:
    """Return the reason why a call cannot be approved or begun."""
    if call.status == "expired" or (call.status in NEVER_RAN and call.deadline <= at):
        return "expired" if call.status != "confirmed" or call.runs_at == CALLER else "closed"
    return {"suggested": "not_approved", "claimed": "begun"}.get(call.status, "closed")


def _why_not_reported(call: Any, at: int) -> str:
    """Return the reason why a report of a call is refused."""
    if call.runs_at == CALLER and call.lease_until is not None:
        return "lease_over"  # it was begun, and is unknown by now
    if call.status == "confirmed" and call.runs_at == CALLER and call.deadline > at:
        return "not_begun"
    why = _why_not(call, at)
    return "closed" if why == "begun" else why
