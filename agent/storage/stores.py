"""The life of a database with all stores over it, from opening to closing."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import trio

from ..ports.clock import Clock
from ..ports.observe import Observer
from ..ports.work import RunSync
from .calls import SqliteCalls
from .database import Database
from .lazy_storage import OpenDatabase
from .projects import SqliteProjects
from .requests import SqliteRequests
from .retention import RetentionSweep
from .settings import FOR_EVER, Retention
from .sqlite import SqliteLedger
from .store import Store
from .threads import SqliteThreads


@asynccontextmanager
async def open_stores(
    data: Path | None,
    run_sync: RunSync,
    clock: Clock,
    observer: Observer | None = None,
    told: Callable[[str], None] = lambda _: None,
    kb: str | None = None,
    retention: Retention = FOR_EVER,
) -> AsyncGenerator[OpenDatabase, None]:
    """Open a database with all stores for the block (see `Database`). `kb` is the ledger's name of the knowledge base.

    Rows that are older than `retention` allows are deleted meanwhile.
    """
    async with Database(data, run_sync, clock, observer, told) as database:
        calls = SqliteCalls(database, kb)
        tasks = AsyncExitStack()
        deleting = await tasks.enter_async_context(trio.open_nursery())
        deleting.start_soon(RetentionSweep(database, clock, retention).run)
        try:
            yield OpenDatabase(
                Store(
                    ledger=SqliteLedger(database, kb),
                    projects=SqliteProjects(database, clock),
                    threads=SqliteThreads(database, clock, kb),
                    calls=calls,
                    requests=SqliteRequests(database),
                ),
                calls.has,
            )
        finally:
            deleting.cancel_scope.cancel()
            await tasks.aclose()  # not handed the block's error, which would come out of it in a group
