"""When a worker is killed since it says nothing, and when one that has died is started again. Pure.

A worker is asked every WORKER_PROBE seconds whether it is alive. Its silence is counted in questions, not in seconds: a
supervisor that stood still itself, with its whole machine or its process group, has asked nothing meanwhile.

One that has lived for a while is started again at once, or nearly. One that dies at once, over and over, has a reason
that another start does not cure: each pause is twice as long as the last, and then no start follows.
"""

from typing import Literal, TypeAlias

from ..config import (
    WORKER_DEATHS,
    WORKER_LOST,
    WORKER_PAUSE_FIRST,
    WORKER_PAUSE_MOST,
    WORKER_SETTLED,
    WORKER_SILENT,
)

State: TypeAlias = Literal["alive", "silent", "lost"]
"""`silent`: gets no connections until it answers; `lost`: is killed."""


class Silence:
    """The questions to one worker that it has not answered."""

    def __init__(self) -> None:
        self._unanswered: int | None = None  # until it was first heard
        self._drained = 0  # questions since it was told to drain
        self._leaving = False

    def hear(self) -> None:
        """Note that the worker said something."""
        self._unanswered = 0

    def leave(self) -> None:
        """Note that the worker said that it drains: it may use all its time for that."""
        self._leaving = True

    def ask(self, draining: bool) -> State:
        """Note the next question; return what the silence before it means. draining: whether the worker was told to.

        A worker that was never heard still starts, for which there is a deadline of its own; it drains at once.
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

    def died(self, lived: float) -> float | None:
        """Note a death after so many seconds; return the seconds until the next start, None when none follows."""
        self._in_a_row = 1 if lived >= WORKER_SETTLED else self._in_a_row + 1
        if self._in_a_row >= WORKER_DEATHS:
            return None
        return min(WORKER_PAUSE_MOST, WORKER_PAUSE_FIRST * 2.0 ** (self._in_a_row - 1))
