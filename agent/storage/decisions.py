"""Decisions about calls in the audit, written in the transaction that makes them: none stands without its line."""

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa

from ..ports.calls import Approver, CallStatus, StoredCall
from ..ports.inbox import CallDecision, DecisionEvent
from .schema import audit, calls
from .transaction import Transaction

EVENT_OF: Final[Mapping[CallStatus, DecisionEvent]] = {
    "rejected": "rejected",
    "answered": "answered",
    "cancelled": "cancelled",
}
"""The decision that closes a call, by the status that the call gets."""
EVENTS: Final[tuple[DecisionEvent, ...]] = ("approved", "edited", "rejected", "answered", "cancelled")

SELECT_DECISIONS: Final = (
    sa.select(audit, calls.c.reason)
    .outerjoin(calls, sa.and_(calls.c.id == audit.c.subject, calls.c.project_id == audit.c.project_id))
    .where(audit.c.event.in_(EVENTS))
)
"""Selects the lines of the audit about decisions, with the reason of a call that is still there."""


def note_decision(
    transaction: Transaction,
    call: StoredCall,
    event: DecisionEvent,
    at: int,
    user: str | None,
    approver: Approver,
) -> None:
    """Write the line of the audit about a decision: names, ids, a word and a hash, never a text of the call."""
    line = {
        "at": at,
        "project_id": call.project,
        "user_id": user or approver.key,
        "event": event,
        "subject": call.id,
        "approver": approver.name,
        "key_id": approver.key,
        "tool": call.tool,
        "arguments_hash": call.arguments_hash,
    }
    transaction.connection.execute(sa.insert(audit).values(**line))


def decision_of(row: Any) -> CallDecision:
    """Return a row of `SELECT_DECISIONS` as a decision."""
    return CallDecision(
        at=row.at,
        project=row.project_id,
        call=row.subject,
        event=row.event,
        user=row.user_id,
        approver=row.approver or "",
        key=row.key_id or "",
        tool=row.tool or "",
        hash=row.arguments_hash or "",
        reason=row.reason if row.event in ("rejected", "cancelled") else None,
    )
