"""Stores memory items, which their user approved, dated and with their sources, and the turns of conversations.

A `Candidate` is a proposer's finding; an `Item` is the stored form. An item's text never changes: a change is another
item, which closes the one that it replaces. A `StoredTurn` is one side of an exchange, word for word.

An item belongs to its scope's project and user, in every thread of theirs; only where the user is not known ("") it
belongs to one thread. To every other scope the item does not exist.

Times are Unix milliseconds.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from ..lang import Lang
from .conversation import Scope
from .pages import Page, Window
from .vectors import VectorStore

ItemType: TypeAlias = Literal[
    "fact", "rule", "decision", "open_loop", "idea", "event", "metric", "preference", "lesson"
]
ItemStatus: TypeAlias = Literal[
    "proposed", "accepted", "active", "blocked", "done", "rejected", "expired", "superseded", "forgotten"
]
LIVE: tuple[ItemStatus, ...] = ("accepted", "active", "blocked")
"""The statuses in which an item may be used in answers, within its validity."""

SourceKind: TypeAlias = Literal["message", "document", "tool"]
ItemDecider: TypeAlias = Literal["user", "rule"]
ItemDecision: TypeAlias = Literal["accept", "reject", "start", "done", "block", "unblock", "reopen"]
"""A user's decision about an item, beside correcting and forgetting it."""
Side: TypeAlias = Literal["user", "assistant"]
Number: TypeAlias = tuple[str, str]
"""A number's kind with its unit, and its value; equal tuples state the same number."""


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of an item.

    `ref` is the message's id, the document's file or the call's id. `first` and `last` are lines of a document, counted
    from 1, and 0 for other kinds. `quote` holds the words of the source, at most `ITEM_QUOTE` characters.
    """

    kind: SourceKind
    ref: str
    first: int = 0
    last: int = 0
    quote: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A possible memory item, as a proposer found it; neither checked nor stored yet.

    `subject` names its topic in words ("budget of project atlas"); its key is made of them. `text` is a sentence that
    can be understood alone. `sources` holds at least one. `valid_from` None is now. `expires_at` None leaves the end to
    its type. `finishes` says that the item with this key is done, and that nothing new is to be remembered. `single`
    says that the key has one value at a time, as a preference has, though its type may have several. `by_rule` says
    that a rule may accept it without its user (`agent.memory.states`): a program reports it, or its user states it.
    """

    type: ItemType
    subject: str
    text: str
    lang: Lang
    sources: tuple[Source, ...]
    confidence: float = 1.0
    valid_from: int | None = None
    valid_to: int | None = None
    expires_at: int | None = None
    finishes: bool = False
    single: bool = False
    by_rule: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A checked candidate, from which an item is made. Only `agent.memory.items` constructs it.

    `key` holds stems, sorted. `slot` names the property of the key, so that of two items with one key and slot at most
    one is live. `numbers` are sorted. `replaces` is the item of its key that it replaces, beside those that it
    contradicts. `by_rule` is that of the candidate.
    """

    type: ItemType
    text: str
    key: tuple[str, ...]
    slot: str
    numbers: tuple[Number, ...]
    sources: tuple[Source, ...]
    confidence: float
    valid_from: int
    valid_to: int | None
    expires_at: int | None
    replaces: str | None = None
    by_rule: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A memory item of any status: proposed, live or closed.

    `expires_at` is the time at which it ends by itself. `supersedes` is the item that it replaces, or is to replace;
    `superseded_by` is the one that has replaced it. `decided_by` is the party that accepted or rejected it, None before
    that. `revision` counts its changes of state, from 1. Of a forgotten item only its id, its type and its times are
    left.
    """

    id: str
    type: ItemType
    status: ItemStatus
    key: tuple[str, ...]
    slot: str
    text: str
    numbers: tuple[Number, ...]
    scope: Scope
    valid_from: int
    valid_to: int | None
    expires_at: int | None
    supersedes: str | None
    superseded_by: str | None
    confidence: float
    sources: tuple[Source, ...]
    created_at: int
    decided_at: int | None
    decided_by: ItemDecider | None
    revision: int


