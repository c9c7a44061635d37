"""The common number, read at once: a plain count between two ordinary words.

Nothing is read here that the rows would read otherwise; whatever might begin a date, time, range, phone number
or a longer amount is left to them. A test holds both ways to the same tokens.
"""

import re
from functools import lru_cache
from typing import Final

from .dates import OPENING
from .identifiers import CALLS
from .number_words import classify
from .tables import words
from .tokens import Amount
from .units import (
    CODES,
    LETTER_MULTIPLIERS,
    MILLE,
    MULTIPLIERS,
    NATIONS,
    PERCENT,
    POINTS,
    SCALED,
    SIGNS,
    currency_of,
    unit_of,
)

_COUNT: Final = re.compile(
    r"(0|[1-9]\d{0,3})(?! :-|\.-)"
    r"(?: ([^\W\d_]++)(?![\w^/°'-])| ?(%)(?=[ ][^\W\d_]|[.,;:!?)]++(?:[ \n]|$)|$)|(?=[.,;:!?)]++(?:[ \n]|$)|$))"
)
_SPAN: Final = re.compile(
    r"([1-9]\d{0,3})-([1-9]\d{0,3})(?: ((?:business |working )?[^\W\d_]++)(?![\w^/°'-])|(?=[.,;:!?)]++(?:[ \n]|$)|$))"
)
_TELLING: Final = (
    OPENING
    | CALLS
    | words("minus negative negativa negativt us usd")
    | frozenset(code.lower() for code in CODES)
)
_SIGNS: Final = frozenset("±^+-~#") | SIGNS.keys()
_SLOW: Final = words(
    "to till through thru t up upp or eller and och by x am pm a p fm em until of per in e "
    "business working banking trading calendar kalender square sq kvadrat cubic kubik"
)
_TAILS: Final = (
    " to ",
    " till ",
    " - ",
    "-",
    " or ",
    " eller ",
    " and ",
    " och ",
    " through",
    " thru",
    " up",
    "\n",
)


_FILLERS: Final = tuple(
    words(
        "full hel whole long lång consec samman extra more fler mer addit ytter short kort strai rak entire other "
        "furth kompl compl solid arbets"
    )
)


@lru_cache(maxsize=16_384)
def after(word: str) -> tuple[str, str] | None:
    """Return (sort, unit) of a count with `word` after it, or None when the rows must look."""
    lower = word.lower()
    if lower in ("business days", "working days"):
        return "q", "workday"
    if (
        " " in lower
        or lower in _SLOW
        or classify(word) is not None
        or lower in PERCENT
        or lower in MILLE
        or lower in NATIONS
        or lower in ("minusgrader", "plusgrader")
        or lower.startswith("procent")
    ):
        return None
    if lower in MULTIPLIERS or lower in SCALED or word in LETTER_MULTIPLIERS or lower in POINTS:
        return None
    if lower.startswith(_FILLERS):
        return None
    currency = currency_of(word)
    if currency is not None:
        return "m", currency
    unit = unit_of(word)
    if unit is None:
        return "n", ""
    return None if unit == "degree?" else ("q", unit)


def count_at(s: str, at: int, low: int) -> Amount | None:
    """Read a plain count at `at`, or return None; `low` is how far the text is read."""
    found = _COUNT.match(s, at)
    if found is None or not _ordinary(s, at, low):
        return None
    digits, word, percent = found.groups()
    if s[found.end(1) : found.end(1) + 1] == ")" and len(digits) == 3:  # may be an area code
        return None
    if word is not None:
        follows = after(word)
        if follows is None:
            return None
        if follows[0] == "n":
            return Amount(found.end(1), (digits,))
        end = found.end()
        return None if s.startswith(_TAILS, end) else Amount(end, (digits,), None, follows[0], follows[1])
    if percent is None:
        return Amount(found.end(), (digits,))
    end = found.end()
    if s.startswith(_TAILS, end) or s.startswith((" point", " enhet", " poäng"), end):
        return None
    return Amount(end, (digits,), None, "%")


def _ordinary(s: str, at: int, low: int) -> bool:
    """Tell whether what stands before `at` says nothing about the number there."""
    if at <= low:
        return True
    before = s[at - 1]
    if before in " \n":
        previous = s[max(low, at - 16) : at - 1].rsplit(None, 1)[-1:]
        return not previous or (
            previous[0][-1] not in _SIGNS and previous[0].strip(".:([\"'*").lower() not in _TELLING
        )
    return before == "("


def span_at(s: str, at: int, low: int) -> tuple[Amount, Amount] | None:
    """Read a plain range such as `3-5 days` at `at`, or return None."""
    found = _SPAN.match(s, at)
    if found is None or not _ordinary(s, at, low):
        return None
    first, last, word = found.groups()
    if len(first) == 3 and len(last) == 4:  # may be a telephone number
        return None
    follows = ("n", "") if word is None else after(word)
    if follows is None:
        return None
    end = found.end(2) if follows[0] == "n" else found.end()
    if follows[0] != "n" and s.startswith(_TAILS, end):
        return None
    return Amount(end, (first,), None, *follows), Amount(end, (last,), None, *follows)
