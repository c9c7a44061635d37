"""Queries for the rows of a group of scopes, of which recall makes an index when it is first asked.

Strategy: the numbers of all turns are read from an index of the database alone, and the turns a page at a time by their
numbers, so that no page looks at the rows of the others.
"""

import sqlalchemy as sa

from ...ports.recall_store import GroupRows, ScopeGroup
from ..dialect import are_among
from ..prepared import PreparedStatement, encode_among
from .items import find_items
from .listing import find_mark, find_source_turns
from .schema import IS_LIVE, TAKES_BACK, items, scopes, turns
from .turns import find_turns

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


def load_group(group: ScopeGroup, limit: int, connection: sa.Connection) -> GroupRows:
    """Return the rows of a group, with its first `limit` turns (see `RecallStore.load_group`)."""
    upto = find_mark(connection)
    named = {"project": group.project, "user": group.user}
    if group.thread is None:
        found = _GROUP.rows(connection, **named)
    else:
        found = _ONE.rows(connection, **named, thread=group.thread)
    if not found:
        return GroupRows((), (), (), upto)
    of = encode_among([number for (number,) in found])
    numbers = [number for (number,) in _NUMBERS.rows(connection, among=of)]
    said = find_turns(connection, numbers[:limit])
    known = _ITEMS.rows(connection, among=of)
    closed = [number for number, status in known if status in TAKES_BACK]
    live = [number for number, status in known if status not in TAKES_BACK]
    shown = tuple(row.item for row in find_items(connection, live))
    return GroupRows(numbers, said, shown, upto, find_source_turns(closed, connection))
