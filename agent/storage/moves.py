"""How calls go on: each function is one compare-and-set in a transaction, and says why where it was not made.

The transaction has the write lock, so nothing changes between a look and the change; the conditions stand in the
statements all the same, and the database asks the table of moves once more.
"""

from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from ..errors import Conflict
from ..ports.calls import ApprovalGiven, CallReport, CallStatus, Closed, Due, Move, StoredCall
from . import rows
from .listing import found
from .rows import CALLER, Claim, Record
from .schema import MOVES, actions, calls
from .transaction import Transaction

LEASE_LOST = {
    "success": False,
    "unknown": True,
    "error": "Who took the call did not report in time how it ended.",
}
_NEVER_RAN = frozenset({"suggested", "confirmed"})  # before anybody has claimed it


def read(found: Any) -> StoredCall:
    """Return a row as a call."""
    return StoredCall(
        id=found.id,
        project=found.project_id,
        thread=found.thread_id,
        message=found.message_id,
        turn=found.turn,
        position=found.position,
        tool=found.tool,
        arguments=found.arguments,
        arguments_hash=found.arguments_hash,
        proposed_hash=found.proposed_hash,
        runs_at=found.runs_at,
        needs_approval=bool(found.needs_approval),
        status=found.status,
        created_at=found.created_at,
        deadline=found.deadline,
        risk=found.risk,
        sources=found.sources,
        why=tuple(found.why),
        missing=tuple(found.missing),
        parameters=found.parameters,
        approved_by=found.approved_by,
        approved_at=found.approved_at,
        lease_until=found.lease_until,
        result=found.result,
        result_hash=found.result_hash,
        ended_at=found.ended_at,
        closed_by=found.closed_by,
    )


_ONE = sa.select(calls).where(
    calls.c.id == sa.bindparam("call"), calls.c.project_id == sa.bindparam("project")
)
# The first part of each is word for word as the index over those times has it.
_LATE = sa.and_(
    sa.text("calls.status IN ('suggested', 'confirmed')"),
    sa.or_(calls.c.status == "suggested", calls.c.runs_at == CALLER),
    calls.c.deadline <= sa.bindparam("at"),
)
_UNREPORTED = sa.and_(sa.text("calls.status = 'claimed'"), calls.c.lease_until <= sa.bindparam("at"))
_ANYTHING_DUE = sa.select(
    sa.or_(*(sa.exists().where(each) for each in (_LATE, _UNREPORTED, rows.unreported(sa.bindparam("at")))))
)
_CANCEL_ALL = (
    sa.update(calls)
    .where(
        calls.c.project_id == sa.bindparam("project"),
        calls.c.thread_id == sa.bindparam("thread"),
        calls.c.status.in_(sorted(_NEVER_RAN)),
    )
    .values(status="cancelled", owner=None, ended_at=sa.bindparam("at", type_=sa.Integer))
)
_KEEP = insert(calls).on_conflict_do_nothing(index_elements=["id"])


def one(connection: sa.Connection, project: str, id: str) -> Any:
    """Return the row of a call; raises `NotFound`."""
    return found(connection.execute(_ONE, {"project": project, "call": id}).one_or_none())


def is_kept(connection: sa.Connection, id: str) -> bool:
    """Whether there is a call of an id, whoever's it is."""
    return connection.execute(sa.select(calls.c.number).where(calls.c.id == id)).first() is not None


