"""Remembering, as sessions and brains see it: an exchange is handed over, and what was said before comes back."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from .brain import Beside, Proposal, Question
from .conversation import Scope
from .draft import NO_REMINDER, Reminder
from .memory import (
    Change,
    Decision,
    Draft,
    Forgotten,
    Item,
    ItemStatus,
    ItemType,
    Proposed,
    Source,
    StoredTurn,
)
from .pages import Page, Window
from .recall import Recaller
from .search import Hit, Lang

MEMORY_FILES: Final = "memory/"
"""What the file of a citation begins with that is of something remembered."""

Offer: TypeAlias = Callable[[Question, Proposal], None]
"""Suggests something to whom an answered question is from, if he is still there. Never blocks, never raises."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer that was said to its end.

    blocked: it is a refusal. cites: ids of what it cites that is remembered. drafts: what a model proposes to remember,
    which nobody's words order.
    """

    text: str
    blocked: bool = False
    cites: tuple[str, ...] = ()
    drafts: tuple[Draft, ...] = ()


class Recorder(Protocol):
    """Remembers exchanges. Nothing of it blocks or raises, whatever the disk does."""

    def keep(self, question: Question, answered: Answered, offer: Offer) -> None:
        """Remember a question and its answer, soon.

        offer: takes what the question's words would have remembered, for its user to approve.
        """
        ...

    def decline(self, scope: Scope, item: str) -> None:
        """Take that its user does not want an item remembered, soon."""
        ...

    async def kept(self, question: Question, answered: Answered) -> tuple[Proposed, ...] | None:
        """Remember an exchange as `keep` does; return what it proposes.

        None where it cannot be kept, or that takes over MEMORY_ANSWER seconds. Nobody is asked: its user finds it among
        what is proposed. Cancelled, it is remembered all the same.
        """
        ...


class Unkept:
    """Remembers nothing (implements `Recorder`)."""

    def keep(self, question: Question, answered: Answered, offer: Offer) -> None:
        """Let it go."""

    def decline(self, scope: Scope, item: str) -> None:
        """There is none."""

    async def kept(self, question: Question, answered: Answered) -> tuple[Proposed, ...]:
        """Let it go."""
        return ()


UNKEPT = Unkept()


class Backlog(Protocol):
    """What was said and is not kept yet."""

    async def caught_up(self, scope: Scope) -> bool:
        """Wait until what a scope's user said before can be found; MEMORY_CAUGHT_UP seconds at most.

        Return whether it can: not where the disk stalls, nor for a while after some of it could not be kept.
        """
        ...


class NoBacklog:
    """Everything is kept as it is said (implements `Backlog`)."""

    async def caught_up(self, scope: Scope) -> bool:
        """Wait for nothing."""
        return True


NO_BACKLOG = NoBacklog()


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a turn should know. hits: what of it may be cited, best first, each of a file `memory/ID`.

    asked: it is what the question asks for, and no document says anything of that. unread: some of what is remembered
    could not be read, or not kept, so that what is not here may be known.
    """

    reminder: Reminder = NO_REMINDER
    hits: tuple[Hit, ...] = ()
    asked: bool = False
    unread: bool = False


NOTHING_REMEMBERED, UNREAD = Remembered(), Remembered(unread=True)


class Memory(Protocol):
    """What a brain asks of what is remembered."""

    def told(self, question: Question, lang: Lang) -> bool:
        """Return whether a question is nothing but the order to remember something; pure."""
        ...

    def stated(self, question: Question, lang: Lang) -> bool:
        """Return whether a question is nothing but what can be remembered, ordered or not: it asks nothing; pure."""
        ...

    def beside(self, question: Question, lang: Lang) -> Beside | None:
        """Return whether some of a question is to be remembered: its user is asked, or has told to; pure."""
        ...

    async def remembered(self, question: Question, text: str, lang: Lang) -> Remembered:
        """Return what a question's user should be answered with in mind; `unread` where it cannot be read.

        text: the question, less its courtesies. A cancel leaves nothing.
        """
        ...

    async def live(self, question: Question, id: str) -> Item | None:
        """Return an item that a question's user may be told of now; None where there is none, or it cannot be read."""
        ...

    def drafted(
        self,
        question: Question,
        about: ItemType | Item,
        subject: str,
        text: str,
        lang: Lang,
        sources: tuple[Source, ...],
    ) -> Draft:
        """Return what a model proposes to remember; pure. Its sources are the question and these.

        about: the item whose place it is to take, for as long as that has; else its type, and `subject` says of what.
        Raises `agent.errors.BadItem` for what cannot be kept, or is of a type that a rule would accept.
        """
        ...

    async def stands(self, files: Collection[str]) -> bool:
        """Return whether all of these may still be cited: none was forgotten, rejected or replaced meanwhile.

        Raises `agent.errors.StorageFailed` where that cannot be read.
        """
        ...


