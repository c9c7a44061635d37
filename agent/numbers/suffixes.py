"""Reads the suffix of an amount: the multiplier, percent sign, currency or unit after its digits.

Strategy: the word after the amount is offered to the rows of a table in order until one accepts it (`suffix_rows`).
Most words mean nothing after a number; a cache by word keeps them from the rows.
"""

import re
from functools import lru_cache
from typing import Final

from agent.lang.language import words

from .amounts import negate
from .language_tables import AM, AND, BY, OF, OR, PER, PM, THE, TO, pattern
from .number_words import cardinal_value, classify
from .suffix_rows import LEADING, ROWS, SYMBOL, Follower, Row, become, take_sign
from .token import Amount, Sort
from .units import (
    ABOVE_ZERO,
    ATTACHED_UNITS,
    BELOW_ZERO,
    LETTER_MULTIPLIERS,
    MULTIPLIERS,
    PER_MILLE,
    PERCENT_STEMS,
    PERCENT_WORDS,
    PREFIXED_MULTIPLIERS,
    SCALED_CURRENCIES,
    SIGNS,
    STANDALONE_POINTS,
    currency_of,
    unit_of,
)
from .vocabulary import SLANG

_NEXT_WORD = re.compile(rf"([ \n]?)(-?)([^\W\d_]++|[%‰°{''.join(SIGNS)}])")
_PRICE_DASH = re.compile(r"(?: ?:|,)-(?![\d-])|\.-(?![\w-])")
_SAME_IN_WORDS = re.compile(r" \(([^\W\d_]++)\)(?=[ \n-])")
_BELOW, _ABOVE = ([each for each in side if " " in each] for side in (BELOW_ZERO, ABOVE_ZERO))
_SIDE_OF_ZERO = re.compile(rf"[ \n](?:({pattern(_BELOW)})|{pattern(_ABOVE)})(?![^\W_])", re.I)
_SIDE_STARTS = tuple(sorted({f"{space}{each.split()[0]} " for each in (*_BELOW, *_ABOVE) for space in " \n"}))
_TEMPERATURES = frozenset(("", "degree?", "degC", "degF"))
_EXPONENT = re.compile(r"\^?([23])(?![\w^])")
_OTHER_WORDS = (
    words("p") | ATTACHED_UNITS.keys() | PER | STANDALONE_POINTS | BELOW_ZERO | ABOVE_ZERO | SLANG.keys()
)


def read_suffix(s: str, amount: Amount) -> Amount:
    """Read the suffix that follows `amount` in `s`; change the amount and return it.

    At most three words are read, such as a multiplier and a unit of two words.
    """
    if amount.sort is Sort.BARE and s.startswith(" (", amount.end):
        repeated = _SAME_IN_WORDS.match(s, amount.end)  # 14 (fourteen) days
        word = classify(repeated[1]) if repeated is not None else None
        if (
            repeated is not None and word is not None and word.sort == "cardinal"
            and (str(cardinal_value(word.atoms)),) == amount.values
        ):  # fmt: skip
            amount.end = repeated.end()
    for _ in range(3):
        if not _read_word(s, amount):
            break
    if s.startswith(_SIDE_STARTS, amount.end) and amount.unit in _TEMPERATURES:
        _read_side_of_zero(s, amount)
    return amount


def _read_side_of_zero(s: str, amount: Amount) -> None:
    """Read the side of zero after degrees, `20 degrees below zero`.

    A bare number before such a phrase is in degrees.
    """
    side = _SIDE_OF_ZERO.match(s, amount.end)
    if side is None or amount.sort not in (Sort.BARE, Sort.QUANTITY):
        return
    if side[1]:
        negate(amount)
    become(amount, Sort.QUANTITY, amount.unit or "degree?", side.end())


def _read_word(s: str, amount: Amount) -> bool:
    """Read one word or sign after the amount; return whether a further one may follow."""
    at = amount.end
    char = s[at : at + 1]
    if char in ":,." or s.startswith(" :-", at):
        if char and amount.sort is Sort.BARE and _PRICE_DASH.match(s, at):
            become(amount, Sort.MONEY, "SEK", s.index("-", at) + 1)
        return False
    found = _NEXT_WORD.match(s, at)
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
    power = _EXPONENT.match(s, end) if follow and follow in "23^" else None
    if (follow.isalnum() or follow == "_") and power is None:
        return False
    follower = Follower(
        word=word, lower=word.lower(), gap=gap, hyphen=hyphen, end=end, follow=follow, power=power
    )
    for row in rows:
        goes_on = row(s, amount, follower)
        if goes_on is not None:
            return goes_on
    return False


@lru_cache(maxsize=16_384)
def _rows_of(word: str) -> tuple[Row, ...]:
    """Return the rows that may accept `word`, in order; () for a word that means nothing after a number."""
    lower = word.lower()
    known = (
        lower in MULTIPLIERS or word in LETTER_MULTIPLIERS or word in PREFIXED_MULTIPLIERS or lower in SCALED_CURRENCIES
        or lower in LEADING or lower in PER_MILLE or lower in PERCENT_WORDS or lower in _OTHER_WORDS
        or lower.startswith(PERCENT_STEMS) or currency_of(word) is not None or unit_of(word) is not None
        or classify(word) is not None or SYMBOL.fullmatch(word) is not None
    )  # fmt: skip
    return ROWS if known else ()


@lru_cache(maxsize=16_384)
def suffix_of_count(word: str) -> tuple[Sort, str] | None:
    """Return the sort and the unit that `word` gives a count before it, or `None` if the next words may change them.

    `word`: one word, or two with a space between them.
    """
    first, _, second = word.partition(" ")
    if first.lower() in _CONTINUING or _HALF_OF_DAY.match(f" {first}"):
        return None
    if not second and not _rows_of(word):
        return Sort.BARE, ""
    amount = read_suffix(f"1 {word}", Amount(1, ("1",)))
    if first.lower() in LEADING and not second:
        return None
    whole = amount.end == len(word) + 2 and amount.shift == 0 and amount.unit not in _TEMPERATURES
    if amount.sort in _WITH_UNIT and whole and classify(word) is None:
        return amount.sort, amount.unit
    return None


_CONTINUING: Final = words("x e pp p") | {
    re.split(r"\W", phrase)[0]
    for phrase in (*TO, *OR, *AND, *BY, *ATTACHED_UNITS, *PER, *OF, *THE, *_BELOW, *_ABOVE)
}
_HALF_OF_DAY: Final = re.compile(f"(?:{AM}|{PM})", re.I)
_WITH_UNIT: Final = frozenset((Sort.MONEY, Sort.QUANTITY))
