"""Joins the pieces of one answer; pure."""

from collections.abc import Collection
from dataclasses import dataclass, field

from ..errors import ModelFailed
from ..ports.model import CallDelta, FinishReason, Piece, TextDelta, Usage

ANSWER_CHARACTERS = 256 * 1024  # of one answer of a model, its text and its calls together ...
ANSWER_CALLS = 64  # ... and how many calls are in it


@dataclass(slots=True)
class CallBuffer:
    """The pieces of one call so far."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        """The JSON text of its arguments so far."""
        return "".join(self.pieces)


class ReplyBuffer:
    """The pieces of one answer so far. `reason`: the reason for its end; None before the end."""

    def __init__(self) -> None:
        self.reason: FinishReason | None = None
        self.usage = Usage()
        self._text: list[str] = []
        self._calls: dict[int, CallBuffer] = {}
        self._room = ANSWER_CHARACTERS

    @property
    def text(self) -> str:
        """The text of the answer so far."""
        return "".join(self._text)

    @property
    def calls(self) -> Collection[CallBuffer]:
        """The calls so far, in the order in which they began."""
        return self._calls.values()

    def add_piece(self, piece: Piece) -> None:
        """Add the next piece. Raises `ModelFailed` when the answer has outgrown its bounds."""
        if isinstance(piece, TextDelta):
            self._text.append(piece.text)
            self._room -= len(piece.text)
        elif isinstance(piece, CallDelta):
            call = self._calls.get(piece.index)
            if call is None:
                call = self._calls[piece.index] = CallBuffer()
            call.id = call.id or piece.id
            call.name = call.name or piece.name
            call.pieces.append(piece.arguments)
            self._room -= len(piece.arguments) + len(piece.name)
        else:
            self.reason, self.usage = piece.reason, piece.usage
        if self._room < 0 or len(self._calls) > ANSWER_CALLS:
            raise ModelFailed("the model said more than any answer may hold", "protocol")
