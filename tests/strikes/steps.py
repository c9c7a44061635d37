"""The longest steps of a loop's tasks, in CPU seconds: a step during which nobody else is served.

    with steps() as measured:         # anywhere inside a running loop, on virtual time too
        ...
    assert measured.slow() == []      # of more than STEP_CPU

Strategy: an instrument reads the thread's CPU time before and after each step, so neither other processes nor worker
threads count. A collection of garbage in a step does not count as the step's own: how long it takes is decided by all
that lives in the process, and in which step it falls is chance. It is kept apart, as `collecting`.
"""

import gc
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import trio

from agent.log import place_of

KEPT = 5
STEP_CPU = 0.050  # of one step of a task


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """One step: its CPU seconds without `collecting`, those of garbage collections; its task, and where that waits now.

    at: the place in the code where the step ended, of ours if there is one; "" when the task ended with it.
    """

    cpu: float
    collecting: float = field(compare=False)
    task: str = field(compare=False)
    at: str = field(compare=False)

    def __str__(self) -> str:
        where = f", up to {self.at}" if self.at else ", its last"
        return f"{self.cpu * 1000:.1f} ms of CPU in a step of {self.task}{where}"


class Steps(trio.abc.Instrument):
    """Measures the steps of the loop that it is added to, in that loop's thread.

    count: how many steps. collecting: the CPU seconds of the longest collection of garbage in any of them.
    An exception inside an instrument would switch it off without a word, so the first is kept as `error`.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self.count = 0
        self.collecting = 0.0
        self.error: Exception | None = None
        self._kept = kept
        self._longest: list[Step] = []
        self._thread = threading.get_ident()
        self._began: float | None = None
        self._collection_began = 0.0
        self._collected = 0.0  # in this step

    @property
    def longest(self) -> list[Step]:
        """The longest steps, the longest first."""
        return sorted(self._longest, reverse=True)

    def slow(self, cpu: float = STEP_CPU) -> list[Step]:
        """Return the steps of more than that many CPU seconds, as far as they are among the longest."""
        return [step for step in self.longest if step.cpu > cpu]

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Begin to measure."""
        self._collected = 0.0
        self._began = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Keep the step if it is one of the longest."""
        if self._began is None:  # it was added within this step
            return
        cpu = time.thread_time() - self._began - self._collected
        self.count += 1
        if len(self._longest) == self._kept and cpu <= self._longest[0].cpu:
            return
        try:
            frames = [(frame.f_code, line) for frame, line in task.iter_await_frames()]
            step = Step(cpu, self._collected, task.name, place_of(frames))
            self._longest = sorted([*self._longest, step])[-self._kept :]
        except Exception as error:  # noqa: BLE001 - see above
            self.error = self.error or error

    def collects(self, phase: str, info: Mapping[str, Any]) -> None:
        """Take note of a collection of garbage (one of `gc.callbacks`)."""
        if threading.get_ident() != self._thread:
            return
        if phase == "start":
            self._collection_began = time.thread_time()
        else:
            seconds = time.thread_time() - self._collection_began
            self._collected += seconds
            self.collecting = max(self.collecting, seconds)


@contextmanager
def steps(kept: int = KEPT) -> Iterator[Steps]:
    """Measure the steps of the present loop for the time of a block; raises what broke the instrument, at its end."""
    measured = Steps(kept)
    noticing: Callable[[str, dict[str, int]], None] = measured.collects
    trio.lowlevel.add_instrument(measured)
    gc.callbacks.append(noticing)
    try:
        yield measured
    finally:
        gc.callbacks.remove(noticing)
        try:
            trio.lowlevel.remove_instrument(measured)
        except KeyError:
            measured.error = measured.error or RuntimeError("the measuring of steps was switched off")
    if measured.error is not None:
        raise measured.error