class Again(Protocol):
    """Tells what says again what is to be forgotten."""

    def said(self, text: str) -> bool:
        """Return whether a user's text does."""
        ...

    def told(self, text: str) -> bool:
        """Return whether a text of the agent's does, or one that was made of what was said."""
        ...

    def without(self, value: Any) -> Any:
        """Return a JSON value with each text in it emptied that does, as `told` finds it."""
        ...

    def within(self, value: Any) -> bool:
        """Return whether any text in a JSON value does."""
        ...


class Transcript(Protocol):
    """Holds what was said, beside what is remembered of it: a thread's messages, a conversation in progress."""

    async def forget(self, turns: Sequence[StoredTurn], item: str = "") -> None:
        """Take what was said in these turns out of it, also out of its files; idempotent.

        item: that is forgotten with them, "" for none. Raises `agent.errors.StorageFailed` where it may still hold it.
        """
        ...

    async def unsay(self, scope: Scope, again: Again) -> None:
        """Take what says it again out of what a scope's user has said and was told; idempotent.

        Raises `agent.errors.StorageFailed` where it may still hold it.
        """
        ...


class MemoryDesk(Protocol):
    """What a user decides about his own memory. Every method raises as `agent.ports.memory.MemoryStore` does."""

    async def items(self, scope: Scope, window: Window, statuses: Collection[ItemStatus] = ()) -> Page[Item]:
        """Return a user's items, of every status but forgotten where none is named."""
        ...

    async def item(self, scope: Scope, id: str) -> tuple[Item, tuple[Change, ...]]:
        """Return an item, and what happened to it and to those that it replaced, oldest first."""
        ...

    async def decide(
        self,
        scope: Scope,
        id: str,
        decision: Decision,
        revision: int | None = None,
        replaces: Collection[str] | None = None,
    ) -> Item:
        """Take a user's decision about an item; return it as it is then.

        revision: that the user saw; None is any. replaces: of an accept, the ids that the user was told it replaces;
        None is any.
        """
        ...

    def may(self, item: Item) -> tuple[Decision, ...]:
        """Return what its user may decide about an item as it stands now."""
        ...

    async def edit(self, scope: Scope, id: str, text: str, lang: Lang, revision: int | None = None) -> Item:
        """Put a corrected text in an item's place; return the item that has it.

        Raises `agent.errors.BadItem` for a text that cannot be kept.
        """
        ...

    async def forget(self, scope: Scope, id: str) -> Forgotten:
        """Take an item, and what was said in its words, out of all that is kept."""
        ...

    async def contradicted(self, scope: Scope, id: str) -> tuple[Item, ...]:
        """Return what an item would replace, were it accepted now, oldest first."""
        ...

    async def unsaid(self, scope: Scope, said: Mapping[str, Collection[str]]) -> frozenset[str]:
        """Return which messages of a thread hold what was forgotten since, in whichever process.

        said: ids of messages, and of what the answer to each cites.
        """
        ...

    async def known(self, scope: Scope) -> bool:
        """Return whether anything is kept of a user's thread."""
        ...


@dataclass(frozen=True, slots=True)
class Consulted:
    """What sessions ask for their clients: about items, and for what was said.

    backlog: what their clients said that is not kept yet.
    """

    desk: MemoryDesk
    recaller: Recaller
    backlog: Backlog = NO_BACKLOG
