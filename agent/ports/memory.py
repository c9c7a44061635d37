"""What is remembered: items that their user approved, dated, each with its source, and what was said in turns.

A `Candidate` is what somebody proposes; an `Item` is what is kept of it. An item's text never changes: a change is
another item, which closes the one that it replaces. A `StoredTurn` is one side of an exchange, as it was said.

Whose an item is: its scope's project and user, in every thread of theirs; only where the user is not known ("") it
belongs to one thread. What is another's does not exist for who asks.

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
"""In which an item may be told of, within its validity."""

SourceKind: TypeAlias = Literal["message", "document", "tool"]
Decider: TypeAlias = Literal["user", "rule"]
Decision: TypeAlias = Literal["accept", "reject", "start", "done", "block", "unblock", "reopen"]
"""What its user may decide about an item, beside correcting and forgetting it."""
Side: TypeAlias = Literal["user", "assistant"]
Number: TypeAlias = tuple[str, str]
"""A number's kind with its unit, and its value: two that say the same are equal."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where an item comes from.

    ref: the message's id, the document's file or the call's id. first, last: lines of a document, counted from 1,
    0 elsewhere. quote: what it says there, at most ITEM_QUOTE characters.
    """

    kind: SourceKind
    ref: str
    first: int = 0
    last: int = 0
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may be remembered, as a proposer found it; not yet an item, and neither checked nor stored.

    subject: what it is about, in words ("budget of project atlas"); its key is made of them. text: a sentence that can
    be understood alone. sources: at least one. valid_from: None is now. expires_at: None leaves it to its type.
    finishes: the words say that what has this key is done; nothing new is to be remembered. single: what is said has
    one value at a time, as a preference has, though its type may have several.
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


@dataclass(frozen=True, slots=True)
class Draft:
    """A candidate that was found to be sound: what an item is made of. Constructed by `agent.memory.items` only.

    key: stems, sorted. slot: what of the key it says, so that of two items with one key and slot one at most is live.
    numbers: sorted. replaces: the item of its key whose place it is to take, beside those that it contradicts.
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


@dataclass(frozen=True, slots=True)
class Item:
    """What is, was or may be remembered.

    expires_at: when it ends by itself. supersedes: the item that it replaces, or is to replace. superseded_by: the one
    that has replaced it. decided_by: who accepted or rejected it, None while nobody has. revision: counts its changes
    of state, from 1. Of a forgotten one only its id, its type and its times are left.
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
    decided_by: Decider | None
    revision: int


@dataclass(frozen=True, slots=True)
class Proposed:
    """What became of a draft. new: it is another item, not one that was there and says the same.

    conflicts: live items that it contradicts: approved, it replaces them.
    """

    item: Item
    new: bool
    conflicts: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A change of an item's state, as its history tells it. trigger: what happened to it. by: None for its time."""

    item: str
    at: int
    trigger: str
    before: ItemStatus | None
    after: ItemStatus
    by: Decider | None


