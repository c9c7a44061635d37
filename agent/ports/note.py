"""Reads users' messages with a model, to find memory items in them: the `Noter`, and the queue of unread turns.

The queue is in the rows of the turns: an unread turn holds the number of tries that are left. So a turn that was not
read before the server ends is read after the next start.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from .memory import Draft, Item, ItemType, MemoryStore, ProposalOutcome, StoredTurn
from .recall_store import RecallStore
from .thread_history import ThreadHistory


@dataclass(frozen=True, slots=True)
class UnreadTurn:
    """A user's turn that no model has read yet. `before` holds earlier turns of its thread, both sides, oldest
    first.
    """

    turn: StoredTurn
    before: tuple[StoredTurn, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryNote:
    """A memory item as a model found it in a user's message; unchecked.

    `subject` names its topic in words. `text` is a sentence that can be understood alone. `quote` holds the user's
    words that say it. `replaces` is the id of the item that it corrects.
    """

    type: ItemType
    subject: str
    text: str
    quote: str
    replaces: str | None = None


class Noter(Protocol):
    """Finds memory items in users' words. Its findings are proposed, never more."""

    async def find_notes(self, unread: UnreadTurn, known: Sequence[Item]) -> tuple[MemoryNote, ...]:
        """Return the notes of a turn that are not known yet.

        `known` holds items of the same user, proposed ones too. Raises `agent.errors.ModelFailed` where the model gives
        no usable answer. Cancelled, its connection is closed before it returns.
        """
        ...


class UnreadStore(Protocol):
    """Stores the turns that no model has read yet (see `agent.ports.memory.ExchangeRecord.tries`).

    Every method raises `agent.errors.StorageFailed` when the store cannot be used. Cancelled, a write is done whole or
    not at all.
    """

    async def take_unread(self, most: int, at: int, until: int) -> tuple[UnreadTurn, ...]:
        """Return the oldest unread turn of each of up to `most` threads; no other caller gets one of these meanwhile.

        `until` is the time, in Unix milliseconds, from which they may be taken again if their taker is gone by then.
        """
        ...

    async def record_reading(
        self, turn: UnreadTurn, drafts: Sequence[Draft], at: int, known: Collection[str] = ()
    ) -> tuple[ProposalOutcome, ...] | None:
        """Mark a turn as read and propose its `drafts`, in one transaction; return the outcomes that are new.

        `known` holds the ids of the items that were shown to the model with it. None means that one of these, or of its
        turns, was forgotten meanwhile: then nothing is proposed, and the rest is unread as before. A draft is dropped
        where another item of the same message has its key, in any status.
        """
        ...

    async def record_failure(self, turn: UnreadTurn, counts: bool) -> bool:
        """Record that reading failed. `counts` says that it used up one try. Return whether any try is left."""
        ...


class ReadStore(MemoryStore, RecallStore, UnreadStore, ThreadHistory, Protocol):
    """Stores memory, with its changes, the queue of turns to be read, and the threads as they were told."""