@dataclass(frozen=True, slots=True)
class ProposalOutcome:
    """The item that a draft became.

    `new` is False where an item with the same meaning existed already. `conflicts` are live items that it contradicts:
    approved, it replaces them.
    """

    item: Item
    new: bool
    conflicts: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of an item's state in its history. `trigger` names the event. `by` is None for a change at a due
    time.
    """

    item: str
    at: int
    trigger: str
    before: ItemStatus | None
    after: ItemStatus
    by: ItemDecider | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One side of an exchange, word for word. `at` is its time. `speaker` is a name, or "" for the scope's user and the
    agent.

    `message` is the id, within the thread, of the message that it is or answers. `blocked` says that the answer was
    refused. `sitting` counts the sittings of the thread; after a long pause another begins. `cites` holds the ids of
    the items and turns that it cites, and so repeats. `details` is what an answer was shown with beside its text, as
    JSON; "" for nothing.
    """

    message: str
    role: Side
    text: str
    at: int
    speaker: str = ""
    blocked: bool = False
    sitting: int = 0
    cites: tuple[str, ...] = ()
    details: str = ""


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A stored remark, without its `cites` and `details`. `n` grows with each stored remark.

    The text of a forgotten turn is "".
    """

    n: int
    scope: Scope
    remark: Remark

    @property
    def id(self) -> str:
        """Return the id under which the turn is cited: letters and digits, the same for ever."""
        return f"t{self.n}"


@dataclass(frozen=True, slots=True)
class ExchangeRecord:
    """An exchange to be stored, whole or not at all.

    `drafts` are proposed by the user's words. `tries` limits how often a model may try to read the user's message; 0
    means that no model reads it.
    """

    scope: Scope
    remarks: tuple[Remark, ...]
    drafts: tuple[Draft, ...] = ()
    tries: int = 0


@dataclass(frozen=True, slots=True)
class ForgottenItem:
    """The remains of a forgotten item: the item, and the turns that held its words, with the text "".

    The turns are the same however often the item is forgotten.
    """

    item: Item
    turns: tuple[StoredTurn, ...] = ()


class MemoryStore(VectorStore, Protocol):
    """Stores items and turns, and the vectors of both.

    Every method raises `agent.errors.NotFound` for an unknown id, and equally for another scope's, and
    `agent.errors.StorageFailed` when the store cannot be used. Cancelled, a write is done whole or not at all.
    """

    @property
    def is_stalled(self) -> bool:
        """Whether a write may take any time: the disk does not answer, or the last write failed."""
        ...

    async def keep_exchanges(
        self, exchanges: Sequence[ExchangeRecord], at: int
    ) -> tuple[tuple[ProposalOutcome, ...], ...]:
        """Store exchanges in one transaction, with the items that they propose; return the outcomes for each exchange.

        A remark is stored once: an exchange that is stored already proposes nothing anew. An exchange that cites
        something forgotten meanwhile is stored without its words.
        """
        ...

    async def propose_drafts(
        self, scope: Scope, drafts: Sequence[Draft], at: int
    ) -> tuple[ProposalOutcome, ...]:
        """Store drafts as proposed, and accept those that a rule accepts (events and metrics that are `by_rule`);
        return the outcome of each.
        """
        ...

    async def accept_item(
        self,
        scope: Scope,
        id: str,
        at: int,
        revision: int | None = None,
        replaces: Collection[str] | None = None,
    ) -> Item:
        """Make a proposed item live, by its user's word; the items that it contradicts are superseded in the same
        transaction.

        `revision` is the one that the user saw, None is any. `replaces` holds the ids that the user was told it
        replaces, None is any. An item that was accepted before is returned again. Raises `Conflict`: "changed" where
        it, or an item that it replaces, differs from the one that the user saw; "refused" where its state does not
        allow it.
        """
        ...

    async def decide_item(
        self, scope: Scope, id: str, trigger: str, at: int, revision: int | None = None
    ) -> Item:
        """Take a row of the item's table by its user's word: reject, start, block, unblock, finish or reopen.

        Raises `Conflict` as `accept_item` does, and `ValueError` for another `trigger`.
        """
        ...

    async def replace_item(
        self, scope: Scope, id: str, draft: Draft, at: int, revision: int | None = None
    ) -> Item:
        """Put another item in the place of a live or a proposed one, by its user's word; return it.

        A proposed item is rejected for it. Where the proposed item says the same, it is accepted itself, and a live
        item that says the same has the place already. Raises `Conflict` as `accept_item` does.
        """
        ...

    async def forget_item(self, scope: Scope, id: str, at: int) -> ForgottenItem:
        """Erase every text of an item from the store, also from its files; return the remains.

        With it go the messages that it comes from, with their answers, and the answers that cite it or them; and
        repeats of its text in any thread of the user: messages with their answers, answers, and the quotes of other
        items, which stay otherwise. Raises `StorageFailed` also where the files may still hold the text: to forget the
        item again tries again.
        """
        ...

    async def item(self, scope: Scope, id: str) -> Item:
        """Return the item `id`."""
        ...

    async def history(self, scope: Scope, id: str) -> tuple[Change, ...]:
        """Return the changes of an item and of those that it replaced, oldest first, the newest `ITEM_HISTORY`."""
        ...

    async def items(self, scope: Scope, window: Window, statuses: Collection[ItemStatus] = ()) -> Page[Item]:
        """Return a scope's items in the order of their creation; empty `statuses` means all but `forgotten`."""
        ...

    async def live_items(
        self, scope: Scope, at: int, types: Collection[ItemType] = (), most: int | None = None
    ) -> tuple[Item, ...]:
        """Return the items that are live, and valid at the time `at`; oldest first.

        Empty `types` means all. `most` limits them to the newest ones, None is no limit.
        """
        ...

    async def conflicting_items(self, scope: Scope, id: str) -> tuple[Item, ...]:
        """Return the live items that an item contradicts, as `accept_item` would find them now, oldest first."""
        ...

    async def turns(self, after: int, limit: int) -> tuple[StoredTurn, ...]:
        """Return the turns of every scope in their order; `after` is the number of the last one seen."""
        ...

    async def expire_items(self, at: int) -> int:
        """End the items whose time has passed; return their number."""
        ...

    async def record_gap(self, scope: Scope, at: int, count: int) -> None:
        """Record that `count` exchanges of a scope could not be stored."""
        ...

    async def count_gaps(self) -> int:
        """Return the number of exchanges, of all scopes, that could not be stored."""
        ...

    async def citable_ids(self, ids: Collection[str], at: int) -> frozenset[str]:
        """Return the subset of these items and turns, of any scope, that may be cited at the time `at`.

        An item may be cited while it is live and valid. A user's turn may be cited unless it was forgotten, or a
        rejected or superseded item comes from it.
        """
        ...

    async def forgotten_messages(
        self, scope: Scope, citations: Mapping[str, Collection[str]]
    ) -> frozenset[str]:
        """Return the messages of a thread that hold something forgotten since.

        `citations` maps ids of messages to the ids that the answer to each cites. A message counts where it or its
        answer was emptied, or where that answer cites something forgotten.
        """
        ...

    async def is_known(self, scope: Scope) -> bool:
        """Return whether anything was ever stored for a scope, its thread included."""
        ...
