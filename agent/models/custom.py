"""Asks a model that an operator wrote: `--model package.module:Class`, a class with `stream(request)`.

The class comes from the operator's own module, which the current folder may hold. Whatever its code raises becomes
`ModelFailed` with words of ours: an exception may repeat the prompt, so its text goes to the log's traceback alone.
"""

import importlib
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing

import structlog

from ..errors import ModelFailed, UsageError
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
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        made = getattr(importlib.import_module(module), name)()
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{setting} {place}: there is no module {error.name} here or among the packages"
        ) from None
    except AttributeError:
        raise UsageError(f"{setting} {place}: the module has no {name} that can be made") from None
    except Exception as error:
        raise UsageError(f"{setting} {place} cannot be made: {type(error).__name__}: {error}") from error
    if not callable(getattr(made, "stream", None)):
        raise UsageError(f"{setting} {place} has no method stream(request): see agent guide extending")
    return CustomModel(made)
