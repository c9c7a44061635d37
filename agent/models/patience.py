"""Limits the time to a model's first piece and between its pieces.

A server that has just started loads its model at the first request, which takes up to minutes. So until the model has
answered once, its first piece may take longer.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import trio

from ..errors import ModelFailed
from ..ports.model import LanguageModel, ModelRequest, Piece


class TimedModel:
    """Asks another model with time limits (a `LanguageModel`).

    `first`: seconds until its first piece. `between`: seconds from one piece to the next. `first_call`: takes the place
    of `first` until the model has answered once, where it is longer. The time that the consumer takes for a piece is
    not counted.
    """

    def __init__(self, model: LanguageModel, first: float, between: float, first_call: float = 0.0) -> None:
        self._model = model
        self._first = first
        self._between = between
        self._first_call = max(first, first_call)
        self._has_answered = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield the answer.

        Raises `ModelFailed` (`timeout`) when a piece is late; the other model's stream is then closed.
        """
        limit = self._first if self._has_answered else self._first_call
        failing = "began no answer"
        setting = "first-token-timeout" if self._has_answered else "first-call-timeout"
        async with aclosing(self._model.stream(request)) as pieces:
            while True:
                with trio.move_on_after(limit) as scope:
                    piece = await anext(pieces, None)
                    if piece is None:
                        return
                if scope.cancelled_caught:
                    raise ModelFailed(
                        f"the model {failing} in {limit:g} s: if it is only slow, raise {setting}", "timeout"
                    )
                assert piece is not None
                self._has_answered = True
                yield piece
                limit, failing = self._between, "stopped in its answer and said nothing more"
                setting = "token-timeout"
