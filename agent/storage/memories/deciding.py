"""How items go on: what is proposed, accepted, decided, replaced, and ends. Each is one request in a transaction."""

from collections.abc import Collection, Sequence
from dataclasses import replace as with_other

import sqlalchemy as sa

from ...config import EXPIRED_AT_ONCE, PROPOSAL_LAPSES
from ...errors import Conflict
from ...memory.conflicts import Compared, compare
from ...memory.states import DECIDES, change
from ...ports.conversation import Scope
from ...ports.memory import LIVE, Draft, Item, Proposed
from ..transaction import Transaction
from . import items as kept
from . import scopes
from .items import Row
from .schema import IS_PROPOSED, MAY_END, items

_LAPSES = round(PROPOSAL_LAPSES * 1000)
_AT: sa.BindParameter[int] = sa.bindparam("at")
# Each is word for word as the index over it has it.
_ENDED = sa.and_(sa.text(f"items.{MAY_END}"), items.c.ends <= _AT)
_WAITED = sa.and_(sa.text(f"items.{IS_PROPOSED}"), items.c.since <= _AT - _LAPSES)
_ANYTHING_OVER = sa.select(sa.or_(sa.exists().where(_ENDED), sa.exists().where(_WAITED)))
_OVER = kept.SELECT.where(
    items.c.number.in_(
        sa.union(sa.select(items.c.number).where(_ENDED), sa.select(items.c.number).where(_WAITED))
        .subquery()
        .select()
    )
).limit(EXPIRED_AT_ONCE)


def propose(
    transaction: Transaction, scope: Scope, drafts: Sequence[Draft], at: int, anew: bool = True
) -> tuple[Proposed, ...]:
    """Keep drafts as proposed, and accept what a rule accepts. anew: also those that nothing says that is there."""
    said = (_propose(transaction.connection, scope, draft, at, anew) for draft in drafts)
    return tuple(proposed for proposed in said if proposed is not None)


def accept(
    scope: Scope,
    id: str,
    at: int,
    revision: int | None,
    replaces: Collection[str] | None,
    transaction: Transaction,
) -> Item:
    """Make a proposed item live, and close what it contradicts; what the port says of `accept`."""
    connection = transaction.connection
    row = kept.one(connection, scope, id)
    if row.item.status in LIVE:
        return row.item
    _check(row, revision)
    return _approve(connection, row, at, replaces).item


def decide(
    scope: Scope, id: str, trigger: str, at: int, revision: int | None, transaction: Transaction
) -> Item:
    """Take a row of the item's table by its user's word; what the port says of `decide`."""
    row = kept.one(transaction.connection, scope, id)
    _check(row, revision)
    kept.move(transaction.connection, row, trigger, at, "user")
    return kept.one(transaction.connection, scope, id).item


def contradicted(scope: Scope, id: str, connection: sa.Connection) -> tuple[Item, ...]:
    """Return what would be closed, were an item accepted now; what the port says of `contradicted`."""
    return closed_by(connection, kept.one(connection, scope, id).item)


def replace(
    scope: Scope, id: str, draft: Draft, at: int, revision: int | None, transaction: Transaction
) -> Item:
    """Put another item in the place of a live or a proposed one; what the port says of `replace`."""
    connection = transaction.connection
    row = kept.one(connection, scope, id)
    _check(row, revision)
    if row.item.status == "proposed":
        return _instead(connection, row, scope, draft, at)
    if row.item.status not in LIVE:
        raise Conflict("refused")
    made = kept.make(connection, scope, draft, at, id)
    return _approve(connection, made, at, None, row).item


def _instead(connection: sa.Connection, row: Row, scope: Scope, draft: Draft, at: int) -> Item:
    """Accept what its user says in place of a proposed item, and reject that unless it says the same."""
    proposed = _propose(connection, scope, draft, at, True)
    assert proposed is not None, "it is made where nothing is there"
    said = kept.one(connection, scope, proposed.item.id)
    if said.item.status not in LIVE:
        said = _approve(connection, said, at, None)
    if said.number != row.number:
        kept.move(connection, row, "reject", at, "user")
    return said.item


