"""Queries for ids that may still be cited, ids that were forgotten, and scopes that have rows."""

import re
from collections.abc import Collection, Mapping

import sqlalchemy as sa

from ...ports.conversation import Scope
from .schema import IS_LIVE, item_sources, items, turn_words, turns
from .scopes import find_scope

_ID = re.compile(r"([it])([1-9][0-9]{0,17})", re.ASCII)
_AT: sa.BindParameter[int] = sa.bindparam("at")
_AMONG: sa.BindParameter[list[int]] = sa.bindparam("among", expanding=True)
_ITEMS = sa.select(items.c.number).where(
    items.c.number.in_(_AMONG),
    sa.text(f"items.{IS_LIVE}"),
    items.c.valid_from <= _AT,
    sa.or_(items.c.valid_to.is_(None), items.c.valid_to > _AT),
    sa.or_(items.c.expires_at.is_(None), items.c.expires_at > _AT),
)
_GONE_ITEMS = sa.select(items.c.number).where(items.c.number.in_(_AMONG), items.c.status == "forgotten")
_GONE_TURNS = sa.select(turn_words.c.turn).where(turn_words.c.turn.in_(_AMONG), turn_words.c.text == "")
_TAKEN_BACK = sa.exists().where(  # the message is a source of an item that was closed since
    item_sources.c.scope == turns.c.scope,
    sa.text("item_sources.kind = 'message'"),
    item_sources.c.ref == turns.c.message,
    items.c.number == item_sources.c.item,
    items.c.status.in_(("rejected", "superseded")),
)
_TURNS = (
    sa.select(turns.c.number)
    .join(turn_words, turn_words.c.turn == turns.c.number)
    .where(turns.c.number.in_(_AMONG), turns.c.role == "user", turn_words.c.text != "", ~_TAKEN_BACK)
)

_EMPTIED = (
    sa.select(turns.c.message)
    .join(turn_words, turn_words.c.turn == turns.c.number)
    .where(
        turns.c.scope == sa.bindparam("of"),
        turns.c.message.in_(sa.bindparam("named", expanding=True)),
        turn_words.c.text == "",
    )
)


def find_citable(ids: Collection[str], at: int, connection: sa.Connection) -> frozenset[str]:
    """Return the `ids` that may be cited at a time: live items, and user messages that are not taken back."""
    numbers = numbers_of(ids)
    live = connection.execute(_ITEMS, {"among": numbers["i"], "at": at}).scalars()
    said = connection.execute(_TURNS, {"among": numbers["t"]}).scalars()
    return frozenset([*(f"i{number}" for number in live), *(f"t{number}" for number in said)])


def find_forgotten(ids: Collection[str], connection: sa.Connection) -> frozenset[str]:
    """Return the `ids` that were forgotten."""
    numbers = numbers_of(ids)
    gone = connection.execute(_GONE_ITEMS, {"among": numbers["i"]}).scalars()
    unsaid = connection.execute(_GONE_TURNS, {"among": numbers["t"]}).scalars()
    return frozenset([*(f"i{number}" for number in gone), *(f"t{number}" for number in unsaid)])


def find_forgotten_messages(
    scope: Scope, said: Mapping[str, Collection[str]], connection: sa.Connection
) -> frozenset[str]:
    """Return the messages of a thread that hold forgotten words (see `MemoryStore.forgotten_messages`)."""
    emptied = connection.execute(
        _EMPTIED, {"of": find_scope(connection, scope), "named": list(said)}
    ).scalars()
    cited = {each for cites in said.values() for each in cites}
    gone = find_forgotten(cited, connection) if cited else frozenset()
    citing = (message for message, cites in said.items() if not gone.isdisjoint(cites))
    return frozenset([*emptied, *citing])


def is_known(scope: Scope, connection: sa.Connection) -> bool:
    """Return whether a row was ever kept of a scope."""
    return bool(find_scope(connection, scope))


def numbers_of(ids: Collection[str]) -> dict[str, list[int]]:
    """Return the numbers in `ids`: of items under "i", of turns under "t"; ignore any other text."""
    numbers: dict[str, list[int]] = {"i": [], "t": []}
    for id in ids:
        match = _ID.fullmatch(id)
        if match is not None:
            numbers[match[1]].append(int(match[2]))
    return numbers
