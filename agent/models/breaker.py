"""Stops asking a model that fails again and again, so that no request waits for a failure.

A failure of the model, of its server or of the connection counts. A request that was refused for its content or its key
says nothing of the model's health, and neither does a cancelled request: both count neither as failure nor as success.
Nor does a time-out before the model has answered for the first time: its server may still be loading the model.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Literal, TypeAlias

import structlog
import trio

from ..errors import ModelFailed
from ..ports.model import Finish, LanguageModel, ModelRequest, Piece
from ..ports.observe import Observer

MODEL_FAILURES = 5  # in a row, after which a model is left alone ...
MODEL_REST = 30.0  # ... until one request may try it again

_log = structlog.get_logger(__name__)

Level: TypeAlias = Literal["model_open", "model_fallback_open", "memory_model_open"]
"""The gauge of each model that shows whether its breaker is open."""

_FAILURES = frozenset({"connect", "timeout", "rate", "server", "protocol", "cut"})


class Breaker:
    """Asks another model unless the breaker is open (a `LanguageModel`). Each model has a breaker of its own.

    After `MODEL_FAILURES` failures in a row the breaker opens for `MODEL_REST` seconds. Then one request is let
    through, while the others are still turned away; its outcome closes the breaker or opens it for as long again.

    `which`: the gauge of this model, 1 while the breaker is open.
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
        self._has_answered = False
        self._open_until: float | None = None
        self._trying = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield the answer. Raises `ModelFailed` (`open`) at once while the breaker is open."""
        trial = self._admit()
        began, first, outcome = trio.current_time(), True, "cancelled"
        try:
            async with aclosing(self._model.stream(request)) as pieces:
                async for piece in pieces:
                    if first:
                        self._observer.measure("model_first_seconds", trio.current_time() - began)
                        first = False
                        self._has_answered = True
                    if isinstance(piece, Finish):
                        outcome = "done"
                    yield piece
        except ModelFailed as failure:
            outcome = failure.kind
            raise
        finally:
            self._record_outcome(trial, outcome)

    def _admit(self) -> bool:
        """Return whether this request is the trial after a rest. Raises `ModelFailed` while the breaker is open."""
        if self._open_until is None:
            return False
        rest = self._open_until - trio.current_time()
        if self._trying or rest > 0:
            self._observer.count("model_attempts", "open")
            raise ModelFailed(
                f"the model failed {MODEL_FAILURES} times in a row and is not asked for up to {MODEL_REST:g} s",
                "open",
                max(rest, 0.0),
            )
        self._trying = True
        return True

    def _record_outcome(self, trial: bool, outcome: str) -> None:
        self._observer.count("model_attempts", outcome)
        if trial:
            self._trying = False
        if outcome == "done":
            self._failures = 0
            if self._open_until is not None:
                self._open_until = None
                self._observer.gauge(self._which, -1)
                _log.info("model asked again", model=self._which.removesuffix("_open"))
        elif outcome in _FAILURES and (self._has_answered or outcome != "timeout"):
            self._failures += 1
            if trial or (self._open_until is None and self._failures >= MODEL_FAILURES):
                self._open()

    def _open(self) -> None:
        if self._open_until is None:
            self._observer.gauge(self._which, 1)
            _log.warning("model left alone", model=self._which.removesuffix("_open"), seconds=MODEL_REST)
        self._open_until = trio.current_time() + MODEL_REST
