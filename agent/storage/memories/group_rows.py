"""Queries for the rows of a group of scopes, of which recall makes an index when it is first asked.

Strategy: the numbers of all turns are read from an index of the database alone, and the turns a page at a time by their
numbers, so that no page looks at the rows of the others.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from ...ports.memory import StoredTurn
from ...ports.recall_store import GroupRows, ScopeGroup
from ..dialect import are_among
from ..prepared import PreparedStatement, encode_among
from . import items as item_rows
from .listing import find_source_turns, last_change
from .schema import IS_LIVE, TAKES_BACK, items, scopes, turns
from .turns import SELECT, turns_of

_USER = (scopes.c.project == sa.bindparam("project"), scopes.c.user == sa.bindparam("user"))
_GROUP = PreparedStatement(sa.select(scopes.c.number).where(*_USER))
_ONE = PreparedStatement(sa.select(scopes.c.number).where(*_USER, scopes.c.thread == sa.bindparam("thread")))
_NUMBERS = PreparedStatement(
    sa.select(turns.c.number).where(are_among(turns.c.scope, "among")).order_by(turns.c.number)
)
_ITEMS = PreparedStatement(
    sa.select(items.c.number, items.c.status).where(
        are_among(items.c.scope, "among"), sa.text(f"(items.{IS_LIVE} OR items.status IN {TAKES_BACK})")
    )
)
_TURNS = PreparedStatement(SELECT.where(are_among(turns.c.number, "among")).order_by(turns.c.number))
_LIVE = item_rows.SELECT.where(are_among(items.c.number, "among")).order_by(items.c.number)


def load_group(group: ScopeGroup, limit: int, connection: sa.Connection) -> GroupRows:
    """Return the rows of a group, with its first `limit` turns (see `RecallStore.load_group`)."""
    upto = last_change(connection)
    named = {"project": group.project, "user": group.user}
    if group.thread is None:
        found = _GROUP.rows(connection, **named)
    else:
        found = _ONE.rows(connection, **named, thread=group.thread)
    if not found:
        return GroupRows((), (), (), upto)
    of = encode_among([number for (number,) in found])
    numbers = [number for (number,) in _NUMBERS.rows(connection, among=of)]
    said = load_turns(numbers[:limit], connection)
    known = _ITEMS.rows(connection, among=of)
    closed = [number for number, status in known if status in TAKES_BACK]
    live = [number for number, status in known if status not in TAKES_BACK]
    rows = connection.execute(_LIVE, {"among": encode_among(live)}).all() if live else ()
    shown = tuple(row.item for row in item_rows.load_items(connection, rows)) if rows else ()
    return GroupRows(numbers, said, shown, upto, find_source_turns(closed, connection))


def load_turns(numbers: Sequence[int], connection: sa.Connection) -> tuple[StoredTurn, ...]:
    """Return the turns of these numbers, in their order."""
    return turns_of(_TURNS.rows(connection, among=encode_among(numbers))) if numbers else ()
