"""Reading what users said with a model, for what of it is to be remembered: the port of what reads, and its queue.

The queue is in the rows of what was said: a turn that nobody has read yet says how often that may still be tried. So
what was not reached before an end is read after the next start.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from .memory import Draft, Item, ItemType, MemoryStore, Proposed, StoredTurn


@dataclass(frozen=True, slots=True)
class Unread:
    """What a user said that no model has read yet. before: turns of its thread before it, both sides, oldest first."""

    turn: StoredTurn
    before: tuple[StoredTurn, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """What a model finds to be remembered in what a user said, as it says it; nothing of it is checked.

    subject: what it is about, in words. text: a sentence that can be understood alone. quote: the user's words that say
    it. replaces: the id of the item that it corrects.
    """

    type: ItemType
    subject: str
    text: str
    quote: str
    replaces: str | None = None


class Noter(Protocol):
    """Finds what users' words have to remember. What it finds is proposed, never more."""

    async def find(self, unread: Unread, known: Sequence[Item]) -> tuple[Found, ...]:
        """Return what a turn has to remember that is not known yet.

        known: items of the same user, those that are proposed too. Raises `agent.errors.ModelFailed` where nothing
        came of it. Cancelled, its connection is closed before it returns.
        """
        ...


class UnreadStore(Protocol):
    """Keeps what no model has read yet (see `agent.ports.memory.Kept.tries`).

    Every method raises `agent.errors.StorageFailed` when it cannot be used. Cancelled, a write is done whole or not at
    all.
    """

    async def take(self, most: int, at: int, until: int) -> tuple[Unread, ...]:
        """Return the oldest unread turn of each of up to `most` threads; nobody else is given one of these meanwhile.

        until: Unix milliseconds from which they may be taken again, where whoever took them is gone by then.
        """
        ...

    async def read(
        self, taken: Unread, drafts: Sequence[Draft], at: int, known: Collection[str] = ()
    ) -> tuple[Proposed, ...] | None:
        """Note that a turn was read and propose what came of it, in one transaction; return that, what is new only.

        known: ids of the items that were shown with it. None where one of these, or of its turns, was forgotten
        meanwhile: then nothing is proposed, and what is left is unread as before. Nothing comes of a draft whose key
        another item of the same message has, whatever became of that.
        """
        ...

    async def missed(self, taken: Unread, counts: bool) -> bool:
        """Note that reading failed. counts: it was a try, of which there is one less. Return whether any is left."""
        ...


class ReadStore(MemoryStore, UnreadStore, Protocol):
    """Keeps what is remembered, and what of it is still to be read."""
