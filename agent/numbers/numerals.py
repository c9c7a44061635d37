"""Writes numbers in the words of a language: cardinals, decimals, ordinals, fractions and years.

The words and their joints are data of `agent.lang` (`Numerals`); the grammar here is that of languages which count by
tens, hundreds and thousands. Values are canonical, as in `agent.numbers.amounts`.
"""

from typing import Final

from agent.lang.saying import Numerals

MOST: Final = 10**15
"""Greater cardinals have no words here."""


def say_cardinal(value: int, numerals: Numerals) -> str | None:
    """Return the words of a whole number from zero on; `None` from `MOST` on."""
    if not 0 <= value < MOST:
        return None
    if value < 1000:
        return _say_group(value, numerals)
    pieces: list[str] = []
    for size, single, many in numerals.scales:
        count, value = divmod(value, size)
        if count:
            pieces.append(single if count == 1 else many.format(count=_say_group(count, numerals)))
    words = " ".join(pieces)
    if not value:
        return words
    return f"{words}{numerals.rest_joint if value < 100 else ' '}{_say_group(value, numerals)}"


def _say_group(value: int, numerals: Numerals) -> str:
    """Return the words of a number below a thousand."""
    if value < 100:
        return _say_tens(value, numerals)
    hundreds, rest = divmod(value, 100)
    words = numerals.hundred.format(count=numerals.ones[hundreds])
    return f"{words}{numerals.hundred_joint}{_say_tens(rest, numerals)}" if rest else words


def _say_tens(value: int, numerals: Numerals) -> str:
    if value < 20:
        return numerals.ones[value]
    tens, rest = divmod(value, 10)
    ten = numerals.tens[tens * 10]
    return f"{ten}{numerals.tens_joint}{numerals.ones[rest]}" if rest else ten


def say_centuries(value: int, numerals: Numerals) -> str:
    """Return the words of 1100 to 1999 counted by hundreds: "nineteen hundred and eighty-four"."""
    century, rest = divmod(value, 100)
    words = numerals.hundred.format(count=numerals.ones[century])
    return f"{words}{numerals.hundred_joint}{_say_tens(rest, numerals)}" if rest else words


def say_year(year: int, numerals: Numerals) -> str | None:
    """Return the words of a year: "nineteen eighty-four", "two thousand and five"."""
    century, rest = divmod(year, 100)
    if not 11 <= century <= 29 or (century % 10 == 0 and rest < 10):
        return say_cardinal(year, numerals)
    if rest < 10:
        return say_centuries(year, numerals) if century < 20 else say_cardinal(year, numerals)
    return numerals.year.format(century=_say_tens(century, numerals), rest=_say_tens(rest, numerals))


def say_ordinal(value: int, numerals: Numerals) -> str | None:
    """Return the words of an ordinal; `None` where the language has none for it."""
    words = say_cardinal(value, numerals)
    if words is None or value < 1:
        return None
    last = value % 100 if value % 100 < 20 else value % 10 or value % 100
    if not last:
        last = 100 if value % 1000 else 1000
    name = numerals.hundred.format(count="").strip() if last == 100 else _name_last(last, numerals)
    ordinal = numerals.ordinals.get(last)
    if name is None or ordinal is None or not words.endswith(name):
        return None
    return words[: len(words) - len(name)] + ordinal


def _name_last(last: int, numerals: Numerals) -> str | None:
    if last == 1000:
        return next((many.split()[-1] for size, _, many in numerals.scales if size == 1000), None)
    return _say_tens(last, numerals)


def say_decimal(whole: int, digits: str, numerals: Numerals) -> str | None:
    """Return the words of a decimal, its digits behind the mark one by one."""
    words = say_cardinal(whole, numerals)
    return words and " ".join([words, numerals.decimal, *(numerals.ones[int(digit)] for digit in digits)])


def say_fraction(part: str, numerals: Numerals, whole: int = 0) -> str | None:
    """Return the words of a fraction "3/4" and the `whole` before it; `None` without a name for its parts."""
    upper, _, below = part.partition("/")
    if int(below) not in numerals.parts:
        return None
    one, many = numerals.parts[int(below)]
    count = numerals.one if upper == "1" else say_cardinal(int(upper), numerals)
    words = f"{count} {one if upper == '1' else many}"
    if not whole:
        return words
    above = numerals.one if whole == 1 else say_cardinal(whole, numerals)
    return above and numerals.with_part.format(whole=above, part=words)
