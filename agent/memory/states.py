"""An item's own state table: what may become of what is remembered.

What is proposed becomes true by its user's word only, and what ended becomes so again only as a proposal; a rule
accepts what ends by itself. What contradicts a live item is not accepted before its user was told of that. A loop is
active from its approval on; a decision may be started. Whatever it was, an item can be forgotten, and then nothing
leads out of that. Whoever keeps items asks `change` what a trigger makes of one, and writes that down.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from ..config import PROPOSAL_LAPSES
from ..fsm import Engine, Row, Table, Word, rows
from ..ports.memory import Decider, Decision, Item, ItemStatus


class Status(Word):
    """How an item stands; `agent.ports.memory.ItemStatus` are the same words."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    ACTIVE = "active"
    BLOCKED = "blocked"
    DONE = "done"
    REJECTED = "rejected"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"


class Trigger(Word):
    """What can happen to an item."""

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


class Guard(Word):
    """What a row can ask for."""

    PASSING = "passing"
    CONTRADICTS = "contradicts"
    LOOP = "loop"
    DECISION = "decision"
    STALE = "stale"
    OVER = "over"
    IN_TIME = "in_time"


class Deed(Word):
    """What a row can do."""

    BY_USER = "by_user"
    BY_RULE = "by_rule"
    UNDECIDE = "undecide"
    CLOSE_REPLACED = "close_replaced"
    TELL_CONFLICT = "tell_conflict"
    ERASE = "erase"


ItemRow: TypeAlias = Row[Status, Trigger, Guard, Deed]
ItemTable: TypeAlias = Table[Status, Trigger, Guard, Deed]
ItemEngine: TypeAlias = Engine[Status, Trigger, Guard, Deed]

_LIVE = (Status.ACCEPTED, Status.ACTIVE, Status.BLOCKED)

TABLE: ItemTable = Table(
    title="Item",
    states=Status,
    triggers=Trigger,
    guards=Guard,
    deeds=Deed,
    initial=Status.PROPOSED,
    rows=(
        Row(Trigger.RULE_ACCEPTS, Status.PROPOSED, Guard.PASSING, Status.ACCEPTED, (Deed.BY_RULE,)),
        Row(Trigger.APPROVE, Status.PROPOSED, Guard.CONTRADICTS, None, (Deed.TELL_CONFLICT,)),
        Row(Trigger.APPROVE, Status.PROPOSED, Guard.LOOP, Status.ACTIVE, (Deed.BY_USER, Deed.CLOSE_REPLACED)),
        Row(Trigger.APPROVE, Status.PROPOSED, None, Status.ACCEPTED, (Deed.BY_USER, Deed.CLOSE_REPLACED)),
        Row(Trigger.REJECT, Status.PROPOSED, None, Status.REJECTED, (Deed.BY_USER,)),
        Row(Trigger.LAPSE, Status.PROPOSED, Guard.STALE, Status.EXPIRED),
        Row(Trigger.START, Status.ACCEPTED, Guard.DECISION, Status.ACTIVE),
        Row(Trigger.BLOCK, Status.ACTIVE, None, Status.BLOCKED),
        Row(Trigger.UNBLOCK, Status.BLOCKED, None, Status.ACTIVE),
        *rows(Trigger.FINISH, (Status.ACTIVE, Status.BLOCKED), Guard.LOOP, Status.DONE),
        *rows(
            Trigger.REOPEN,
            (Status.DONE, Status.REJECTED, Status.EXPIRED),
            Guard.IN_TIME,
            Status.PROPOSED,
            Deed.UNDECIDE,
        ),
        *rows(Trigger.EXPIRE, _LIVE, Guard.OVER, Status.EXPIRED),
        *rows(Trigger.SUPERSEDE, (*_LIVE, Status.DONE), None, Status.SUPERSEDED),
        *rows(
            Trigger.FORGET,
            [each for each in Status if each is not Status.FORGOTTEN],
            None,
            Status.FORGOTTEN,
            Deed.ERASE,
        ),
    ),
)

