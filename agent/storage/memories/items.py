"""Items as rows: reading them, inserting them and moving them. Each function is one step in a transaction.

The transaction holds the write lock, so nothing changes between the check and the change. The statements state their
conditions all the same, and a trigger asks the table `moves` once more.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from ...errors import Conflict
from ...memory.states import ItemChange, change_item
from ...ports.conversation import Scope
from ...ports.memory import LIVE, Draft, Item, ItemDecider, Source
from ..dialect import are_among
from ..listing import make_record, require_row
from ..prepared import encode_among
from . import scopes
from .schema import item_log, item_sources, item_words, items
from .schema import scopes as scopes_table

ITEM_SOURCES = 20  # of an item that are returned; it may have more

_IN_ONE_QUERY = 500  # items whose sources are read at once


@dataclass(frozen=True, slots=True)
class ItemRow:
    """An item and its row: its `number`, and `since`, when it came into its status."""

    number: int
    since: int
    item: Item


SELECT = (
    sa.select(
        items,
        *(column for column in item_words.c if column.name != "item"),
        *(column for column in scopes_table.c if column.name != "number"),
    )
    .join(item_words, item_words.c.item == items.c.number)
    .join(scopes_table, scopes_table.c.number == items.c.scope)
)
"""Selects all columns of items; their sources are read apart."""

_OF: sa.BindParameter[Any] = sa.bindparam("of")
_SCOPE: sa.BindParameter[Any] = sa.bindparam("scope")
_ONE = SELECT.where(items.c.number == _OF, items.c.scope == _SCOPE)
_ANYBODYS = SELECT.where(items.c.number == _OF)
_SOME = SELECT.where(are_among(items.c.number, "among")).order_by(items.c.number)
_ABOUT = SELECT.where(
    items.c.scope == _SCOPE,
    items.c.about == sa.bindparam("about"),
    sa.or_(
        items.c.status.in_(LIVE),
        sa.and_(items.c.status == "proposed", items.c.place == sa.bindparam("place")),
    ),
).order_by(items.c.number)
_SOURCES = (
    sa.select(item_sources)
    .where(
        item_sources.c.item.in_(sa.bindparam("items", expanding=True)),
        item_sources.c.nth < ITEM_SOURCES,
        item_sources.c.ref != "",
    )
    .order_by(item_sources.c.number)
)
_SAME_SOURCE = sa.select(item_sources.c.number).where(
    *(
        item_sources.c[name] == sa.bindparam(name)
        for name in ("item", "scope", "kind", "ref", "first", "last")
    )
)
_HELD = sa.select(sa.func.count()).where(item_sources.c.item == _OF)
_ADD_SOURCE = sa.insert(item_sources)
_MAKE = sa.insert(items).returning(items.c.number)
_SAY = sa.insert(item_words)
_LOG = sa.insert(item_log)
_MOVE = (
    sa.update(items)
    .where(
        items.c.number == _OF,
        items.c.status == sa.bindparam("was"),
        items.c.revision == sa.bindparam("seen"),
    )
    .values(
        status=sa.bindparam("to"),
        since=sa.bindparam("at"),
        decided_at=sa.bindparam("decided"),
        decided_by=sa.bindparam("decider"),
        valid_to=sa.bindparam("until"),
        supersedes=sa.bindparam("replaced"),
        superseded_by=sa.bindparam("successor"),
        revision=items.c.revision + 1,
    )
)


def load_items(connection: sa.Connection, rows: Sequence[Any]) -> tuple[ItemRow, ...]:
    """Return rows of `SELECT` as items with their sources."""
    sources: dict[int, list[Source]] = {row.number: [] for row in rows}
    numbers = [*sources]
    for at in range(0, len(numbers), _IN_ONE_QUERY):
        for one in connection.execute(_SOURCES, {"items": numbers[at : at + _IN_ONE_QUERY]}):
            sources[one.item].append(Source(one.kind, one.ref, one.first, one.last, one.quote))
    return tuple(ItemRow(row.number, row.since, _item(row, tuple(sources[row.number]))) for row in rows)


def find_items(connection: sa.Connection, numbers: Collection[int]) -> tuple[ItemRow, ...]:
    """Return the items of these numbers, in their order."""
    if not numbers:
        return ()
    return load_items(connection, connection.execute(_SOME, {"among": encode_among(numbers)}).all())


def find_item(connection: sa.Connection, scope: Scope, id: str) -> ItemRow:
    """Return an item; raises `NotFound` if it does not exist or belongs to another scope."""
    of = {"of": scopes.number_of(id), "scope": scopes.find_scope(connection, scopes.item_scope(scope))}
    return load_items(connection, [require_row(connection.execute(_ONE, of).one_or_none())])[0]


def find_any_item(connection: sa.Connection, id: str) -> ItemRow:
    """Return an item of any scope; raises `NotFound`. For operators only, never for a request over a wire."""
    of = {"of": scopes.number_of(id)}
    return load_items(connection, [require_row(connection.execute(_ANYBODYS, of).one_or_none())])[0]


def item_by_number(connection: sa.Connection, scope: int, number: int) -> ItemRow:
    """Return an item by its number, which is known to exist in the scope."""
    return load_items(connection, [connection.execute(_ONE, {"of": number, "scope": scope}).one()])[0]


def find_about(connection: sa.Connection, scope: int, stated: Draft | Item) -> tuple[ItemRow, ...]:
    """Return the live items of a scope with the same key, and proposed ones with the same slot; oldest first."""
    of = {"scope": scope, "about": _digest(stated.key), "place": _digest(stated.key, stated.slot)}
    return load_items(connection, connection.execute(_ABOUT, of).all())


def insert_item(
    connection: sa.Connection, scope: Scope, draft: Draft, at: int, supersedes: str | None
) -> ItemRow:
    """Insert a draft as a proposed item. `scope` includes the thread in which it was found."""
    scope_number = scopes.ensure_scope(connection, scopes.item_scope(scope))
    ends = [end for end in (draft.valid_to, draft.expires_at) if end is not None]
    values = {
        "scope": scope_number,
        "type": draft.type,
        "status": "proposed",
        "about": _digest(draft.key),
        "place": _digest(draft.key, draft.slot),
        "valid_from": draft.valid_from,
        "valid_to": draft.valid_to,
        "expires_at": draft.expires_at,
        "ends": min(ends, default=None),
        "confidence": draft.confidence,
        "created_at": at,
        "since": at,
        "supersedes": None if supersedes is None else scopes.number_of(supersedes),
        "revision": 1,
    }
    number = int(connection.execute(_MAKE, values).scalar_one())
    words = {"text": draft.text, "key": draft.key, "slot": draft.slot, "numbers": draft.numbers}
    connection.execute(_SAY, {"item": number, **words})
    of = scope_number if scope == scopes.item_scope(scope) else scopes.ensure_scope(connection, scope)
    for nth, source in enumerate(dict.fromkeys(draft.sources)):
        connection.execute(_ADD_SOURCE, {**_source(number, of, source), "nth": nth, "quote": source.quote})
    log_change(connection, number, at, "propose", None, "proposed", None)
    return item_by_number(connection, scope_number, number)


def add_source(connection: sa.Connection, number: int, scope: Scope, source: Source) -> None:
    """Add a source to an item, unless it has it. `scope` includes the thread in which the source was found."""
    values = _source(number, scopes.ensure_scope(connection, scope), source)
    if connection.execute(_SAME_SOURCE, values).first() is not None:
        return
    nth = connection.execute(_HELD, {"of": number}).scalar_one()
    quote = source.quote if nth < ITEM_SOURCES else ""
    connection.execute(_ADD_SOURCE, {**values, "nth": nth, "quote": quote})


def move_item(
    connection: sa.Connection,
    row: ItemRow,
    trigger: str,
    at: int,
    by: ItemDecider | None,
    contradicts: bool = False,
    *,
    replaced: ItemRow | None = None,
    successor: ItemRow | None = None,
) -> ItemChange:
    """Apply a trigger of the item's table to `row`.

    `contradicts` says that the user did not know of an item that this one would replace. `replaced` is the item that it
    closes, `successor` the item that closes it. Raises `Conflict("refused")` when the table has no such move, and
    `Conflict("changed")` for a contradiction.
    """
    item = row.item
    changed = change_item(item, trigger, at, row.since, contradicts)
    if changed is None:
        raise Conflict("refused")
    if changed.conflict:
        raise Conflict("changed")
    decided = item.decided_at if changed.decided_by == item.decided_by else None
    if changed.decided_by is not None and decided is None:
        decided = at
    supersedes = item.supersedes if replaced is None else replaced.item.id
    closed_by = item.superseded_by if successor is None else successor.item.id
    moved = connection.execute(
        _MOVE,
        {
            "of": row.number,
            "was": item.status,
            "seen": item.revision,
            "to": changed.status,
            "at": at,
            "decided": decided,
            "decider": changed.decided_by,
            "until": item.valid_to if successor is None else _end_of_validity(item, successor.item),
            "replaced": None if supersedes is None else scopes.number_of(supersedes),
            "successor": None if closed_by is None else scopes.number_of(closed_by),
        },
    )
    if moved.rowcount != 1:
        raise Conflict("changed")
    log_change(connection, row.number, at, trigger, item.status, changed.status, by)
    return changed


def log_change(
    connection: sa.Connection,
    number: int,
    at: int,
    trigger: str,
    before: str | None,
    after: str,
    by: ItemDecider | None,
) -> None:
    """Add a line to the history of an item."""
    line = {"item": number, "at": at, "trigger": trigger, "before": before, "after": after, "by": by}
    connection.execute(_LOG, line)


def live_rows(rows: Iterable[ItemRow]) -> list[ItemRow]:
    """Return the rows of live items."""
    return [row for row in rows if row.item.status in LIVE]


def _end_of_validity(old: Item, new: Item) -> int:
    """Return the end of an item's validity when another replaces it: the other's begin, but after its own."""
    end = max(old.valid_from + 1, new.valid_from)
    return end if old.valid_to is None else min(end, old.valid_to)


def _source(item: int, scope: int, source: Source) -> dict[str, Any]:
    return {
        "item": item,
        "scope": scope,
        "kind": source.kind,
        "ref": source.ref,
        "first": source.first,
        "last": source.last,
    }


def _digest(key: tuple[str, ...], slot: str = "") -> str:
    return sha256(json.dumps((key, slot)).encode()).hexdigest()


def _item(row: Any, sources: tuple[Source, ...]) -> Item:
    return make_record(
        Item,
        row,
        id=scopes.id_of(row.number),
        key=tuple(row.key),
        numbers=tuple((kind, value) for kind, value in row.numbers),
        scope=scopes.scope_of(row),
        supersedes=None if row.supersedes is None else scopes.id_of(row.supersedes),
        superseded_by=None if row.superseded_by is None else scopes.id_of(row.superseded_by),
        sources=sources,
    )
