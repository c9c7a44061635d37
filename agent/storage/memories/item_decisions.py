"""Decisions about items: propose, accept, decide, replace and expire. Each is one request in a transaction."""

from collections.abc import Collection, Sequence
from dataclasses import replace as with_other

import sqlalchemy as sa

from ...config import PROPOSAL_LAPSES
from ...errors import Conflict
from ...memory.conflicts import DraftComparison, compare_draft
from ...memory.states import DECIDES, change_item
from ...ports.conversation import Scope
from ...ports.memory import LIVE, Draft, Item, ProposalOutcome
from ..transaction import Transaction
from . import items as item_rows
from . import scopes
from .items import ItemRow
from .schema import IS_PROPOSED, MAY_END, items

EXPIRED_AT_ONCE = 100  # items in one transaction

_LAPSES = round(PROPOSAL_LAPSES * 1000)
_AT: sa.BindParameter[int] = sa.bindparam("at")
# Each condition is word for word that of the partial index over it.
_ENDED = sa.and_(sa.text(f"items.{MAY_END}"), items.c.ends <= _AT)
_WAITED = sa.and_(sa.text(f"items.{IS_PROPOSED}"), items.c.since <= _AT - _LAPSES)
_ANYTHING_OVER = sa.select(sa.or_(sa.exists().where(_ENDED), sa.exists().where(_WAITED)))
_OVER = item_rows.SELECT.where(
    items.c.number.in_(
        sa.union(sa.select(items.c.number).where(_ENDED), sa.select(items.c.number).where(_WAITED))
        .subquery()
        .select()
    )
).limit(EXPIRED_AT_ONCE)


def propose_drafts(
    transaction: Transaction, scope: Scope, drafts: Sequence[Draft], at: int, anew: bool = True
) -> tuple[ProposalOutcome, ...]:
    """Insert drafts as proposed items, and accept those that a rule accepts.

    With `anew` also a draft that no kept item repeats is inserted; without it only sources are added.
    """
    outcomes = (_propose(transaction.connection, scope, draft, at, anew) for draft in drafts)
    return tuple(proposed for proposed in outcomes if proposed is not None)


def accept_item(
    scope: Scope,
    id: str,
    at: int,
    revision: int | None,
    replaces: Collection[str] | None,
    transaction: Transaction,
) -> Item:
    """Make a proposed item live and close the items that it contradicts (see `MemoryStore.accept_item`)."""
    connection = transaction.connection
    row = item_rows.find_item(connection, scope, id)
    if row.item.status in LIVE:
        return row.item
    _check_revision(row, revision)
    return _approve(connection, row, at, replaces).item


def decide_item(
    scope: Scope, id: str, trigger: str, at: int, revision: int | None, transaction: Transaction
) -> Item:
    """Apply a trigger of the item's table by its user's word (see `MemoryStore.decide_item`)."""
    row = item_rows.find_item(transaction.connection, scope, id)
    _check_revision(row, revision)
    item_rows.move_item(transaction.connection, row, trigger, at, "user")
    return item_rows.find_item(transaction.connection, scope, id).item


def find_conflicting(scope: Scope, id: str, connection: sa.Connection) -> tuple[Item, ...]:
    """Return the live items that accepting this item would close (see `MemoryStore.conflicting_items`)."""
    return find_replaced(connection, item_rows.find_item(connection, scope, id).item)


def replace_item(
    scope: Scope, id: str, draft: Draft, at: int, revision: int | None, transaction: Transaction
) -> Item:
    """Replace a live or proposed item by another one (see `MemoryStore.replace_item`)."""
    connection = transaction.connection
    row = item_rows.find_item(connection, scope, id)
    _check_revision(row, revision)
    if row.item.status == "proposed":
        return _accept_instead(connection, row, scope, draft, at)
    if row.item.status not in LIVE:
        raise Conflict("refused")
    item = item_rows.insert_item(connection, scope, draft, at, id)
    return _approve(connection, item, at, None, row).item


def _accept_instead(connection: sa.Connection, row: ItemRow, scope: Scope, draft: Draft, at: int) -> Item:
    """Accept a user's `draft` in place of a proposed item; reject the proposed item unless both say the same."""
    proposed = _propose(connection, scope, draft, at, True)
    assert proposed is not None, "it is made where nothing is there"
    present = item_rows.find_item(connection, scope, proposed.item.id)
    if present.item.status not in LIVE:
        present = _approve(connection, present, at, None)
    if present.number != row.number:
        item_rows.move_item(connection, row, "reject", at, "user")
    return present.item


