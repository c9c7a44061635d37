"""The queue of turns that no model has read yet.

`unread` says how often a turn may still be tried, and `taken` until when a reader has it. Of each thread one turn is
taken at a time, the oldest. A reader that dies with a turn loses it when that time is over.
"""

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from ...ports.memory import Draft, ProposalOutcome
from ...ports.note import UnreadTurn
from ..transaction import Transaction
from . import items as item_rows
from .item_decisions import propose_drafts
from .known_ids import find_forgotten
from .schema import IS_UNREAD, item_sources, items, turn_words, turns
from .turns import SELECT, turns_of

BEFORE = 6
"""Turns before an unread one that are shown with it."""
GIVEN_UP = -1

_OF: sa.BindParameter[int] = sa.bindparam("of")
_AT: sa.BindParameter[int] = sa.bindparam("at")
_MOST: sa.BindParameter[int] = sa.bindparam("most")
_AMONG: sa.BindParameter[list[int]] = sa.bindparam("among", expanding=True)
_OLDEST = sa.func.min(turns.c.number)
_FREE = (
    sa.select(_OLDEST)
    .where(sa.text(f"turns.{IS_UNREAD}"))
    .group_by(turns.c.scope)
    .having(sa.func.max(turns.c.taken) <= _AT)
    .order_by(_OLDEST)
    .limit(_MOST)
)
_TAKE = sa.update(turns).where(turns.c.number.in_(_AMONG)).values(taken=sa.bindparam("until"))
_ONE = SELECT.where(turns.c.number == _OF)
_BEFORE = (
    SELECT.where(
        turns.c.scope == sa.select(turns.c.scope).where(turns.c.number == _OF).scalar_subquery(),
        turns.c.number < _OF,
        turns.c.blocked == 0,
        turn_words.c.text != "",
    )
    .order_by(turns.c.number.desc())
    .limit(BEFORE)
)
_EMPTIED = sa.select(sa.func.count()).where(turn_words.c.turn.in_(_AMONG), turn_words.c.text == "")
_IS_UNREAD = sa.and_(turns.c.number == _OF, sa.text(f"turns.{IS_UNREAD}"))
_READ = sa.update(turns).where(_IS_UNREAD).values(unread=0, taken=0).returning(turns.c.number)
_FREED = sa.update(turns).where(_IS_UNREAD).values(taken=0)
_MISSED = (
    sa.update(turns)
    .where(_IS_UNREAD)
    .values(unread=sa.case((turns.c.unread > 1, turns.c.unread - 1), else_=GIVEN_UP), taken=0)
    .returning(turns.c.unread)
)
_OF_MESSAGE = (
    item_rows.SELECT.join(item_sources, item_sources.c.item == items.c.number)
    .join(turns, sa.and_(turns.c.scope == item_sources.c.scope, turns.c.message == item_sources.c.ref))
    .where(turns.c.number == _OF, item_sources.c.kind == "message")
    .distinct()
)
_COUNTED = sa.select(
    sa.func.count().filter(turns.c.unread > 0), sa.func.count().filter(turns.c.unread == GIVEN_UP)
).where(turns.c.unread != 0)


def take_turns(most: int, at: int, until: int, transaction: Transaction) -> tuple[UnreadTurn, ...]:
    """Return the oldest unread turn of each of some threads (see `take_unread` of the port `UnreadStore`)."""
    connection = transaction.connection
    found = connection.execute(_FREE, {"at": at, "most": most}).scalars().all()
    if not found:
        return ()
    connection.execute(_TAKE, {"among": found, "until": until})
    return tuple(_load_unread(connection, number) for number in found)


def has_free_turn(at: int, connection: sa.Connection) -> bool:
    """Return whether `take_turns` would find a turn."""
    return connection.execute(_FREE, {"at": at, "most": 1}).first() is not None


def record_reading(
    unread: UnreadTurn, drafts: Sequence[Draft], at: int, known: Collection[str], transaction: Transaction
) -> tuple[ProposalOutcome, ...] | None:
    """Record that a turn was read and propose its `drafts` (see `record_reading` of the port `UnreadStore`)."""
    connection, turn = transaction.connection, unread.turn
    of = {"of": turn.n}
    shown = [each.n for each in (turn, *unread.before) if each.remark.text]
    if connection.execute(_EMPTIED, {"among": shown}).scalar_one() or find_forgotten(known, connection):
        connection.execute(_FREED, of)
        return None
    if connection.execute(_READ, of).scalar_one_or_none() is None:  # another has read it, too
        return ()
    said = item_rows.load_items(connection, connection.execute(_OF_MESSAGE, of).all())
    told = {row.item.key for row in said}
    proposed = propose_drafts(transaction, turn.scope, [each for each in drafts if each.key not in told], at)
    return tuple(each for each in proposed if each.new)


def record_failure(unread: UnreadTurn, counts: bool, transaction: Transaction) -> bool:
    """Record that reading failed (see `record_failure` of the port `UnreadStore`)."""
    of = {"of": unread.turn.n}
    if not counts:
        transaction.connection.execute(_FREED, of)
        return True
    tries_left = transaction.connection.execute(_MISSED, of).scalar_one_or_none()
    return tries_left is not None and tries_left > 0


def count_unread(connection: sa.Connection) -> tuple[int, int]:
    """Return the numbers of turns that are unread and that were given up."""
    waiting, given_up = connection.execute(_COUNTED).one()
    return int(waiting), int(given_up)


def _load_unread(connection: sa.Connection, number: int) -> UnreadTurn:
    of = {"of": number}
    [turn] = turns_of(connection.execute(_ONE, of).all())
    return UnreadTurn(turn, turns_of(connection.execute(_BEFORE, of).all())[::-1])
