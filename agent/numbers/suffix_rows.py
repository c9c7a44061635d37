"""Rows for the word after an amount: multiplier, currency, percent, unit, or a look-alike of a unit's symbol.

A row changes the amount and returns whether one more word may follow, or `None` when the word is not its own.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Final, TypeAlias

import msgspec

from agent.lang.language import words
from agent.text.words import FUNCTION_WORDS

from .amounts import negate, of_fraction, scale
from .language_tables import pattern, unite_words
from .number_words import classify
from .token import Amount, Sort
from .units import (
    ABOVE_ZERO,
    ATTACHED_UNITS,
    BELOW_ZERO,
    CALENDAR_DAY_WORDS,
    LETTER_MULTIPLIERS,
    MULTIPLIERS,
    NATIONALITIES,
    PER_MILLE,
    PER_MILLE_PHRASES,
    PER_UNITS,
    PERCENT_PHRASES,
    PERCENT_SIGN_SUFFIXES,
    PERCENT_STEMS,
    PERCENT_WORDS,
    PERCENTAGE_POINTS,
    POINT_STEMS,
    POWER_WORDS,
    PREFIXED_MULTIPLIERS,
    SCALED_CURRENCIES,
    SIGNS,
    STANDALONE_POINTS,
    UNIT_FILLERS,
    WORKDAY_WORDS,
    currency_of,
    unit_of,
)
from .vocabulary import SLANG

_SPACED_WORD = re.compile(r"[ \n-]([^\W\d_]++)")
_POINTS = re.compile(r"[ -]?([^\W\d_]++)")
_SCALE_LETTER = re.compile(r"[ ]?(C|F|K|[cC]elsius|[fF]ahrenheit)(?![^\W_])")
_PER = re.compile(rf"/({pattern(PER_UNITS)})(?![^\W_])")
_WORD_NEXT = re.compile(r"[ \n][^\W\d_]")
_PERCENT = re.compile(rf"(?:({pattern(PERCENT_PHRASES)})|{pattern(PER_MILLE_PHRASES)})", re.I)
LEADING: Final = UNIT_FILLERS | WORKDAY_WORDS | POWER_WORDS.keys() | NATIONALITIES.keys()
"""Words that have a meaning only together with a unit or a currency after them."""
_LENGTHS = words("m cm mm dm km inch foot yard mile")
SYMBOL: Final = re.compile(r"[bcdfghjklmnpqrstvwxz]{2,3}|[A-ZΩ][a-z]?|[a-zµμ]{1,2}[A-ZΩ][A-Za-z]?|[A-Z]{2,4}")
"""A word that looks like a unit's symbol: no vowel, or capitals as no word of a sentence has them."""
_NO_SYMBOL: Final = FUNCTION_WORDS | unite_words(lambda each: each.labels.not_units) | {"x"}


class Follower(msgspec.Struct, frozen=True, kw_only=True):
    """A word after an amount. `gap`: the space before it. `hyphen`: the one before it. `power`: the "2" of "m2"."""

    word: str
    lower: str
    gap: str
    hyphen: str
    end: int
    follow: str
    power: "re.Match[str] | None"


def become(amount: Amount, sort: Sort, unit: str, end: int) -> None:
    """Set the sort, the unit and the end of `amount`."""
    amount.sort, amount.unit, amount.end = sort, unit, end


def take_sign(s: str, amount: Amount, sign: str, hyphen: str, end: int) -> None:
    """Read a sign after an amount: percent, a currency's, degrees."""
    if amount.sort is not Sort.BARE or (hyphen and sign != "%"):
        return
    if sign == "‰":
        become(amount, Sort.MILLE, "", end)
    elif sign == "%":
        tail = _POINTS.match(s, end)
        points = tail is not None and tail[1].lower() in PERCENTAGE_POINTS
        become(amount, Sort.POINTS if points else Sort.PERCENT, "", end)
        if tail is not None and (points or tail.group().lower() in PERCENT_SIGN_SUFFIXES):
            amount.end = tail.end()
    elif sign in SIGNS:
        if not s[end : end + 1].isdigit():
            become(amount, Sort.MONEY, SIGNS[sign], end)
    else:
        become(amount, Sort.QUANTITY, sign, end)
        if sign == "°":
            _degrees(s, amount, end)


def _degrees(s: str, amount: Amount, end: int) -> None:
    scale_letter = _SCALE_LETTER.match(s, end)
    amount.unit = "degree?"
    if scale_letter is not None:
        amount.unit, amount.end = unit_of(scale_letter.group(1)) or "degree?", scale_letter.end()


Row: TypeAlias = Callable[[str, Amount, Follower], "bool | None"]


def _multiplier(s: str, amount: Amount, after: Follower) -> bool | None:
    """Read `thousand`, `mn`, `k`; after a currency sign also `$1.5m`, `£2b`, and `$3k/month`, `$3k-5k`, `$3k+`."""
    shift = MULTIPLIERS.get(after.lower)
    if shift is None and after.follow != "'" and (amount.prefixed or after.follow not in ("/", "-", "+")):
        shift = LETTER_MULTIPLIERS.get(after.word)
        if shift is None and amount.prefixed and not after.gap:
            shift = PREFIXED_MULTIPLIERS.get(after.word)
    if shift is None:
        return None
    if amount.sort is not Sort.BARE and not amount.prefixed:
        return False
    scale(amount, shift)
    amount.end = after.end
    return True


def _repeated_currency(s: str, amount: Amount, after: Follower) -> bool | None:
    """Stop after an amount that has its unit; only the currency that it began with may be repeated."""
    if amount.sort is Sort.BARE:
        return None
    if amount.sort is Sort.MONEY and amount.prefixed and currency_of(after.word) == amount.unit:
        amount.end = after.end
    return False


