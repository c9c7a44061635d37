"""Measures how long each step of the loop takes: during a step no other client is served.

A step is the work of a task between two awaits. Its CPU is counted by the loop's own thread, so that other processes,
and worker threads, are not held against it; a garbage collection is, in any step it falls into, since every client
waits for it all the same.
"""

import gc
import threading
import time
from typing import Any

import trio

from .figures import Histogram

STEP_MAX = 0.050  # seconds of CPU
NOT_OURS = "agent.soak."  # prefix of the tasks that measure; they are not the server's


class Steps(trio.abc.Instrument):
    """The CPU time of every task step.

    `longest`: seconds and the task's name, collections included. `took`: all steps. Add it with
    `trio.lowlevel.add_instrument`.
    """

    def __init__(self) -> None:
        self.longest = (0.0, "")
        self.took = Histogram()
        self.collections = Histogram()  # garbage collections in the loop's thread, each within some step
        self.longest_alone = (0.0, "")  # and without the collections within it
        self._began = self._collecting = self._collected = 0.0
        self._counts = False  # also the rest of the step in which this begins
        self._thread = threading.get_ident()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Note the begin of a step."""
        self._counts = not task.name.startswith(NOT_OURS)
        self._collected = 0.0
        self._began = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Count the step, unless it was pardoned."""
        if self._counts:
            seconds = time.thread_time() - self._began
            self.took.add(seconds)
            if seconds > self.longest[0]:
                self.longest = (seconds, task.name)
            if seconds - self._collected > self.longest_alone[0]:
                self.longest_alone = (seconds - self._collected, task.name)

    def pardon(self) -> None:
        """Leave the present step uncounted, because it measures."""
        self._counts = False

    def collection(self, phase: str, info: dict[str, Any]) -> None:
        """Time a garbage collection (one of `gc.callbacks`)."""
        if threading.get_ident() != self._thread:
            return
        if phase == "start":
            self._collecting = time.thread_time()
        elif self._counts:
            seconds = time.thread_time() - self._collecting
            self._collected += seconds
            self.collections.add(seconds)

    def start(self) -> None:
        """Begin to measure the loop of the present task."""
        trio.lowlevel.add_instrument(self)
        gc.callbacks.append(self.collection)

    def stop(self) -> None:
        """End the measurement."""
        gc.callbacks.remove(self.collection)
        trio.lowlevel.remove_instrument(self)
