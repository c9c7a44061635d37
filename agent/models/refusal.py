"""Explains why a model's server refused a request: the sentence that the server gives, and the operator's remedy.

The sentence goes into the operator's log and nowhere else. A server may repeat the key or the prompt in it, so words
that hold part of a key are masked, and a sentence that repeats part of the prompt is left out.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from ..text.terminal import printable_line

REFUSAL_BYTES = 16 * 1024  # of a refusal that are read; services answer with some hundred
SENTENCE_CHARACTERS = 300
# Characters of a key in a row that no word of a log line may hold: services repeat the ends of keys.
_KEY_RUN = 4
_PROMPT_RUN = 24  # characters of a prompt in a row that no sentence may hold
_MASK = "***"
_WINDOW_WORDS = ("context_length", "context_size", "context window", "context length", "context size")
"""Words by which OpenAI, Anthropic, vLLM and llama.cpp say that a prompt is longer than the model's context."""


class _RefusalBody(msgspec.Struct):
    """The fields in which services put their sentence."""

    error: Any = None
    message: Any = None
    detail: Any = None


def read_refusal(body: bytes, keys: Iterable[str], prompt: Iterable[str]) -> str:
    """Return the sentence in the body of a refused request, on one line, without secrets; "" when there is none.

    `keys`: the credentials of the request. `prompt`: the texts that were sent.
    """
    sentence = " ".join(printable_line(_find_sentence(body)).split())
    for key in keys:
        sentence = _mask_key(sentence, key)
    return "" if _repeats(sentence, prompt) else sentence[:SENTENCE_CHARACTERS]


def is_too_long(body: bytes) -> bool:
    """Return whether a server refused a prompt because it is longer than the model's context."""
    text = body.decode("utf-8", "replace").lower()
    return any(word in text for word in _WINDOW_WORDS)


def advise(status: int, key: str, too_long: bool) -> str:
    """Return the operator's remedy for a refused request. `key`: the environment variable of the key."""
    if too_long:
        return (
            "the prompt is longer than its context: lower evidence-tokens, or give the model a larger context"
        )
    if status in (401, 403):
        return f"set {key} to a key that is valid there"
    if status == 404:
        return "it knows no such model or address: check the model's name and base-url"
    if status == 429:
        return "it takes no more requests for now, or the account's quota is used up"
    if status < 500:
        return "check the model's name, base-url, and how long a prompt it takes"
    return "its log says more"


def _find_sentence(body: bytes) -> str:
    try:
        parsed: Any = msgspec.json.decode(body, type=_RefusalBody)
    except msgspec.MsgspecError:
        return ""
    for field in (parsed.error, parsed.message, parsed.detail):
        if isinstance(field, dict):
            field = field.get("message")
        if isinstance(field, str) and field:
            return field
    return ""


def _mask_key(sentence: str, key: str) -> str:
    runs = {key[start : start + _KEY_RUN] for start in range(len(key) - _KEY_RUN + 1)} or {key}
    return " ".join(_MASK if any(run in word for run in runs) else word for word in sentence.split(" "))


def _repeats(sentence: str, prompt: Iterable[str]) -> bool:
    runs = [sentence[start : start + _PROMPT_RUN] for start in range(len(sentence) - _PROMPT_RUN + 1)]
    return any(run in " ".join(text.split()) for text in prompt for run in runs)