def has_expired_items(connection: sa.Connection, at: int) -> bool:
    """Return whether `expire_items` would end an item."""
    return bool(connection.execute(_ANYTHING_OVER, {"at": at}).scalar_one())


def expire_items(transaction: Transaction, at: int) -> int:
    """End items that have expired, at most `EXPIRED_AT_ONCE`; return their number."""
    connection = transaction.connection
    over = item_rows.load_items(connection, connection.execute(_OVER, {"at": at}).all())
    for row in over:
        item_rows.move_item(connection, row, "expire" if row.item.status in LIVE else "lapse", at, None)
    return len(over)


def find_replaced(connection: sa.Connection, item: Item) -> tuple[Item, ...]:
    """Return the live items that `item` replaces once it is accepted."""
    rows = item_rows.live_rows(
        item_rows.find_about(connection, scopes.find_scope(connection, item.scope), item)
    )
    return _compare_live(item, item.supersedes, rows).conflicts


def check_trigger(trigger: str) -> None:
    """Raise `ValueError` unless `trigger` is a decision of a user about one item alone."""
    if trigger not in DECIDES:
        raise ValueError(f"{trigger} is none of {', '.join(sorted(DECIDES))}")


def _propose(
    connection: sa.Connection, scope: Scope, draft: Draft, at: int, anew: bool
) -> ProposalOutcome | None:
    of = scopes.find_scope(connection, scopes.item_scope(scope))
    rows = item_rows.find_about(connection, of, draft)
    compared = _compare_live(draft, draft.replaces, item_rows.live_rows(rows))
    same = compared.same or _find_duplicate(draft, rows)
    if same is not None:
        for source in draft.sources:
            item_rows.add_source(connection, scopes.number_of(same.id), scope, source)
        current = item_rows.find_item(connection, scope, same.id).item
        return ProposalOutcome(current, False, compared.conflicts)
    if not anew:
        return None
    newest = compared.conflicts[-1].id if compared.conflicts else None
    row = item_rows.insert_item(connection, scope, draft, at, newest)
    passes = change_item(row.item, "rule_accepts", at, row.since, bool(compared.conflicts)) is not None
    if draft.by_rule and passes:
        item_rows.move_item(connection, row, "rule_accepts", at, "rule")
        row = item_rows.find_item(connection, scope, row.item.id)
    return ProposalOutcome(row.item, True, compared.conflicts)


def _find_duplicate(draft: Draft, rows: Sequence[ItemRow]) -> Item | None:
    """Return the proposed item of the same words, or `None`."""
    waiting = [row.item for row in rows if row.item.status == "proposed"]
    return compare_draft(draft, [with_other(item, status="accepted") for item in waiting]).same


def _approve(
    connection: sa.Connection,
    row: ItemRow,
    at: int,
    replaced: Collection[str] | None,
    instead_of: ItemRow | None = None,
) -> ItemRow:
    """Make a proposed item live by its user's word, and close the items in its place.

    `replaced` holds the ids that the user knows it replaces; `None` allows any. `instead_of` is replaced in any case.
    """
    item = row.item
    scope = scopes.find_scope(connection, item.scope)
    rows = item_rows.live_rows(item_rows.find_about(connection, scope, item))
    compared = _compare_live(item, item.supersedes, rows)
    conflicts = {each.id for each in compared.conflicts}
    unseen = replaced is not None and conflicts != set(replaced)
    closes = [each for each in rows if each.item.id in conflicts or each.item.slot == item.slot]
    if instead_of is not None and instead_of.number not in {each.number for each in closes}:
        closes.append(instead_of)
    for each in closes:
        item_rows.move_item(connection, each, "supersede", at, "user", successor=row)
    item_rows.move_item(
        connection, row, "approve", at, "user", unseen, replaced=instead_of or _newest(closes)
    )
    return item_rows.item_by_number(connection, scope, row.number)


def _newest(rows: Sequence[ItemRow]) -> ItemRow | None:
    return max(rows, key=lambda row: row.number, default=None)


def _compare_live(stated: Draft | Item, place: str | None, rows: Sequence[ItemRow]) -> DraftComparison:
    """Return how a draft compares with the live items of its key, one of which (`place`) it is about to replace."""
    live = [row.item for row in rows]
    compared = compare_draft(stated, live)
    if compared.same is not None:
        return compared
    named = tuple(item for item in live if item.id == place and item not in compared.conflicts)
    return with_other(compared, conflicts=(*compared.conflicts, *named))


def _check_revision(row: ItemRow, revision: int | None) -> None:
    if revision not in (None, row.item.revision):
        raise Conflict("changed")
