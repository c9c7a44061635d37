"""Reads the words after the digits of an amount: multiplier, percent sign, currency or unit.

The word after the amount is offered to the rows of a table in order, until one accepts it. No row accepts most words,
which is computed once for each word. A row changes the amount; it returns whether one more word may follow, and `None`
when the word is not its own.
"""

import re
from functools import lru_cache
from typing import Final

from agent.lang.language import words

from .amounts import negate
from .language_tables import AM, AND, BY, OF, OR, PER, PM, THE, TO, pattern
from .number_words import classify, value_of
from .suffix_rows import LEADING, ROWS, SYMBOL, Follower, Row, become, take_sign
from .token import Amount, Sort
from .units import (
    ABOVE_ZERO,
    BELOW_ZERO,
    GLUED,
    LETTER_MULTIPLIERS,
    MILLE,
    MULTIPLIERS,
    PERCENT,
    PERCENT_STEMS,
    POINT_WORDS,
    PREFIXED_MULTIPLIERS,
    SCALED,
    SIGNS,
    currency_of,
    unit_of,
)
from .vocabulary import SLANG

_AFTER = re.compile(rf"([ \n]?)(-?)([^\W\d_]++|[%‰°{''.join(SIGNS)}])")
_DASH_MONEY = re.compile(r"(?: ?:|,)-(?![\d-])|\.-(?![\w-])")
_TWICE = re.compile(r" \(([^\W\d_]++)\)(?=[ \n-])")
_BELOW, _ABOVE = ([each for each in side if " " in each] for side in (BELOW_ZERO, ABOVE_ZERO))
_SIDE = re.compile(rf"[ \n](?:({pattern(_BELOW)})|{pattern(_ABOVE)})(?![^\W_])", re.I)
_SIDES = tuple(sorted({f"{space}{each.split()[0]} " for each in (*_BELOW, *_ABOVE) for space in " \n"}))
_TEMPERATURES = frozenset(("", "degree?", "degC", "degF"))
_SUPER = re.compile(r"\^?([23])(?![\w^])")
_WORDS = words("p") | GLUED.keys() | PER | POINT_WORDS | BELOW_ZERO | ABOVE_ZERO | SLANG.keys()


def suffix(s: str, amount: Amount) -> Amount:
    """Read the multiplier, percent sign, currency or unit after `amount`; change and return it."""
    if amount.sort is Sort.BARE and s.startswith(" (", amount.end):
        twice = _TWICE.match(s, amount.end)  # 14 (fourteen) days
        word = classify(twice[1]) if twice is not None else None
        if (
            twice is not None and word is not None and word.sort == "cardinal"
            and (str(value_of(word.atoms)),) == amount.values
        ):  # fmt: skip
            amount.end = twice.end()
    for _ in range(3):
        if not _suffix_once(s, amount):
            break
    if s.startswith(_SIDES, amount.end) and amount.unit in _TEMPERATURES:
        _take_side(s, amount)
    return amount


def _take_side(s: str, amount: Amount) -> None:
    """Read the side of zero after degrees, `20 degrees below zero`; a bare number in front of it is one of degrees."""
    side = _SIDE.match(s, amount.end)
    if side is None or amount.sort not in (Sort.BARE, Sort.QUANTITY):
        return
    if side[1]:
        negate(amount)
    become(amount, Sort.QUANTITY, amount.unit or "degree?", side.end())


def _suffix_once(s: str, amount: Amount) -> bool:
    """Read one word or sign after the amount; return `True` when a further one may follow."""
    at = amount.end
    char = s[at : at + 1]
    if char in ":,." or s.startswith(" :-", at):
        if char and amount.sort is Sort.BARE and _DASH_MONEY.match(s, at):
            become(amount, Sort.MONEY, "SEK", s.index("-", at) + 1)
        return False
    found = _AFTER.match(s, at)
    if found is None:
        return False
    gap, hyphen, word = found.groups()
    end = found.end()
    if hyphen and (gap or amount.sort is Sort.MONEY):
        return False
    if not word[0].isalpha():
        take_sign(s, amount, word, hyphen, end)
        return False
    rows = _rows_of(word)
    if not rows:
        return False
    follow = s[end : end + 1]
    power = _SUPER.match(s, end) if follow and follow in "23^" else None
    if (follow.isalnum() or follow == "_") and power is None:
        return False
    follower = Follower(word, word.lower(), gap, hyphen, end, follow, power)
    for row in rows:
        goes_on = row(s, amount, follower)
        if goes_on is not None:
            return goes_on
    return False


@lru_cache(maxsize=16_384)
def _rows_of(word: str) -> tuple[Row, ...]:
    """Return the rows that may accept `word`, in order; () for a word without meaning after a number."""
    lower = word.lower()
    known = (
        lower in MULTIPLIERS or word in LETTER_MULTIPLIERS or word in PREFIXED_MULTIPLIERS or lower in SCALED
        or lower in LEADING or lower in MILLE or lower in PERCENT or lower in _WORDS
        or lower.startswith(PERCENT_STEMS) or currency_of(word) is not None or unit_of(word) is not None
        or classify(word) is not None or SYMBOL.fullmatch(word) is not None
    )  # fmt: skip
    return ROWS if known else ()


@lru_cache(maxsize=16_384)
def simple(word: str) -> tuple[Sort, str] | None:
    """Return the (sort, unit) that `word` gives a count before it, or `None` when later words may change it."""
    first, _, second = word.partition(" ")
    if first.lower() in _JOINING or _HALVES.match(f" {first}"):
        return None
    if not second and not _rows_of(word):
        return Sort.BARE, ""
    amount = suffix(f"1 {word}", Amount(1, ("1",)))
    leads = first.lower() in LEADING and not second
    whole = amount.end == len(word) + 2 and amount.shift == 0 and amount.unit != "degree?"
    return (
        (amount.sort, amount.unit)
        if amount.sort in _FIRM and whole and not leads and classify(word) is None
        else None
    )


_JOINING: Final = words("x e pp p") | {
    re.split(r"\W", phrase)[0] for phrase in (*TO, *OR, *AND, *BY, *GLUED, *PER, *OF, *THE, *_BELOW, *_ABOVE)
}
_HALVES: Final = re.compile(f"(?:{AM}|{PM})", re.I)
_FIRM: Final = frozenset((Sort.MONEY, Sort.QUANTITY))