def _currency(s: str, amount: Amount, after: Follower) -> bool | None:
    """Read `kr`, `tkr`, `US dollars`."""
    if after.lower in SCALED_CURRENCIES:
        shift, unit = SCALED_CURRENCIES[after.lower]
        scale(amount, shift)
        become(amount, Sort.MONEY, unit, after.end)
        return False
    currency, end = currency_of(after.word), after.end
    if currency is None and after.lower in NATIONALITIES:
        base = _SPACED_WORD.match(s, end)
        name = currency_of(base[1]) if base is not None else None
        if base is not None and name is not None:
            currency, end = NATIONALITIES[after.lower].get(name, name), base.end()
    if currency is None:
        return None
    become(amount, Sort.MONEY, currency, end)
    return False


def _percent(s: str, amount: Amount, after: Follower) -> bool | None:
    """Read `percent`, `per cent`, `procentenheter`, `promille`."""
    lower, end = after.lower, after.end
    phrase = _PERCENT.match(s, end - len(lower))
    if phrase is not None:
        end = phrase.end()
    if lower in PER_MILLE or (phrase is not None and not phrase[1]):
        become(amount, Sort.MILLE, "", end)
    elif lower == "p" and s.startswith(".p.", end):
        become(amount, Sort.POINTS, "", end + 3)
    elif lower in PERCENT_WORDS or phrase is not None:
        points = _SPACED_WORD.match(s, end)
        if points is not None and points[1].lower() in PERCENTAGE_POINTS:
            become(amount, Sort.POINTS, "", points.end())
        else:
            become(amount, Sort.PERCENT, "", end)
    elif lower in STANDALONE_POINTS or lower.startswith(POINT_STEMS):
        become(amount, Sort.POINTS, "", end)
    elif lower.startswith(PERCENT_STEMS):
        become(amount, Sort.PERCENT, "", end)
    else:
        return None
    return False


def _below_zero(s: str, amount: Amount, after: Follower) -> bool | None:
    if after.lower not in BELOW_ZERO and after.lower not in ABOVE_ZERO:
        return None
    if after.lower in BELOW_ZERO:
        negate(amount)
    become(amount, Sort.QUANTITY, "degree?", after.end)
    return False


def _group(s: str, amount: Amount, after: Follower) -> bool | None:
    """Read `3 dozen`, `two decades`."""
    group = classify(after.word)
    if group is None or group.sort != "quantity" or len(amount.values) != 1:
        return None
    amount.values = (of_fraction(Fraction(amount.values[0]) * Fraction(group.value)),)
    amount.end = after.end
    if group.unit is None:
        return True
    become(
        amount, Sort.MONEY if group.unit[0] == "$" else Sort.QUANTITY, group.unit.removeprefix("$"), after.end
    )
    return False


def _unit(s: str, amount: Amount, after: Follower) -> bool | None:
    """Read a unit of one or two words."""
    lower, end, power = after.lower, after.end, after.power
    unit = unit_of(after.word)
    if unit is None and lower in ATTACHED_UNITS and (not after.gap or s[end : end + 1] == "."):
        unit = ATTACHED_UNITS[lower]
    if lower in LEADING and lower not in NATIONALITIES:
        second = _SPACED_WORD.match(s, end)
        base = unit_of(second[1]) if second is not None else None
        if second is not None and base is not None:
            unit, end = _two_words(lower, base), second.end()
            power = None if unit == "workday" or lower not in UNIT_FILLERS else power
    if unit is None:
        return None
    become(amount, Sort.QUANTITY, unit, end)
    per = _PER.match(s, end) if power is None else None
    if unit == "degree?":
        _degrees(s, amount, end)
    elif power is not None and unit in _LENGTHS:
        amount.unit, amount.end = f"{unit}^{power[1]}", power.end()
    elif per is not None:
        amount.unit, amount.end = f"{unit}/{PER_UNITS[per[1]]}", per.end()
    return False


def _two_words(first: str, base: str) -> str:
    """Return the unit of two words, the second of which is the unit `base`."""
    if first in WORKDAY_WORDS:
        return "workday" if base == "day" else f"{first} {base}"
    if first in POWER_WORDS:
        return f"{base}^{POWER_WORDS[first]}"
    return f"calendar {base}" if first in CALENDAR_DAY_WORDS else base


def is_known(amount: Amount) -> bool:
    """Tell whether the unit of `amount` is more than a short word that looks like one."""
    return (
        amount.sort is not Sort.QUANTITY
        or not SYMBOL.fullmatch(amount.unit)
        or unit_of(amount.unit) is not None
    )


def _unknown(s: str, amount: Amount, after: Follower) -> bool | None:
    """Read a short word that looks like the symbol of a unit: `5 Nm`, `12 pk`, `3 kVA`."""
    if (
        amount.words
        or not after.gap
        or after.hyphen
        or after.lower in _NO_SYMBOL
        or not SYMBOL.fullmatch(after.word)
    ):
        return None
    if classify(after.word) is None:
        become(amount, Sort.QUANTITY, after.word, after.end)
    return False


def _slang(s: str, amount: Amount, after: Follower) -> bool | None:
    """Read `5 grand` unless a noun follows that it describes."""
    if after.lower not in SLANG:
        return None
    if amount.sort is Sort.BARE and not _WORD_NEXT.match(s, after.end):
        scale(amount, SLANG[after.lower])
        amount.end = after.end
    return False


ROWS: Final[tuple[Row, ...]] = (
    _multiplier, _slang, _repeated_currency, _currency, _percent, _below_zero, _group, _unit, _unknown,
)  # fmt: skip
