"""Forgetting an item: its words, its quotes, what was said in the messages that it comes from, and what cites it.

What is left are rows without words: an id, times, whose it was, and what happened to it. The request says that it
erases, so that the log is cut off before it is answered. It can be made again: it then cuts off the log once more.
"""

import sqlalchemy as sa

from ...ports.conversation import Scope
from ...ports.memory import Forgotten, StoredTurn
from ..transaction import Transaction
from . import items as kept
from .schema import item_sources, item_words, items, turn_cites, turn_words, turns
from .turns import SELECT, read

_OF: sa.BindParameter[int] = sa.bindparam("of")
_EMPTY = (
    sa.update(item_words).where(item_words.c.item == _OF).values(text="", key=[], slot="", numbers=[]),
    sa.update(item_sources).where(item_sources.c.item == _OF).values(ref="", quote="", first=0, last=0),
    sa.update(items).where(items.c.number == _OF).values(about="", place=""),
)
_SAID_IN = (
    sa.select(turns.c.number)
    .join(
        item_sources,
        sa.and_(item_sources.c.scope == turns.c.scope, item_sources.c.ref == turns.c.message),
    )
    .where(item_sources.c.item == _OF, item_sources.c.kind == "message")
    .distinct()
)
_NAMED: sa.BindParameter[object] = sa.bindparam("named", expanding=True)
_CITING = sa.select(turn_cites.c.turn).where(turn_cites.c.ref.in_(_NAMED)).distinct()
_UNSAY = sa.update(turn_words).where(turn_words.c.turn.in_(_NAMED), turn_words.c.text != "").values(text="")
_LEFT = SELECT.where(turns.c.number.in_(_NAMED)).order_by(turns.c.number)
_NOTE = sa.insert(turn_cites)
_AT_ONCE = 500  # turns in one statement


def forget(scope: Scope, id: str, at: int, transaction: Transaction) -> Forgotten:
    """Take all that an item says out of the rows; what the port says of `forget`."""
    connection = transaction.connection
    row = kept.one(connection, scope, id)
    transaction.erases = True
    if row.item.status == "forgotten":
        known = _citing(connection, [id])
        of = known | _citing(connection, [f"t{number}" for number in known])
        return Forgotten(row.item, _left(connection, sorted(of)))
    kept.move(connection, row, "forget", at, "user")
    said = connection.execute(_SAID_IN, {"of": row.number}).scalars().all()
    citing = _citing(connection, [id])
    of = {*said, *citing, *_citing(connection, [f"t{number}" for number in said])}
    for statement in _EMPTY:
        connection.execute(statement, {"of": row.number})
    numbers = sorted(of)
    for start in range(0, len(numbers), _AT_ONCE):
        named = {"named": numbers[start : start + _AT_ONCE]}
        connection.execute(_UNSAY, named)
    if of - citing:  # so that all of them are known where it is forgotten again
        connection.execute(_NOTE, [{"turn": number, "ref": id} for number in sorted(of - citing)])
    return Forgotten(kept.one(connection, scope, id).item, _left(connection, numbers))


def _left(connection: sa.Connection, numbers: list[int]) -> tuple[StoredTurn, ...]:
    left: list[StoredTurn] = []
    for start in range(0, len(numbers), _AT_ONCE):
        left += read(connection.execute(_LEFT, {"named": numbers[start : start + _AT_ONCE]}).all())
    return tuple(left)


def _citing(connection: sa.Connection, refs: list[str]) -> set[int]:
    """Return the numbers of the turns that cite any of these."""
    found: set[int] = set()
    for start in range(0, len(refs), _AT_ONCE):
        found.update(connection.execute(_CITING, {"named": refs[start : start + _AT_ONCE]}).scalars().all())
    return found
