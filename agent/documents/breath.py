"""How a reader stays answerable: it draws breath at every small step, and asks now and then whether to go on."""

from agent.errors import GivenUp

from .form import GiveUp

_STEPS = 64


class Breath:
    """Counts steps of well under 0.1 ms; every 64th asks `given_up`."""

    __slots__ = ("_given_up", "_left")

    def __init__(self, given_up: GiveUp) -> None:
        self._given_up = given_up
        self._left = 1

    def draw(self) -> None:
        """Count one step. Raises `GivenUp` when the asker has given up."""
        self._left -= 1
        if self._left <= 0:
            self.ask()

    def ask(self) -> None:
        """Ask at once, after a longer step. Raises `GivenUp` when the asker has given up."""
        self._left = _STEPS
        if self._given_up():
            raise GivenUp("reading was given up")
