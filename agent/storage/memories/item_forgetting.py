"""Forgetting an item: its words, its quotes, the messages that are its sources, and the answers that cite it.

Repetitions go with it, wherever its user made them: a message that holds the item's whole text, or a quote of its
sources, with the answers to that message, and an answer that holds these words, in its text or its citations. A quote
of another item that holds them is emptied, and so is the title of a thread; the text of that other item stays, since it
is listed and can be forgotten itself.

Rows without words stay: an id, times, the scope, and the history. The request sets `erases`, so that the log is
truncated before it is answered. Forgetting again is allowed: it truncates the log once more.

All turns of the user are searched for repetitions, which takes a second for 100,000 turns. So reads search them in
advance, some turns at a time, and the transaction searches only the turns that came since.
"""

import json
from dataclasses import dataclass

import sqlalchemy as sa

from ...memory.repeats import Repeats, item_wordings
from ...ports.conversation import Scope
from ...ports.memory import ForgottenItem, StoredTurn
from ..dialect import EVERY, last_place, look_size, place_of_row
from ..transaction import Transaction
from . import items as item_rows
from . import scopes, threads
from .schema import item_sources, item_words, items, turn_cites, turn_details, turn_words, turns
from .schema import scopes as scopes_table
from .turns import SELECT, turns_of

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
_AFTER, _UPTO = place_of_row(turns) > sa.bindparam("after"), place_of_row(turns) <= sa.bindparam("upto")
_THEIRS = (  # all threads of a user; without a user the one thread
    scopes_table.c.project == sa.bindparam("project"),
    scopes_table.c.user == sa.bindparam("user"),
    sa.or_(scopes_table.c.user != "", scopes_table.c.thread == sa.bindparam("thread")),
)
_SAID = (
    sa.select(
        *(turns.c[name] for name in ("number", "scope", "message", "role")),
        turn_words.c.text,
        turn_details.c.details,
    )
    .join(turn_words, turn_words.c.turn == turns.c.number)
    .outerjoin(turn_details, turn_details.c.turn == turns.c.number)
    .join(scopes_table, scopes_table.c.number == turns.c.scope)
    .where(*_THEIRS, _AFTER, _UPTO, turn_words.c.text != "")
)
_LAST = sa.select(last_place(turns))
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
class RepeatingTurns:
    """The turns that repeat an item's words, as far as they were searched for.

    `texts` are the words searched for, `turns` the numbers of the turns. `upto` is the last number that was looked at.
    """

    texts: tuple[str, ...] = ()
    turns: frozenset[int] = frozenset()
    upto: int = 0


def find_repeats(
    scope: Scope, id: str, before: RepeatingTurns | None, connection: sa.Connection
) -> tuple[RepeatingTurns, bool]:
    """Search the next turns of a user; return all matches so far, and whether there are more turns.

    `before` is the result of the last call, `None` at first. Raises `NotFound` for an item that does not exist.
    """
    if before is None:
        before = RepeatingTurns(item_wordings(item_rows.find_item(connection, scope, id).item))
    last = int(connection.execute(_LAST).scalar_one()) if before.texts else 0
    upto = min(last, before.upto + look_size(connection, _LOOKED_AT))
    if upto <= before.upto:
        return before, False
    found = _find_repeating(connection, scope, Repeats(before.texts), before.upto, upto)
    return RepeatingTurns(before.texts, before.turns | found, upto), upto < last


