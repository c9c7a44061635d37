"""Queries for ids that may still be cited, ids that were forgotten, and scopes that have rows."""

import re
from collections.abc import Collection, Mapping

import sqlalchemy as sa

from ...ports.conversation import Scope
from ..dialect import are_among
from ..prepared import PreparedStatement, encode_among
from .schema import IS_LIVE, TAKES_BACK, item_sources, items, turn_words, turns
from .scopes import find_scope

_ID = re.compile(r"([it])([1-9][0-9]{0,17})", re.ASCII)
_AT: sa.BindParameter[int] = sa.bindparam("at")
_ITEMS = PreparedStatement(
    sa.select(items.c.number).where(
        are_among(items.c.number, "among"),
        sa.text(f"items.{IS_LIVE}"),
        items.c.valid_from <= _AT,
        sa.or_(items.c.valid_to.is_(None), items.c.valid_to > _AT),
        sa.or_(items.c.expires_at.is_(None), items.c.expires_at > _AT),
    )
)
_GONE_ITEMS = PreparedStatement(
    sa.select(items.c.number).where(are_among(items.c.number, "among"), items.c.status == "forgotten")
)
_GONE_TURNS = PreparedStatement(
    sa.select(turn_words.c.turn).where(are_among(turn_words.c.turn, "among"), turn_words.c.text == "")
)
_TAKEN_BACK = sa.exists().where(  # the message is a source of an item that was closed since
    item_sources.c.scope == turns.c.scope,
    sa.text("item_sources.kind = 'message'"),
    item_sources.c.ref == turns.c.message,
    items.c.number == item_sources.c.item,
    sa.text(f"items.status IN {TAKES_BACK}"),
)
_TURNS = PreparedStatement(
    sa.select(turns.c.number)
    .join(turn_words, turn_words.c.turn == turns.c.number)
    .where(are_among(turns.c.number, "among"), turns.c.role == "user", turn_words.c.text != "", ~_TAKEN_BACK)
)

_EMPTIED = PreparedStatement(
    sa.select(turns.c.message)
    .join(turn_words, turn_words.c.turn == turns.c.number)
    .where(turns.c.scope == sa.bindparam("of"), are_among(turns.c.message, "named"), turn_words.c.text == "")
)


def find_citable(ids: Collection[str], at: int, connection: sa.Connection) -> frozenset[str]:
    """Return the `ids` that may be cited at a time: live items, and user messages that are not taken back."""
    return frozenset(_find_ids(connection, ids, _ITEMS, _TURNS, at=at))


def find_forgotten(ids: Collection[str], connection: sa.Connection) -> frozenset[str]:
    """Return the `ids` that were forgotten."""
    return frozenset(_find_ids(connection, ids, _GONE_ITEMS, _GONE_TURNS))


def _find_ids(
    connection: sa.Connection,
    ids: Collection[str],
    of_items: PreparedStatement,
    of_turns: PreparedStatement,
    **values: int,
) -> list[str]:
    """Return the `ids` that the statement of their kind finds."""
    numbers = numbers_of(ids)
    return [
        f"{letter}{number}"
        for letter, statement in (("i", of_items), ("t", of_turns))
        if numbers[letter]
        for (number,) in statement.rows(connection, among=encode_among(numbers[letter]), **values)
    ]


def find_forgotten_messages(
    scope: Scope, said: Mapping[str, Collection[str]], connection: sa.Connection
) -> frozenset[str]:
    """Return the messages of a thread that hold forgotten words (see `MemoryStore.forgotten_messages`)."""
    emptied = _EMPTIED.rows(connection, of=find_scope(connection, scope), named=encode_among(said))
    cited = {each for cites in said.values() for each in cites}
    gone = find_forgotten(cited, connection) if cited else frozenset()
    citing = (message for message, cites in said.items() if not gone.isdisjoint(cites))
    return frozenset([*(message for (message,) in emptied), *citing])


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