TRIGGERS: Final[Mapping[Decision, str]] = {
    "accept": "approve",
    "reject": "reject",
    "start": "start",
    "done": "finish",
    "block": "block",
    "unblock": "unblock",
    "reopen": "reopen",
}
"""What a user's decision is to an item."""

DECIDES: Final = frozenset(TRIGGERS.values()) - {"approve"}
"""The triggers that are its user's word and need nothing beside the item."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What a trigger makes of an item.

    status: its state from now on. decided_by: who has decided it, from now on. closes: what it replaces is to be
    superseded with it. erases: its text, key, numbers, sources and all that was made of them are to go. conflict: it
    stays as it was, since it contradicts what its user was not told of.
    """

    status: ItemStatus
    decided_by: Decider | None
    closes: bool = False
    erases: bool = False
    conflict: bool = False


class _Subject:
    """An item while a trigger is looked at: what the guards see, and what the deeds leave."""

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
        self.state = Status(item.status)
        self.contradicts = contradicts
        self.decided_by = item.decided_by
        self.closes = self.erases = self.conflict = False

    def is_a(self, of_type: str) -> bool:
        return self._item.type == of_type

    @property
    def passing(self) -> bool:
        """Whether a rule may accept it: what ends by itself, and contradicts nothing."""
        limited = self._item.expires_at is not None
        return limited and self._item.type in ("event", "metric") and not self.contradicts

    @property
    def over(self) -> bool:
        ends = (self._item.expires_at, self._item.valid_to)
        return any(end is not None and self._at >= end for end in ends)

    @property
    def stale(self) -> bool:
        return self.over or self._at >= self._since + round(PROPOSAL_LAPSES * 1000)

    def by(self, decider: Decider | None) -> None:
        self.decided_by = decider

    def close(self) -> None:
        self.closes = True

    def erase(self) -> None:
        self.erases = True

    def tell(self) -> None:
        self.conflict = True


GUARDS: dict[Guard, Callable[[_Subject], bool]] = {
    Guard.PASSING: lambda item: item.passing,
    Guard.CONTRADICTS: lambda item: item.contradicts,
    Guard.LOOP: lambda item: item.is_a("open_loop"),
    Guard.DECISION: lambda item: item.is_a("decision"),
    Guard.STALE: lambda item: item.stale,
    Guard.OVER: lambda item: item.over,
    Guard.IN_TIME: lambda item: not item.over,
}
DEEDS: dict[Deed, Callable[[_Subject, object], None]] = {
    Deed.BY_USER: lambda item, _: item.by("user"),
    Deed.BY_RULE: lambda item, _: item.by("rule"),
    Deed.UNDECIDE: lambda item, _: item.by(None),
    Deed.CLOSE_REPLACED: lambda item, _: item.close(),
    Deed.TELL_CONFLICT: lambda item, _: item.tell(),
    Deed.ERASE: lambda item, _: item.erase(),
}


def item_engine(table: ItemTable = TABLE) -> ItemEngine:
    """Return an engine that runs `table` for items; one serves them all."""
    return Engine(table, GUARDS, DEEDS)


ENGINE = item_engine()


def change(item: Item, trigger: str, at: int, since: int, contradicts: bool = False) -> Changed | None:
    """Return what a trigger makes of an item; None where its table refuses it, and nothing may change.

    trigger: a word of `Trigger`; ValueError for another. at: now. since: when the item came into its state, by its
    history. contradicts: there is a live item that it contradicts and that its user was not told of.
    """
    subject = _Subject(item, at, since, contradicts)
    if not ENGINE.react(subject, subject, Trigger(trigger)):
        return None
    return Changed(
        subject.state.value,
        subject.decided_by,
        subject.closes,
        subject.erases,
        subject.conflict,
    )


def decisions(item: Item, at: int) -> tuple[Decision, ...]:
    """Return what its user may decide about an item; at: now."""
    return tuple(each for each, trigger in TRIGGERS.items() if change(item, trigger, at, at) is not None)
