"""Items as they are handed out: pages of them, those that may be told of, their history, and what has changed."""

from collections.abc import Collection
from typing import get_args

import sqlalchemy as sa

from ...config import ITEM_HISTORY
from ...ports.conversation import Scope
from ...ports.memory import Change, Changes, Item, ItemStatus, ItemType, StoredTurn
from ...ports.pages import Page, Window
from . import items as kept
from . import scopes, turns
from .schema import IS_LIVE, feed, item_log, items
from .schema import turns as turns_table

_TYPES: tuple[ItemType, ...] = get_args(ItemType)
_OF: sa.BindParameter[int] = sa.bindparam("of")
_AT: sa.BindParameter[int] = sa.bindparam("at")
_NEWEST = (items.c.number + 0).desc()  # an expression: the index in this order is over all, not the live ones
_LIVE = kept.SELECT.where(
    items.c.scope == _OF,
    sa.text(f"items.{IS_LIVE}"),
    items.c.type.in_(sa.bindparam("types", expanding=True)),  # always: the index over live ones has it
    items.c.valid_from <= _AT,
    sa.or_(items.c.valid_to.is_(None), items.c.valid_to > _AT),
    sa.or_(items.c.expires_at.is_(None), items.c.expires_at > _AT),
).order_by(_NEWEST)
_NEWEST_LIVE = _LIVE.limit(sa.bindparam("most"))


def _line() -> sa.Select[tuple[int]]:
    """Return the query for an item and all that it has replaced, and those."""
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
_CHANGED_ITEMS = kept.SELECT.where(
    items.c.number.in_(sa.select(feed.c.item).where(*_WITHIN, feed.c.item.is_not(None)))
).order_by(items.c.number)


def listed(
    scope: Scope, window: Window, statuses: Collection[ItemStatus], connection: sa.Connection
) -> Page[Item]:
    """Return a scope's items in the order they were made."""
    wanted = kept.SELECT.where(
        items.c.scope == scopes.known(connection, scopes.whose(scope)),
        items.c.number > window.after,
        items.c.status.in_(sorted(statuses)) if statuses else items.c.status != "forgotten",
    )
    found = connection.execute(wanted.order_by(items.c.number).limit(window.limit + 1)).all()
    shown = kept.read(connection, found[: window.limit])
    more = len(found) > len(shown)
    return Page(tuple(row.item for row in shown), shown[-1].number if more else None)


def live(
    scope: Scope, at: int, types: Collection[ItemType], most: int | None, connection: sa.Connection
) -> tuple[Item, ...]:
    """Return the items that may be told of at a time, oldest first."""
    of = {"of": scopes.known(connection, scopes.whose(scope)), "at": at, "types": sorted(types or _TYPES)}
    wanted, bound = (_LIVE, of) if most is None else (_NEWEST_LIVE, of | {"most": most})
    rows = connection.execute(wanted, bound).all()
    return tuple(row.item for row in kept.read(connection, rows[::-1]))


def history(scope: Scope, id: str, connection: sa.Connection) -> tuple[Change, ...]:
    """Return what happened to an item, and to those that it replaced, oldest first."""
    return history_of(connection, kept.one(connection, scope, id).number)


def history_of(connection: sa.Connection, number: int) -> tuple[Change, ...]:
    """Return what happened to an item that is there, and to those that it replaced, oldest first."""
    lines = connection.execute(_HISTORY, {"of": number}).all()
    return tuple(
        Change(scopes.id_of(line.item), line.at, line.trigger, line.before, line.after, line.by)
        for line in reversed(lines)
    )


def changed(after: int, limit: int, connection: sa.Connection) -> Changes:
    """Return what has changed, as it is now."""
    fed = connection.execute(_FED, {"after": after, "most": limit}).all()
    if not fed:
        return Changes((), (), after)
    upto = fed[-1].number
    within = {"after": after, "upto": upto}
    said: tuple[StoredTurn, ...] = ()
    rows: tuple[kept.Row, ...] = ()
    if any(each.turn is not None for each in fed):
        said = turns.read(connection.execute(_CHANGED_TURNS, within).all())
    if any(each.item is not None for each in fed):
        rows = kept.read(connection, connection.execute(_CHANGED_ITEMS, within).all())
    return Changes(said, tuple(row.item for row in rows), upto)