def forget_item(
    scope: Scope, id: str, at: int, repeated: RepeatingTurns, transaction: Transaction
) -> ForgottenItem:
    """Empty all words of an item (see `forget_item` of the port `MemoryStore`).

    `repeated` holds the repetitions that reads have found in advance.
    """
    connection = transaction.connection
    row = item_rows.find_item(connection, scope, id)
    transaction.erases = True
    if row.item.status == "forgotten":
        known = find_citing(connection, [id])
        of = known | find_citing(connection, [f"t{number}" for number in known])
        return ForgottenItem(row.item, _load_turns(connection, sorted(of)))
    item_rows.move_item(connection, row, "forget", at, "user")
    texts = item_wordings(row.item)
    if repeated.texts != texts:  # the item has another source since, so search from the start
        repeated = RepeatingTurns(texts)
    repeats = Repeats(texts)
    said = {
        *connection.execute(_SAID_IN, {"of": row.number}).scalars(),
        *repeated.turns,
        *_find_repeating(connection, scope, repeats, repeated.upto, EVERY),
    }
    _empty_quotes(connection, scope, row.number, repeats)
    threads.empty_titles(connection, scope, repeats)
    citing = find_citing(connection, [id])
    of = said | citing | find_citing(connection, [f"t{number}" for number in said])
    empty_item(connection, row.number)
    emptied = empty_turns(connection, sorted(of))
    if of - citing:  # so that forgetting it again finds all of them
        connection.execute(_NOTE, [{"turn": number, "ref": id} for number in sorted(of - citing)])
    return ForgottenItem(item_rows.find_item(connection, scope, id).item, emptied)


def empty_item(connection: sa.Connection, number: int) -> None:
    """Empty the words of an item, which is forgotten already, and its sources."""
    for statement in _EMPTY:
        connection.execute(statement, {"of": number})


def empty_turns(connection: sa.Connection, numbers: list[int]) -> tuple[StoredTurn, ...]:
    """Empty the words of turns; return the turns. Triggers empty their details and vectors."""
    for start in range(0, len(numbers), _AT_ONCE):
        connection.execute(_UNSAY, {"named": numbers[start : start + _AT_ONCE]})
    return _load_turns(connection, numbers)


def _find_repeating(
    connection: sa.Connection, scope: Scope, repeats: Repeats, after: int, upto: int
) -> set[int]:
    """Return the numbers of those turns of a user that repeat some words, with the answers to such messages."""
    of = {"project": scope.project, "user": scope.user, "thread": scope.thread, "after": after, "upto": upto}
    numbers: set[int] = set()
    for turn in connection.execute(_SAID, of).all():
        if turn.role == "user" and repeats.matches_user_text(turn.text):
            exchange = {"scope": turn.scope, "message": turn.message}
            numbers.update(connection.execute(_EXCHANGE, exchange).scalars())
        elif turn.role != "user" and (
            repeats.matches_agent_text(turn.text) or _repeats_in_details(turn.details, repeats)
        ):
            numbers.add(turn.number)
    return numbers


def _repeats_in_details(details: str | None, repeats: Repeats) -> bool:
    return bool(details) and repeats.matches_json(json.loads(details or ""))


def _empty_quotes(connection: sa.Connection, scope: Scope, item: int, repeats: Repeats) -> None:
    """Empty the quotes of a user's other items that hold the same words."""
    of = {"scope": scopes.find_scope(connection, scopes.item_scope(scope)), "of": item}
    holding = [
        source.number
        for source in connection.execute(_QUOTES, of).all()
        if repeats.matches_agent_text(source.quote)
    ]
    for start in range(0, len(holding), _AT_ONCE):
        connection.execute(_UNQUOTE, {"named": holding[start : start + _AT_ONCE]})


def _load_turns(connection: sa.Connection, numbers: list[int]) -> tuple[StoredTurn, ...]:
    left: list[StoredTurn] = []
    for start in range(0, len(numbers), _AT_ONCE):
        left += turns_of(connection.execute(_LEFT, {"named": numbers[start : start + _AT_ONCE]}).all())
    return tuple(left)


def find_citing(connection: sa.Connection, refs: list[str]) -> set[int]:
    """Return the numbers of the turns that cite any of these `refs`."""
    numbers: set[int] = set()
    for start in range(0, len(refs), _AT_ONCE):
        numbers.update(connection.execute(_CITING, {"named": refs[start : start + _AT_ONCE]}).scalars().all())
    return numbers
