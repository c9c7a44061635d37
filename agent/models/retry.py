"""A model that is asked again where that is safe and may help.

Safe is only what has said nothing yet: a second answer cannot follow the first half of another. Help may be had where
the request did not arrive, where there were too many, and where the server failed; a model that is slow is not made
quicker, and a request that is refused is refused again.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from random import random

import trio

from ..config import MODEL_RETRIES, MODEL_RETRY_AFTER_MAX, MODEL_RETRY_PAUSE
from ..errors import ModelFailed
from ..ports.model import LanguageModel, Piece, Request
from ..ports.observe import Observer

_AGAIN = frozenset({"connect", "rate", "server"})


class Retrying:
    """Asks another model up to MODEL_RETRIES times more (a `LanguageModel`).

    chance: draws from 0..1, so that many who failed together do not come back together.
    """

    def __init__(
        self, model: LanguageModel, observer: Observer, chance: Callable[[], float] = random
    ) -> None:
        self._model = model
        self._observer = observer
        self._chance = chance

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the answer of the first try that gives a piece. Raises the last failure, at once where the pause
        before another try would outlast the caller's deadline."""
        tries = 0
        while True:
            begun = False
            try:
                async with aclosing(self._model.stream(request)) as pieces:
                    async for piece in pieces:
                        begun = True
                        yield piece
                return
            except ModelFailed as failure:
                pause = None if begun or tries == MODEL_RETRIES else self._pause(failure, tries)
                if pause is None:
                    raise
            tries += 1
            self._observer.count("model_retries")
            await trio.sleep(pause)

    def _pause(self, failure: ModelFailed, tries: int) -> float | None:
        """Return the seconds until the next try; None where there is to be none."""
        asked = failure.retry_after or 0.0
        if failure.kind not in _AGAIN or asked > MODEL_RETRY_AFTER_MAX:
            return None
        spread = MODEL_RETRY_PAUSE * (0.5 + self._chance() / 2)
        pause = asked + spread if asked else spread * 2**tries
        return pause if trio.current_time() + pause < trio.current_effective_deadline() else None
