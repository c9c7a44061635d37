"""What no model has read yet: which turns these are, who reads them, and what comes of them.

A turn says how often it may still be tried (`unread`), and until when somebody has it (`taken`). Of a thread one is
taken at a time, the oldest; who dies with it loses it when that time is over.
"""

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from ...ports.memory import Draft, Proposed
from ...ports.note import Unread
from ..transaction import Transaction
from . import items as kept
from .deciding import propose
from .schema import IS_UNREAD, item_sources, items, turn_words, turns
from .standing import forgotten
from .turns import SELECT
from .turns import read as turns_of

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
    kept.SELECT.join(item_sources, item_sources.c.item == items.c.number)
    .join(turns, sa.and_(turns.c.scope == item_sources.c.scope, turns.c.message == item_sources.c.ref))
    .where(turns.c.number == _OF, item_sources.c.kind == "message")
    .distinct()
)
_COUNTED = sa.select(
    sa.func.count().filter(turns.c.unread > 0), sa.func.count().filter(turns.c.unread == GIVEN_UP)
).where(turns.c.unread != 0)


def take(most: int, at: int, until: int, transaction: Transaction) -> tuple[Unread, ...]:
    """Return the oldest unread turn of each of some threads; what the port says of `take`."""
    connection = transaction.connection
    found = connection.execute(_FREE, {"at": at, "most": most}).scalars().all()
    if not found:
        return ()
    connection.execute(_TAKE, {"among": found, "until": until})
    return tuple(_unread(connection, number) for number in found)


def anything_free(at: int, connection: sa.Connection) -> bool:
    """Return whether `take` would find anything."""
    return connection.execute(_FREE, {"at": at, "most": 1}).first() is not None


def read(
    taken: Unread, drafts: Sequence[Draft], at: int, known: Collection[str], transaction: Transaction
) -> tuple[Proposed, ...] | None:
    """Note that a turn was read and propose what came of it; what the port says of `read`."""
    connection, turn = transaction.connection, taken.turn
    of = {"of": turn.n}
    shown = [each.n for each in (turn, *taken.before) if each.remark.text]
    if connection.execute(_EMPTIED, {"among": shown}).scalar_one() or forgotten(known, connection):
        connection.execute(_FREED, of)
        return None
    if connection.execute(_READ, of).scalar_one_or_none() is None:  # another has read it, too
        return ()
    said = kept.read(connection, connection.execute(_OF_MESSAGE, of).all())
    told = {row.item.key for row in said}
    proposed = propose(transaction, turn.scope, [each for each in drafts if each.key not in told], at)
    return tuple(each for each in proposed if each.new)


def missed(taken: Unread, counts: bool, transaction: Transaction) -> bool:
    """Note that reading failed; what the port says of `missed`."""
    of = {"of": taken.turn.n}
    if not counts:
        transaction.connection.execute(_FREED, of)
        return True
    left = transaction.connection.execute(_MISSED, of).scalar_one_or_none()
    return left is not None and left > 0


def counted(connection: sa.Connection) -> tuple[int, int]:
    """Return how many turns are unread, and how many were given up."""
    waiting, given_up = connection.execute(_COUNTED).one()
    return int(waiting), int(given_up)


def _unread(connection: sa.Connection, number: int) -> Unread:
    of = {"of": number}
    [turn] = turns_of(connection.execute(_ONE, of).all())
    return Unread(turn, turns_of(connection.execute(_BEFORE, of).all())[::-1])
