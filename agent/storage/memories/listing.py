"""Queries over items: pages, live items, their history, and changes since a number."""

from collections.abc import Collection
from typing import get_args

import sqlalchemy as sa

from ...ports.conversation import Scope
from ...ports.memory import Change, Changes, Item, ItemStatus, ItemType, StoredTurn
from ...ports.pages import Page, Window
from ..listing import make_record
from . import items as item_rows
from . import scopes, turns
from .schema import IS_LIVE, feed, item_log, items
from .schema import turns as turns_table

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
    line = sa.select(_OF.label("number")).cte("line", recursive=True)
    older = sa.select(items.c.number).join(line, items.c.superseded_by == line.c.number)
    line = line.union(older)
    return sa.select(line.c.number)


_HISTORY = (
    sa.select(item_log)
    .where(item_log.c.item.in_(_line()))
    .order_by(item_log.c.number.desc())
    .limit(ITEM_HISTORY)
)
_AFTER: sa.BindParameter[int] = sa.bindparam("after")
_FED = sa.select(feed).where(feed.c.number > _AFTER).order_by(feed.c.number).limit(sa.bindparam("most"))
_WITHIN = (feed.c.number > _AFTER, feed.c.number <= sa.bindparam("upto"))
_CHANGED_TURNS = turns.SELECT.where(
    turns_table.c.number.in_(sa.select(feed.c.turn).where(*_WITHIN, feed.c.turn.is_not(None)))
).order_by(turns_table.c.number)
_CHANGED_ITEMS = item_rows.SELECT.where(
    items.c.number.in_(sa.select(feed.c.item).where(*_WITHIN, feed.c.item.is_not(None)))
).order_by(items.c.number)


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


def load_changes(after: int, limit: int, connection: sa.Connection) -> Changes:
    """Return changes after the number `after`, with each changed row as it is now."""
    fed = connection.execute(_FED, {"after": after, "most": limit}).all()
    if not fed:
        return Changes((), (), after)
    upto = fed[-1].number
    within = {"after": after, "upto": upto}
    said: tuple[StoredTurn, ...] = ()
    rows: tuple[item_rows.ItemRow, ...] = ()
    if any(each.turn is not None for each in fed):
        said = turns.turns_of(connection.execute(_CHANGED_TURNS, within).all())
    if any(each.item is not None for each in fed):
        rows = item_rows.load_items(connection, connection.execute(_CHANGED_ITEMS, within).all())
    return Changes(said, tuple(row.item for row in rows), upto)