def keep(transaction: Transaction, call: StoredCall, kb: str | None = None) -> None:
    """Keep a call; one that is kept already stays as it is. One that is handed over as claimed is claimed here."""
    taken = call.status == "claimed"
    status = "confirmed" if taken else call.status
    runs_here = status == "confirmed" and call.runs_at != CALLER
    values = {
        "id": call.id,
        "project_id": call.project,
        "thread_id": call.thread,
        "message_id": call.message,
        "turn": call.turn,
        "position": call.position,
        "tool": call.tool,
        "arguments": dict(call.arguments),
        "arguments_hash": call.arguments_hash,
        "proposed_hash": call.proposed_hash,
        "runs_at": call.runs_at,
        "needs_approval": int(call.needs_approval),
        "status": status,
        "created_at": call.created_at,
        "deadline": call.deadline,
        "risk": call.risk,
        "sources": dict(call.sources),
        "why": list(call.why),
        "missing": list(call.missing),
        "parameters": None if call.parameters is None else dict(call.parameters),
        "approved_by": call.approved_by,
        "approved_at": call.approved_at,
        "owner": transaction.owner if runs_here else None,
    }
    made = transaction.connection.execute(_KEEP, values)
    if made.rowcount != 1:
        one(transaction.connection, call.project, call.id)  # another project's is not there
    elif taken:
        begin(transaction, call.project, call.id, call.created_at, call.lease_until or call.created_at, kb)


def approve(transaction: Transaction, approval: ApprovalGiven) -> StoredCall:
    """Confirm a suggested call in time."""
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
        call = one(transaction.connection, approval.project, approval.call)
        why = _why_not(call, approval.at)
        raise Conflict("arguments_changed" if why == "not_approved" else why)
    return read(changed)


def close(
    transaction: Transaction,
    project: str,
    id: str,
    status: Closed,
    at: int,
    once: bool = False,
    by: str | None = None,
) -> StoredCall:
    """Close a call that can still be approved or, where it is cancelled, that nobody has claimed.

    A no to what was approved cancels it. once: one that is closed so already is refused. by: the user who decided that.
    """
    call = one(transaction.connection, project, id)
    if status == "rejected" and (call.approved_by is not None or not call.needs_approval):
        status = "cancelled"
    late = status == "answered" and call.deadline <= at
    may = call.status == "suggested" or (call.status == "confirmed" and status == "cancelled")
    if may and not late:
        return _move(transaction, call, status, at, closed_by=by)
    if call.status == status and not once:
        return read(call)
    why = _why_not(call, at)
    raise Conflict("closed" if why == "not_approved" else why)


def withdraw(transaction: Transaction, approval: ApprovalGiven) -> None:
    """Cancel a call that an approval has confirmed of which nobody was told, unless somebody has begun it."""
    transaction.connection.execute(
        sa.update(calls)
        .where(
            calls.c.id == approval.call,
            calls.c.project_id == approval.project,
            calls.c.status == "confirmed",
            calls.c.approved_by == approval.by,
            calls.c.approved_at == approval.at,
        )
        .values(status="cancelled", owner=None, ended_at=approval.at)
    )


def begin(
    transaction: Transaction,
    project: str,
    id: str,
    at: int,
    lease_until: int,
    kb: str | None,
    attempt: str = "",
) -> StoredCall:
    """Claim a confirmed call for its caller, in the ledger too."""
    call = one(transaction.connection, project, id)
    if call.status != "confirmed" or call.runs_at != CALLER or call.deadline <= at:
        raise Conflict(_why_not(call, at))
    if not rows.lease(transaction, Claim(id, call.tool, at, kb, attempt=attempt), lease_until):
        raise Conflict("begun")
    return _move(transaction, call, "claimed", None, lease_until=lease_until)


def report(transaction: Transaction, said: CallReport) -> tuple[StoredCall, bool]:
    """Record how a call ended that its caller has begun; say whether the same was reported before."""
    call = one(transaction.connection, said.project, said.call)
    if call.result_hash is not None:
        if call.result_hash != said.digest:
            raise Conflict("already_reported")
        return read(call), True
    if call.status in _NEVER_RAN and not said.ok and (call.status == "suggested" or call.runs_at == CALLER):
        if call.deadline <= said.at:
            raise Conflict("expired")
        declined: CallStatus = "rejected" if call.status == "suggested" else "cancelled"
        return _move(transaction, call, declined, said.at, result_hash=said.digest), False
    if call.status != "claimed" or call.runs_at != CALLER:
        raise Conflict(_not_begun(call, said.at))
    if call.lease_until <= said.at:
        raise Conflict("lease_over")
    if said.seen is not None and said.seen != call.arguments_hash:
        raise Conflict("arguments_changed")
    status: Literal["done", "failed"] = "done" if said.ok else "failed"
    Record(said.call, status, said.result, said.at, attempt=None, owner=CALLER).write(transaction)
    transaction.connection.execute(
        sa.update(calls)
        .where(calls.c.id == said.call, calls.c.status == status)
        .values(result_hash=said.digest)
    )
    return read(one(transaction.connection, said.project, said.call)), False


