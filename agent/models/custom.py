"""Asks a model that an operator wrote: `--model package.module:Class`, a class with `stream(request)`.

The class comes from the operator's own module, which the current folder may hold. Any exception of its code becomes
`ModelFailed` with words of ours: an exception may repeat the prompt, so its text goes to the log's traceback alone.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import structlog

from ..errors import ModelFailed, UsageError
from ..operator_module import describe_exception, import_operator_module
from ..ports.model import CallDelta, Finish, LanguageModel, ModelRequest, Piece, TextDelta

_log = structlog.get_logger(__name__)


class CustomModel:
    """Asks a model of an operator, and turns its faults into `ModelFailed` (a `LanguageModel`)."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield the pieces of the model. When it returns, is closed or cancelled, the model's stream is closed."""
        failure = None
        try:
            async with aclosing(self._model.stream(request)) as pieces:
                async for piece in pieces:
                    if not isinstance(piece, TextDelta | CallDelta | Finish):
                        raise ModelFailed(
                            "the model's code yielded something other than a piece of an answer"
                        )
                    yield piece
                    if isinstance(piece, Finish):
                        return
        except ModelFailed as error:
            failure = ModelFailed(
                f"the model's code reports a failure ({error.kind})", error.kind, error.retry_after
            )
        except Exception as error:  # noqa: BLE001 - somebody else's code
            _log.warning("the model's code raised an exception", exc_info=error)
            failure = ModelFailed(
                f"the model's code raised {type(error).__name__}: the log has the traceback", "server"
            )
        raise failure or ModelFailed("the model's code ended without a Finish", "cut")


def load_model(place: str, setting: str) -> CustomModel:
    """Import and make the model at `place`, a `package.module:Class`; the current folder is searched too. Blocks.

    Raises `agent.errors.UsageError`, one line that begins with `setting`, when there is no such class, or when it
    cannot be made without arguments.
    """
    module, _, name = place.partition(":")
    make = getattr(import_operator_module(module, setting), name, None)
    if not isinstance(make, type) or not callable(getattr(make, "stream", None)):
        raise UsageError(
            f"{setting} {place}: it is no class with a method stream(request): agent guide extending"
        )
    try:
        return CustomModel(make())
    except Exception as error:  # noqa: BLE001  code of the operator: its fault becomes one line
        raise UsageError(f"{setting} {place}: cannot be made ({describe_exception(error)})") from None
