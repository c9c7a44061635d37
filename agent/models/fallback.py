"""A model in whose place another one answers when it cannot, as long as it has said nothing."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from ..errors import ModelFailed
from ..ports.model import LanguageModel, Piece, Request
from ..ports.observe import Observer


class Fallback:
    """Asks the first model, and the second one where the first fails before its first piece (a `LanguageModel`)."""

    def __init__(self, first: LanguageModel, second: LanguageModel, observer: Observer) -> None:
        self._first = first
        self._second = second
        self._observer = observer

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield one model's answer. Raises the failure of the last model that was asked."""
        begun = False
        try:
            async with aclosing(self._first.stream(request)) as pieces:
                async for piece in pieces:
                    begun = True
                    yield piece
            return
        except ModelFailed:
            if begun:
                raise
        self._observer.count("model_fallbacks")
        async with aclosing(self._second.stream(request)) as pieces:
            async for piece in pieces:
                yield piece
