"""When a worker that has died is started again. Pure.

One that has lived for a while is started again at once, or nearly. One that dies at once, over and over, has a reason
that another start does not cure: each pause is twice as long as the last, and then no start follows.
"""

from ..config import WORKER_DEATHS, WORKER_PAUSE_FIRST, WORKER_PAUSE_MOST, WORKER_SETTLED


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
