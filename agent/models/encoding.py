"""JSON to and from a service: whatever a request holds can be sent, and what breaks is one of our own errors."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from ..errors import ModelFailed

T = TypeVar("T")
_encoder = msgspec.json.Encoder(enc_hook=lambda value: _plain(value))


def encoded(value: Any) -> bytes:
    """Return `value` as JSON. Halves of characters, which UTF-8 cannot hold, become question marks.

    Raises `ModelFailed` (`request`) for a schema that JSON cannot hold, or that is nested too deep to be written.
    """
    try:
        try:
            return _encoder.encode(value)
        except UnicodeEncodeError:
            return _encoder.encode(_whole(msgspec.to_builtins(value, enc_hook=_plain)))
    except (TypeError, ValueError, RecursionError):
        raise ModelFailed("the request cannot be written as JSON", "request") from None


def decoded(data: str | bytes, kind: type[T]) -> T:
    """Return the JSON `data` as a `kind`. Raises `ModelFailed` (`protocol`) for what is none."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ModelFailed("the model's answer is not what its service's protocol says", "protocol") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return value
