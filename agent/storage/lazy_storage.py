"""Storage in memory, whose database is opened at its first use.

Most servers without a data folder never keep a thread, and SQLAlchemy costs 0.2 s to import. So the stores are proxies:
the first call of any of their methods imports SQLAlchemy in a worker thread and opens the database.

The ledger stays the dict of `memory_ledger.py`, except for calls that the database keeps. Those are claimed in the
database, so that a call that is not confirmed cannot run. A kept call is in the database before it can be claimed, so
an id never changes its ledger.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar, cast

import trio

from ..ports.calls import CallStore
from ..ports.conversation import NO_SCOPE, Scope
from ..ports.feedback import FeedbackStore
from ..ports.inbox import InboxStore
from ..ports.ledger import ClaimStatus, Ledger, LedgerRow
from ..ports.projects import ProjectStore
from ..ports.requests import RequestStore
from ..ports.threads import ThreadStore
from .memory_ledger import MemoryLedger
from .store import Store

T = TypeVar("T")

StorageMaker: TypeAlias = Callable[[], Awaitable[AbstractAsyncContextManager[T]]]
"""Makes the context manager in whose block a storage is open."""


@dataclass(frozen=True, slots=True)
class OpenDatabase:
    """An open database with its `store`. `has_call` returns whether it keeps a call of an id."""

    store: Store
    has_call: Callable[[str], Awaitable[bool]]


class LazyStorage(Generic[T]):
    """Opens storage at its first use, once, in a task of `nursery` that holds the storage open until `close`.

    `opened`: the storage, `None` until its first use.
    """

    def __init__(self, nursery: trio.Nursery, make_storage: StorageMaker[T]) -> None:
        self._nursery = nursery
        self._make_storage = make_storage
        self._opening = trio.Lock()
        self._closing = trio.Event()
        self.opened: T | None = None

    async def open(self) -> T:
        """Return the open storage. Raises the errors of `make_storage`. After a cancel the next caller tries again."""
        if self.opened is not None:
            return self.opened
        async with self._opening:
            if self.opened is None:
                opened: T = await self._nursery.start(self._hold_open)
                self.opened = opened
        return self.opened

    async def _hold_open(self, task_status: "trio.TaskStatus[T]") -> None:
        async with await self._make_storage() as storage:
            task_status.started(storage)
            await self._closing.wait()

    def close(self) -> None:
        """Close the storage, if it was opened."""
        self._closing.set()

    def make_proxy(self, pick_store: Callable[[T], object] = lambda opened: opened) -> Any:
        """Return a proxy of the store that `pick_store` returns: calling its methods opens the storage first."""
        return _StoreProxy(self, pick_store)


@asynccontextmanager
async def open_lazily(make_storage: StorageMaker[T]) -> AsyncGenerator[LazyStorage[T], None]:
    """Open storage at its first use within the block, and close it at the block's end."""
    tasks = AsyncExitStack()
    storage = LazyStorage(await tasks.enter_async_context(trio.open_nursery()), make_storage)
    try:
        yield storage
    finally:
        storage.close()
        await tasks.aclose()  # not handed the block's error, which would come out of it in a group


class _StoreProxy:
    """Forwards every method to a store of a `LazyStorage`. `is_stalled` and `count_unheard_writes` open nothing."""

    def __init__(self, storage: LazyStorage[Any], pick_store: Callable[[Any], Any]) -> None:
        self._storage = storage
        self._pick_store = pick_store

    @property
    def is_stalled(self) -> bool:
        """Whether the disk of the opened storage stalls; `False` while the storage is not open."""
        opened = self._storage.opened
        return opened is not None and bool(self._pick_store(opened).is_stalled)

    def count_unheard_writes(self) -> int | None:
        """Return that of the opened storage; 0 while the storage is not open."""
        opened = self._storage.opened
        return 0 if opened is None else self._pick_store(opened).count_unheard_writes()

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        async def forward(*arguments: Any, **named: Any) -> Any:
            opened = await self._storage.open()
            return await getattr(self._pick_store(opened), method)(*arguments, **named)

        return forward


def make_lazy_store(storage: LazyStorage[OpenDatabase], memory: MemoryLedger) -> Store:
    """Return a `Store` whose parts open at their first use. `memory` is the ledger of everything but kept calls."""
    return Store(
        ledger=CombinedLedger(memory, storage),
        projects=cast("ProjectStore", storage.make_proxy(lambda opened: opened.store.projects)),
        threads=cast("ThreadStore", storage.make_proxy(lambda opened: opened.store.threads)),
        calls=cast("CallStore", storage.make_proxy(lambda opened: opened.store.calls)),
        requests=cast("RequestStore", storage.make_proxy(lambda opened: opened.store.requests)),
        feedback=cast("FeedbackStore", storage.make_proxy(lambda opened: opened.store.feedback)),
        inbox=cast("InboxStore", storage.make_proxy(lambda opened: opened.store.inbox)),
        used=lambda: storage.opened is not None,
    )


class CombinedLedger:
    """A ledger over two: the one in memory, and the one of the database for calls that it keeps."""

    def __init__(self, memory: MemoryLedger, storage: LazyStorage[OpenDatabase]) -> None:
        self._memory = memory
        self._storage = storage

    async def claim(self, suggestion_id: str, action: str, at: int, scope: Scope = NO_SCOPE) -> bool:
        """Claim an action at Unix milliseconds `at`; `True` for exactly one claimer of an id."""
        opened = self._storage.opened
        if opened is not None and await opened.has_call(suggestion_id):
            return await opened.store.ledger.claim(suggestion_id, action, at, scope)
        return await self._memory.claim(suggestion_id, action, at, scope)

    async def record_outcome(
        self, suggestion_id: str, status: ClaimStatus, result: Mapping[str, Any], at: int
    ) -> None:
        """Record the outcome of a claimed action; the first outcome stands. Cancelled, it is recorded all the same."""
        await self._ledger_of(suggestion_id).record_outcome(suggestion_id, status, result, at)

    async def get_row(self, suggestion_id: str) -> LedgerRow | None:
        """Return the row of a claimed action, or `None`."""
        return await self._ledger_of(suggestion_id).get_row(suggestion_id)

    def _ledger_of(self, suggestion_id: str) -> Ledger:
        """Return the ledger that holds the claimed action `suggestion_id`, if any does."""
        opened = self._storage.opened
        if opened is None or self._memory.holds(suggestion_id):
            return self._memory
        return opened.store.ledger

    async def rows(self, limit: int = 100, kb: str | None = None) -> tuple[LedgerRow, ...]:
        """Return the newest rows, newest first."""
        rows = await self._memory.rows(limit, kb)
        if self._storage.opened is not None:
            rows += await self._storage.opened.store.ledger.rows(limit, kb)
            rows = tuple(sorted(rows, key=lambda row: row.claimed_at, reverse=True))
        return rows[:limit]