@dataclass(frozen=True, slots=True)
class Remark:
    """One side of an exchange, as it was said. at: when. speaker: a name, "" for the user and the agent of the scope.

    message: the id of the message that it is, or answers, in its thread. blocked: the answer was refused. sitting:
    counts the sittings of the thread; after a long pause another begins. cites: ids of the items and turns that it
    cites, and so repeats.
    """

    message: str
    role: Side
    text: str
    at: int
    speaker: str = ""
    blocked: bool = False
    sitting: int = 0
    cites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A remark that is kept, without what it cites. n: grows with each that is kept.

    Of one that was forgotten the text is "".
    """

    n: int
    scope: Scope
    remark: Remark

    @property
    def id(self) -> str:
        """Return what it is cited by: letters and digits, the same for ever."""
        return f"t{self.n}"


@dataclass(frozen=True, slots=True)
class Kept:
    """An exchange that is to be kept, whole or not at all.

    drafts: what the user's words propose. tries: how often a model may try to read what the user said; 0: it is not to.
    """

    scope: Scope
    remarks: tuple[Remark, ...]
    drafts: tuple[Draft, ...] = ()
    tries: int = 0


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What is left of what was forgotten: the item, and the turns that held its words, of which the text is "".

    The turns are the same however often it is forgotten.
    """

    item: Item
    turns: tuple[StoredTurn, ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """What has changed of all that is kept, as it is now, each once.

    turns: those that are new or were forgotten. items: of any status, those that are new or whose status has changed.
    upto: what to ask for the next after; as it was given where nothing has changed.
    """

    turns: tuple[StoredTurn, ...]
    items: tuple[Item, ...]
    upto: int


class MemoryStore(VectorStore, Protocol):
    """Keeps items and turns, and the vectors of both.

    Every method raises `agent.errors.NotFound` for what is not there, or is another scope's, which is the same, and
    `agent.errors.StorageFailed` when it cannot be used. Cancelled, a write is done whole or not at all.
    """

    @property
    def stalled(self) -> bool:
        """Whether its disk stands still at a write: nobody knows how long that one takes."""
        ...

    async def keep(self, kept: Sequence[Kept], at: int) -> tuple[tuple[Proposed, ...], ...]:
        """Keep exchanges in one transaction, with what they propose; return that for each.

        A remark is kept once: of an exchange that is there already nothing is proposed anew. One that cites what was
        forgotten meanwhile is kept without its words.
        """
        ...

    async def propose(self, scope: Scope, drafts: Sequence[Draft], at: int) -> tuple[Proposed, ...]:
        """Keep drafts as proposed, and accept what a rule accepts (events, metrics); return what became of each."""
        ...

    async def accept(
        self,
        scope: Scope,
        id: str,
        at: int,
        revision: int | None = None,
        replaces: Collection[str] | None = None,
    ) -> Item:
        """Make a proposed item live, by its user's word; what it contradicts is superseded in the same transaction.

        revision: that the user saw, None is any. replaces: ids that the user was told it replaces, None is any.
        Accepted before, the same item is returned again. Raises `Conflict`: "changed" where it, or what it replaces,
        is no longer what the user saw; "refused" where its state does not take it.
        """
        ...

    async def decide(self, scope: Scope, id: str, trigger: str, at: int, revision: int | None = None) -> Item:
        """Take a row of the item's table by its user's word: reject, start, block, unblock, finish or reopen.

        Raises `Conflict` as `accept` does, and ValueError for another trigger.
        """
        ...

    async def replace(
        self, scope: Scope, id: str, draft: Draft, at: int, revision: int | None = None
    ) -> Item:
        """Put another item in the place of a live or a proposed one, by its user's word; return it.

        A proposed one is rejected for it; where that says the same it is accepted itself, and what is live and says the
        same has the place already. Raises `Conflict` as `accept` does.
        """
        ...

    async def forget(self, scope: Scope, id: str, at: int) -> Forgotten:
        """Take all that an item says out of what is kept, also out of the files; return what is left.

        So goes what was said in the messages that it comes from, with their answers, and the answers that cite it or
        them; and what says the same again in any thread of its user's: messages with their answers, answers, and the
        quotes of other items, which stay otherwise. Raises `StorageFailed` also where the files may still hold it: to
        forget it again tries again.
        """
        ...

    async def item(self, scope: Scope, id: str) -> Item:
        """Return an item."""
        ...

    async def history(self, scope: Scope, id: str) -> tuple[Change, ...]:
        """Return what happened to an item, and to those that it replaced, oldest first, the newest ITEM_HISTORY."""
        ...

    async def items(self, scope: Scope, window: Window, statuses: Collection[ItemStatus] = ()) -> Page[Item]:
        """Return a scope's items in the order they were made; statuses: () is all but forgotten."""
        ...

    async def live(
        self, scope: Scope, at: int, types: Collection[ItemType] = (), most: int | None = None
    ) -> tuple[Item, ...]:
        """Return the items that may be told of at a time: live, and valid then; oldest first.

        types: () is all. most: so many of the newest of them, None is all.
        """
        ...

    async def contradicted(self, scope: Scope, id: str) -> tuple[Item, ...]:
        """Return the live items that an item contradicts, as `accept` would find them now, oldest first."""
        ...

    async def turns(self, after: int, limit: int) -> tuple[StoredTurn, ...]:
        """Return what was said, of every scope, in its order; after: the number of the last one seen."""
        ...

    async def changed(self, after: int, limit: int) -> Changes:
        """Return what has changed since an earlier call, of every scope; after: its `upto`, 0 is from the beginning.

        limit: changes that are looked at, at most. Who follows these has all turns, and all items, as they are.
        """
        ...

    async def expire(self, at: int) -> int:
        """End the items whose time is over; return how many."""
        ...

    async def gap(self, scope: Scope, at: int, count: int) -> None:
        """Note that so many exchanges of a scope could not be kept."""
        ...

    async def gaps(self) -> int:
        """Return how many exchanges could not be kept, of all scopes."""
        ...

    async def standing(self, ids: Collection[str], at: int) -> frozenset[str]:
        """Return which of these items and turns, of any scope, may be cited at a time.

        An item that is live and valid then, and what a user said that was not forgotten, and from which no item comes
        that was rejected or superseded.
        """
        ...

    async def forgotten(self, ids: Collection[str]) -> frozenset[str]:
        """Return which of these items and turns, of any scope, were forgotten."""
        ...

    async def unsaid(self, scope: Scope, said: Mapping[str, Collection[str]]) -> frozenset[str]:
        """Return which messages of a thread hold what was forgotten since.

        said: ids of messages, and of what the answer to each cites. A message does so where it or its answer was
        emptied, or where that answer cites what was.
        """
        ...

    async def known(self, scope: Scope) -> bool:
        """Return whether anything was ever kept of a scope, its thread included."""
        ...
