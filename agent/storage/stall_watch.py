"""A watch that tells a stalled disk from a busy server, by the progress of the thread that works on a file."""

from collections.abc import Callable
from dataclasses import dataclass

import trio

from ..config import STALL_LOOK

STALL_LOOKS = 4
"""Looks that find a thread at the same work when its disk stalls: then callers stop waiting for it."""


@dataclass(slots=True)
class Progress:
    """The progress of the thread that works on a file. Only that thread writes it; any thread reads it.

    `working` says that the thread is at work now. `steps` counts the requests and reads that it has begun.
    """

    working: bool = False
    steps: int = 0


class StallWatch:
    """A watch on a thread: it stalls when `STALL_LOOKS` looks in a row find it at the same step.

    Time in which a thread waits to begin, or the event loop is busy, is not the disk's: a working thread makes
    progress, and a busy loop looks less often. `on_stall` is called at each look that finds a stall.
    """

    def __init__(self, progress: Progress, on_stall: Callable[[], None] | None = None) -> None:
        self.stalled = False
        self._progress = progress
        self._on_stall = on_stall
        self._asked = False
        self._begun = trio.Event()
        self._scope = trio.CancelScope()

    def begin(self) -> None:
        """Watch the thread from now on: it has work."""
        self._asked = True
        self._begun.set()

    def end(self) -> None:
        """Stop counting: the thread has answered."""
        self._asked = self.stalled = False

    def stop(self) -> None:
        """End `run`."""
        self._scope.cancel()

    async def run(self) -> None:
        """Look at the thread while it has work, until stopped or cancelled."""
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
