"""What was said in one session: the newest exchanges, as many as fit. Pure."""

from ..config import CHARACTERS_PER_TOKEN
from ..ports.conversation import Exchange


class History:
    """The last exchanges within a budget.

    most: tokens of all that is kept, estimated; 0 keeps nothing. kept: the exchanges, oldest first.
    """

    __slots__ = ("_left", "kept")

    def __init__(self, most: int) -> None:
        self._left = most
        self.kept: tuple[Exchange, ...] = ()

    def add(self, exchange: Exchange) -> None:
        """Keep an exchange, and let go of the oldest that no longer fit; one that never fits ends what was before it.

        What came before a gap would read as if it had just been said.
        """
        kept = (*self.kept, exchange)
        self._left -= _tokens(exchange)
        dropped = 0
        while self._left < 0:
            self._left += _tokens(kept[dropped])
            dropped += 1
        self.kept = kept[dropped:]

    def withdraw(self) -> None:
        """Keep that nothing which the last exchange asked for is told by the next message."""
        if self.kept:
            *others, last = self.kept
            self.kept = (*others, Exchange(last.question, last.answer, withdrawn=True))


def _tokens(exchange: Exchange) -> int:
    return -(-(len(exchange.question) + len(exchange.answer)) // CHARACTERS_PER_TOKEN)
