"""Reads the rows of memory of which recall makes its indexes, and follows their changes.

An index is made of the rows of a `ScopeGroup` and kept up to date by the store's `Changes`. Times are Unix
milliseconds.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from .change_mark import ChangeMark
from .memory import Item, StoredTurn


@dataclass(frozen=True, slots=True)
class Changes:
    """The changed rows of a store, as they are now, each once.

    `turns` are new or were forgotten. `items`, of any status, are new or have a new status. `upto` is the `after` of
    the next call; its number stays the same where nothing has changed. `taken_back` has, for each of `items` that is
    rejected or superseded, the numbers of the turns that it comes from, which may not be cited while it is so. `more`
    says that there may be more changes.
    """

    turns: tuple[StoredTurn, ...]
    items: tuple[Item, ...]
    upto: ChangeMark
    taken_back: Mapping[str, Collection[int]] = field(default_factory=dict)
    more: bool = False


@dataclass(frozen=True, slots=True)
class ScopeGroup:
    """The scopes that are recalled together: one thread, or with `thread` None all threads of `user`.

    `user` "" with `thread` None is all threads of users that are not known.
    """

    project: str
    user: str
    thread: str | None = None


@dataclass(frozen=True, slots=True)
class GroupRows:
    """The rows of a `ScopeGroup`, as they are now, to make an index of.

    `numbers`: of all turns, ascending. `turns`: the first of them. `items`: the live ones. `taken_back`, `upto`: as in
    `Changes`; each change of these rows after `upto` is returned by `changes_after`.
    """

    numbers: Sequence[int]
    turns: tuple[StoredTurn, ...]
    items: tuple[Item, ...]
    upto: ChangeMark
    taken_back: Mapping[str, Collection[int]] = field(default_factory=dict)


ChangeListener: TypeAlias = Callable[[ChangeMark, Changes], None]
"""Hears of a write of this process, once it is on disk: the `after` with which `changes_after` returns the changes, and
these changes. Never blocks, never raises.
"""


class RecallStore(Protocol):
    """The rows of a store and their changes.

    Each method that is awaited raises `agent.errors.StorageFailed` when the store cannot be used.
    """

    async def changes_after(self, after: ChangeMark, limit: int) -> Changes:
        """Return the changes of every scope since an earlier call, of which `after` is the `upto`.

        All that were committed before this call are among them, whichever transactions have not ended. `limit` bounds
        the changes that are looked at. A reader that follows all changes has all turns and items, as they are.
        """
        ...

    async def find_last_change(self) -> ChangeMark:
        """Return the `after` of the changes that are yet to come."""
        ...

    async def load_group(self, group: ScopeGroup, limit: int) -> GroupRows:
        """Return the rows of a group, with its first `limit` turns."""
        ...

    async def load_turns(self, numbers: Sequence[int]) -> tuple[StoredTurn, ...]:
        """Return the turns of these numbers, as they are now, in their order."""
        ...

    async def listen_for_changes(self, hear: ChangeListener) -> None:
        """Call `hear` with the changes of each write of this process, in their order, from now on."""
        ...

    def count_unheard_writes(self) -> int | None:
        """Return a number that grows whenever there may be changes that no listener heard of: another process may have
        written, or a write of this one ended in an error. `None` means that it is unknown now. It never waits.
        """
        ...

    async def citable_ids(self, ids: Collection[str], at: int) -> frozenset[str]:
        """Return the subset of these items and turns, of any scope, that may be cited at the time `at`, as
        `agent.ports.memory.MemoryStore.citable_ids` does.
        """
        ...
