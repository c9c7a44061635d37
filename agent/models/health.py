"""Tells whether a language model answers: at the start of a server, and by the outcome of each request."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress

import structlog
import trio

from ..errors import ModelFailed
from ..ports.model import Finish, LanguageModel, ModelMessage, ModelRequest, Piece
from ..ports.usage import METER

_log = structlog.get_logger(__name__)
_PROBE = ModelRequest(messages=(ModelMessage("user", "Answer with the word: ready"),), max_tokens=1)


class WatchedModel:
    """Asks another model, logs and reports its failures, and counts its tokens (a `LanguageModel`).

    Each failure is one warning line for the operator. `on_trouble`: called with a sentence when a request fails, and
    with "" when the model answers again. The sentence holds no secret and no word of the server: clients may see it.
    """

    def __init__(self, model: LanguageModel, on_trouble: Callable[[str], None]) -> None:
        self._model = model
        self._on_trouble = on_trouble
        self._fails = False
        self._why = ""  # the last request that was asked has failed

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield the answer. Raises `ModelFailed` as the model does; a cancelled request reports nothing."""
        try:
            async with aclosing(self._model.stream(request)) as pieces:
                async for piece in pieces:
                    if self._fails:
                        self._fails, self._why = False, ""
                        self._on_trouble("")
                    meter = METER.get()
                    if meter is not None and isinstance(piece, Finish):
                        meter.add(piece.usage)
                    yield piece
        except ModelFailed as failure:
            if failure.kind == "length":  # the model is well; it is asked again with less
                _log.warning("prompt does not fit the model", reason=str(failure), **_detail(failure))
                raise
            self._fails = True
            _log_failure(failure)
            self._on_trouble(f"The language model does not answer: {self._explain(failure)}.")
            raise

    def _explain(self, failure: ModelFailed) -> str:
        """Return the reason of `failure`; of a model that is not asked, after the reason of its last failure."""
        reason = str(failure)
        if failure.kind != "open":
            self._why = reason
        elif self._why:
            return f"{self._why}. {reason[:1].upper()}{reason[1:]}"
        return reason


async def ask_for_one_token(model: LanguageModel) -> float:
    """Ask `model` for one token and return the seconds that its answer took. Raises `ModelFailed` as the model does.

    It waits as long as the model's time limits. Cancelled, the request ends.
    """
    began = trio.current_time()
    async with aclosing(model.stream(_PROBE)) as pieces:
        async for _ in pieces:
            pass
    return trio.current_time() - began


async def probe_model(model: LanguageModel) -> bool:
    """Ask `model`, which logs its own failures, for one token; return whether it answers, and log that in one line."""
    with suppress(ModelFailed):
        _log.info("model answers", seconds=round(await ask_for_one_token(model), 1))
        return True
    return False


def _log_failure(failure: ModelFailed) -> None:
    """Log the failure of a model with its remedy, and with the sentence of its server where there is one."""
    _log.warning("model does not answer", kind=failure.kind, reason=str(failure), **_detail(failure))


def _detail(failure: ModelFailed) -> dict[str, str]:
    return {"server": failure.detail} if failure.detail else {}
