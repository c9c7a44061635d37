"""Cancellation of a reader: it calls `Breath.draw` at every small step, and now and then that asks whether to go on."""

from agent.errors import GivenUp

from .blocks import GiveUp

_STEPS = 64


class Breath:
    """A counter of steps of well under 0.1 ms each; at every 64th it calls `given_up`."""

    __slots__ = ("_given_up", "_left")

    def __init__(self, given_up: GiveUp) -> None:
        self._given_up = given_up
        self._left = 1

    def draw(self) -> None:
        """Count one step. Raises `GivenUp` when the caller no longer wants the document."""
        self._left -= 1
        if self._left <= 0:
            self.ask()

    def ask(self) -> None:
        """Call `given_up` at once, after a longer step. Raises `GivenUp` when it returns true."""
        self._left = _STEPS
        if self._given_up():
            raise GivenUp("reading was given up")
