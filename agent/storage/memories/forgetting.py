"""Forgetting an item: its words, its quotes, what was said in the messages that it comes from, and what cites it.

What says the same again goes with it, wherever its user said it: a message that holds the item's whole text, or a quote
that it comes from, with the answers to it, and an answer that holds these. Another item's quote that holds them is
emptied; what that item itself says stays, since it is listed and can be forgotten itself.

What is left are rows without words: an id, times, whose it was, and what happened to it. The request says that it
erases, so that the log is cut off before it is answered. It can be made again: it then cuts off the log once more.

All that its user has said is looked through for it, which takes a second for 100,000 turns: so it is read before, some
turns at a time, and in the transaction there is left to look at what was said since.
"""

from dataclasses import dataclass

import sqlalchemy as sa

from ...memory.repeats import Repeats, wordings
from ...ports.conversation import Scope
from ...ports.memory import Forgotten, StoredTurn
from ..transaction import Transaction
from . import items as kept
from . import scopes
from .schema import item_sources, item_words, items, turn_cites, turn_words, turns
from .schema import scopes as scopes_table
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
_LOOKED_AT = 1_000  # turns in one look, which takes some 10 ms
_AFTER, _UPTO = turns.c.number > sa.bindparam("after"), turns.c.number <= sa.bindparam("upto")
_THEIRS = (  # of a user all threads, of nobody the one
    scopes_table.c.project == sa.bindparam("project"),
    scopes_table.c.user == sa.bindparam("user"),
    sa.or_(scopes_table.c.user != "", scopes_table.c.thread == sa.bindparam("thread")),
)
_SAID = (
    sa.select(turns.c.number, turns.c.scope, turns.c.message, turns.c.role, turn_words.c.text)
    .join(turn_words, turn_words.c.turn == turns.c.number)
    .join(scopes_table, scopes_table.c.number == turns.c.scope)
    .where(*_THEIRS, _AFTER, _UPTO, turn_words.c.text != "")
)
_LAST = sa.select(sa.func.coalesce(sa.func.max(turns.c.number), 0))
_EXCHANGE = sa.select(turns.c.number).where(
    turns.c.scope == sa.bindparam("scope"), turns.c.message == sa.bindparam("message")
)
_QUOTES = (
    sa.select(item_sources.c.number, item_sources.c.quote)
    .join(items, items.c.number == item_sources.c.item)
    .where(items.c.scope == sa.bindparam("scope"), items.c.number != _OF, item_sources.c.quote != "")
)
_UNQUOTE = sa.update(item_sources).where(item_sources.c.number.in_(_NAMED)).values(quote="")


@dataclass(frozen=True, slots=True)
class Repeated:
    """What was found to say an item's words again. texts: these. turns: their numbers. upto: of the last one seen."""

    texts: tuple[str, ...] = ()
    turns: frozenset[int] = frozenset()
    upto: int = 0


def look(scope: Scope, id: str, before: Repeated | None, connection: sa.Connection) -> tuple[Repeated, bool]:
    """Look through more of what a user has said; return what was found so far, and whether there is more.

    before: what was found so far, None to begin with. Raises `NotFound` for an item that is not there.
    """
    if before is None:
        before = Repeated(wordings(kept.one(connection, scope, id).item))
    last = int(connection.execute(_LAST).scalar_one()) if before.texts else 0
    upto = min(last, before.upto + _LOOKED_AT)
    if upto <= before.upto:
        return before, False
    found = _again(connection, scope, Repeats(before.texts), before.upto, upto)
    return Repeated(before.texts, before.turns | found, upto), upto < last


def forget(scope: Scope, id: str, at: int, repeated: Repeated, transaction: Transaction) -> Forgotten:
    """Take all that an item says out of the rows; what the port says of `forget`.

    repeated: what was found to say it again, before.
    """
    connection = transaction.connection
    row = kept.one(connection, scope, id)
    transaction.erases = True
    if row.item.status == "forgotten":
        known = _citing(connection, [id])
        of = known | _citing(connection, [f"t{number}" for number in known])
        return Forgotten(row.item, _left(connection, sorted(of)))
    kept.move(connection, row, "forget", at, "user")
    texts = wordings(row.item)
    if repeated.texts != texts:  # it has got another source meanwhile, and is looked for anew
        repeated = Repeated(texts)
    repeats = Repeats(texts)
    last = int(connection.execute(_LAST).scalar_one())
    said = {
        *connection.execute(_SAID_IN, {"of": row.number}).scalars(),
        *repeated.turns,
        *_again(connection, scope, repeats, repeated.upto, last),
    }
    _unquote(connection, scope, row.number, repeats)
    citing = _citing(connection, [id])
    of = said | citing | _citing(connection, [f"t{number}" for number in said])
    for statement in _EMPTY:
        connection.execute(statement, {"of": row.number})
    numbers = sorted(of)
    for start in range(0, len(numbers), _AT_ONCE):
        named = {"named": numbers[start : start + _AT_ONCE]}
        connection.execute(_UNSAY, named)
    if of - citing:  # so that all of them are known where it is forgotten again
        connection.execute(_NOTE, [{"turn": number, "ref": id} for number in sorted(of - citing)])
    return Forgotten(kept.one(connection, scope, id).item, _left(connection, numbers))


def _again(connection: sa.Connection, scope: Scope, repeats: Repeats, after: int, upto: int) -> set[int]:
    """Return the numbers of the turns of a user, of these, that say something again; with the answers to messages."""
    of = {"project": scope.project, "user": scope.user, "thread": scope.thread, "after": after, "upto": upto}
    found: set[int] = set()
    for turn in connection.execute(_SAID, of).all():
        if turn.role == "user" and repeats.said(turn.text):
            exchange = {"scope": turn.scope, "message": turn.message}
            found.update(connection.execute(_EXCHANGE, exchange).scalars())
        elif turn.role != "user" and repeats.told(turn.text):
            found.add(turn.number)
    return found


def _unquote(connection: sa.Connection, scope: Scope, item: int, repeats: Repeats) -> None:
    """Empty the quotes that other items of a user have of the same words."""
    of = {"scope": scopes.known(connection, scopes.whose(scope)), "of": item}
    holding = [
        source.number for source in connection.execute(_QUOTES, of).all() if repeats.told(source.quote)
    ]
    for start in range(0, len(holding), _AT_ONCE):
        connection.execute(_UNQUOTE, {"named": holding[start : start + _AT_ONCE]})


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
