"""Reads the digits of one amount: in any grouping, as a fraction or as a power.

Every function takes the plain text and an offset, and returns an `Amount` or `None`; none looks back.
Values are canonical decimal strings ("1234.5"), or "1/3" for a fraction whose decimals do not end.
"""

import re
from fractions import Fraction

from .language_tables import AND, ARTICLES, pattern
from .number_words import classify
from .token import Amount, Sort
from .vocabulary import ONES

LONGEST = 40
"""Digits; no reader takes in a longer run as a number, so it stays unread."""

_GROUPED = re.compile(r"\d{1,3}(?P<sep>[ ',.])\d{3}(?!\d)(?:(?P=sep)\d{3}(?!\d))*+(?:[.,]\d++)?")
_SIMPLE = re.compile(r"\d++(?:[.,]\d++)?")
_FRACTION = re.compile(r"(?:(\d{1,4}) )?(\d{1,4})/(\d{1,4})(?![\d/])")
_POWER = re.compile(r"(?:(\d{1,15}(?:[.,]\d{1,15})?) ?[x×*·] ?)?10\^(-?\d{1,3})(?!\d)")
_EXPONENT = re.compile(r"(\d{1,15}(?:[.,]\d{1,15})?)[eE]([-+]?\d{1,3})(?!\w)")
_ANDS = tuple(f"{space}{word} " for word in AND for space in " \n")
_AND_A_HALF = re.compile(rf"[ \n](?:{pattern(AND)}) (?:{pattern(ARTICLES, ONES)}) ([^\W\d_]+)")
_TIMES = frozenset(("x", "×", "*", "·"))
_MARKS = frozenset("',./^eEx×*·")


def canonical(digits: str) -> str:
    """Return plain digits with at most one "." as a canonical decimal, without idle zeros."""
    whole, point, rest = digits.partition(".")
    whole = whole.lstrip("0") or "0"
    rest = rest.rstrip("0") if point else ""
    return f"{whole}.{rest}" if rest else whole


def shift_value(value: str, shift: int) -> str:
    """Return the canonical `value` times ten to the power of `shift`."""
    if shift == 0:
        return value
    sign, value = ("-", value[1:]) if value[:1] == "-" else ("", value)
    if "/" in value:
        return sign + of_fraction(Fraction(value) * Fraction(10) ** shift)
    whole, _, rest = value.partition(".")
    if shift > 0:
        rest = rest.ljust(shift, "0")
        return sign + canonical(f"{whole}{rest[:shift]}.{rest[shift:]}")
    whole = whole.rjust(1 - shift, "0")
    return sign + canonical(f"{whole[:shift]}.{whole[shift:]}{rest}")


def scale(amount: Amount, shift: int) -> None:
    """Multiply `amount` by ten to the power of `shift`, in place."""
    amount.values = tuple([shift_value(v, shift) for v in amount.values])
    amount.same = amount.same and f"{amount.same}e{shift}"
    amount.shift += shift


def of_fraction(value: Fraction) -> str:
    """Return `value` as a canonical value: a decimal when it ends within 12 places, else "1/3"."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1:
        shifted = value * 10**12
        if shifted.denominator == 1:
            return shift_value(str(shifted.numerator), -12)
    return f"{value.numerator}/{value.denominator}"


def negate(amount: Amount) -> None:
    """Make the values of `amount` negative, in place."""
    amount.values = tuple([v if v == "0" else "-" + v for v in amount.values])
    amount.same = amount.same and f"{amount.same}-"


def digits_at(s: str, at: int, mark: str) -> Amount | None:
    """Read digits, a fraction or a power at `at`, without the unit after it.

    `mark`: the decimal mark of the line's language, which decides a lone comma or point; "" when the language is
    unknown.
    """
    simple = _SIMPLE.match(s, at)
    if simple is None:
        return None
    text = simple.group()
    end = simple.end()
    follow = s[end : end + 1]
    if len(text) > LONGEST:
        return None
    if (
        follow in _MARKS
        or (follow == " " and (s[end + 1 : end + 2].isdigit() or s[end + 1 : end + 2] in _TIMES))
        or "," in text
        or "." in text
    ):
        return _special(s, at, mark, text, end)
    if text[0] == "0" and len(text) > 1:
        return None
    return Amount(end, (text,))


def _special(s: str, at: int, mark: str, text: str, end: int) -> Amount | None:
    """Read the forms with separators, bars and powers; the longest wins."""
    found = _FRACTION.match(s, at)
    if found is not None:
        whole, upper, lower = found.groups()
        if (
            int(lower) > int(upper) > 0
            and lower[0] != "0"
            and upper[0] != "0"
            and (int(lower) <= 20 or int(lower) in (24, 25, 32, 48, 50, 60, 64, 100, 1000))
        ):
            return Amount(found.end(), (of_fraction(int(whole or 0) + Fraction(int(upper), int(lower))),))
        if whole is None:
            return None
    found = _POWER.match(s, at)
    if found is not None:
        factor = canonical((found.group(1) or "1").replace(",", "."))
        return Amount(found.end(), (shift_value(factor, int(found.group(2))),))
    found = _EXPONENT.match(s, at)
    if found is not None:
        return Amount(
            found.end(), (shift_value(canonical(found.group(1).replace(",", ".")), int(found.group(2))),)
        )
    found = _GROUPED.match(s, at)
    if found is not None and found.group()[0] != "0":
        grouped = found.group()
        sep = found["sep"]
        tail = grouped[-4:]
        if sep in ",." and grouped.count(sep) == 1 and len(grouped) <= 7 and tail[0] == sep:
            return _lone(grouped, sep, found.end(), mark)
        whole = grouped.replace(sep, "")
        if len(whole) <= LONGEST and not (sep in ".," and _decimal_like(grouped, sep)):
            return Amount(found.end(), (canonical(whole.replace(",", ".")),))
        return None
    if text[0] == "0" and len(text) > 1 and text[1].isdigit():
        return None
    return Amount(end, (canonical(text.replace(",", ".")),))


def _decimal_like(grouped: str, sep: str) -> bool:
    """Tell whether the last separator is the grouping one but has other than three digits after it (1,234,5)."""
    return (
        len(grouped) - grouped.rfind(sep) != 4
        and "," not in grouped.replace(sep, "")
        and "." not in grouped.replace(sep, "")
    )


def _lone(text: str, sep: str, end: int, mark: str) -> Amount:
    """Read a lone comma or point before three digits, by `mark`; with no `mark`, keep both readings."""
    whole, decimal = text.replace(sep, ""), canonical(text.replace(sep, "."))
    same = "=" + text
    if not mark:
        return Amount(end, (whole, decimal), same)
    return Amount(end, (decimal if sep == mark else whole,), same)


def fraction_after(s: str, amount: Amount) -> Amount:
    """Add "and a half", "och en halv" that follows `amount` to its value."""
    found = _AND_A_HALF.match(s, amount.end) if s.startswith(_ANDS, amount.end) else None
    if found is None or len(amount.values) != 1 or "/" in amount.values[0] or amount.sort is not Sort.BARE:
        return amount
    word = classify(found.group(1))
    if word is None or word.sort != "fraction":
        return amount
    part = Fraction(1, word.atoms[0])
    amount.values = (of_fraction(Fraction(amount.values[0]) + part),)
    amount.end = found.end()
    return amount
