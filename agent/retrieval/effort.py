"""Bounds the cost of reading, and ends reading that is no longer needed.

Strategy: a thread cannot be stopped from outside, so code that reads a knowledge base calls `Effort.check` between
two lines, blocks, files and pieces. It raises when the reading was given up, which another thread may do at any
moment, or when one file has taken more than its share of CPU. A half-read file is discarded.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from time import thread_time

from agent.errors import AgentError, GivenUp

from .settings import FILE_SECONDS

_EVERY = 32  # checks for each look at the clock, which costs more than the rest of a check


class BoundExceeded(AgentError):
    """A file exceeds a bound; the message says which one, in a few words for the operator."""


class Effort:
    """One run of reading. `begun`: it no longer waits for another file. `given_up`: it should end."""

    __slots__ = ("_looks", "_until", "begun", "given_up")

    def __init__(self) -> None:
        self.begun = False
        self.given_up = False
        self._until: float | None = None  # by this thread's CPU clock
        self._looks = 0

    def give_up(self) -> None:
        """Make the reading stop at its next `check`. Thread-safe and idempotent; never blocks."""
        self.given_up = True

    def begin(self) -> None:
        """Record that the reading no longer waits for another file."""
        self.begun = True

    @contextmanager
    def limit_file(self, seconds: float = FILE_SECONDS) -> Iterator[None]:
        """Allow `seconds` of this thread's CPU for the work on one file in the block."""
        self._until = thread_time() + seconds
        try:
            yield
        finally:
            self._until = None

    def check(self) -> None:
        """Raise `GivenUp` or `BoundExceeded` if the reading must end."""
        if self.given_up:
            raise GivenUp
        self._looks += 1
        if self._until is not None and self._looks % _EVERY == 0 and thread_time() > self._until:
            raise BoundExceeded(f"takes more than {FILE_SECONDS:g} s to read; split it")
