"""Runs reading in a worker thread until its caller is cancelled.

A thread cannot be stopped from outside: it is given up, and ends at its next check (`effort`).
"""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import trio

from agent.ports.work import RunSync

from .effort import Effort

GIVE_UP_TIMEOUT = 0.5  # for a reader that was given up; the server then goes without it

T = TypeVar("T")


async def run_in_thread(run_sync: RunSync, function: Callable[[Effort], T]) -> T:
    """Return the result of `function`, called with an `Effort` in a worker thread.

    On cancel, the effort is given up, and its thread gets `GIVE_UP_TIMEOUT` seconds to end.
    """
    effort = Effort()
    ended = trio.Event()
    token = trio.lowlevel.current_trio_token()
    has_begun = False

    def work() -> T:
        nonlocal has_begun
        has_begun = True
        try:
            effort.check()
            return function(effort)
        finally:
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(ended.set)

    try:
        return await run_sync(work)
    except trio.Cancelled:
        effort.give_up()
        if has_begun:
            with trio.move_on_after(GIVE_UP_TIMEOUT, shield=True):
                await ended.wait()
        raise
