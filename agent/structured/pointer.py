"""JSON Pointers (RFC 6901), and the measure of JSON values; pure.

Whatever walks a value here is bounded by `DOCUMENT_DEPTH`, so that no document of a model's can end in RecursionError.
"""

import math
from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec

from ..config import DOCUMENT_DEPTH, FOUND_CHARACTERS

Json: TypeAlias = Any  # None, bool, int, float, str, and lists and dicts (with str keys) of these


def pointer(parts: Iterable[str | int]) -> str:
    """Return the JSON Pointer of some keys and indices; "" is the whole document."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def tokens(text: str) -> list[str] | None:
    """Return the parts of a JSON Pointer; None where it is none."""
    if not text:
        return []
    if text[0] != "/":
        return None
    parts = text[1:].split("/")
    if "~" not in text:
        return parts
    if text.count("~") != text.count("~0") + text.count("~1"):
        return None
    return [part.replace("~1", "/").replace("~0", "~") for part in parts]


def measure(value: Json, most: int = DOCUMENT_DEPTH) -> tuple[int, int]:
    """Return how deep a value is nested (0 where it is no array or object) and how many values it holds, itself too.

    most: beyond this depth nothing is counted, and the depth is `most + 1`.
    """
    if not isinstance(value, (dict, list)):
        return 0, 1
    if most <= 0:
        return 1, 1
    depth, count = 0, 1
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, (dict, list)):
            inner, values = measure(each, most - 1)
            depth = max(depth, inner)
            count += values
        else:
            count += 1
    return depth + 1, count


def copied(value: Json) -> Json:
    """Return a deep copy of a JSON value no deeper than `DOCUMENT_DEPTH`; keys keep their order."""
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    if isinstance(value, list):
        return [copied(each) for each in value]
    return value


def same(one: Json, other: Json) -> bool:
    """Tell whether two JSON values are equal: numbers by their value, and true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(each, other[key]) for key, each in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def is_json(value: Json) -> bool:
    """Tell whether a value is JSON: no NaN, no Infinity, whole characters, and no other types."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_json(key) and is_json(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(is_json, value))
    if isinstance(value, str):
        return value.isascii() or value.encode("utf-8", "ignore").decode() == value
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (bool, int))


def brief(value: Json) -> str:
    """Return the beginning of a value, written as JSON, at most `FOUND_CHARACTERS` long."""
    if isinstance(value, str):
        value = value[: FOUND_CHARACTERS + 1].encode("utf-8", "replace").decode()
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= FOUND_CHARACTERS else text[: FOUND_CHARACTERS - 1] + "…"
