"""Returns the memory of a crowd of clients to the system, once it has left."""

from collections.abc import Callable
from typing import Protocol

import trio

from ..ports.work import RunSync

CROWD = 500
"""Connections: so many more than are left are a crowd that has gone, some 20 KiB each."""
LOOK = 5.0
"""Seconds between two looks at the number of connections."""
TIMES = 3
"""Looks in a row at which the heap is released: the few objects that keep a piece of it are replaced meanwhile."""


class ConnectionCount(Protocol):
    """Counts connections, as `agent.server.limits.ConnectionLimits` does."""

    @property
    def used(self) -> int:
        """The number of connections."""
        ...


async def release_after_crowds(
    connections: ConnectionCount,
    release: Callable[[], None],
    reuse: Callable[[], None],
    run_sync: RunSync,
) -> None:
    """Call `release` in a thread whenever `CROWD` connections have ended and few go on to end, until cancelled.

    `release`: `agent.heap.release_heap`. `reuse`: `agent.heap.reuse_heap`, called when half as many have come again,
    and at the end.
    """
    most = before = times = 0
    left: int | None = None  # connections that were left when the heap was released
    try:
        while True:
            await trio.sleep(LOOK)
            now = connections.used
            most = max(most, now)
            if most - now >= CROWD and before - now < CROWD // 10:
                most, times = now, TIMES
            if times:
                times -= 1
                left = now
                await run_sync(release)
            elif left is not None and now - left >= CROWD // 2:
                left = None
                await run_sync(reuse)
            before = now
    finally:
        reuse()
