"""The memory of clients that have left goes back to the system."""

from collections.abc import Callable
from typing import TypeVar

import trio
import trio.testing

from agent.server.crowd_memory import CROWD, LOOK, TIMES, release_after_crowds

T = TypeVar("T")


class Connected:
    """So many connections."""

    used = 0


async def test_the_heap_is_released_once_a_crowd_has_left(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """When its last have gone, a few times in a row; the coming and going of a few is no crowd.

    What was released is used again when half a crowd has come, and at the end.
    """
    connected = Connected()
    released: list[float] = []
    reused: list[float] = []

    def reuse() -> None:
        reused.append(connected.used)

    def release() -> None:
        released.append(connected.used)

    async def run_sync(function: Callable[[], T]) -> T:
        await trio.lowlevel.checkpoint()
        return function()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(release_after_crowds, connected, release, reuse, run_sync)
        await trio.sleep(LOOK / 2)
        few = (0,) * (TIMES + 2)
        for now in (
            100,
            0,
            100,
            4 * CROWD,
            3 * CROWD,
            2 * CROWD,
            *(2 * CROWD - 1,) * 5,
            *few,
            CROWD - 1,
            *few,
        ):
            connected.used = now
            await trio.sleep(LOOK)
        nursery.cancel_scope.cancel()
    assert released == [*[2 * CROWD - 1] * TIMES, *[0] * TIMES]
    assert reused == [CROWD - 1, 0]
