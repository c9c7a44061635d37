"""The state table of memory items.

A proposed item becomes true only by its user's decision, except items that expire by themselves, which a rule accepts;
an ended item returns only as a proposal. An item that contradicts a live one is not accepted before its user was told
of the conflict. A loop is active from its approval on; a decision may be started. Every item can be forgotten, and
`forgotten` is final. A store calls `change_item` for the effect of a trigger and writes the result.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from ..config import PROPOSAL_LAPSES
from ..fsm import Engine, StateTable, TableWord, TransitionRow, make_rows
from ..ports.memory import Item, ItemDecider, ItemDecision, ItemStatus


class ItemState(TableWord):
    """The states of an item; `agent.ports.memory.ItemStatus` has the same words."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    ACTIVE = "active"
    BLOCKED = "blocked"
    DONE = "done"
    REJECTED = "rejected"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"


class ItemTrigger(TableWord):
    """The events that can change an item."""

    RULE_ACCEPTS = "rule_accepts"
    APPROVE = "approve"
    REJECT = "reject"
    LAPSE = "lapse"
    START = "start"
    BLOCK = "block"
    UNBLOCK = "unblock"
    FINISH = "finish"
    REOPEN = "reopen"
    EXPIRE = "expire"
    SUPERSEDE = "supersede"
    FORGET = "forget"


class ItemGuard(TableWord):
    """The conditions of a row."""

    PASSING = "passing"
    CONTRADICTS = "contradicts"
    LOOP = "loop"
    DECISION = "decision"
    STALE = "stale"
    OVER = "over"
    IN_TIME = "in_time"


class ItemDeed(TableWord):
    """The effects of a row."""

    BY_USER = "by_user"
    BY_RULE = "by_rule"
    UNDECIDE = "undecide"
    CLOSE_REPLACED = "close_replaced"
    TELL_CONFLICT = "tell_conflict"
    ERASE = "erase"


ItemRow: TypeAlias = TransitionRow[ItemState, ItemTrigger, ItemGuard, ItemDeed]
ItemTable: TypeAlias = StateTable[ItemState, ItemTrigger, ItemGuard, ItemDeed]
ItemEngine: TypeAlias = Engine[ItemState, ItemTrigger, ItemGuard, ItemDeed]

_LIVE = (ItemState.ACCEPTED, ItemState.ACTIVE, ItemState.BLOCKED)

TABLE: ItemTable = StateTable(
    title="Item",
    states=ItemState,
    triggers=ItemTrigger,
    guards=ItemGuard,
    deeds=ItemDeed,
    initial=ItemState.PROPOSED,
    rows=(
        TransitionRow(
            ItemTrigger.RULE_ACCEPTS,
            ItemState.PROPOSED,
            ItemGuard.PASSING,
            ItemState.ACCEPTED,
            (ItemDeed.BY_RULE,),
        ),
        TransitionRow(
            ItemTrigger.APPROVE, ItemState.PROPOSED, ItemGuard.CONTRADICTS, None, (ItemDeed.TELL_CONFLICT,)
        ),
        TransitionRow(
            ItemTrigger.APPROVE,
            ItemState.PROPOSED,
            ItemGuard.LOOP,
            ItemState.ACTIVE,
            (ItemDeed.BY_USER, ItemDeed.CLOSE_REPLACED),
        ),
        TransitionRow(
            ItemTrigger.APPROVE,
            ItemState.PROPOSED,
            None,
            ItemState.ACCEPTED,
            (ItemDeed.BY_USER, ItemDeed.CLOSE_REPLACED),
        ),
        TransitionRow(ItemTrigger.REJECT, ItemState.PROPOSED, None, ItemState.REJECTED, (ItemDeed.BY_USER,)),
        TransitionRow(ItemTrigger.LAPSE, ItemState.PROPOSED, ItemGuard.STALE, ItemState.EXPIRED),
        TransitionRow(ItemTrigger.START, ItemState.ACCEPTED, ItemGuard.DECISION, ItemState.ACTIVE),
        TransitionRow(ItemTrigger.BLOCK, ItemState.ACTIVE, None, ItemState.BLOCKED),
        TransitionRow(ItemTrigger.UNBLOCK, ItemState.BLOCKED, None, ItemState.ACTIVE),
        *make_rows(ItemTrigger.FINISH, (ItemState.ACTIVE, ItemState.BLOCKED), ItemGuard.LOOP, ItemState.DONE),
        *make_rows(
            ItemTrigger.REOPEN,
            (ItemState.DONE, ItemState.REJECTED, ItemState.EXPIRED),
            ItemGuard.IN_TIME,
            ItemState.PROPOSED,
            ItemDeed.UNDECIDE,
        ),
        *make_rows(ItemTrigger.EXPIRE, _LIVE, ItemGuard.OVER, ItemState.EXPIRED),
        *make_rows(ItemTrigger.SUPERSEDE, (*_LIVE, ItemState.DONE), None, ItemState.SUPERSEDED),
        *make_rows(
            ItemTrigger.FORGET,
            [each for each in ItemState if each is not ItemState.FORGOTTEN],
            None,
            ItemState.FORGOTTEN,
            ItemDeed.ERASE,
        ),
    ),
)

