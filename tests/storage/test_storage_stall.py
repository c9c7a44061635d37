"""A disk that stalls is told from a server that is busy, and nobody waits for the first."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pytest
import sqlalchemy as sa
import trio
from trio.testing import MockClock

from agent.config import STALL_LOOK
from agent.errors import StorageFailed
from agent.storage.database import Database
from agent.storage.memories.memory_contents import MEMORY
from agent.storage.places import place_of
from agent.storage.sqlite.database_file import DatabaseFile
from agent.storage.stall_watch import STALL_LOOKS, Progress, StallWatch
from agent.testing.fakes import Noon
from agent.testing.network import Disk

STALLED = STALL_LOOK * (STALL_LOOKS + 1)
T = TypeVar("T")


class StuckDisk(Disk):
    """A disk on which a thread hangs that has begun to work, where `begun` says so; else none begins."""

    begun = True

    async def __call__(self, function: Callable[[], T]) -> T:
        work = getattr(function, "__wrapped__", function)
        if self.begun and isinstance(work, partial):
            file = getattr(work.func, "__self__", None)
            assert isinstance(file, DatabaseFile)
            file.progress.working = True
        return await super().__call__(function)


def look(connection: sa.Connection) -> int:
    return int(connection.execute(sa.text("SELECT 1")).scalar_one())


async def test_a_thread_that_gets_on_does_not_stall(autojump_clock: MockClock) -> None:
    """However long it works in all; one that stands still does, until it has answered."""
    progress, calls = Progress(), []
    watch = StallWatch(progress, lambda: calls.append(trio.current_time()))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch.run)
        watch.begin()
        await trio.sleep(60)  # no thread has begun
        assert not watch.stalled
        progress.working = True
        for _ in range(20):
            progress.steps += 1
            await trio.sleep(STALL_LOOK * (STALL_LOOKS - 1))
            assert not watch.stalled
        assert not calls
        await trio.sleep(STALLED)
        assert watch.stalled
        assert calls
        watch.end()
        assert not watch.stalled
        watch.stop()


async def test_who_reads_does_not_wait_for_a_disk_that_stalls(autojump_clock: MockClock) -> None:
    """Nor does who comes while it does; afterwards it is read as before."""
    disk = StuckDisk()
    async with Database(place_of(None), disk, Noon(), contents=MEMORY, impatient=True) as database:
        disk.hang()
        began = trio.current_time()
        with pytest.raises(StorageFailed, match="does not answer"):
            await database.read(look)
        assert trio.current_time() - began <= STALLED
        assert database.is_stalled
        with pytest.raises(StorageFailed, match="does not answer"):
            await database.read(look)
        assert trio.current_time() - began <= STALLED
        disk.work()
        await trio.testing.wait_all_tasks_blocked()
        assert await database.read(look) == 1


async def test_who_reads_waits_for_a_server_that_is_busy(autojump_clock: MockClock) -> None:
    """The time until a thread begins is nobody's fault."""
    disk = StuckDisk()
    disk.begun = False
    failures: list[StorageFailed] = []

    async def read(database: Database) -> None:
        try:
            await database.read(look)
        except StorageFailed as failure:
            failures.append(failure)

    async with (
        Database(place_of(None), disk, Noon(), contents=MEMORY, impatient=True) as database,
        trio.open_nursery() as nursery,
    ):
        disk.hang()
        nursery.start_soon(read, database)
        await trio.sleep(60)
        assert not database.is_stalled
        assert not failures
        disk.work()
        assert await database.read(look) == 1
