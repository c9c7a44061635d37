"""The ledger's one table and every statement on it. Pure SQL in the transaction of the caller.

A claim is one `INSERT` that a conflict turns into nothing, and the row that it returns is the answer. An outcome is one
`UPDATE` of a row that is still claimed by that `attempt` of that owner: so the first outcome stands, writing it again
changes nothing, and a claim that was not won never ends another one. If the id is that of a kept call, both statements
change the call in the same transaction. A call that is not confirmed, or that its caller runs, cannot be claimed: the
claim is lost as if another process held it.

A call that its caller runs has a lease in place of an owner: its end comes with time, not with the death of a process.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from ..ports.conversation import NO_SCOPE, Scope
from ..ports.ledger import ClaimStatus, LedgerRow
from .columns import encode_json
from .dialect import insert
from .listing import make_record
from .prepared import PreparedStatement
from .schema import actions, calls
from .settings import TOMBSTONE_SECONDS
from .transaction import Transaction

LOST = {"success": False, "unknown": True, "error": "The server stopped before the outcome was known."}
CALLER = "caller"
"""The `owner` of rows with a lease."""

_WHOSE = ("project", "user", "thread")
_OUTCOMES = ("done", "failed", "unknown")  # statuses of a call that has a result


def _claim_statement(may: sa.ColumnElement[bool]) -> PreparedStatement:
    """Return the statement that inserts a claim, unless its row exists, its call is not confirmed, or `may` is false
    for it.
    """
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
    return PreparedStatement(
        insert(actions)
        .from_select(names, sa.select(*values.values()).where(~barred))
        .on_conflict_do_nothing(index_elements=["suggestion_id"])
        .returning(actions.c.number)
    )


# Every action comes through these, so they are made once and take their values by name.
_CLAIM, _LEASE = _claim_statement(calls.c.runs_at != CALLER), _claim_statement(calls.c.runs_at == CALLER)
_OF: sa.BindParameter[Any] = sa.bindparam("of")
_AT: sa.BindParameter[Any] = sa.bindparam("at")
_IN: sa.BindParameter[Any] = sa.bindparam("in", type_=sa.Text)
_CLAIMED = PreparedStatement(
    sa.update(calls)
    .where(calls.c.id == _OF, calls.c.status == "confirmed")
    .values(status="claimed", owner=sa.null())
)
_RECORD = PreparedStatement(
    sa.update(actions)
    .where(
        actions.c.suggestion_id == _OF,
        actions.c.status == "claimed",
        actions.c.owner == sa.bindparam("by"),
        sa.or_(actions.c.attempt == _IN, _IN.is_(None)),
    )
    .values(status=sa.bindparam("to"), result=sa.bindparam("result"), ended_at=_AT)
    .returning(actions.c.number)
)
_ENDED = PreparedStatement(
    sa.update(calls)
    .where(calls.c.id == _OF, calls.c.status == "claimed")
    .values(status=sa.bindparam("to"), result=sa.bindparam("result"), ended_at=_AT)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """A claim to be written, at Unix milliseconds `at`.

    `scope` names the user it belongs to. `attempt` is unique among claims.
    """

    suggestion_id: str
    action: str
    at: int
    kb: str | None = None
    scope: Scope = NO_SCOPE
    attempt: str = ""

    def write(self, transaction: Transaction) -> bool:
        """Claim the action for the transaction's owner; return whether this inserted the row."""
        made = _insert(transaction, _CLAIM, self, transaction.owner, None)
        if made:
            _CLAIMED.rows(transaction.connection, of=self.suggestion_id)
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRequest:
    """An outcome to be written, at Unix milliseconds `at`.

    `attempt` is that of the claim, `None` for any. `owner` is `CALLER` for a lease, `None` for this process.
    """

    suggestion_id: str
    status: ClaimStatus
    result: Mapping[str, Any]
    at: int
    attempt: str | None = ""
    owner: str | None = None

    def write(self, transaction: Transaction) -> bool:
        """Write the outcome if that claim made the row and has no outcome yet; always return `False`, since nothing is
        claimed.
        """
        of, to, at = self.suggestion_id, self.status, self.at
        owner = transaction.owner if self.owner is None else self.owner
        result: str | None = encode_json(dict(self.result))
        outcome = {"of": of, "to": to, "at": at, "by": owner, "in": self.attempt, "result": result}
        if _RECORD.rows(transaction.connection, **outcome):
            result = result if to in _OUTCOMES else None
            _ENDED.rows(transaction.connection, of=of, to=to, at=at, result=result)
        return False


def lease_call(transaction: Transaction, claim: ClaimRequest, until: int) -> bool:
    """Claim a confirmed call for its caller until Unix milliseconds `until`; return whether this inserted the row."""
    return _insert(transaction, _LEASE, claim, CALLER, until)


def unreported_leases(at: "int | sa.BindParameter[Any]") -> sa.ColumnElement[bool]:
    """Return the condition for leases that ended without a report, also where the call was deleted since."""
    return sa.and_(actions.c.status == "claimed", actions.c.owner == CALLER, actions.c.lease_until <= at)


def end_leases(connection: sa.Connection, at: int, result: Mapping[str, Any]) -> None:
    """Mark leases unknown that ended without a report."""
    connection.execute(
        sa.update(actions)
        .where(unreported_leases(at))
        .values(status="unknown", result=dict(result), ended_at=at)
    )


def _insert(
    transaction: Transaction, statement: PreparedStatement, claim: ClaimRequest, owner: str, until: int | None
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
    made = bool(statement.rows(transaction.connection, **row))
    if made:
        transaction.claimed.append(claim.suggestion_id)
    return made


def prune_rows(connection: sa.Connection, now: int, since: int = 0) -> int:
    """Forget rows that ended more than `TOMBSTONE_SECONDS` ago, unless their call is kept.

    `since` is the return value of the last run, or 0: rows that ended before it were looked at then, so that the rows
    that stay are not read each time.
    """
    oldest_kept = now - int(TOMBSTONE_SECONDS * 1000)
    connection.execute(
        sa.delete(actions).where(actions.c.ended_at >= since, actions.c.ended_at < oldest_kept)
    )
    return max(since, oldest_kept)


def find_row(connection: sa.Connection, suggestion_id: str) -> LedgerRow | None:
    """Return a row, or `None`."""
    found = connection.execute(
        sa.select(actions).where(actions.c.suggestion_id == suggestion_id)
    ).one_or_none()
    return None if found is None else _row(found)


def newest_rows(connection: sa.Connection, limit: int, kb: str | None = None) -> tuple[LedgerRow, ...]:
    """Return the newest rows by claim, newest first; with `kb` only those of that knowledge base."""
    wanted = sa.select(actions).order_by(actions.c.number.desc()).limit(limit)
    if kb is not None:
        wanted = wanted.where(actions.c.kb == kb)
    return tuple(map(_row, connection.execute(wanted)))


def _row(found: "sa.Row[Any]") -> LedgerRow:
    return make_record(LedgerRow, found)
