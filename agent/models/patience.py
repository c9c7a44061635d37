"""Limits the time to a model's first piece and between its pieces."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import trio

from ..errors import ModelFailed
from ..ports.model import LanguageModel, ModelRequest, Piece


class TimedModel:
    """Asks another model with time limits (a `LanguageModel`).

    `first`: seconds until its first piece. `between`: seconds from one piece to the next. The time that the consumer
    takes for a piece is not counted.
    """

    def __init__(self, model: LanguageModel, first: float, between: float) -> None:
        self._model = model
        self._first = first
        self._between = between

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield the answer.

        Raises `ModelFailed` (`timeout`) when a piece is late; the other model's stream is then closed.
        """
        limit, failing = self._first, "began no answer"
        async with aclosing(self._model.stream(request)) as pieces:
            while True:
                with trio.move_on_after(limit) as scope:
                    piece = await anext(pieces, None)
                    if piece is None:
                        return
                if scope.cancelled_caught:
                    raise ModelFailed(f"the model {failing} in {limit:g} s", "timeout")
                assert piece is not None
                yield piece
                limit, failing = self._between, "stopped in its answer and said nothing more"
