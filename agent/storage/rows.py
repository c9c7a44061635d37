"""The ledger's one table, and every statement that touches it. Pure SQL: who calls it holds the transaction.

A claim is one INSERT that a conflict turns into nothing, and its row count is the answer. An outcome is one UPDATE of
a row that is still claimed by that very attempt of that owner: so the first outcome stands, writing it again changes
nothing, and the end of a claim that was not won is never another's. Where the id is that of
a call that is kept, both change the call in the same transaction, and a call that is not confirmed, or that its caller
runs, is nobody's to claim: that claim is lost as if another had it.

What a caller runs has a lease in place of an owner: no process's death says anything about it, its time does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from ..config import TOMBSTONE_SECONDS
from ..ports.conversation import NO_SCOPE, Scope
from ..ports.ledger import Row, Status
from .schema import actions, calls
from .transaction import Transaction

LOST = {"success": False, "unknown": True, "error": "The server stopped before the outcome was known."}
CALLER = "caller"
"""The owner of rows with a lease."""

_WHOSE = ("project", "user", "thread")
_OUTCOMES = ("done", "failed", "unknown")  # ends of a call that have a result


def _claim(may: sa.ColumnElement[bool]) -> sa.Insert:
    """Return what makes a row, unless one is there, or a call that is not confirmed or of which `may` is false."""
    names = (
        "suggestion_id",
        "action",
        "status",
        "owner",
        "attempt",
        "claimed_at",
        "kb",
        "lease_until",
        *_WHOSE,
    )
    values = {name: sa.bindparam(name, type_=actions.c[name].type) for name in names}
    barred = sa.exists().where(
        calls.c.id == values["suggestion_id"], sa.not_(sa.and_(calls.c.status == "confirmed", may))
    )
    return (
        insert(actions)
        .from_select(names, sa.select(*values.values()).where(~barred))
        .on_conflict_do_nothing(index_elements=["suggestion_id"])
    )


# Every action comes through these, so they are made once and take their values by name.
_CLAIM, _LEASE = _claim(calls.c.runs_at != CALLER), _claim(calls.c.runs_at == CALLER)
_OF: sa.BindParameter[Any] = sa.bindparam("of")
_AT: sa.BindParameter[Any] = sa.bindparam("at")
_CLAIMED = (
    sa.update(calls)
    .where(calls.c.id == _OF, calls.c.status == "confirmed")
    .values(status="claimed", owner=None)
)
_RECORD = (
    sa.update(actions)
    .where(
        actions.c.suggestion_id == _OF,
        actions.c.status == "claimed",
        actions.c.owner == sa.bindparam("by"),
        sa.or_(actions.c.attempt == sa.bindparam("in"), sa.bindparam("in").is_(None)),
    )
    .values(status=sa.bindparam("to"), result=sa.bindparam("result"), ended_at=_AT)
)
_ENDED = (
    sa.update(calls)
    .where(calls.c.id == _OF, calls.c.status == "claimed")
    .values(status=sa.bindparam("to"), result=sa.bindparam("result"), ended_at=_AT)
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim to be written. at: Unix milliseconds. scope: whose it is. attempt: unlike any other's."""

    suggestion_id: str
    action: str
    at: int
    kb: str | None = None
    scope: Scope = NO_SCOPE
    attempt: str = ""

    def write(self, transaction: Transaction) -> bool:
        """Claim it for the transaction's owner; True when this made the row."""
        made = _insert(transaction, _CLAIM, self, transaction.owner, None)
        if made:
            transaction.connection.execute(_CLAIMED, {"of": self.suggestion_id})
        return made


@dataclass(frozen=True, slots=True)
class Record:
    """An outcome to be written. at: Unix milliseconds.

    attempt: of the claim, None for whichever. owner: of a lease; None: this process.
    """

    suggestion_id: str
    status: Status
    result: Mapping[str, Any]
    at: int
    attempt: str | None = ""
    owner: str | None = None

    def write(self, transaction: Transaction) -> bool:
        """Write it, if that claim made the row and has no outcome; False, as it claims nothing."""
        outcome = {"of": self.suggestion_id, "to": self.status, "at": self.at, "result": dict(self.result)}
        owner = transaction.owner if self.owner is None else self.owner
        ended = transaction.connection.execute(_RECORD, {**outcome, "by": owner, "in": self.attempt})
        if ended.rowcount == 1:
            if self.status not in _OUTCOMES:
                outcome["result"] = None
            transaction.connection.execute(_ENDED, outcome)
        return False


def lease(transaction: Transaction, claim: Claim, until: int) -> bool:
    """Claim a confirmed call for its caller until Unix milliseconds `until`; True when this made the row."""
    return _insert(transaction, _LEASE, claim, CALLER, until)


def unreported(at: "int | sa.BindParameter[Any]") -> sa.ColumnElement[bool]:
    """Return the condition for what its callers did not report in time, also where the call has been deleted since."""
    return sa.and_(actions.c.status == "claimed", actions.c.owner == CALLER, actions.c.lease_until <= at)


def end_leases(connection: sa.Connection, at: int, result: Mapping[str, Any]) -> None:
    """Call unknown what its callers did not report in time."""
    connection.execute(
        sa.update(actions).where(unreported(at)).values(status="unknown", result=dict(result), ended_at=at)
    )


def _insert(
    transaction: Transaction, statement: sa.Insert, claim: Claim, owner: str, until: int | None
) -> bool:
    row = {
        "suggestion_id": claim.suggestion_id,
        "action": claim.action,
        "status": "claimed",
        "owner": owner,
        "attempt": claim.attempt,
        "claimed_at": claim.at,
        "kb": claim.kb,
        "lease_until": until,
        **dict(zip(_WHOSE, (claim.scope.project, claim.scope.user, claim.scope.thread), strict=True)),
    }
    made = transaction.connection.execute(statement, row)
    if made.rowcount == 1:
        transaction.claimed.append(claim.suggestion_id)
    return made.rowcount == 1


def prune(connection: sa.Connection, now: int, since: int = 0) -> int:
    """Forget what ended more than TOMBSTONE_SECONDS before, but not what belongs to a call that is kept.

    since: return value of the last time, 0 where there was none; what ended before was looked at then, so that what is
    kept is not looked at each time.
    """
    oldest_kept = now - int(TOMBSTONE_SECONDS * 1000)
    connection.execute(
        sa.delete(actions).where(actions.c.ended_at >= since, actions.c.ended_at < oldest_kept)
    )
    return max(since, oldest_kept)


def one(connection: sa.Connection, suggestion_id: str) -> Row | None:
    """Return a row, or None."""
    found = connection.execute(
        sa.select(actions).where(actions.c.suggestion_id == suggestion_id)
    ).one_or_none()
    return None if found is None else _row(found)


def newest(connection: sa.Connection, limit: int, kb: str | None = None) -> tuple[Row, ...]:
    """Return the newest rows by claim, newest first; with `kb` only those of that knowledge base."""
    wanted = sa.select(actions).order_by(actions.c.number.desc()).limit(limit)
    if kb is not None:
        wanted = wanted.where(actions.c.kb == kb)
    return tuple(map(_row, connection.execute(wanted)))


def _row(found: "sa.Row[Any]") -> Row:
    return Row(
        suggestion_id=found.suggestion_id,
        action=found.action,
        status=found.status,
        claimed_at=found.claimed_at,
        ended_at=found.ended_at,
        result=found.result,
        kb=found.kb,
    )
