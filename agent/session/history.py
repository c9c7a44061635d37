"""What was said in one session: the newest exchanges, as many as fit. Pure."""

from collections import deque

from ..config import CHARACTERS_PER_TOKEN
from ..ports.conversation import Exchange


class History:
    """The last exchanges within a budget. most: tokens of all that is kept, estimated; 0 keeps nothing."""

    __slots__ = ("_kept", "_left", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most
        self._kept: deque[Exchange] = deque()

    @property
    def kept(self) -> tuple[Exchange, ...]:
        """Return the exchanges that are kept, oldest first."""
        return tuple(self._kept)

    def add(self, exchange: Exchange) -> None:
        """Keep an exchange, and let go of the oldest that no longer fit; one that never fits ends what was before it.

        What came before a gap would read as if it had just been said.
        """
        self._kept.append(exchange)
        self._left -= _tokens(exchange)
        while self._left < 0:
            self._left += _tokens(self._kept.popleft())


def _tokens(exchange: Exchange) -> int:
    return -(-(len(exchange.question) + len(exchange.answer)) // CHARACTERS_PER_TOKEN)
