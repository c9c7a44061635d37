"""The life of a database with all stores over it, from opening to closing."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import trio

from ..ports.clock import Clock
from ..ports.observe import Observer
from ..ports.work import RunSync
from .calls import DatabaseCalls
from .database import Database
from .database_ledger import DatabaseLedger
from .feedback import DatabaseFeedback
from .inbox import DatabaseInbox
from .lazy_storage import OpenDatabase
from .nodes import DatabaseNodes
from .places import Data, place_of
from .projects import DatabaseProjects
from .requests import DatabaseRequests
from .retention import RetentionSweep
from .server_watch import ServerWatch
from .settings import FOR_EVER, Retention
from .store import Store
from .threads import DatabaseThreads


@asynccontextmanager
async def open_stores(
    data: Data,
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
    place = place_of(data)
    watch = ServerWatch(told) if place.is_server else None
    told = told if watch is None else watch.note_trouble
    async with Database(place, run_sync, clock, observer, told) as database:
        calls, clock = DatabaseCalls(database, kb), database.clock
        tasks = AsyncExitStack()
        beside = await tasks.enter_async_context(trio.open_nursery())
        beside.start_soon(RetentionSweep(database, clock, retention).run)
        if watch is not None:
            beside.start_soon(watch.run, database)
        try:
            yield OpenDatabase(
                Store(
                    ledger=DatabaseLedger(database, kb),
                    projects=DatabaseProjects(database, clock),
                    threads=DatabaseThreads(database, clock, kb),
                    calls=calls,
                    requests=DatabaseRequests(database),
                    feedback=DatabaseFeedback(database),
                    inbox=DatabaseInbox(database),
                    nodes=DatabaseNodes(database) if database.has_nodes else None,
                    clock=clock,
                    hints=place.carry_hints(run_sync, beside),
                ),
                calls.has,
            )
        finally:
            beside.cancel_scope.cancel()
            await tasks.aclose()  # not handed the block's error, which would come out of it in a group