TRIGGERS: Final[Mapping[ItemDecision, str]] = {
    "accept": "approve",
    "reject": "reject",
    "start": "start",
    "done": "finish",
    "block": "block",
    "unblock": "unblock",
    "reopen": "reopen",
}
"""The trigger of each decision that a user can make."""

DECIDES: Final = frozenset(TRIGGERS.values()) - {"approve"}
"""The triggers that are a user's decision and need nothing beside the item."""


@dataclass(frozen=True, slots=True)
class ItemChange:
    """The effect of a trigger on an item.

    `status`: the new state. `decided_by`: the new decider. `closes`: the items that it replaces are superseded with it.
    `erases`: its text, key, numbers, sources and everything derived from them are deleted. `conflict`: it stays as it
    was, because it contradicts an item that its user was not told of.
    """

    status: ItemStatus
    decided_by: ItemDecider | None
    closes: bool = False
    erases: bool = False
    conflict: bool = False


class _ItemSubject:
    """An item while a trigger is applied: the values that guards read and deeds write."""

    __slots__ = (
        "_at",
        "_item",
        "_since",
        "closes",
        "conflict",
        "contradicts",
        "decided_by",
        "erases",
        "state",
    )

    def __init__(self, item: Item, at: int, since: int, contradicts: bool) -> None:
        self._item, self._at, self._since = item, at, since
        self.state = ItemState(item.status)
        self.contradicts = contradicts
        self.decided_by = item.decided_by
        self.closes = self.erases = self.conflict = False

    def is_a(self, of_type: str) -> bool:
        return self._item.type == of_type

    @property
    def is_passing(self) -> bool:
        """Whether a rule may accept it: an event or metric that expires and contradicts nothing."""
        limited = self._item.expires_at is not None
        return limited and self._item.type in ("event", "metric") and not self.contradicts

    @property
    def is_over(self) -> bool:
        ends = (self._item.expires_at, self._item.valid_to)
        return any(end is not None and self._at >= end for end in ends)

    @property
    def is_stale(self) -> bool:
        return self.is_over or self._at >= self._since + round(PROPOSAL_LAPSES * 1000)

    def set_decider(self, decider: ItemDecider | None) -> None:
        self.decided_by = decider

    def mark_closing(self) -> None:
        self.closes = True

    def mark_erasing(self) -> None:
        self.erases = True

    def mark_conflict(self) -> None:
        self.conflict = True


GUARDS: dict[ItemGuard, Callable[[_ItemSubject], bool]] = {
    ItemGuard.PASSING: lambda item: item.is_passing,
    ItemGuard.CONTRADICTS: lambda item: item.contradicts,
    ItemGuard.LOOP: lambda item: item.is_a("open_loop"),
    ItemGuard.DECISION: lambda item: item.is_a("decision"),
    ItemGuard.STALE: lambda item: item.is_stale,
    ItemGuard.OVER: lambda item: item.is_over,
    ItemGuard.IN_TIME: lambda item: not item.is_over,
}
DEEDS: dict[ItemDeed, Callable[[_ItemSubject, object], None]] = {
    ItemDeed.BY_USER: lambda item, _: item.set_decider("user"),
    ItemDeed.BY_RULE: lambda item, _: item.set_decider("rule"),
    ItemDeed.UNDECIDE: lambda item, _: item.set_decider(None),
    ItemDeed.CLOSE_REPLACED: lambda item, _: item.mark_closing(),
    ItemDeed.TELL_CONFLICT: lambda item, _: item.mark_conflict(),
    ItemDeed.ERASE: lambda item, _: item.mark_erasing(),
}


def make_item_engine(table: ItemTable = TABLE) -> ItemEngine:
    """Return an engine that runs `table`; one engine serves all items."""
    return Engine(table, GUARDS, DEEDS)


ENGINE = make_item_engine()


def change_item(
    item: Item, trigger: str, at: int, since: int, contradicts: bool = False
) -> ItemChange | None:
    """Return the effect of a trigger on an item; None if the table refuses it and nothing may change.

    `trigger`: a word of `ItemTrigger`; ValueError for another. `at`: now. `since`: when the item entered its state, by
    its history. `contradicts`: a live item contradicts it, and its user was not told of that.
    """
    subject = _ItemSubject(item, at, since, contradicts)
    if not ENGINE.react(subject, subject, ItemTrigger(trigger)):
        return None
    return ItemChange(
        subject.state.value,
        subject.decided_by,
        subject.closes,
        subject.erases,
        subject.conflict,
    )


def allowed_decisions(item: Item, at: int) -> tuple[ItemDecision, ...]:
    """Return the decisions that `item` allows its user; `at`: now."""
    return tuple(each for each, trigger in TRIGGERS.items() if change_item(item, trigger, at, at) is not None)
