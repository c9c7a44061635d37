"""Checks payloads of actions: JSON objects that are neither large nor deep."""

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from ..config import PAYLOAD_BYTES, PAYLOAD_NESTING


def is_valid_payload(payload: Mapping[str, Any]) -> bool:
    """Return whether `payload` is a JSON object of at most `PAYLOAD_BYTES` (UTF-8), at most `PAYLOAD_NESTING` deep.

    NaN, infinities, halves of surrogate pairs and keys that are no strings are not JSON.
    """
    if is_deeper_than(PAYLOAD_NESTING, payload) or not _is_json(payload):
        return False
    try:
        return len(msgspec.json.encode(payload)) <= PAYLOAD_BYTES
    except UnicodeEncodeError:
        return False


def is_deeper_than(levels: int, value: object) -> bool:
    """Return whether objects and arrays stand in each other more than `levels` deep."""
    if not isinstance(value, Mapping | list | tuple):
        return False
    inside = value.values() if isinstance(value, Mapping) else value
    return levels == 0 or any(is_deeper_than(levels - 1, item) for item in inside)


def _is_json(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_json, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)
