"""Tells a disk that stalls from a server that is busy, by the progress of the thread that works on a file."""

from collections.abc import Callable
from dataclasses import dataclass

import trio

from ..config import STALL_LOOK, STALL_LOOKS


@dataclass(slots=True)
class Progress:
    """How far the thread has come that works on a file; written by that thread, read by any.

    working: it is at work now. steps: requests and reads that it has begun.
    """

    working: bool = False
    steps: int = 0


class StallWatch:
    """Looks at a thread while something is asked of it: it stalls when STALL_LOOKS looks find it at the same step.

    What waits for a thread to begin, or for the event loop, is not the disk's time: neither is the progress of a thread
    that works, and a loop that is held up looks less often. on_stall: is called at each look that finds it so.
    """

    def __init__(self, progress: Progress, on_stall: Callable[[], None] | None = None) -> None:
        self.stalled = False
        self._progress = progress
        self._on_stall = on_stall
        self._asked = False
        self._begun = trio.Event()
        self._scope = trio.CancelScope()

    def begin(self) -> None:
        """Look at the thread from now on: something is asked of it."""
        self._asked = True
        self._begun.set()

    def end(self) -> None:
        """Take that the thread has answered."""
        self._asked = self.stalled = False

    def stop(self) -> None:
        """Look no more."""
        self._scope.cancel()

    async def run(self) -> None:
        """Look for as long as anything is asked, until it is stopped or cancelled."""
        with self._scope:
            while True:
                await self._begun.wait()
                self._begun = trio.Event()
                await self._look()

    async def _look(self) -> None:
        progress = self._progress
        looks, steps = 0, -1
        while self._asked:
            await trio.sleep(STALL_LOOK)
            looks = looks + 1 if progress.working and progress.steps == steps else 0
            steps = progress.steps
            self.stalled = self._asked and looks >= STALL_LOOKS
            if self.stalled and self._on_stall is not None:
                self._on_stall()
