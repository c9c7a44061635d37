"""Decodes the text of a model as a JSON value, strictly where that is possible; pure.

Strategy: msgspec reads first; it refuses NaN, Infinity, numbers that are out of range and halves of UTF-16 pairs. A
whole text that msgspec cannot read may be repaired by `mend_json`, which blocks: the caller runs it in a worker thread.
The library `json_repair` returns a value for nearly any text, also NaN, and cuts prose away. So a repaired value must
be JSON within our bounds, and an object or array as the text begins, and it is marked as repaired.
"""

import re

import json_repair
import msgspec

from ..config import DOCUMENT_DEPTH
from .pointer import Json, is_json, measure_json, shorten_json

REPAIR_CHARACTERS = 64 * 1024  # of a text that is read as almost JSON

_FENCED = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[ \t]*+(?:[\w+-]++[ \t]*+)?\n(.*?)^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE
)
_OPENED = re.compile(r"\A\s*(?:`{3,}|~{3,})[ \t]*+(?:[\w+-]++[ \t]*+)?\n")
_CLOSES = {"{": "}", "[": "]"}
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)  # strings, or brackets; linear
_TOO_DEEP = f"it is nested over {DOCUMENT_DEPTH} deep"
_json: msgspec.json.Decoder[Json] = msgspec.json.Decoder()


class ParsedJson(msgspec.Struct, frozen=True):
    """A JSON value. `repaired`: the text was not JSON and was repaired."""

    document: Json
    repaired: bool = False


class UnparsedJson(msgspec.Struct, frozen=True):
    """A text that is no JSON value.

    `reason`: one clause. `found`: the beginning of the text. `mendable`: `mend_json` may repair it.
    """

    reason: str
    found: str
    mendable: bool = False


def parse_strictly(text: str) -> ParsedJson | UnparsedJson:
    """Return the one JSON value of a text; white space is an empty object, as some services write no arguments."""
    if not text.strip():
        return ParsedJson({}, repaired=True)
    try:
        document = _json.decode(text)
    except RecursionError:
        return UnparsedJson(_TOO_DEEP, shorten_json(text))
    except UnicodeEncodeError:
        return UnparsedJson("it holds one half of a UTF-16 pair", shorten_json(text))
    except msgspec.ValidationError:
        return UnparsedJson("it holds a number that is out of range", shorten_json(text))
    except msgspec.DecodeError:
        return UnparsedJson(
            "it is not JSON", shorten_json(text), len(text) <= REPAIR_CHARACTERS and not _is_nested_deep(text)
        )
    # Brackets in strings count too; most texts are shallow.
    shallow = text.count("{") + text.count("[") <= DOCUMENT_DEPTH
    return (
        ParsedJson(document)
        if shallow or _fits_depth(document)
        else UnparsedJson(_TOO_DEEP, shorten_json(text))
    )


def mend_json(text: str) -> ParsedJson | UnparsedJson:
    """Repair a text that is almost an object or array, and return it. Blocks for milliseconds, seconds at worst.

    `text`: a text for which `parse_strictly` returned a mendable `UnparsedJson`.
    """
    no = UnparsedJson("it is not JSON", shorten_json(text))
    start = _OPENED.sub("", text, count=1).lstrip()
    if start[:1] not in _CLOSES or _holds_two_values(start):
        return no
    try:
        document: Json = json_repair.loads(start)
        if not _fits_depth(document):
            return UnparsedJson(_TOO_DEEP, shorten_json(text))
    except (RecursionError, ValueError):
        return no
    if not isinstance(document, dict if start[0] == "{" else list) or not is_json(document):
        return no
    return ParsedJson(document, repaired=True)


def find_json_part(text: str) -> str | None:
    """Return the part of a text that should be its one JSON object or array; None when there is no such part.

    If there is exactly one fenced block, its content is the part. Otherwise the part reaches from the first bracket to
    the last bracket that could close it, so of two objects side by side neither is returned.
    """
    blocks = _FENCED.findall(text)
    if len(blocks) == 1:
        return str(blocks[0][1]).strip() or None
    first = min((place for place in (text.find("{"), text.find("[")) if place >= 0), default=-1)
    if first < 0:
        return None
    last = text.rfind(_CLOSES[text[first]])
    if last > first:
        return text[first : last + 1]
    return text[first:] if not text[:first].strip() else None


def _fits_depth(document: Json) -> bool:
    return measure_json(document)[0] <= DOCUMENT_DEPTH


def _is_nested_deep(text: str) -> bool:
    """Return whether brackets nest too deep, also in strings: the repair library hangs on many of them."""
    depth = 0
    for bracket in re.findall(r"[\[{\]}]", text):
        depth += 1 if bracket in _CLOSES else -1
        if depth > DOCUMENT_DEPTH:
            return True
    return False


def _holds_two_values(text: str) -> bool:
    """Return whether a second object or array begins after the first has ended; either of them may be meant."""
    depth, ended = 0, False
    for match in _BRACKETS.finditer(text):
        if match[1]:
            if ended:
                return True
            depth += 1
        elif match[2]:
            depth -= 1
            ended = ended or depth <= 0
    return False
