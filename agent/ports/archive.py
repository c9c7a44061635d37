"""All that is remembered, of everybody: for who has the machine that it is kept on, and for nobody over a wire."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from .conversation import Scope
from .memory import Change, Item, ItemStatus, StoredTurn
from .pages import Page, Window


@dataclass(frozen=True, slots=True)
class Whose:
    """Of whom something is wanted: scopes that have these names; None is any."""

    project: str | None = None
    user: str | None = None
    thread: str | None = None


EVERYBODY = Whose()


@dataclass(frozen=True, slots=True)
class Entry:
    """An item as it is now, and how it came to be so.

    history: what happened to it, and to those that it replaced, oldest first. replaces: of a proposed item, the live
    ones that it contradicts, and replaces once it is accepted.
    """

    item: Item
    history: tuple[Change, ...]
    replaces: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class Tally:
    """How much is kept. items: by status, those that there are. turns: without the forgotten ones. gaps: exchanges that
    could not be kept. vectors: by the name of their embedder. unread: messages that a model is still to read. given_up:
    those that it could not."""

    items: Mapping[ItemStatus, int]
    turns: int
    gaps: int
    vectors: Mapping[str, int]
    unread: int = 0
    given_up: int = 0


class MemoryArchive(Protocol):
    """What is kept, whosoever it is.

    Every method raises `agent.errors.NotFound` for what is not there, and `agent.errors.StorageFailed` when it cannot
    be used. Cancelled, nothing is left.
    """

    async def scope(self, id: str) -> Scope:
        """Return whose an item is."""
        ...

    async def entry(self, id: str) -> Entry:
        """Return an item with its history, as of one moment."""
        ...

    async def items(self, whose: Whose, window: Window, statuses: Collection[ItemStatus] = ()) -> Page[Item]:
        """Return items in the order they were made; statuses: () is all."""
        ...

    async def entries(self, whose: Whose, window: Window) -> Page[Entry]:
        """Return items of every status with their history, in the order they were made."""
        ...

    async def turns(self, whose: Whose, window: Window) -> Page[StoredTurn]:
        """Return what was said, in its order; of one that was forgotten the text is empty."""
        ...

    async def tally(self) -> Tally:
        """Return how much is kept."""
        ...

    async def faults(self) -> tuple[str, ...]:
        """Return what is wrong with the file, one line each; () when it is whole. Reads all of it."""
        ...