def go_on(transaction: Transaction, project: str, thread: str, move: Move, at: int) -> None:
    """Note how a call of a turn went on, where the suggestion's table leads there from what it is.

    Its claim, and the end of what is claimed, are for whoever claimed it to note, in the ledger or by a report; one
    that is not kept has nothing to be noted.
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


def cancel_all(transaction: Transaction, project: str, thread: str, at: int) -> None:
    """Cancel every call of a thread that nobody has claimed."""
    transaction.connection.execute(_CANCEL_ALL, {"project": project, "thread": thread, "at": at})


def bar(transaction: Transaction, at: int, *which: sa.ColumnElement[bool]) -> None:
    """Let the ledger have confirmed calls as cancelled: they are about to be deleted, and must not run after it."""
    row = {
        "suggestion_id": calls.c.id,
        "action": calls.c.tool,
        "status": sa.literal("cancelled"),
        "owner": sa.literal(transaction.owner),
        "claimed_at": sa.literal(at),
        "ended_at": sa.literal(at),
        "result": sa.literal({"cancelled": True}, actions.c.result.type),
    }
    left = sa.select(*row.values()).where(calls.c.status == "confirmed", *which)
    transaction.connection.execute(
        insert(actions).from_select(list(row), left).on_conflict_do_nothing(index_elements=["suggestion_id"])
    )


def anything_due(connection: sa.Connection, at: int) -> bool:
    """Whether `due` has anything to do."""
    return bool(connection.execute(_ANYTHING_DUE, {"at": at}).scalar_one())


def due(transaction: Transaction, at: int) -> tuple[Due, ...]:
    """Expire what is late, and call unknown what was not reported in time."""
    said = (calls.c.project_id, calls.c.thread_id, calls.c.id, calls.c.status)
    expired = transaction.connection.execute(
        sa.update(calls).where(_LATE).values(status="expired", ended_at=at).returning(*said), {"at": at}
    ).all()
    lost = transaction.connection.execute(
        sa.update(calls)
        .where(_UNREPORTED)
        .values(status="unknown", result=LEASE_LOST, ended_at=at)
        .returning(*said),
        {"at": at},
    ).all()
    rows.end_leases(transaction.connection, at, LEASE_LOST)
    return tuple(Due(*each) for each in (*expired, *lost))


def _move(
    transaction: Transaction, call: Any, status: CallStatus, ended_at: int | None, **more: Any
) -> StoredCall:
    changed = transaction.connection.execute(
        sa.update(calls)
        .where(calls.c.id == call.id, calls.c.status == call.status)
        .values(**{"status": status, "ended_at": ended_at, "owner": None, **more})
        .returning(calls)
    ).one()
    return read(changed)


def _why_not(call: Any, at: int) -> str:
    """Return why a call cannot be approved, or be begun."""
    if call.status == "expired" or (call.status in _NEVER_RAN and call.deadline <= at):
        return "expired" if call.status != "confirmed" or call.runs_at == CALLER else "closed"
    return {"suggested": "not_approved", "claimed": "begun"}.get(call.status, "closed")


def _not_begun(call: Any, at: int) -> str:
    """Return why there is nothing to report of a call."""
    if call.runs_at == CALLER and call.lease_until is not None:
        return "lease_over"  # it was begun, and is unknown by now
    if call.status == "confirmed" and call.runs_at == CALLER and call.deadline > at:
        return "not_begun"
    why = _why_not(call, at)
    return "closed" if why == "begun" else why
