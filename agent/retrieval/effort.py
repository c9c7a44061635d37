"""How much reading may cost, and whether anybody still waits for it.

Strategy: a thread cannot be stopped from outside, so whoever reads a knowledge base looks here between two lines,
blocks, files and pieces. `look` raises when the reading was given up, which another thread may do at any moment, or
when one file has taken more than its share of CPU. Nothing that was half read is kept.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from time import thread_time

from agent.config import FILE_SECONDS
from agent.errors import AgentError, GivenUp

_EVERY = 32  # looks between two at the clock, which costs more than the rest


class TooMuch(AgentError):
    """A file is over a bound; the message says which, in a few words for the operator."""


class Effort:
    """One run of reading. begun: whether it has its turn. given_up: whether it should end."""

    __slots__ = ("_looks", "_until", "begun", "given_up")

    def __init__(self) -> None:
        self.begun = False
        self.given_up = False
        self._until: float | None = None  # on this thread's CPU clock
        self._looks = 0

    def give_up(self) -> None:
        """Let whoever reads stop at its next look. For any thread; idempotent, never blocks."""
        self.given_up = True

    def begin(self) -> None:
        """Note that reading no longer waits for another file's."""
        self.begun = True

    @contextmanager
    def one_file(self, seconds: float = FILE_SECONDS) -> Iterator[None]:
        """Allow so many seconds of this thread's CPU for what is done in a block."""
        self._until = thread_time() + seconds
        try:
            yield
        finally:
            self._until = None

    def look(self) -> None:
        """Go on, or raise `GivenUp` or `TooMuch`."""
        if self.given_up:
            raise GivenUp
        self._looks += 1
        if self._until is not None and self._looks % _EVERY == 0 and thread_time() > self._until:
            raise TooMuch(f"takes more than {FILE_SECONDS:g} s to read; split it")
