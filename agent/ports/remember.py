"""Connects sessions and brains to memory: they hand exchanges over, and load items and excerpts for their turns."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias

from .brain import MemoryNotice, Proposal, Question
from .conversation import Scope
from .draft import NO_REMINDER, Reminder
from .memory import (
    Candidate,
    Change,
    Draft,
    ForgottenItem,
    Item,
    ItemDecision,
    ItemStatus,
    ItemType,
    ProposalOutcome,
    Source,
    StoredTurn,
)
from .pages import Page, Window
from .recall import Recaller
from .search import Hit, Lang
from .thread_history import NO_THREADS, UserThreads

MEMORY_FILES: Final = "memory/"
"""The prefix of the file of a citation that comes from memory."""


class ReturnPath(Protocol):
    """The way back to the session of an answered question, as long as its client is connected.

    It keeps no session alive, and none of its methods blocks or raises.
    """

    def offer(self, question: Question, proposal: Proposal) -> None:
        """Suggest a proposal, unless `question` was cancelled after its answer."""
        ...

    def send_frames(self, frames: Sequence[Any]) -> None:
        """Send frames of the server, which no cancel removes; they come after the answer."""
        ...


@dataclass(frozen=True, slots=True)
class FinishedAnswer:
    """An answer that was sent to its end.

    `blocked` says that it is a refusal. `cites` holds the ids of the memory that it cites. `keeps` is what its Brain
    wants kept: from the Brain of a conversation, a tuple of the `Draft`s that a model proposes for memory, which no
    words of the user order, or None for none. `describe` returns what it was shown with beside its text,
    as JSON; None where that is not to be stored.
    """

    text: str
    blocked: bool = False
    cites: tuple[str, ...] = ()
    keeps: Any = None
    describe: Callable[[], str] | None = field(default=None, compare=False, repr=False)


class Recorder(Protocol):
    """Records exchanges. None of its methods blocks on the disk or raises."""

    def record_exchange(self, question: Question, answer: FinishedAnswer, return_path: ReturnPath) -> None:
        """Store a question and its answer, soon.

        `return_path` is offered the items that the question's words propose, for their user to approve, and may be sent
        frames about what was stored.
        """
        ...

    def decline_item(self, scope: Scope, item: str) -> None:
        """Record soon that the scope's user does not want the item remembered."""
        ...

    async def record_and_propose(
        self, question: Question, answer: FinishedAnswer
    ) -> tuple[ProposalOutcome, ...] | None:
        """Store an exchange as `record_exchange` does; return the proposals.

        None means that the exchange cannot be stored, or not within `MEMORY_ANSWER` seconds. The user is not asked, but
        finds the items among the proposed ones. Cancelled, the exchange is stored all the same.
        """
        ...


class NoRecorder:
    """Records nothing (implements `Recorder`)."""

    def record_exchange(self, question: Question, answer: FinishedAnswer, return_path: ReturnPath) -> None:
        """Ignore the exchange."""

    def decline_item(self, scope: Scope, item: str) -> None:
        """Ignore the decision: there are no items."""

    async def record_and_propose(
        self, question: Question, answer: FinishedAnswer
    ) -> tuple[ProposalOutcome, ...]:
        """Ignore the exchange; return no proposals."""
        return ()


NO_RECORDER = NoRecorder()


class Backlog(Protocol):
    """The exchanges that are not stored yet."""

    async def wait_caught_up(self, scope: Scope) -> bool:
        """Wait until the earlier exchanges of a scope's user can be found; `MEMORY_CAUGHT_UP` seconds at most.

        Return whether they can: not while the disk stalls, nor for a while after some of them could not be stored.
        """
        ...


class NoBacklog:
    """An empty backlog: everything is stored at once (implements `Backlog`)."""

    async def wait_caught_up(self, scope: Scope) -> bool:
        """Return True at once."""
        return True


NO_BACKLOG = NoBacklog()


@dataclass(frozen=True, slots=True)
class TurnMemory:
    """The memory for one turn. `hits` are the citable part, best first, each of a file `memory/ID`.

    `is_asked_for` says that the question asks for this memory, and that no document covers it. `unread` says that part
    of the memory could not be read, or not stored, so that more may be known.
    """

    reminder: Reminder = NO_REMINDER
    hits: tuple[Hit, ...] = ()
    is_asked_for: bool = False
    unread: bool = False


EMPTY_MEMORY, UNREAD_MEMORY = TurnMemory(), TurnMemory(unread=True)


MemoryOrder: TypeAlias = Literal["remember", "forget"]
"""What a message may order. A user's words alone forget nothing: the user chooses what is forgotten."""


