"""Tells that something in the folder of the knowledge base may have changed.

Strategy: what the system says of a folder is taken as a hint, never as the truth: a batch holds the paths that were
named, and may be empty, which means "look for yourself". So nothing is lost when the system cannot watch the folder
(a full table of watches, a network drive), when the folder is swapped for another one or goes away for a while, or
when a change came before the watch began: in all of these the next look comes within LOOK_EVERY or LOOK_AGAIN.
"""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import structlog
import trio
from watchfiles import Change, awatch

_log = structlog.get_logger("agent.retrieval")

LOOK_EVERY = 2.0
"""Seconds between two looks at whether the folder is still the same one, and at a folder that cannot be watched."""

LOOK_AGAIN = 15
"""Of those looks, in a folder where nothing happens, every how manyth is a look at every file."""

QUIET_MS = 50  # without a change, until a batch of changes is told ...
BATCH_MS = 500  # ... or since its first one

Touched: TypeAlias = Collection[str]
"""Absolute paths that were named as changed; empty: look for yourself."""

Watch: TypeAlias = Callable[[Path], AbstractAsyncContextManager[AsyncIterator[Touched]]]
"""Begins to watch a folder for the time of a block, and gives the batches of changes."""


@asynccontextmanager
async def watching(folder: Path) -> AsyncGenerator[AsyncIterator[Touched], None]:
    """Watch `folder` and everything below it for the time of a block (a `Watch`).

    While a batch is not taken, changes gather in the next one. At the end, or on cancel, the thread that waits for
    the system is stopped, which takes QUIET_MS at most.
    """
    send, receive = trio.open_memory_channel[Touched](0)
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_pump, folder, send, stop)
        try:
            yield receive
        finally:
            stop.set()
            nursery.cancel_scope.cancel()


async def _pump(folder: Path, send: trio.MemorySendChannel[Touched], stop: trio.Event) -> None:
    """Watch the folder, and the one that takes its place, for ever."""
    failed = False
    while True:
        if _identity(folder) is not None:
            try:
                await _follow(folder, send, stop)
                failed = False
            except* (OSError, RuntimeError):  # the system's errors, as they are or as the library's own
                if not failed:
                    _log.warning("knowledge base cannot be watched, looking at it", every=LOOK_EVERY)
                failed = True
        await trio.sleep(LOOK_EVERY)
        await send.send(())


async def _follow(folder: Path, send: trio.MemorySendChannel[Touched], stop: trio.Event) -> None:
    """Send what is told of one folder until another one stands in its place, or none.

    Raises OSError or RuntimeError, alone or in a group, when the system cannot watch it.
    """
    identity = _identity(folder)
    quiet = -1
    async with aclosing(_batches(os.fspath(folder), stop)) as batches:
        async for batch in batches:
            quiet = 0 if batch else quiet + 1
            if batch:
                await send.send({path for _, path in batch})
            elif quiet % LOOK_AGAIN == 0:  # the first time too, for what changed before the watch began
                await send.send(())
            if _identity(folder) != identity:
                return


def _batches(folder: str, stop: trio.Event) -> AsyncGenerator[set[tuple[Change, str]], None]:
    """Return what the system tells of a folder, in batches, and an empty one each LOOK_EVERY seconds."""
    place = os.path.abspath(folder)
    return awatch(
        place,
        watch_filter=_seen(place),
        debounce=BATCH_MS,
        step=QUIET_MS,
        rust_timeout=int(LOOK_EVERY * 1000),
        yield_on_timeout=True,
        stop_event=stop,
        ignore_permission_denied=True,
    )


def _seen(folder: str) -> Callable[[Change, str], bool]:
    """Return a filter that leaves out what lies in hidden folders, which are not part of a knowledge base."""

    def seen(change: Change, path: str) -> bool:
        return not any(part.startswith(".") for part in path[len(folder) :].split(os.sep)[:-1])

    return seen


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return what tells a folder from another one of the same name; None when there is none."""
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return found.st_dev, found.st_ino
