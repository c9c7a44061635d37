"""All stores over one database: its life, from opening it to closing it."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import trio

from ..ports.clock import Clock
from ..ports.observe import Observer
from ..ports.work import RunSync
from .calls import SqliteCalls
from .database import Database
from .later import Kept
from .projects import SqliteProjects
from .requests import SqliteRequests
from .retention import RetentionSweep
from .settings import FOR_EVER, Retention
from .sqlite import SqliteLedger
from .store import Store
from .threads import SqliteThreads


@asynccontextmanager
async def kept_in(
    data: Path | None,
    run_sync: RunSync,
    clock: Clock,
    observer: Observer | None = None,
    told: Callable[[str], None] = lambda _: None,
    kb: str | None = None,
    retention: Retention = FOR_EVER,
) -> AsyncGenerator[Kept, None]:
    """Open a database (see `Database`) for the time of a block. kb: its knowledge base, as the ledger names it.

    retention: what is older is deleted meanwhile.
    """
    async with Database(data, run_sync, clock, observer, told) as database:
        calls = SqliteCalls(database, kb)
        tasks = AsyncExitStack()
        deleting = await tasks.enter_async_context(trio.open_nursery())
        deleting.start_soon(RetentionSweep(database, clock, retention).run)
        try:
            yield Kept(
                Store(
                    SqliteLedger(database, kb),
                    SqliteProjects(database, clock),
                    SqliteThreads(database, clock, kb),
                    calls,
                    SqliteRequests(database),
                ),
                calls.has,
            )
        finally:
            deleting.cancel_scope.cancel()
            await tasks.aclose()  # not handed the block's error, which would come out of it in a group
