"""Reads the answers of a `Teller` about a story: choices, milestones, and short texts. Strict and bounded; pure.

The text of a teller may be anything. No answer is an error: a text that is not JSON of the requested form gives no
choices, and changes no milestone.
"""

import re
from collections.abc import Collection
from typing import Any, Final

import msgspec

from ..text.sentences import find_borders
from . import settings

_CONTROLS: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\ufffe\uffff]")
_NESTING: Final = 8


def parse_choices(text: str) -> tuple[str, ...]:
    """Return the choices of a JSON array of strings, which other text may surround; () where there are none.

    Choices that are empty, repeated, too long or no strings are left out, and so are those after the fourth. One choice
    alone is none.
    """
    value = _find_json(text, "[", "]")
    choices: dict[str, None] = {}
    for each in value if isinstance(value, list) else ():
        line = " ".join(_CONTROLS.sub("", each).split()) if isinstance(each, str) else ""
        if line and len(line) <= settings.CHOICE_TEXT and any(map(str.isalnum, line)):
            choices[line] = None
    chosen = tuple(choices)[: settings.CHOICES_MOST]
    return chosen if len(chosen) >= settings.CHOICES_LEAST else ()


def parse_milestones(text: str, asked: Collection[int]) -> dict[int, bool]:
    """Return the answers of a JSON object of numbers and booleans, by the numbers of `asked`.

    Numbers that were not asked for, and values that are no booleans, are left out.
    """
    value = _find_json(text, "{", "}")
    if not isinstance(value, dict):
        return {}
    return {number: value[str(number)] for number in asked if isinstance(value.get(str(number)), bool)}


def clean_short_text(text: str, most: int) -> str:
    """Return a summary or an aside without control characters; one that is too long ends with its last whole sentence.

    "" for a text without a word.
    """
    text = _CONTROLS.sub("", text[: most * 2]).strip()
    if len(text) > most:
        ends = [end for end, start in find_borders(text) if end <= most]
        text = text[: ends[-1]] if ends else text[:most].rstrip()
    return text if any(map(str.isalnum, text)) else ""


def _find_json(text: str, opening: str, closing: str) -> Any:
    """Return the value between the first `opening` and the last `closing`; None where that is no JSON."""
    if len(text) > settings.ANSWER_TEXT:
        return None
    first, last = text.find(opening), text.rfind(closing)
    if first < 0 or last < first or text.count("[") + text.count("{") > _NESTING:
        return None
    try:
        return msgspec.json.decode(text[first : last + 1])
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
