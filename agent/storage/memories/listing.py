"""Queries over items: pages, live items, their history, and changes since a mark."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Generic, TypeVar, get_args

import sqlalchemy as sa

from ...ports.change_mark import ChangeMark
from ...ports.conversation import Scope
from ...ports.memory import Change, Item, ItemStatus, ItemType, StoredTurn
from ...ports.pages import Page, Window
from ...ports.recall_store import Changes
from ..dialect import NUMBER, are_among
from ..followed_rows import FollowedRows
from ..listing import make_record
from ..prepared import PreparedStatement, encode_among
from ..transaction import Transaction, Write
from . import items as item_rows
from . import scopes, turns
from .schema import IS_LIVE, TAKES_BACK, feed, item_log, item_sources, items
from .schema import turns as turns_table

T = TypeVar("T")

ITEM_HISTORY = 1000  # newest changes that are returned of an item and of the items that it replaced

_TYPES: tuple[ItemType, ...] = get_args(ItemType)
_OF: sa.BindParameter[int] = sa.bindparam("of")
_AT: sa.BindParameter[int] = sa.bindparam("at")
_NEWEST = (items.c.number + 0).desc()  # an expression: the index in this order is over all, not the live ones
_LIVE = item_rows.SELECT.where(
    items.c.scope == _OF,
    sa.text(f"items.{IS_LIVE}"),
    items.c.type.in_(sa.bindparam("types", expanding=True)),  # always: the index over live ones has it
    items.c.valid_from <= _AT,
    sa.or_(items.c.valid_to.is_(None), items.c.valid_to > _AT),
    sa.or_(items.c.expires_at.is_(None), items.c.expires_at > _AT),
).order_by(_NEWEST)
_NEWEST_LIVE = _LIVE.limit(sa.bindparam("most"))


def _line() -> sa.Select[tuple[int]]:
    """Return the query for the numbers of an item and of all items that it replaced, directly or not."""
    line = sa.select(sa.bindparam("of", type_=NUMBER).label("number")).cte("line", recursive=True)
    older = sa.select(items.c.number).join(line, items.c.superseded_by == line.c.number)
    line = line.union(older)
    return sa.select(line.c.number)


_HISTORY = (
    sa.select(item_log)
    .where(item_log.c.item.in_(_line()))
    .order_by(item_log.c.number.desc())
    .limit(ITEM_HISTORY)
)
_FED = FollowedRows(feed, sa.select(feed.c.turn, feed.c.item))
_SAID_IN = PreparedStatement(
    sa.select(item_sources.c.item, turns_table.c.number)
    .join(
        turns_table,
        sa.and_(turns_table.c.scope == item_sources.c.scope, turns_table.c.message == item_sources.c.ref),
    )
    .where(are_among(item_sources.c.item, "among"), sa.text("item_sources.kind = 'message'"))
)


def load_page(
    scope: Scope, window: Window, statuses: Collection[ItemStatus], connection: sa.Connection
) -> Page[Item]:
    """Return a page of a scope's items in the order they were made."""
    wanted = item_rows.SELECT.where(
        items.c.scope == scopes.find_scope(connection, scopes.item_scope(scope)),
        items.c.number > window.after,
        items.c.status.in_(sorted(statuses)) if statuses else items.c.status != "forgotten",
    )
    rows = connection.execute(wanted.order_by(items.c.number).limit(window.limit + 1)).all()
    shown = item_rows.load_items(connection, rows[: window.limit])
    more = len(rows) > len(shown)
    return Page(tuple(row.item for row in shown), shown[-1].number if more else None)


def load_live(
    scope: Scope, at: int, types: Collection[ItemType], most: int | None, connection: sa.Connection
) -> tuple[Item, ...]:
    """Return the items that a prompt may use at a time, oldest first."""
    of = {
        "of": scopes.find_scope(connection, scopes.item_scope(scope)),
        "at": at,
        "types": sorted(types or _TYPES),
    }
    wanted, bound = (_LIVE, of) if most is None else (_NEWEST_LIVE, of | {"most": most})
    rows = connection.execute(wanted, bound).all()
    return tuple(row.item for row in item_rows.load_items(connection, rows[::-1]))


def load_history(scope: Scope, id: str, connection: sa.Connection) -> tuple[Change, ...]:
    """Return the history of an item and of the items that it replaced, oldest first."""
    return load_line_history(connection, item_rows.find_item(connection, scope, id).number)


def load_line_history(connection: sa.Connection, number: int) -> tuple[Change, ...]:
    """Return the history of an existing item and of the items that it replaced, oldest first."""
    lines = connection.execute(_HISTORY, {"of": number}).all()
    return tuple(make_record(Change, line, item=scopes.id_of(line.item)) for line in reversed(lines))


def load_changes(after: ChangeMark, limit: int, connection: sa.Connection) -> Changes:
    """Return changes after the mark `after`, with each changed row as it is now."""
    fed, upto, more = _FED.read(connection, after, limit)
    said = turns.find_turns(connection, {turn for turn, _, _ in fed if turn is not None})
    rows = item_rows.find_items(connection, {item for _, item, _ in fed if item is not None})
    closed = [row.number for row in rows if row.item.status in TAKES_BACK]
    taken_back = find_source_turns(closed, connection)
    return Changes(said, tuple(row.item for row in rows), upto, taken_back, more)


def find_source_turns(numbers: Collection[int], connection: sa.Connection) -> dict[str, list[int]]:
    """Return, for each of these items that comes from turns, the numbers of the turns."""
    turns_of: dict[str, list[int]] = {}
    for item, turn in _SAID_IN.rows(connection, among=encode_among(numbers)) if numbers else ():
        turns_of.setdefault(scopes.id_of(item), []).append(turn)
    return turns_of


def find_mark(connection: sa.Connection) -> ChangeMark:
    """Return the mark after all changes."""
    return _FED.find_mark(connection)


@dataclass(frozen=True, slots=True)
class FollowedWrite(Generic[T]):
    """The `answer` of a write, with its changes: those after the mark `after`."""

    answer: T
    after: ChangeMark
    changes: Changes


def follow_write(work: Write[T], transaction: Transaction) -> FollowedWrite[T]:
    """Run a write and return its answer with its changes (a `Follow` of `Database.follow_writes`)."""
    connection = transaction.connection
    after = find_mark(connection)
    answer = work(transaction)
    upto = find_mark(connection)
    new: tuple[StoredTurn, ...] = tuple(transaction.noted)
    count = upto.number - after.number
    if count == len(new):  # nothing else has changed
        return FollowedWrite(answer, after, Changes(new, (), upto))
    return FollowedWrite(answer, after, load_changes(after, count, connection))
