"""Reads numbers that are compared character by character: phone numbers, codes, versions, dimensions, URLs."""

import re
from dataclasses import dataclass

from .language_tables import BY, pattern, unite_words
from .units import unit_of

_PHONE = re.compile(
    r"(?:\+\d{1,3}(?: ?\(0\))?[ -]?)?(?:\(\d{1,5}\)[ -]?)?\d{1,14}(?:(?:[ -]| - )\d{1,8}){0,7}(?!\d)"
)
_US = re.compile(r"(?:1[-. ])?(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}(?!\d)")
_SHORT = re.compile(r"\d{3}-\d{4}(?!\d)")
CALLS = unite_words(lambda each: each.labels.phone_words)
_RUN = re.compile(r"\w++(?:[-./:_'@+#~=&?%^]++\w++)*+")
_DOTTED = re.compile(r"\d++(?:\.\d++){2,}+(?!\w)")
_DIMENSIONS = re.compile(
    r"(?!0[x×])\d{1,6}(?:[.,]\d{1,4})?(?: ?[^\W\d_]{1,12}| ?[\"'″′]|)"
    rf"(?: ?[x×] ?| (?:{pattern(BY)}) )\d"
)
_SIDE = re.compile(r"(\d{1,6}(?:[.,]\d{1,4})?)(?![\d])")
_SIDE_UNIT = re.compile(r"[ -]?([^\W\d_x×]{1,14}|[\"'″′])(?![^\W_x×])")
_BY = re.compile(rf" ?[x×] ?(?=\d)| (?:{pattern(BY)}) (?=\d)")
_SIDES = 5
"""Sides of a dimension at most."""
_INCHES = {'"': "inch", "″": "inch", "'": "foot", "′": "foot"}
_URL = re.compile(r"(?:https?|ftp)://[^\s<>\"'`|\\^{}]++|www\.[^\s<>\"'`|\\^{}]++", re.I)
_SEGMENT = re.compile(r"[^/?#&=]++")


def phone_at(s: str, at: int, called: bool) -> tuple[int, str] | None:
    """Read a phone number as (end, digits with a leading "+" kept).

    `called`: a word before it, such as "tel", says so.
    """
    found = _US.match(s, at) or (_SHORT.match(s, at) if called else None)
    if found is None:
        first = s[at : at + 1]
        found = _PHONE.match(s, at) if first in "+(0" else None
        if found is None or (first == "(" and s[at + 1] != "0"):
            return None
    text = found.group()
    digits = "".join([c for c in text if c.isdigit()])
    if not 7 <= len(digits) <= 15:
        return None
    return found.end(), ("+" + digits if text[0] == "+" else digits)


def run_at(s: str, at: int) -> int:
    """Return the end of the run of letters, digits and inner punctuation at `at`."""
    found = _RUN.match(s, at)
    return found.end() if found is not None else at + 1


def dotted_at(s: str, at: int) -> int | None:
    """Read `1.2.3` or `10.0.0.1`; return its end, or `None`."""
    found = _DOTTED.match(s, at)
    return found.end() if found is not None else None


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension, `10 x 20 cm`. `sides`: as written, with a decimal point. `unit`: "" when none is stated."""

    end: int
    sides: tuple[str, ...]
    unit: str


def dimension_at(s: str, at: int) -> Dimension | None:
    """Read `4x4`, `4 x 6`, `8 by 10`, `10 cm x 20 cm`; `None` when its sides have different units."""
    found = _DIMENSIONS.match(s, at)
    if found is None:
        return None
    sides: list[str] = []
    units: set[str] = set()
    end = at
    while len(sides) < _SIDES:
        side = _SIDE.match(s, end)
        if side is None:
            return None
        sides.append(side[1].replace(",", "."))
        end = side.end()
        unit, after = _unit_at(s, end)
        between = _BY.match(s, after)
        if between is None:
            break
        if unit:
            units.add(unit)
        end = between.end()
    if unit:
        units.add(unit)
        end = after
    elif s[end : end + 1] == "s" and not s[end + 1 : end + 2].isalnum():
        end += 1
    if len(units) > 1 or len(sides) < 2 or _BY.match(s, end):
        return None
    return Dimension(end, tuple(sides), "".join(units))


def _unit_at(s: str, at: int) -> tuple[str, int]:
    """Return the unit of a side that ends at `at`, and the end of the unit; or "" and `at`."""
    found = _SIDE_UNIT.match(s, at)
    if found is None:
        return "", at
    unit = _INCHES.get(found[1]) or unit_of(found[1])
    return (unit, found.end()) if unit is not None else ("", at)


def urls(s: str) -> list[tuple[int, int, str]]:
    """Return every URL of `s` as (start, end, text without trailing punctuation)."""
    if "://" not in s and "w." not in s and "W." not in s:
        return []
    found = []
    for match in _URL.finditer(s):
        text = match.group().rstrip(".,;:!?)]*_")
        found.append((match.start(), match.start() + len(text), text))
    return found


def segments(url: str) -> list[str]:
    """Return the parts of the path and query of `url` that hold a digit."""
    return [part for part in _SEGMENT.findall(url) if any(c.isdigit() for c in part)]
