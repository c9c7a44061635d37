"""Deleting a thread: its words and details, its titles, its citations elsewhere, and proposals that it alone made.

Rows without words stay, as those of a forgotten item do: ids, times and scopes. The request sets `erases`, so that the
log is truncated before it is answered. The mark in `thread_log` is for good: a trigger keeps no further turn of the
thread, so an answer that another session or process finishes meanwhile leaves nothing.

Items that the user accepted stay, without their quotes of the thread: they are listed and can be forgotten themselves.
"""

from typing import Any

import sqlalchemy as sa

from ...errors import NotFound
from ...ports.conversation import Scope
from ...ports.memory import StoredTurn
from ..transaction import Transaction
from . import item_forgetting, scopes, threads
from . import items as item_rows
from .schema import item_sources, items, turns

_OF: sa.BindParameter[int] = sa.bindparam("of")
_TURNS = sa.select(turns.c.number).where(turns.c.scope == _OF).order_by(turns.c.number)
_READ = sa.update(turns).where(turns.c.scope == _OF, turns.c.unread != 0).values(unread=0, taken=0)
_QUOTED = sa.and_(item_sources.c.scope == _OF, item_sources.c.kind == "message")
_UNQUOTE = sa.update(item_sources).where(_QUOTED, item_sources.c.quote != "").values(quote="")
_OTHER: Any = item_sources.alias("other")
_PROPOSED = (
    item_rows.SELECT.join(item_sources, item_sources.c.item == items.c.number)
    .where(
        _QUOTED,
        items.c.status.in_(("proposed", "rejected")),
        ~sa.exists().where(_OTHER.c.item == items.c.number, _OTHER.c.scope != _OF),
    )
    .distinct()
)


def delete_thread(scope: Scope, at: int, transaction: Transaction) -> tuple[StoredTurn, ...]:
    """Empty all words of a thread (see `delete_thread` of the port `ThreadHistory`)."""
    connection = transaction.connection
    number = scopes.find_scope(connection, scope)
    of = {"of": number}
    own = connection.execute(_TURNS, of).scalars().all()
    if not own:
        raise NotFound("there is no such thing")
    transaction.erases = True
    if not threads.is_deleted(connection, number):
        threads.mark_deleted(connection, number, at)
    connection.execute(_READ, of)
    for row in item_rows.load_items(connection, connection.execute(_PROPOSED, of).all()):
        item_rows.move_item(connection, row, "forget", at, "user")
        item_forgetting.empty_item(connection, row.number)
    connection.execute(_UNQUOTE, of)
    citing = item_forgetting.find_citing(connection, [f"t{each}" for each in own])
    return item_forgetting.empty_turns(connection, sorted(citing.union(own)))
