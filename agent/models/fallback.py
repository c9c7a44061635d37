"""Asks a second model when the first one fails before its first piece."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from ..errors import ModelFailed
from ..ports.model import LanguageModel, ModelRequest, Piece
from ..ports.observe import Observer


class Fallback:
    """Asks the first model, and the second model when the first fails before its first piece (a `LanguageModel`)."""

    def __init__(self, first: LanguageModel, second: LanguageModel, observer: Observer) -> None:
        self._first = first
        self._second = second
        self._observer = observer

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield the answer of one model. Raises the failure of the last model that was asked."""
        has_piece = False
        try:
            async with aclosing(self._first.stream(request)) as pieces:
                async for piece in pieces:
                    has_piece = True
                    yield piece
            return
        except ModelFailed:
            if has_piece:
                raise
        self._observer.count("model_fallbacks")
        async with aclosing(self._second.stream(request)) as pieces:
            async for piece in pieces:
                yield piece
