"""Asks a model's own server for the size of the model's context: llama.cpp, Ollama, LM Studio and vLLM tell it.

Strategy: each server has its own route for it, so they are asked in turn until one tells. The result is the context
that the server has given the model now, in tokens, and not the larger one that the model was trained with. Every fault
means that the size is not known.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import structlog
import trio

from ..errors import ModelFailed
from ..http_client import FAILURES, HttpClient
from .encoding import decode, encode

ASK_SECONDS = 5.0  # for all questions together
_BODY_MAX = 1024 * 1024  # of one answer, which holds the template of a chat or a list of models
_SIZE_MAX = 1 << 30  # tokens; more is no size
_NUM_CTX = re.compile(r"^num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)

_log = structlog.get_logger(__name__)


async def ask_context_size(root: str, headers: Mapping[str, str], name: str) -> int | None:
    """Return the tokens of the context of the model `name` on the server at `root`; None where it does not tell.

    `root`: the address without `/v1`. `headers`: of each request; they may hold a key. Takes `ASK_SECONDS` at most.
    Cancelled, the connection is closed.
    """
    with trio.move_on_after(ASK_SECONDS):
        for path, body, read in _QUESTIONS:
            asked = encode({"model": name}) if body else b""
            try:
                answer = await _ask(HttpClient(root + path, headers), "POST" if body else "GET", asked)
                size = None if answer is None else read(answer, name)
            except FAILURES as error:
                _log.debug("context not told", error=type(error).__name__)
                return None
            if isinstance(size, int) and not isinstance(size, bool) and 0 < size < _SIZE_MAX:
                return size
    return None


async def _ask(client: HttpClient, method: str, body: bytes) -> Any:
    """Return the JSON value of an answer; None for another answer."""
    async with client.post(body, method=method) as answer:
        read = await answer.read_body(_BODY_MAX) if answer.head.is_success else None
    try:
        return None if read is None else decode(read, Any)
    except ModelFailed:
        return None


def _read_props(answer: Any, _: str) -> Any:
    """Return the size in the answer of llama.cpp, which has one model."""
    return _dig(answer, "default_generation_settings", "n_ctx")


def _read_running(answer: Any, name: str) -> Any:
    """Return the size in the answer of Ollama, which lists the models that are loaded."""
    tagged = name if ":" in name else f"{name}:latest"
    return next((each.get("context_length") for each in _list(answer, "models", "name", tagged)), None)


def _read_shown(answer: Any, _: str) -> Any:
    """Return the size that the settings of a model of Ollama name."""
    parameters = _dig(answer, "parameters")
    match = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    return int(match[1]) if match is not None else None


def _read_listed(answer: Any, name: str) -> Any:
    """Return the size in a list of models, as LM Studio and vLLM give it."""
    for model in _list(answer, "data", "id", name):
        return model.get("loaded_context_length") or model.get("max_model_len")
    return None


def _dig(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _list(answer: Any, key: str, identity: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of a list whose `identity` is `name`."""
    entries = _dig(answer, key)
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get(identity) == name:
            yield entry


_QUESTIONS: tuple[tuple[str, bool, Callable[[Any, str], Any]], ...] = (
    ("/props", False, _read_props),
    ("/api/ps", False, _read_running),
    ("/api/show", True, _read_shown),
    ("/api/v0/models", False, _read_listed),
    ("/v1/models", False, _read_listed),
)
"""The routes, whether they take the name of the model, and the readers of their answers."""
