"""Runs a session at a terminal, a talk or a story: shows frames as they come, takes lines, and obeys Ctrl-C."""

from collections.abc import AsyncIterator, Awaitable, Callable

import trio

from ..errors import WireClosed
from .client import Client, Frame
from .descriptions import describe_close

TWICE = 2.0  # seconds within which a second Ctrl-C leaves
LEFT, BROKEN = 0, 1  # exit statuses


async def run_session(
    client: Client,
    lines: AsyncIterator[str],
    interrupts: AsyncIterator[object],
    *,
    show: Callable[[Frame], None],
    write_line: Callable[[str], None],
    run_line: Callable[[str], Awaitable[bool]],
    stop: Callable[[], Awaitable[None]],
    finish: Callable[[], Awaitable[None]],
) -> int:
    """Run a session until its user leaves (return 0) or its connection ends (1). A cancel stops it at once.

    `run_line`: handles a line; returns whether the user leaves. `stop`: cancels the open message. `finish`: waits for
    its end, once the lines have ended.
    """
    status = LEFT
    scope = trio.CancelScope()

    async def show_frames() -> None:
        nonlocal status
        try:
            while True:
                show(await client.next_frame())
        except WireClosed as closed:
            status = BROKEN
            write_line(f"! {describe_close(closed.code)}")
        scope.cancel()

    async def take_interrupts() -> None:
        last = -TWICE
        async for _ in interrupts:
            if trio.current_time() - last < TWICE:
                scope.cancel()
                return
            last = trio.current_time()
            write_line("(Ctrl-C again leaves)")
            await stop()

    async def take_lines() -> None:
        async for line in lines:
            if line.strip() and await run_line(line.strip()):
                return
        await finish()

    with scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(show_frames)
            nursery.start_soon(take_interrupts)
            try:
                await take_lines()
                scope.cancel()
            except WireClosed:
                await trio.sleep_forever()  # `show_frames` reports the close and ends the session
    return status