def anything_over(connection: sa.Connection, at: int) -> bool:
    """Whether `expire` has anything to do."""
    return bool(connection.execute(_ANYTHING_OVER, {"at": at}).scalar_one())


def expire(transaction: Transaction, at: int) -> int:
    """End items whose time is over, EXPIRED_AT_ONCE at most; return how many."""
    connection = transaction.connection
    over = kept.read(connection, connection.execute(_OVER, {"at": at}).all())
    for row in over:
        kept.move(connection, row, "expire" if row.item.status in LIVE else "lapse", at, None)
    return len(over)


def closed_by(connection: sa.Connection, item: Item) -> tuple[Item, ...]:
    """Return the live items that an item replaces once it is accepted."""
    there = kept.live(kept.about(connection, scopes.known(connection, item.scope), item))
    return _gives_way(item, item.supersedes, there).conflicts


def check_trigger(trigger: str) -> None:
    """Raise ValueError for what is not a user's word on an item alone."""
    if trigger not in DECIDES:
        raise ValueError(f"{trigger} is none of {', '.join(sorted(DECIDES))}")


def _propose(connection: sa.Connection, scope: Scope, draft: Draft, at: int, anew: bool) -> Proposed | None:
    of = scopes.known(connection, scopes.whose(scope))
    there = kept.about(connection, of, draft)
    compared = _gives_way(draft, draft.replaces, kept.live(there))
    same = compared.same or _said_already(draft, there)
    if same is not None:
        for source in draft.sources:
            kept.add_source(connection, scopes.number_of(same.id), scope, source)
        again = kept.one(connection, scope, same.id).item
        return Proposed(again, False, compared.conflicts)
    if not anew:
        return None
    newest = compared.conflicts[-1].id if compared.conflicts else None
    row = kept.make(connection, scope, draft, at, newest)
    if change(row.item, "rule_accepts", at, row.since, bool(compared.conflicts)) is not None:
        kept.move(connection, row, "rule_accepts", at, "rule")
        row = kept.one(connection, scope, row.item.id)
    return Proposed(row.item, True, compared.conflicts)


def _said_already(draft: Draft, there: Sequence[Row]) -> Item | None:
    """Return what is proposed and says the same."""
    waiting = [row.item for row in there if row.item.status == "proposed"]
    return compare(draft, [with_other(item, status="accepted") for item in waiting]).same


def _approve(
    connection: sa.Connection,
    row: Row,
    at: int,
    told: Collection[str] | None,
    instead_of: Row | None = None,
) -> Row:
    """Make a proposed item live by its user's word, and close what stands in its place.

    told: ids that the user was told it replaces, None is any. instead_of: what it replaces, whatever that says.
    """
    item = row.item
    scope = scopes.known(connection, item.scope)
    there = kept.live(kept.about(connection, scope, item))
    compared = _gives_way(item, item.supersedes, there)
    conflicts = {each.id for each in compared.conflicts}
    unseen = told is not None and conflicts != set(told)
    closes = [each for each in there if each.item.id in conflicts or each.item.slot == item.slot]
    if instead_of is not None and instead_of.number not in {each.number for each in closes}:
        closes.append(instead_of)
    for each in closes:
        kept.move(connection, each, "supersede", at, "user", successor=row)
    kept.move(connection, row, "approve", at, "user", unseen, replaced=instead_of or _newest(closes))
    return kept.numbered(connection, scope, row.number)


def _newest(rows: Sequence[Row]) -> Row | None:
    return max(rows, key=lambda row: row.number, default=None)


def _gives_way(said: Draft | Item, place: str | None, there: Sequence[Row]) -> Compared:
    """Return what something is to live items of its key, of which the one whose place it is to take gives way too."""
    live = [row.item for row in there]
    compared = compare(said, live)
    if compared.same is not None:
        return compared
    named = tuple(item for item in live if item.id == place and item not in compared.conflicts)
    return with_other(compared, conflicts=(*compared.conflicts, *named))


def _check(row: Row, revision: int | None) -> None:
    if revision not in (None, row.item.revision):
        raise Conflict("changed")
