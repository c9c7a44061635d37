"""`DiskWatch` is the patience of callers with the thread: the disk's time counts, the event loop's does not.

A disk may hang for a minute, and a user who decides something must hear sooner. A loop may be late by seconds too,
under more clients than it can serve: its answers are then late, and the disk is not at fault. So patience is counted in
steps. A step counts if one call was in the database's thread for all of it; a call that ended says so in the thread
itself, whenever the loop hears of it. Any other step begins the count anew.

Once one caller has given up on a call, no other waits for that call.
"""

from collections.abc import Callable
from functools import wraps
from math import inf
from typing import TypeVar

import trio

from ..ports.work import RunSync

T = TypeVar("T")
_STEPS = 8


class DiskWatch:
    """Runs the blocking calls of one database, one at a time, and knows which of them does not come back.

    `since` is when the current call was handed over, in seconds on the loop's clock, `None` without one.
    """

    def __init__(self, run_sync: RunSync) -> None:
        self._run_sync = run_sync
        self._begun = 0  # calls
        self._ended = 0  # the last of them that has, as its thread says
        self._given_up = 0  # the last one for which a caller waits no more
        self.since: float | None = None

    async def run_call(self, work: Callable[[], T]) -> T:
        """Return `work()` and raise its errors; raise `OSError` or `RuntimeError` if no thread could be started."""
        self._begun += 1
        number = self._begun

        @wraps(work, assigned=(), updated=())  # all that `host.find_function_name` looks at
        def call() -> T:
            try:
                return work()
            finally:
                self._ended = number

        self.since = trio.current_time()
        try:
            return await self._run_sync(call)
        finally:
            self._ended = number
            self.since = None

    async def wait_for_event(self, event: trio.Event, patience: float) -> bool:
        """Wait for `event`; return `False` once one call has kept the thread for `patience` seconds, which may be
        infinite.
        """
        if patience == inf:
            await event.wait()
            return True
        time_left, step, counted = _STEPS, patience / _STEPS, 0
        while time_left and not self._is_given_up:
            with trio.move_on_after(step):
                await event.wait()
                return True
            silent = self._silent_for(0.9 * step)
            if silent != counted:
                time_left, counted = _STEPS, silent
            time_left -= silent != 0
        await trio.lowlevel.checkpoint()
        if not event.is_set():
            self._given_up = self._going_on
        return event.is_set()

    @property
    def _going_on(self) -> int:
        """The number of the call in the thread, 0 without one."""
        return self._begun if self._begun != self._ended else 0

    def _silent_for(self, seconds: float) -> int:
        """Return the number of the call in the thread if it was handed over `seconds` ago or earlier, else 0."""
        handed_over = trio.current_time() if self.since is None else self.since
        return self._going_on if trio.current_time() - handed_over >= seconds else 0

    @property
    def _is_given_up(self) -> bool:
        return self._going_on != 0 and self._going_on == self._given_up
