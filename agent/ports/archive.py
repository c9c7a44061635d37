"""Reads the memory of all users, for the operator of the machine that stores it; no wire or route reaches this port."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from .conversation import Scope
from .memory import Change, Item, ItemStatus, StoredTurn
from .pages import Page, Window


@dataclass(frozen=True, slots=True)
class ScopeFilter:
    """Selects scopes by their names; None matches any name."""

    project: str | None = None
    user: str | None = None
    thread: str | None = None


EVERY_SCOPE = ScopeFilter()


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """A memory item as it is now, with its history.

    `history` holds the changes of the item and of the items that it replaced, oldest first. `replaces` holds, for a
    proposed item, the live items that it contradicts; they are superseded once it is accepted.
    """

    item: Item
    history: tuple[Change, ...]
    replaces: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveTally:
    """The amount of stored memory.

    `items` counts the existing items by status, `turns` the stored turns without the forgotten ones, `gaps` the
    exchanges that could not be stored, `vectors` the vectors by the name of their embedder. `unread` counts messages
    that a model is still to read, `given_up` messages that it could not read.
    """

    items: Mapping[ItemStatus, int]
    turns: int
    gaps: int
    vectors: Mapping[str, int]
    unread: int = 0
    given_up: int = 0


class MemoryArchive(Protocol):
    """The stored memory of every scope.

    Every method raises `agent.errors.NotFound` for an unknown id, and `agent.errors.StorageFailed` when the store
    cannot be used. Cancelled, a method leaves nothing behind.
    """

    async def scope(self, id: str) -> Scope:
        """Return the scope of the item `id`."""
        ...

    async def entry(self, id: str) -> ArchiveEntry:
        """Return the item `id` with its history, as of one moment."""
        ...

    async def items(
        self, scope_filter: ScopeFilter, window: Window, statuses: Collection[ItemStatus] = ()
    ) -> Page[Item]:
        """Return items in the order of their creation; empty `statuses` means all statuses."""
        ...

    async def entries(self, scope_filter: ScopeFilter, window: Window) -> Page[ArchiveEntry]:
        """Return items of every status with their history, in the order of their creation."""
        ...

    async def turns(self, scope_filter: ScopeFilter, window: Window) -> Page[StoredTurn]:
        """Return the stored turns in their order; a forgotten turn has the text ""."""
        ...

    async def tally(self) -> ArchiveTally:
        """Return the amount of stored memory."""
        ...

    async def faults(self) -> tuple[str, ...]:
        """Return the defects of the file, one line each; () when it is whole. Reads all of it."""
        ...
