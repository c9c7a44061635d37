"""What was said, as rows: keeping an exchange whole, once, and handing it out in its order."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from ...ports.conversation import Scope
from ...ports.memory import Kept, Proposed, Remark, StoredTurn
from ..transaction import Transaction
from . import scopes, standing
from .deciding import propose
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
"""All of turns but what they cite."""

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


def keep(kept: Sequence[Kept], at: int, transaction: Transaction) -> tuple[tuple[Proposed, ...], ...]:
    """Keep exchanges with what they propose; what the port says of `keep`."""
    return tuple(_keep(each, at, transaction) for each in kept)


def listed(after: int, limit: int, connection: sa.Connection) -> tuple[StoredTurn, ...]:
    """Return what was said, in its order."""
    return read(connection.execute(_LISTED, {"after": after, "most": limit}).all())


def note_gap(scope: Scope, at: int, count: int, transaction: Transaction) -> None:
    """Note that exchanges could not be kept."""
    connection = transaction.connection
    connection.execute(_GAP, {"scope": scopes.made(connection, scope), "at": at, "count": count})


def counted_gaps(connection: sa.Connection) -> int:
    """Return how many exchanges could not be kept."""
    return int(connection.execute(_GAPS).scalar_one())


def read(rows: Sequence[Any]) -> tuple[StoredTurn, ...]:
    """Return rows of `SELECT` as turns."""
    return tuple(
        StoredTurn(
            row.number,
            scopes.read(row),
            Remark(row.message, row.role, row.text, row.at, row.speaker, bool(row.blocked), row.sitting),
        )
        for row in rows
    )


def _keep(kept: Kept, at: int, transaction: Transaction) -> tuple[Proposed, ...]:
    connection = transaction.connection
    scope = scopes.made(connection, kept.scope)
    new = [_say(connection, scope, remark, kept.tries) for remark in kept.remarks]
    return propose(transaction, kept.scope, kept.drafts, at, anew=any(new) or not new)


def _say(connection: sa.Connection, scope: int, remark: Remark, tries: int) -> bool:
    """Keep one side of an exchange; False where it was kept before. tries: of a model to read what a user said."""
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
    gone = bool(remark.cites) and bool(standing.forgotten(remark.cites, connection))
    connection.execute(_SAY, {"turn": number, "text": "" if gone else remark.text})
    if remark.cites:
        connection.execute(_CITE, [{"turn": number, "ref": ref} for ref in remark.cites])
    return True
