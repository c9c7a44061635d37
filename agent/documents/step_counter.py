"""Cancellation of a reader: it calls `StepCounter.count_step` at every small step, and some of these ask to go on."""

from agent.errors import GivenUp

from .blocks import GiveUp

_STEPS = 64


class StepCounter:
    """A counter of steps of well under 0.1 ms each; at every 64th it calls `given_up`."""

    __slots__ = ("_given_up", "_left")

    def __init__(self, given_up: GiveUp) -> None:
        self._given_up = given_up
        self._left = 1

    def count_step(self) -> None:
        """Count one step. Raises `GivenUp` when the caller no longer wants the document."""
        self._left -= 1
        if self._left <= 0:
            self.check()

    def check(self) -> None:
        """Call `given_up` at once, after a longer step. Raises `GivenUp` when it returns true."""
        self._left = _STEPS
        if self._given_up():
            raise GivenUp("reading was given up")
