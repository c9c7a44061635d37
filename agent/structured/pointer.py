"""JSON Pointers (RFC 6901), and the size and depth of JSON values; pure.

Every walk through a value here is bounded by `DOCUMENT_DEPTH`, so that no document of a model can end in
`RecursionError`.
"""

import math
from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec

from ..config import DOCUMENT_DEPTH

FOUND_CHARACTERS = 80  # of a wrong value that a problem quotes

Json: TypeAlias = Any  # None, bool, int, float, str, and lists and dicts (with str keys) of these


def make_pointer(parts: Iterable[str | int]) -> str:
    """Return the JSON Pointer of some keys and indices; "" is the whole document."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def parse_pointer(text: str) -> list[str] | None:
    """Return the parts of a JSON Pointer; None when `text` is none."""
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


def measure_json(value: Json, most: int = DOCUMENT_DEPTH) -> tuple[int, int]:
    """Return the depth of a value (0 when it is no array or object) and the number of values in it, itself included.

    `most`: the depth beyond which nothing is counted; the depth is then `most + 1`.
    """
    if not isinstance(value, (dict, list)):
        return 0, 1
    if most <= 0:
        return 1, 1
    depth, count = 0, 1
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, (dict, list)):
            inner, values = measure_json(each, most - 1)
            depth = max(depth, inner)
            count += values
        else:
            count += 1
    return depth + 1, count


def copy_json(value: Json) -> Json:
    """Return a deep copy of a JSON value no deeper than `DOCUMENT_DEPTH`; keys keep their order."""
    if isinstance(value, dict):
        return {key: copy_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [copy_json(each) for each in value]
    return value


def are_equal(one: Json, other: Json) -> bool:
    """Return whether two JSON values are equal: numbers by their value, and true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(are_equal(each, other[key]) for key, each in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(are_equal, one, other))
    return bool(one == other)


def is_json(value: Json) -> bool:
    """Return whether a value is JSON: no NaN, no Infinity, whole characters, and no other types."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_json(key) and is_json(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(is_json, value))
    if isinstance(value, str):
        return value.isascii() or value.encode("utf-8", "ignore").decode() == value
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (bool, int))


def shorten_json(value: Json) -> str:
    """Return the beginning of a value as JSON, at most `FOUND_CHARACTERS` long."""
    if isinstance(value, str):
        value = value[: FOUND_CHARACTERS + 1].encode("utf-8", "replace").decode()
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= FOUND_CHARACTERS else text[: FOUND_CHARACTERS - 1] + "…"
