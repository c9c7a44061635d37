"""Encodes requests as JSON and decodes answers: every value can be sent, and every failure is a `ModelFailed`."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from ..errors import ModelFailed

T = TypeVar("T")
_encoder = msgspec.json.Encoder(enc_hook=lambda value: _make_plain(value))


def encode(value: Any) -> bytes:
    """Return `value` as JSON. Halves of UTF-16 pairs, which UTF-8 cannot hold, become question marks.

    Raises `ModelFailed` (`request`) for a schema that JSON cannot hold, or that is nested too deep to be written.
    """
    try:
        try:
            return _encoder.encode(value)
        except UnicodeEncodeError:
            return _encoder.encode(_replace_halves(msgspec.to_builtins(value, enc_hook=_make_plain)))
    except (TypeError, ValueError, RecursionError):
        raise ModelFailed("the request cannot be written as JSON", "request") from None


def decode(data: str | bytes, kind: type[T]) -> T:
    """Return the JSON `data` as a `kind`. Raises `ModelFailed` (`protocol`) when it is not one."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ModelFailed("the model's answer is not what its service's protocol says", "protocol") from None


def _make_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError


def _replace_halves(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_replace_halves(key): _replace_halves(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_halves(item) for item in value]
    return value
