"""What is kept in memory: a database that is made when somebody first asks for more than the ledger.

Most servers that forget at exit never keep a thread, and SQLAlchemy costs 0.2 s to import. So the stores here are
stand-ins until the first call, which imports it in a worker thread and makes the database. The ledger stays the dict
of memory.py for everything but calls that are kept: those are claimed where they are, so that a call that is not
confirmed is not run. A kept call is in the database before anybody claims it, so an id never changes sides.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import trio

from ..ports.calls import CallStore
from ..ports.conversation import NO_SCOPE, Scope
from ..ports.ledger import Row, Status
from ..ports.projects import ProjectStore
from ..ports.requests import RequestStore
from ..ports.threads import ThreadStore
from .memory import MemoryLedger
from .store import Store

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kept:
    """A database that is open. has: whether it keeps a call of an id."""

    store: Store
    has: Callable[[str], Awaitable[bool]]


class Later(Generic[T]):
    """Opens what is kept at its first use, once, and holds it until `close`.

    nursery: of the block in which it may be used. opening: the life of what is kept: it says when it is open, and goes
    on until the event that it is given is set.
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
        """Return what is kept, open. Raises what opening it does. Cancelled, the next one tries again."""
        if self.kept is not None:
            return self.kept
        async with self._one_at_a_time:
            if self.kept is None:
                opened: T = await self._nursery.start(self._opening, self._over)
                self.kept = opened
        return self.kept

    def close(self) -> None:
        """Let it go."""
        self._over.set()

    def stand_in(self, part: Callable[[T], object] = lambda kept: kept) -> Any:
        """Return what has every method of a part of it, and opens it when one of them is called."""
        return _StandIn(self, part)


class _StandIn:
    """Has every method of a store, and asks the one that is opened for it. `stalled` is none, and opens nothing."""

    def __init__(self, later: Later[Any], part: Callable[[Any], Any]) -> None:
        self._later = later
        self._part = part

    @property
    def stalled(self) -> bool:
        """Whether the disk of what is opened stalls; what nobody has opened waits for none."""
        return self._later.kept is not None and bool(self._part(self._later.kept).stalled)

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        async def ask(*arguments: Any, **named: Any) -> Any:
            kept = await self._later.open()
            return await getattr(self._part(kept), method)(*arguments, **named)

        return ask


def stand_ins(later: Later[Kept], memory: MemoryLedger) -> Store:
    """Return a store that is opened later. memory: the ledger of everything but kept calls."""
    return Store(
        LedgerOfBoth(memory, later),
        cast("ProjectStore", later.stand_in(lambda kept: kept.store.projects)),
        cast("ThreadStore", later.stand_in(lambda kept: kept.store.threads)),
        cast("CallStore", later.stand_in(lambda kept: kept.store.calls)),
        cast("RequestStore", later.stand_in(lambda kept: kept.store.requests)),
        lambda: later.kept is not None,
    )


class LedgerOfBoth:
    """The ledger in memory, and that of the database for calls that it keeps."""

    def __init__(self, memory: MemoryLedger, later: Later[Kept]) -> None:
        self._memory = memory
        self._later = later

    async def claim(self, suggestion_id: str, action: str, at: int, scope: Scope = NO_SCOPE) -> bool:
        """Claim an action at Unix milliseconds `at`; True for exactly one claimer of an id, ever."""
        kept = self._later.kept
        if kept is not None and await kept.has(suggestion_id):
            return await kept.store.ledger.claim(suggestion_id, action, at, scope)
        return await self._memory.claim(suggestion_id, action, at, scope)

    async def record(self, suggestion_id: str, status: Status, result: Mapping[str, Any], at: int) -> None:
        """Record the outcome of a claimed action; the first outcome stands. Cancelled, it is recorded all the same."""
        if self._later.kept is None or self._memory.holds(suggestion_id):
            await self._memory.record(suggestion_id, status, result, at)
        else:
            await self._later.kept.store.ledger.record(suggestion_id, status, result, at)

    async def get(self, suggestion_id: str) -> Row | None:
        """Return the row of a claimed action, or None."""
        if self._later.kept is None or self._memory.holds(suggestion_id):
            return await self._memory.get(suggestion_id)
        return await self._later.kept.store.ledger.get(suggestion_id)

    async def rows(self, limit: int = 100, kb: str | None = None) -> tuple[Row, ...]:
        """Return the newest rows, newest first."""
        found = await self._memory.rows(limit, kb)
        if self._later.kept is not None:
            found += await self._later.kept.store.ledger.rows(limit, kb)
            found = tuple(sorted(found, key=lambda row: row.claimed_at, reverse=True))
        return found[:limit]
