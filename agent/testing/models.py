"""A language model that says what it is told to, so that what surrounds models can be tested on virtual time."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import TypeAlias

import trio

from ..errors import ModelFailed
from ..ports.model import Finished, Piece, Request

Step: TypeAlias = Piece | float | ModelFailed
"""What it does next: say a piece, wait some seconds, fail."""


class FakeModel:
    """Plays one list of steps a request (a `LanguageModel`); with none left it fails as its server would.

    requests: what it was asked. closed: how many streams have ended, whatever ended them. running: how many have not.
    """

    def __init__(self, answers: Iterable[Sequence[Step]] = ()) -> None:
        self._answers = iter(answers)
        self.requests: list[Request] = []
        self.closed = 0

    @property
    def running(self) -> int:
        """How many streams have begun and not ended."""
        return len(self.requests) - self.closed

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the next answer."""
        self.requests.append(request)
        try:
            for step in next(self._answers, (ModelFailed("nothing left to say", "server"),)):
                await trio.lowlevel.checkpoint()
                if isinstance(step, ModelFailed):
                    raise step
                if isinstance(step, int | float):
                    await trio.sleep(step)
                    continue
                yield step
                if isinstance(step, Finished):
                    return
            raise ModelFailed("the answer ended before its end", "cut")
        finally:
            self.closed += 1
