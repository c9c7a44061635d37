"""Reports that something in the folder of the knowledge base may have changed.

Strategy: the system's report is a hint, never the truth: a batch holds the reported paths, and may be empty, which
means "look at every file". So no change is lost when the system cannot watch the folder (a full table of watches, a
network drive), when the folder is swapped for another one or goes away for a while, or when a change came before the
watch began: in all of these cases the next look comes within `LOOK_EVERY` seconds or `LOOK_AGAIN` looks.
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
"""Seconds between two checks that the folder is the same one, and two looks at a folder that cannot be watched."""

LOOK_AGAIN = 15
"""In a folder without changes, after so many of those checks comes a look at every file."""

QUIET_MS = 50  # without a change, until a batch of changes is reported ...
BATCH_MS = 500  # ... or since its first one

TouchedPaths: TypeAlias = Collection[str]
"""Absolute paths that were reported as changed; empty: look at every file."""

Watch: TypeAlias = Callable[[Path], AbstractAsyncContextManager[AsyncIterator[TouchedPaths]]]
"""Watches a folder for the time of a block, and gives the batches of changes."""


@asynccontextmanager
async def watch_folder(folder: Path) -> AsyncGenerator[AsyncIterator[TouchedPaths], None]:
    """Watch `folder` and everything below it for the time of a block (a `Watch`).

    While a batch is not taken, changes gather in the next one. At the end, or on cancel, the thread that waits for
    the system is stopped, which takes `QUIET_MS` at most.
    """
    send, receive = trio.open_memory_channel[TouchedPaths](0)
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_send_batches, folder, send, stop)
        try:
            yield receive
        finally:
            stop.set()
            nursery.cancel_scope.cancel()


async def _send_batches(folder: Path, send: trio.MemorySendChannel[TouchedPaths], stop: trio.Event) -> None:
    """Watch the folder, and any folder that takes its place, for ever."""
    failed = False
    while True:
        if _identity_of(folder) is not None:
            try:
                await _send_folder_batches(folder, send, stop)
                failed = False
            except* (OSError, RuntimeError):  # errors of the system, as they are or wrapped by the library
                if not failed:
                    _log.warning(
                        "knowledge base cannot be watched, looking at it at intervals", every=LOOK_EVERY
                    )
                failed = True
        await trio.sleep(LOOK_EVERY)
        await send.send(())


async def _send_folder_batches(
    folder: Path, send: trio.MemorySendChannel[TouchedPaths], stop: trio.Event
) -> None:
    """Send the changes of one folder until it is replaced or gone.

    Raises OSError or RuntimeError, alone or in a group, when the system cannot watch it.
    """
    identity = _identity_of(folder)
    quiet = -1
    async with aclosing(_watch_batches(os.fspath(folder), stop)) as batches:
        async for batch in batches:
            quiet = 0 if batch else quiet + 1
            if batch:
                await send.send({path for _, path in batch})
            elif quiet % LOOK_AGAIN == 0:  # the first time too, for changes before the watch began
                await send.send(())
            if _identity_of(folder) != identity:
                return


def _watch_batches(folder: str, stop: trio.Event) -> AsyncGenerator[set[tuple[Change, str]], None]:
    """Yield the changes that the system reports for a folder, in batches; an empty one each `LOOK_EVERY` seconds."""
    place = os.path.abspath(folder)
    return awatch(
        place,
        watch_filter=_visible_filter(place),
        debounce=BATCH_MS,
        step=QUIET_MS,
        rust_timeout=int(LOOK_EVERY * 1000),
        yield_on_timeout=True,
        stop_event=stop,
        ignore_permission_denied=True,
    )


def _visible_filter(folder: str) -> Callable[[Change, str], bool]:
    """Return a filter that leaves out hidden folders, which are not part of a knowledge base."""

    def is_visible(change: Change, path: str) -> bool:
        return not any(part.startswith(".") for part in path[len(folder) :].split(os.sep)[:-1])

    return is_visible


def _identity_of(folder: Path) -> tuple[int, int] | None:
    """Return the device and inode of a folder, which change when another one takes its place; None when it is gone."""
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return found.st_dev, found.st_ino
