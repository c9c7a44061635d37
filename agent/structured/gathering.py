"""The pieces of one answer, put together; pure."""

from collections.abc import Collection
from dataclasses import dataclass, field

from ..config import ANSWER_CALLS, ANSWER_CHARACTERS
from ..errors import ModelFailed
from ..ports.model import CallDelta, Piece, Reason, TextDelta, Usage


@dataclass(slots=True)
class Gathered:
    """One call by now."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        """Its JSON text by now."""
        return "".join(self.pieces)


class Gathering:
    """An answer while it comes. reason: why it ended; None while it has not."""

    def __init__(self) -> None:
        self.reason: Reason | None = None
        self.usage = Usage()
        self._text: list[str] = []
        self._calls: dict[int, Gathered] = {}
        self._room = ANSWER_CHARACTERS

    @property
    def text(self) -> str:
        """The answer's text by now."""
        return "".join(self._text)

    @property
    def calls(self) -> Collection[Gathered]:
        """Its calls by now, in the order in which they began."""
        return self._calls.values()

    def take(self, piece: Piece) -> None:
        """Take the next piece. Raises `ModelFailed` when the answer has outgrown every bound."""
        if isinstance(piece, TextDelta):
            self._text.append(piece.text)
            self._room -= len(piece.text)
        elif isinstance(piece, CallDelta):
            call = self._calls.get(piece.index)
            if call is None:
                call = self._calls[piece.index] = Gathered()
            call.id = call.id or piece.id
            call.name = call.name or piece.name
            call.pieces.append(piece.arguments)
            self._room -= len(piece.arguments) + len(piece.name)
        else:
            self.reason, self.usage = piece.reason, piece.usage
        if self._room < 0 or len(self._calls) > ANSWER_CALLS:
            raise ModelFailed("the model said more than any answer may hold", "protocol")
