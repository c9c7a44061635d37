"""The moves of many calls at once: calls that are cancelled or deleted with their thread, and calls that are overdue.

Such a move refuses nothing: it changes the calls whose status allows it, and leaves the others.
"""

import sqlalchemy as sa

from ..ports.calls import OverdueCall
from . import rows
from .call_transitions import NEVER_RAN
from .dialect import NUMBER, insert
from .prepared import PreparedStatement
from .rows import CALLER
from .schema import actions, calls
from .transaction import Transaction

LEASE_LOST = {
    "success": False,
    "unknown": True,
    "error": "The caller that began the call did not report its outcome in time.",
}
# The first condition of each is word for word that of the partial index over those times.
_LATE = sa.and_(
    sa.text("calls.status IN ('suggested', 'confirmed')"),
    sa.or_(calls.c.status == "suggested", calls.c.runs_at == CALLER),
    calls.c.deadline <= sa.bindparam("at"),
)
_UNREPORTED = sa.and_(sa.text("calls.status = 'claimed'"), calls.c.lease_until <= sa.bindparam("at"))
_ANYTHING_DUE = PreparedStatement(
    sa.select(
        sa.or_(
            *(
                sa.exists().where(each)
                for each in (_LATE, _UNREPORTED, rows.unreported_leases(sa.bindparam("at")))
            )
        )
    )
)
_CANCEL_ALL = (
    sa.update(calls)
    .where(
        calls.c.project_id == sa.bindparam("project"),
        calls.c.thread_id == sa.bindparam("thread"),
        calls.c.status.in_(sorted(NEVER_RAN)),
    )
    .values(status="cancelled", owner=None, ended_at=sa.bindparam("at", type_=NUMBER))
)
_WITHDRAW = (  # `lease_until` of a claim by a process: when it was withdrawn, so that its call does not begin any more
    sa.update(actions)
    .where(
        actions.c.status == "claimed",
        actions.c.owner != CALLER,
        actions.c.suggestion_id.in_(
            sa.select(calls.c.id).where(
                calls.c.project_id == sa.bindparam("of_project"),
                calls.c.thread_id == sa.bindparam("of_thread"),
                calls.c.status == "claimed",
            )
        ),
    )
    .values(lease_until=sa.bindparam("at", type_=NUMBER))
)


def cancel_calls(transaction: Transaction, project: str, thread: str, at: int) -> None:
    """Cancel every call of a thread that is not claimed, and withdraw the claims of processes."""
    transaction.connection.execute(_CANCEL_ALL, {"project": project, "thread": thread, "at": at})
    transaction.connection.execute(_WITHDRAW, {"of_project": project, "of_thread": thread, "at": at})


def bar_calls(transaction: Transaction, at: int, *which: sa.ColumnElement[bool]) -> tuple[str, ...]:
    """Insert a cancelled row into the ledger for each confirmed call that is about to be deleted, so that it cannot run
    later.

    Return the calls among them that other processes have claimed, and that may be about to begin.
    """
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
    claimed = (
        sa.select(calls.c.id)
        .join(actions, actions.c.suggestion_id == calls.c.id)
        .where(calls.c.status == "claimed", actions.c.owner.not_in((transaction.owner, CALLER)), *which)
    )
    return tuple(transaction.connection.execute(claimed).scalars().all())


def is_anything_due(connection: sa.Connection, at: int) -> bool:
    """Return whether `expire_calls` would change a row."""
    ((due,),) = _ANYTHING_DUE.rows(connection, at=at)
    return bool(due)


def expire_calls(transaction: Transaction, at: int) -> tuple[OverdueCall, ...]:
    """Expire calls that are late, and mark calls unknown whose leases ended without a report."""
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
    return tuple(OverdueCall(*each) for each in (*expired, *lost))
