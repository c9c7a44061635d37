"""Opens the storage of a server: the ledger of actions, and the store of projects, threads, calls and requests."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from ..host import WorkerThreads
from ..ports.clock import Clock
from ..ports.ledger import Ledger
from ..ports.observe import Observer
from ..settings import Settings
from ..storage.open import open_store
from ..storage.store import Store
from .adapters import Adapters


@dataclass(frozen=True, kw_only=True, slots=True)
class Storage:
    """The opened storage. `store`: `None` where an adapter gives a ledger alone."""

    ledger: Ledger
    store: Store | None

    def pick_clock(self, own: Clock) -> Clock:
        """Return the time of all processes that share the storage; `own` is that of this machine."""
        return own if self.store is None or self.store.clock is None else self.store.clock


@asynccontextmanager
async def open_storage(
    *,
    settings: Settings,
    adapters: Adapters,
    clock: Clock,
    observer: Observer,
    on_trouble: Callable[[str], None],
) -> AsyncGenerator[Storage, None]:
    """Open the ledger and the store for the time of a block, or take those of `adapters`, which stay open.

    `observer`: gets the level `actions_unrecorded`. `on_trouble`: called with the reason when no action can be claimed,
    and with "" when actions can be claimed again. Raises `agent.errors.UsageError` when the data folder cannot be used.
    On exit, also when cancelled, the ledger writes its waiting outcomes and closes, within `LEDGER_CLOSE_TIMEOUT`.
    """
    if adapters.ledger is not None:
        yield Storage(ledger=adapters.ledger, store=adapters.store)
    elif adapters.store is not None:
        yield Storage(ledger=adapters.store.ledger, store=adapters.store)
    else:
        run_sync = adapters.run_sync or WorkerThreads(2)  # one for the database, one that connects for hints
        async with open_store(
            settings.storage, settings.documents.kb, run_sync, clock, observer, on_trouble
        ) as store:
            yield Storage(ledger=store.ledger, store=store)
