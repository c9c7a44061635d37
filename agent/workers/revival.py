"""Rules for killing a silent worker and for starting a dead one again. Pure.

The supervisor probes a worker every `WORKER_PROBE` seconds. Silence is counted in probes, not in seconds: a supervisor
that stood still itself, with its whole machine or its process group, has sent none meanwhile.

A worker that has lived for a while is started again at once, or nearly. A worker that dies at once, over and over, has
a cause that another start does not cure: each pause is twice as long as the last, and then no start follows.
"""

from typing import Literal, TypeAlias

WORKER_PAUSE_FIRST = 0.1  # before a dead worker is started again, twice as long each time ...
WORKER_PAUSE_MOST = 5.0  # ... up to this
WORKER_SETTLED = 10.0  # a worker that has lived so long did not die at once
WORKER_DEATHS = 6  # at once, in a row, after which the server ends
WORKER_SILENT = 5  # unanswered probes after which a worker gets no connection, and is killed in a drain ...
WORKER_LOST = 30  # ... and probes after which it is killed at any time

State: TypeAlias = Literal["alive", "silent", "lost"]
"""A `silent` worker gets no connections until it answers; a `lost` one is killed."""


class Silence:
    """The probes that a worker has not answered."""

    def __init__(self) -> None:
        self._unanswered: int | None = None  # until it was first heard
        self._drained = 0  # questions since it was told to drain
        self._leaving = False

    def hear(self) -> None:
        """Reset the count: the worker sent a message."""
        self._unanswered = 0

    def leave(self) -> None:
        """Note that the worker said that it drains: it may use all its time for that."""
        self._leaving = True

    def ask(self, draining: bool) -> State:
        """Count a probe; return the state that the silence before it means. `draining` says that the worker was told to
        drain.

        A worker that was never heard is still starting, which has a deadline of its own; it must drain at once.
        """
        unanswered = self._unanswered or 0
        if self._unanswered is not None:
            self._unanswered += 1
        if draining and not self._leaving:
            self._drained += 1
        if unanswered >= WORKER_LOST or self._drained > WORKER_SILENT:
            return "lost"
        return "silent" if unanswered >= WORKER_SILENT else "alive"


class Revival:
    """The deaths of one worker."""

    def __init__(self) -> None:
        self._in_a_row = 0

    def count_death(self, lived: float) -> float | None:
        """Count a death after `lived` seconds; return the seconds until the next start, `None` when none follows."""
        self._in_a_row = 1 if lived >= WORKER_SETTLED else self._in_a_row + 1
        if self._in_a_row >= WORKER_DEATHS:
            return None
        return min(WORKER_PAUSE_MOST, WORKER_PAUSE_FIRST * 2.0 ** (self._in_a_row - 1))
