"""A model that is left alone for a while when it fails again and again: nobody waits for what will fail.

A failure is one of the model, its server or the way to it. A request that was refused for what it is, or for its key,
says nothing of the model's health, and neither does one that was cancelled: none of them counts either way.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Literal, TypeAlias

import structlog
import trio

from ..config import MODEL_FAILURES, MODEL_REST
from ..errors import ModelFailed
from ..ports.model import Finished, LanguageModel, Piece, Request
from ..ports.observe import Observer

_log = structlog.get_logger(__name__)

Level: TypeAlias = Literal["model_open", "model_fallback_open", "memory_model_open"]
"""Of which model it is said whether it rests."""

_FAILURES = frozenset({"connect", "timeout", "rate", "server", "protocol", "cut"})


class Breaker:
    """Asks another model unless it rests (a `LanguageModel`). State is one model's, so there is one for each.

    After MODEL_FAILURES failures in a row the breaker is open for MODEL_REST seconds; then one request tries, while the
    others are still turned away, and closes it or opens it for as long again.

    which: this model's level in the figures, 1 while it is open.
    """

    def __init__(
        self,
        model: LanguageModel,
        observer: Observer,
        which: Level = "model_open",
    ) -> None:
        self._model = model
        self._observer = observer
        self._which = which
        self._failures = 0
        self._open_until: float | None = None
        self._trying = False

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the answer. Raises `ModelFailed` (`open`) at once while the model rests."""
        trial = self._enter()
        began, first, outcome = trio.current_time(), True, "cancelled"
        try:
            async with aclosing(self._model.stream(request)) as pieces:
                async for piece in pieces:
                    if first:
                        self._observer.measure("model_first_seconds", trio.current_time() - began)
                        first = False
                    if isinstance(piece, Finished):
                        outcome = "done"
                    yield piece
        except ModelFailed as failure:
            outcome = failure.kind
            raise
        finally:
            self._leave(trial, outcome)

    def _enter(self) -> bool:
        """Return whether this request is the one that tries a model that rested."""
        if self._open_until is None:
            return False
        rest = self._open_until - trio.current_time()
        if self._trying or rest > 0:
            self._observer.count("model_attempts", "open")
            raise ModelFailed(
                f"the model failed {MODEL_FAILURES} times in a row and is left alone for up to {MODEL_REST:g} s",
                "open",
                max(rest, 0.0),
            )
        self._trying = True
        return True

    def _leave(self, trial: bool, outcome: str) -> None:
        self._observer.count("model_attempts", outcome)
        if trial:
            self._trying = False
        if outcome == "done":
            self._failures = 0
            if self._open_until is not None:
                self._open_until = None
                self._observer.gauge(self._which, -1)
                _log.info("model asked again", model=self._which.removesuffix("_open"))
        elif outcome in _FAILURES:
            self._failures += 1
            if trial or (self._open_until is None and self._failures >= MODEL_FAILURES):
                self._open()

    def _open(self) -> None:
        if self._open_until is None:
            self._observer.gauge(self._which, 1)
            _log.warning("model left alone", model=self._which.removesuffix("_open"), seconds=MODEL_REST)
        self._open_until = trio.current_time() + MODEL_REST
