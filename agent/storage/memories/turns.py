"""Turns as rows: an exchange is inserted whole and once, and turns are read in their order."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from ...ports.conversation import Scope
from ...ports.memory import ExchangeRecord, ProposalOutcome, Remark, StoredTurn
from ..transaction import Transaction
from . import known_ids, scopes
from .item_decisions import propose_drafts
from .schema import gaps, turn_cites, turn_words, turns
from .schema import scopes as scopes_table

SELECT = (
    sa.select(
        turns,
        turn_words.c.text,
        *(column for column in scopes_table.c if column.name != "number"),
    )
    .join(turn_words, turn_words.c.turn == turns.c.number)
    .join(scopes_table, scopes_table.c.number == turns.c.scope)
)
"""Selects all columns of turns; their citations are read apart."""

_KEEP = (
    insert(turns)
    .on_conflict_do_nothing(index_elements=["scope", "message", "role"])
    .returning(turns.c.number)
)
_SAY = sa.insert(turn_words)
_CITE = sa.insert(turn_cites)
_OF: sa.BindParameter[int] = sa.bindparam("of")
_AFTER = turns.c.number > sa.bindparam("after")
_LISTED = SELECT.where(_AFTER).order_by(turns.c.number).limit(sa.bindparam("most"))
_GAP = sa.insert(gaps)
_GAPS = sa.select(sa.func.coalesce(sa.func.sum(gaps.c.count), 0))


def keep_exchanges(
    records: Sequence[ExchangeRecord], at: int, transaction: Transaction
) -> tuple[tuple[ProposalOutcome, ...], ...]:
    """Insert exchanges with their drafts (see `keep_exchanges` of the port `MemoryStore`)."""
    return tuple(_keep_exchange(each, at, transaction) for each in records)


def load_turns(after: int, limit: int, connection: sa.Connection) -> tuple[StoredTurn, ...]:
    """Return turns in the order they were kept."""
    return turns_of(connection.execute(_LISTED, {"after": after, "most": limit}).all())


def record_gap(scope: Scope, at: int, count: int, transaction: Transaction) -> None:
    """Record that exchanges could not be kept."""
    connection = transaction.connection
    connection.execute(_GAP, {"scope": scopes.ensure_scope(connection, scope), "at": at, "count": count})


def count_gaps(connection: sa.Connection) -> int:
    """Return how many exchanges could not be kept."""
    return int(connection.execute(_GAPS).scalar_one())


def turns_of(rows: Sequence[Any]) -> tuple[StoredTurn, ...]:
    """Return rows of `SELECT` as turns."""
    return tuple(
        StoredTurn(
            row.number,
            scopes.scope_of(row),
            Remark(
                message=row.message,
                role=row.role,
                text=row.text,
                at=row.at,
                speaker=row.speaker,
                blocked=bool(row.blocked),
                sitting=row.sitting,
            ),
        )
        for row in rows
    )


def _keep_exchange(record: ExchangeRecord, at: int, transaction: Transaction) -> tuple[ProposalOutcome, ...]:
    connection = transaction.connection
    scope = scopes.ensure_scope(connection, record.scope)
    new = [_insert_remark(connection, scope, remark, record.tries) for remark in record.remarks]
    return propose_drafts(transaction, record.scope, record.drafts, at, anew=any(new) or not new)


def _insert_remark(connection: sa.Connection, scope: int, remark: Remark, tries: int) -> bool:
    """Insert one side of an exchange; return `False` if it was kept before.

    `tries` is how often a model may try to read a user's message.
    """
    values = {
        "scope": scope,
        "message": remark.message,
        "role": remark.role,
        "speaker": remark.speaker,
        "at": remark.at,
        "blocked": int(remark.blocked),
        "sitting": remark.sitting,
        "unread": tries if remark.role == "user" else 0,
    }
    number = connection.execute(_KEEP, values).scalar_one_or_none()
    if number is None:
        return False
    gone = bool(remark.cites) and bool(known_ids.find_forgotten(remark.cites, connection))
    connection.execute(_SAY, {"turn": number, "text": "" if gone else remark.text})
    if remark.cites:
        connection.execute(_CITE, [{"turn": number, "ref": ref} for ref in remark.cites])
    return True
