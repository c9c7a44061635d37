"""Models that wrap another model: `TimedModel`, `RetryingModel`, `TracedModel` and `Fallback`.

`TimedModel` limits the time to a model's first piece and between its pieces. A server that has just started loads its
model at the first request, which takes up to minutes. So until the model has answered once, its first piece may take
longer.

`RetryingModel` asks a model again where that is safe and may help. A retry is safe only before the first piece: a
second answer cannot follow the first half of another. It may help when the request did not arrive, when there were too
many requests, and when the server failed. A retry makes a slow model no faster, and a refused request is refused again.

`TracedModel` stands around the retries: a request and its retries are one step of a turn's trace.

`Fallback` asks a second model when the first one fails before its first piece.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from random import random

import trio

from ..errors import ModelFailed
from ..ports.model import Finish, LanguageModel, ModelRequest, Piece, Usage
from ..ports.observe import Observer
from ..ports.tracing import trace_step
from .settings import ModelName

MODEL_RETRIES = 2  # tries after the first one
MODEL_RETRY_PAUSE = 0.5  # seconds before the first retry, about; twice as long before the next
MODEL_RETRY_AFTER_MAX = (
    30.0  # seconds of the pause that a service may ask for; a longer one fails the request
)

_UNCOUNTED = Usage()
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


class TracedModel:
    """Asks another model, within a step of the trace of the turn that asks (a `LanguageModel`).

    `name`: the operator's name of the model.
    """

    def __init__(self, model: LanguageModel, name: ModelName) -> None:
        self._model = model
        self._name = name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield the answer. Raises `ModelFailed` as the model does."""
        asked_at, has_piece = trio.current_time(), False
        with trace_step("chat", self._name.name or self._name.kind, self._name.provider) as span:
            async with aclosing(self._model.stream(request)) as pieces:
                async for piece in pieces:
                    if span is not None and not has_piece:
                        span.set_attribute(
                            "gen_ai.response.time_to_first_chunk", trio.current_time() - asked_at
                        )
                    has_piece = True
                    if span is not None and isinstance(piece, Finish) and piece.usage != _UNCOUNTED:
                        span.set_attribute("gen_ai.usage.input_tokens", piece.usage.read)
                        span.set_attribute("gen_ai.usage.output_tokens", piece.usage.written)
                    yield piece


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
