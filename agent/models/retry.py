"""Asks a model again where that is safe and may help.

A retry is safe only before the first piece: a second answer cannot follow the first half of another. It may help when
the request did not arrive, when there were too many requests, and when the server failed. A retry makes a slow model no
faster, and a refused request is refused again.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from random import random

import trio

from ..errors import ModelFailed
from ..ports.model import LanguageModel, ModelRequest, Piece
from ..ports.observe import Observer

MODEL_RETRIES = 2  # after the first try
MODEL_RETRY_PAUSE = 0.5  # before the first of them, about; twice as long before the next
MODEL_RETRY_AFTER_MAX = 30.0  # that a service may ask for; a longer one fails the request

_RETRIED_KINDS = frozenset({"connect", "rate", "server"})


class RetryingModel:
    """Asks another model up to `MODEL_RETRIES` times more (a `LanguageModel`).

    `chance`: draws from 0..1, so that many requests that failed together are not repeated together.
    """

    def __init__(
        self, model: LanguageModel, observer: Observer, chance: Callable[[], float] = random
    ) -> None:
        self._model = model
        self._observer = observer
        self._chance = chance

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield the answer of the first try that gives a piece.

        Raises the last failure, and raises it at once when the pause before another try would outlast the caller's
        deadline.
        """
        tries = 0
        while True:
            has_piece = False
            try:
                async with aclosing(self._model.stream(request)) as pieces:
                    async for piece in pieces:
                        has_piece = True
                        yield piece
                return
            except ModelFailed as failure:
                pause = None if has_piece or tries == MODEL_RETRIES else self._pause(failure, tries)
                if pause is None:
                    raise
            tries += 1
            self._observer.count("model_retries")
            await trio.sleep(pause)

    def _pause(self, failure: ModelFailed, tries: int) -> float | None:
        """Return the seconds until the next try; None for no further try."""
        requested = failure.retry_after or 0.0
        if failure.kind not in _RETRIED_KINDS or requested > MODEL_RETRY_AFTER_MAX:
            return None
        spread = MODEL_RETRY_PAUSE * (0.5 + self._chance() / 2)
        pause = requested + spread if requested else spread * 2**tries
        return pause if trio.current_time() + pause < trio.current_effective_deadline() else None
