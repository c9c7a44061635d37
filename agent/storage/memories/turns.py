"""Turns as rows: an exchange is inserted whole and once, and turns are read in their order."""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from ...ports.conversation import Scope
from ...ports.memory import ExchangeRecord, ProposalOutcome, Remark, StoredTurn
from ..dialect import are_among, clean_text, insert
from ..prepared import PreparedStatement, encode_among
from ..transaction import Transaction
from . import known_ids, scopes, threads
from .item_decisions import propose_drafts
from .schema import gaps, turn_cites, turn_words, turns
from .schema import scopes as scopes_table

SELECT = (
    sa.select(
        *(turns.c[name] for name in ("number", "message", "role", "speaker", "at", "blocked", "sitting")),
        turn_words.c.text,
        *(scopes_table.c[name] for name in ("project", "user", "thread")),
    )
    .join(turn_words, turn_words.c.turn == turns.c.number)
    .join(scopes_table, scopes_table.c.number == turns.c.scope)
)
"""Selects the columns of turns that `turns_of` reads; their citations are read apart."""

_KEEP = PreparedStatement(
    insert(turns)
    .on_conflict_do_nothing(index_elements=["scope", "message", "role"])
    .returning(turns.c.number),
    *("scope", "message", "role", "speaker", "at", "blocked", "sitting", "unread"),
)
_SAY = PreparedStatement(sa.insert(turn_words), "turn", "text")
_CITE = PreparedStatement(sa.insert(turn_cites), "turn", "ref")
_OF: sa.BindParameter[int] = sa.bindparam("of")
_AFTER = turns.c.number > sa.bindparam("after")
_LISTED = SELECT.where(_AFTER).order_by(turns.c.number).limit(sa.bindparam("most"))
_SOME = PreparedStatement(SELECT.where(are_among(turns.c.number, "among")).order_by(turns.c.number))
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


def find_turns(connection: sa.Connection, numbers: Collection[int]) -> tuple[StoredTurn, ...]:
    """Return the turns of these numbers, in their order."""
    return turns_of(_SOME.rows(connection, among=encode_among(numbers))) if numbers else ()


def record_gap(scope: Scope, at: int, count: int, transaction: Transaction) -> None:
    """Record that exchanges could not be kept."""
    connection = transaction.connection
    connection.execute(_GAP, {"scope": scopes.ensure_scope(connection, scope), "at": at, "count": count})


def count_gaps(connection: sa.Connection) -> int:
    """Return how many exchanges could not be kept."""
    return int(connection.execute(_GAPS).scalar_one())


def turns_of(rows: Sequence[Any]) -> tuple[StoredTurn, ...]:
    """Return rows of `SELECT`, of SQLAlchemy or of the driver, as turns."""
    return tuple(
        StoredTurn(
            number,
            Scope(project, thread, user),
            Remark(
                message=message,
                role=role,
                text=text,
                at=at,
                speaker=speaker,
                blocked=bool(blocked),
                sitting=sitting,
            ),
        )
        for number, message, role, speaker, at, blocked, sitting, text, project, user, thread in rows
    )


def _keep_exchange(record: ExchangeRecord, at: int, transaction: Transaction) -> tuple[ProposalOutcome, ...]:
    connection = transaction.connection
    scope = scopes.ensure_scope(connection, record.scope)
    turns = [
        _insert_remark(connection, record.scope, scope, remark, record.tries) for remark in record.remarks
    ]
    new = [turn for turn in turns if turn is not None]
    transaction.noted += new
    return propose_drafts(transaction, record.scope, record.drafts, at, anew=bool(new) or not turns)


def _insert_remark(
    connection: sa.Connection, of: Scope, scope: int, remark: Remark, tries: int
) -> StoredTurn | None:
    """Insert one side of an exchange and return its turn, or `None` if it was kept before.

    `scope` is the number of the scope `of`. `tries` is how often a model may try to read a user's message.
    """
    found = _KEEP.rows(
        connection,
        scope=scope,
        message=remark.message,
        role=remark.role,
        speaker=remark.speaker,
        at=remark.at,
        blocked=int(remark.blocked),
        sitting=remark.sitting,
        unread=tries if remark.role == "user" else 0,
    )
    if not found:
        return None
    ((number,),) = found
    gone = bool(remark.cites) and bool(known_ids.find_forgotten(remark.cites, connection))
    text = "" if gone else clean_text(remark.text)
    _SAY.rows(connection, turn=number, text=text)
    if remark.details and not gone:
        threads.keep_details(connection, number, remark.details)
    for ref in remark.cites:
        _CITE.rows(connection, turn=number, ref=ref)
    kept = Remark(
        message=remark.message,
        role=remark.role,
        text=text,
        at=remark.at,
        speaker=remark.speaker,
        blocked=remark.blocked,
        sitting=remark.sitting,
    )
    return StoredTurn(number, of, kept)
