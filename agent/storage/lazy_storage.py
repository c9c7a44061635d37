"""Storage in memory, whose database is created when a caller first needs more than the ledger.

Most servers without a data folder never keep a thread, and SQLAlchemy costs 0.2 s to import. So the stores are
stand-ins: the first call imports SQLAlchemy in a worker thread and makes the database. The ledger stays the dict of
`memory_ledger.py`, except for calls that the database keeps. Those are claimed in the database, so that a call that is
not confirmed cannot run. A kept call is in the database before it can be claimed, so an id never changes its ledger.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import trio

from ..ports.calls import CallStore
from ..ports.conversation import NO_SCOPE, Scope
from ..ports.ledger import ClaimStatus, LedgerRow
from ..ports.projects import ProjectStore
from ..ports.requests import RequestStore
from ..ports.threads import ThreadStore
from .memory_ledger import MemoryLedger
from .store import Store

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OpenDatabase:
    """An open database with its `store`. `has` returns whether it keeps a call of an id."""

    store: Store
    has: Callable[[str], Awaitable[bool]]


class LazyStorage(Generic[T]):
    """Opens storage at its first use, once, and holds it until `close`.

    `nursery` belongs to the block in which the storage may be used. `opening` is a task that holds the storage open: it
    reports the open storage as started, and ends when its event is set.
    """

    def __init__(
        self,
        nursery: trio.Nursery,
        opening: Callable[[trio.Event, "trio.TaskStatus[T]"], Awaitable[None]],
    ) -> None:
        self._nursery = nursery
        self._opening = opening
        self._one_at_a_time = trio.Lock()
        self._over = trio.Event()
        self.kept: T | None = None

    async def open(self) -> T:
        """Return the open storage. Raises the errors of `opening`. After a cancel the next caller tries again."""
        if self.kept is not None:
            return self.kept
        async with self._one_at_a_time:
            if self.kept is None:
                opened: T = await self._nursery.start(self._opening, self._over)
                self.kept = opened
        return self.kept

    def close(self) -> None:
        """Close the storage, if it was opened."""
        self._over.set()

    def stand_in(self, part: Callable[[T], object] = lambda opened: opened) -> Any:
        """Return a stand-in for a `part` of the storage: calling any of its methods opens the storage first."""
        return _StandIn(self, part)


class _StandIn:
    """A stand-in that forwards every method to the store behind `Later`. Reading `is_stalled` opens nothing."""

    def __init__(self, later: LazyStorage[Any], part: Callable[[Any], Any]) -> None:
        self._later = later
        self._part = part

    @property
    def is_stalled(self) -> bool:
        """Whether the disk of the opened storage stalls; `False` while the storage is not open."""
        return self._later.kept is not None and bool(self._part(self._later.kept).is_stalled)

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        async def ask(*arguments: Any, **named: Any) -> Any:
            kept = await self._later.open()
            return await getattr(self._part(kept), method)(*arguments, **named)

        return ask


def make_stand_ins(later: LazyStorage[OpenDatabase], memory: MemoryLedger) -> Store:
    """Return a `Store` whose parts open at their first use. `memory` is the ledger of everything but kept calls."""
    return Store(
        ledger=CombinedLedger(memory, later),
        projects=cast("ProjectStore", later.stand_in(lambda kept: kept.store.projects)),
        threads=cast("ThreadStore", later.stand_in(lambda kept: kept.store.threads)),
        calls=cast("CallStore", later.stand_in(lambda kept: kept.store.calls)),
        requests=cast("RequestStore", later.stand_in(lambda kept: kept.store.requests)),
        used=lambda: later.kept is not None,
    )


class CombinedLedger:
    """A ledger over two: the one in memory, and the one of the database for calls that it keeps."""

    def __init__(self, memory: MemoryLedger, later: LazyStorage[OpenDatabase]) -> None:
        self._memory = memory
        self._later = later

    async def claim(self, suggestion_id: str, action: str, at: int, scope: Scope = NO_SCOPE) -> bool:
        """Claim an action at Unix milliseconds `at`; `True` for exactly one claimer of an id."""
        kept = self._later.kept
        if kept is not None and await kept.has(suggestion_id):
            return await kept.store.ledger.claim(suggestion_id, action, at, scope)
        return await self._memory.claim(suggestion_id, action, at, scope)

    async def record_outcome(
        self, suggestion_id: str, status: ClaimStatus, result: Mapping[str, Any], at: int
    ) -> None:
        """Record the outcome of a claimed action; the first outcome stands. Cancelled, it is recorded all the same."""
        if self._later.kept is None or self._memory.holds(suggestion_id):
            await self._memory.record_outcome(suggestion_id, status, result, at)
        else:
            await self._later.kept.store.ledger.record_outcome(suggestion_id, status, result, at)

    async def get_row(self, suggestion_id: str) -> LedgerRow | None:
        """Return the row of a claimed action, or `None`."""
        if self._later.kept is None or self._memory.holds(suggestion_id):
            return await self._memory.get_row(suggestion_id)
        return await self._later.kept.store.ledger.get_row(suggestion_id)

    async def rows(self, limit: int = 100, kb: str | None = None) -> tuple[LedgerRow, ...]:
        """Return the newest rows, newest first."""
        found = await self._memory.rows(limit, kb)
        if self._later.kept is not None:
            found += await self._later.kept.store.ledger.rows(limit, kb)
            found = tuple(sorted(found, key=lambda row: row.claimed_at, reverse=True))
        return found[:limit]
