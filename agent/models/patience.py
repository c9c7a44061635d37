"""A model that is given a time for its first piece, and for each one after it."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import trio

from ..errors import ModelFailed
from ..ports.model import LanguageModel, Piece, Request


class Patient:
    """Asks another model, and waits so long for it (a `LanguageModel`).

    first: seconds until its first piece. between: seconds from one piece to the next. The time that whoever asked takes
    for a piece is not counted.
    """

    def __init__(self, model: LanguageModel, first: float, between: float) -> None:
        self._model = model
        self._first = first
        self._between = between

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the answer. Raises `ModelFailed` (`timeout`) when a piece is late; the other model is then closed."""
        limit, what = self._first, "began no answer"
        async with aclosing(self._model.stream(request)) as pieces:
            while True:
                with trio.move_on_after(limit) as scope:
                    piece = await anext(pieces, None)
                    if piece is None:
                        return
                if scope.cancelled_caught:
                    raise ModelFailed(f"the model {what} in {limit:g} s", "timeout")
                assert piece is not None
                yield piece
                limit, what = self._between, "stopped in its answer and said nothing more"