class Memory(Protocol):
    """Loads memory for a brain."""

    def find_order(self, question: Question, lang: Lang) -> MemoryOrder | None:
        """Return what the whole question orders, to remember something or to forget it; pure."""
        ...

    def is_statement(self, question: Question, lang: Lang) -> bool:
        """Return whether the whole question can be remembered, ordered or not, and asks nothing; pure."""
        ...

    def find_notice(self, question: Question, lang: Lang) -> MemoryNotice | None:
        """Return the notice for a question of which a part is to be remembered, proposed or ordered; else None;
        pure.
        """
        ...

    async def load_memory(self, question: Question, text: str, lang: Lang) -> TurnMemory:
        """Return the memory for answering a question's user; `unread` where it cannot be read.

        `text` is the question, less its courtesies. A cancel leaves nothing.
        """
        ...

    async def find_live_item(self, question: Question, id: str) -> Item | None:
        """Return a live item of the question's user; None where there is none, or it cannot be read."""
        ...

    def draft_item(
        self,
        question: Question,
        about: ItemType | Item,
        subject: str,
        text: str,
        lang: Lang,
        sources: tuple[Source, ...],
        expires_at: int | None = None,
    ) -> Draft:
        """Return a model's proposal for memory; pure. Its sources are the question and `sources`.

        `about` is the item to replace, for as long as that is live; else its type, with `subject` as its topic.
        `expires_at` is the end of a new item, None the one of its type. It is `by_rule` only if it is an event or a
        metric that the question states in the same words. Raises `agent.errors.BadItem` for an item that cannot be
        stored.
        """
        ...

    async def are_citable(self, scope: Scope, files: Collection[str]) -> bool:
        """Return whether all of these files, of the user of `scope`, may still be cited: none was forgotten, rejected
        or replaced meanwhile.

        Raises `agent.errors.StorageFailed` where that cannot be read.
        """
        ...


class RepeatMatcher(Protocol):
    """Finds texts that repeat an item that is to be forgotten."""

    def matches_user_text(self, text: str) -> bool:
        """Return whether a user's text repeats the item."""
        ...

    def matches_agent_text(self, text: str) -> bool:
        """Return whether a text of the agent, or one derived from the conversation, repeats the item."""
        ...

    def blank_repeats(self, value: Any) -> Any:
        """Return a JSON value with each repeating text in it emptied, as `matches_agent_text` finds it."""
        ...

    def matches_json(self, value: Any) -> bool:
        """Return whether any text in a JSON value repeats the item."""
        ...


class Transcript(Protocol):
    """Holds conversations beside memory: a thread's messages, a conversation in progress."""

    async def forget_turns(self, turns: Sequence[StoredTurn], item: str = "") -> None:
        """Erase these turns from the transcript, also from its files; idempotent.

        `item` is the item that is forgotten with them, "" for none. Raises `agent.errors.StorageFailed` where the
        transcript may still hold them.
        """
        ...

    async def forget_repeats(self, scope: Scope, repeats: RepeatMatcher) -> None:
        """Erase the texts that `repeats` matches from the messages of a scope's user and from their answers;
        idempotent.

        Raises `agent.errors.StorageFailed` where the transcript may still hold them.
        """
        ...


class MemoryService(Protocol):
    """A user's decisions about the user's own memory. Every method raises as `agent.ports.memory.MemoryStore` does."""

    async def items(self, scope: Scope, window: Window, statuses: Collection[ItemStatus] = ()) -> Page[Item]:
        """Return a user's items, of every status but `forgotten` where none is named."""
        ...

    async def item(self, scope: Scope, id: str) -> tuple[Item, tuple[Change, ...]]:
        """Return an item, and the changes of it and of those that it replaced, oldest first."""
        ...

    async def propose_item(self, scope: Scope, candidate: Candidate) -> ProposalOutcome:
        """Store a proposal for a user's memory, accepted where a rule accepts it; return its outcome.

        Raises `agent.errors.BadItem` for an item that cannot be stored.
        """
        ...

    async def decide_item(
        self,
        scope: Scope,
        id: str,
        decision: ItemDecision,
        revision: int | None = None,
        replaces: Collection[str] | None = None,
    ) -> Item:
        """Apply a user's decision about an item; return the item after it.

        `revision` is the one that the user saw; None is any. For an accept, `replaces` holds the ids that the user was
        told it replaces; None is any.
        """
        ...

    def allowed_decisions(self, item: Item) -> tuple[ItemDecision, ...]:
        """Return the decisions that the user may take about an item in its present status."""
        ...

    async def edit_item(
        self, scope: Scope, id: str, text: str, lang: Lang, revision: int | None = None
    ) -> Item:
        """Put a corrected text in an item's place; return the item that has it.

        Raises `agent.errors.BadItem` for a text that cannot be stored.
        """
        ...

    async def forget_item(self, scope: Scope, id: str) -> ForgottenItem:
        """Erase an item, and the turns with its words, from everything that is stored."""
        ...

    async def conflicting_items(self, scope: Scope, id: str) -> tuple[Item, ...]:
        """Return the items that an item would replace if it were accepted now, oldest first."""
        ...

    async def forgotten_messages(
        self, scope: Scope, citations: Mapping[str, Collection[str]]
    ) -> frozenset[str]:
        """Return the messages of a thread that hold something forgotten since, in any process.

        `citations` maps ids of messages to the ids that the answer to each cites.
        """
        ...

    async def is_known(self, scope: Scope) -> bool:
        """Return whether anything is stored for a user's thread."""
        ...


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """The access of sessions to memory: decisions about items, and the search.

    `backlog` holds the exchanges of their clients that are not stored yet. `threads` are the conversations that are
    stored.
    """

    desk: MemoryService
    recaller: Recaller
    backlog: Backlog = NO_BACKLOG
    threads: UserThreads = NO_THREADS
