"""From what a model wrote to a JSON value, strictly where that is possible; pure.

Strategy: msgspec reads first; it refuses NaN, Infinity, numbers that are out of range and halves of UTF-16 pairs. What
it cannot read although it is complete may be mended by `mended`, which blocks: the caller runs it in a worker thread.
The library behind it returns a value for nearly anything, also NaN, and cuts prose away, so a mended value is kept
within what JSON is and within our bounds, must be of the kind that the text begins with, and is marked.
"""

import re

import json_repair
import msgspec

from ..config import DOCUMENT_DEPTH, REPAIR_CHARACTERS
from .pointer import Json, brief, is_json, measure

_FENCED = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[ \t]*+(?:[\w+-]++[ \t]*+)?\n(.*?)^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE
)
_OPENED = re.compile(r"\A\s*(?:`{3,}|~{3,})[ \t]*+(?:[\w+-]++[ \t]*+)?\n")
_CLOSES = {"{": "}", "[": "]"}
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)  # strings, or brackets; linear
_TOO_DEEP = f"it is nested over {DOCUMENT_DEPTH} deep"
_json: msgspec.json.Decoder[Json] = msgspec.json.Decoder()


class Read(msgspec.Struct, frozen=True):
    """A JSON value. repaired: the text was not JSON and was mended."""

    document: Json
    repaired: bool = False


class Unread(msgspec.Struct, frozen=True):
    """No JSON value. reason: one clause; found: the beginning of the text. mendable: `mended` may be asked."""

    reason: str
    found: str
    mendable: bool = False


def strict(text: str) -> Read | Unread:
    """Return the one JSON value that a text is; white space is an empty object, as some services write no arguments."""
    if not text.strip():
        return Read({}, repaired=True)
    try:
        document = _json.decode(text)
    except RecursionError:
        return Unread(_TOO_DEEP, brief(text))
    except UnicodeEncodeError:
        return Unread("it holds one half of a UTF-16 pair", brief(text))
    except msgspec.ValidationError:
        return Unread("it holds a number that is out of range", brief(text))
    except msgspec.DecodeError:
        return Unread("it is not JSON", brief(text), len(text) <= REPAIR_CHARACTERS and not _nests(text))
    shallow = text.count("{") + text.count("[") <= DOCUMENT_DEPTH  # whatever it holds; most are
    return Read(document) if shallow or _fits(document) else Unread(_TOO_DEEP, brief(text))


def mended(text: str) -> Read | Unread:
    """Return the object or array that a complete text nearly is. Blocks for milliseconds, seconds at worst.

    text: one that `strict` called mendable.
    """
    no = Unread("it is not JSON", brief(text))
    start = _OPENED.sub("", text, count=1).lstrip()
    if start[:1] not in _CLOSES or _two(start):
        return no
    try:
        document: Json = json_repair.loads(start)
        if not _fits(document):
            return Unread(_TOO_DEEP, brief(text))
    except (RecursionError, ValueError):
        return no
    if not isinstance(document, dict if start[0] == "{" else list) or not is_json(document):
        return no
    return Read(document, repaired=True)


def object_or_array(text: str) -> str | None:
    """Return the part of a text that should be its one JSON object or array, fenced or not; None where there is none.

    One fenced block is that part. Without a fence it reaches from the first bracket to the last that could close it,
    so that of two objects side by side neither is taken.
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


def _fits(document: Json) -> bool:
    return measure(document)[0] <= DOCUMENT_DEPTH


def _nests(text: str) -> bool:
    """Tell whether brackets stand too deep, wherever they stand: on many of them the mending library hangs."""
    depth = 0
    for bracket in re.findall(r"[\[{\]}]", text):
        depth += 1 if bracket in _CLOSES else -1
        if depth > DOCUMENT_DEPTH:
            return True
    return False


def _two(text: str) -> bool:
    """Tell whether another object or array begins after the first has ended: which of them is meant is not known."""
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
