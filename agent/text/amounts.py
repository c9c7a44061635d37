"""Reads one amount: digits in any grouping, a fraction or a power, then its multiplier and unit.

Every function takes the plain text and an offset and returns what it read there or None; none looks back.
Values are canonical decimal strings ("1234.5"), or "1/3" where a fraction does not end.
"""

import re
from fractions import Fraction

from .number_words import classify, value_of
from .tables import words
from .tokens import Amount
from .units import (
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

LONGEST = 40
"""Digits; a longer run is no number that a reader takes in, and stays unread."""

_GROUPED = re.compile(r"\d{1,3}(?P<sep>[ ',.])\d{3}(?!\d)(?:(?P=sep)\d{3}(?!\d))*+(?:[.,]\d++)?")
_SIMPLE = re.compile(r"\d++(?:[.,]\d++)?")
_FRACTION = re.compile(r"(?:(\d{1,4}) )?(\d{1,4})/(\d{1,4})(?![\d/])")
_POWER = re.compile(r"(?:(\d{1,15}(?:[.,]\d{1,15})?) ?[x×*·] ?)?10\^(-?\d{1,3})(?!\d)")
_EXPONENT = re.compile(r"(\d{1,15}(?:[.,]\d{1,15})?)[eE]([-+]?\d{1,3})(?!\w)")
_AND_A_HALF = re.compile(r"[ \n](?:and|och) (?:an?|one|ett?|en) ([^\W\d_]+)")
_AFTER = re.compile(rf"([ \n]?)(-?)([^\W\d_]++|[%‰°{''.join(SIGNS)}])")
_DASH_MONEY = re.compile(r"(?: ?:|,)-(?![\d-])|\.-(?![\w-])")
_SPACED_WORD = re.compile(r"[ \n-]([^\W\d_]++)")
_TWICE = re.compile(r" \(([^\W\d_]++)\)(?=[ \n-])")
_POINTS = re.compile(r"[ -]?([^\W\d_]++)")
_SCALE_LETTER = re.compile(r"[ ]?(C|F|K|[cC]elsius|[fF]ahrenheit)(?![^\W_])")
_PER = re.compile(r"/(h|s|tim)(?![^\W_])")
_SUPER = re.compile(r"\^?([23])(?![\w^])")
_FILLER = words(
    "full fulla hel hela whole long långa consecutive sammanhängande extra more fler mer additional "
    "ytterligare short korta straight raka entire calendar kalender other further kompletta complete "
    "solid"
)
_WORKING = words("business working banking trading arbets")
_SQUARE = {"square": "2", "sq": "2", "kvadrat": "2", "cubic": "3", "kubik": "3"}


def canonical(digits: str) -> str:
    """Return plain digits with at most one "." as a canonical decimal: no idle zeros."""
    whole, point, rest = digits.partition(".")
    whole = whole.lstrip("0") or "0"
    rest = rest.rstrip("0") if point else ""
    return f"{whole}.{rest}" if rest else whole


def scaled(value: str, shift: int) -> str:
    """Return a canonical value times ten to the power of `shift`."""
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
    """Multiply an amount by ten to the power of `shift`, in place."""
    amount.values = tuple([scaled(v, shift) for v in amount.values])
    amount.same = amount.same and f"{amount.same}e{shift}"
    amount.shift += shift


def of_fraction(value: Fraction) -> str:
    """Return a fraction as a canonical value: a decimal when it ends within 12 places, else "1/3"."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1:
        shifted = value * 10**12
        if shifted.denominator == 1:
            return scaled(str(shifted.numerator), -12)
    return f"{value.numerator}/{value.denominator}"


def negate(amount: Amount) -> None:
    """Turn an amount's values negative, in place."""
    amount.values = tuple([v if v == "0" else "-" + v for v in amount.values])
    amount.same = amount.same and f"{amount.same}-"


def digits_at(s: str, at: int, swedish: "bool | None") -> Amount | None:
    """Read digits, a fraction or a power at `at`, without what follows.

    swedish: what the line's words say about a lone comma or point (None: nothing).
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
        follow in _SPECIAL_FOLLOW
        or (follow == " " and (s[end + 1 : end + 2].isdigit() or s[end + 1 : end + 2] in _TIMES_SIGNS))
        or "," in text
        or "." in text
    ):
        return _special(s, at, swedish, text, end)
    if text[0] == "0" and len(text) > 1:
        return None
    return Amount(end, (text,))


_TIMES_SIGNS = frozenset(("x", "×", "*", "·"))
_SPECIAL_FOLLOW = words("' , . / ^ e E x × * ·")


def _special(s: str, at: int, swedish: "bool | None", text: str, end: int) -> Amount | None:
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
        return Amount(found.end(), (scaled(factor, int(found.group(2))),))
    found = _EXPONENT.match(s, at)
    if found is not None:
        return Amount(
            found.end(), (scaled(canonical(found.group(1).replace(",", ".")), int(found.group(2))),)
        )
    found = _GROUPED.match(s, at)
    if found is not None and found.group()[0] != "0":
        grouped = found.group()
        sep = found["sep"]
        tail = grouped[-4:]
        if sep in ",." and grouped.count(sep) == 1 and len(grouped) <= 7 and tail[0] == sep:
            return _lone(grouped, sep, found.end(), swedish)
        whole = grouped.replace(sep, "")
        if len(whole) <= LONGEST and not (sep in ".," and _decimal_like(grouped, sep)):
            return Amount(found.end(), (canonical(whole.replace(",", ".")),))
        return None
    if text[0] == "0" and len(text) > 1 and text[1].isdigit():
        return None
    return Amount(end, (canonical(text.replace(",", ".")),))


def _decimal_like(grouped: str, sep: str) -> bool:
    """Tell whether the last separator repeats the grouping one with other than three digits (1,234,5)."""
    return (
        len(grouped) - grouped.rfind(sep) != 4
        and "," not in grouped.replace(sep, "")
        and "." not in grouped.replace(sep, "")
    )


def _lone(text: str, sep: str, end: int, swedish: "bool | None") -> Amount:
    """Read a lone comma or point before three digits, by the language of its line."""
    whole, decimal = text.replace(sep, ""), canonical(text.replace(sep, "."))
    same = "=" + text
    if swedish is None:
        return Amount(end, (whole, decimal), same)
    return Amount(end, (whole if (sep == ",") != swedish else decimal,), same)


def fraction_after(s: str, amount: Amount) -> Amount:
    """Add "and a half", "och en halv" to an amount that ends before it."""
    found = _AND_A_HALF.match(s, amount.end)
    if found is None or len(amount.values) != 1 or "/" in amount.values[0] or amount.sort != "n":
        return amount
    word = classify(found.group(1))
    if word is None or word.sort != "fraction":
        return amount
    part = Fraction(1, word.atoms[0])
    amount.values = (of_fraction(Fraction(amount.values[0]) + part),)
    amount.end = found.end()
    return amount


def suffix(s: str, amount: Amount) -> Amount:
    """Read the multiplier, percent sign, currency or unit that follows an amount; changes and returns it."""
    twice = _TWICE.match(s, amount.end) if s.startswith(" (", amount.end) and amount.sort == "n" else None
    if twice is not None:  # 14 (fourteen) days
        word = classify(twice[1])
        if word is not None and word.sort == "cardinal" and (str(value_of(word.atoms)),) == amount.values:
            amount.end = twice.end()
    for _ in range(3):
        if not _suffix_once(s, amount):
            break
    return amount


def _suffix_once(s: str, amount: Amount) -> bool:
    """Take one word or sign after the amount; True when a further one may follow."""
    at = amount.end
    char = s[at : at + 1]
    if char in ":,." or s.startswith(" :-", at):
        if char and amount.sort == "n" and _DASH_MONEY.match(s, at):
            amount.sort, amount.unit, amount.end = "m", "SEK", s.index("-", at) + 1
        return False
    found = _AFTER.match(s, at)
    if found is None:
        return False
    gap, hyphen, word = found.groups()
    end = found.end()
    if hyphen and (gap or amount.sort == "m"):
        return False
    if not word[0].isalpha():
        return _sign(s, amount, word, hyphen, end)
    return _word(s, amount, word, gap, hyphen, end)


def _sign(s: str, amount: Amount, word: str, hyphen: str, end: int) -> bool:
    if amount.sort != "n" or (hyphen and word != "%"):
        return False
    if word == "‰":
        amount.sort, amount.end = "‰", end
        return False
    if word == "%":
        points = _POINTS.match(s, end)
        is_points = points is not None and points.group(1).lower() in POINTS
        amount.sort = "p" if is_points else "%"
        amount.end = points.end() if points is not None and is_points else end
        tail = _POINTS.match(s, end)
        if tail is not None and tail.group().lower() in ("-ig", "-iga", "-igt"):
            amount.end = tail.end()
        return False
    if word in SIGNS:
        if s[end : end + 1].isdigit():
            return False
        amount.sort, amount.unit, amount.end = "m", SIGNS[word], end
        return False
    amount.sort, amount.unit, amount.end = "q", word, end
    if word == "°":
        _degrees(s, amount, end)
    return False


def _degrees(s: str, amount: Amount, end: int) -> None:
    scale = _SCALE_LETTER.match(s, end)
    amount.unit = "degree?"
    if scale is not None:
        amount.unit, amount.end = unit_of(scale.group(1)) or "degree?", scale.end()


def _word(s: str, amount: Amount, word: str, gap: str, hyphen: str, end: int) -> bool:
    """Read a word after the amount."""
    follow = s[end : end + 1]
    power = _SUPER.match(s, end) if follow in "23^" and follow else None
    if (follow.isalnum() or follow == "_") and power is None:
        return False
    lower = word.lower()
    if lower in MULTIPLIERS or (word in LETTER_MULTIPLIERS and follow not in ("/", "'", "-", "+")):
        if amount.sort not in "nm" or (amount.sort == "m" and not amount.prefixed):
            return False
        scale(amount, MULTIPLIERS.get(lower) or LETTER_MULTIPLIERS[word])
        amount.end = end
        return True
    if amount.sort == "m" and amount.prefixed:
        if currency_of(word) == amount.unit:
            amount.end = end
        return False
    if amount.sort != "n":
        return False
    if lower in SCALED:
        shift, amount.unit = SCALED[lower]
        scale(amount, shift)
        amount.sort, amount.end = "m", end
        return False
    currency = currency_of(word)
    if currency is None and lower in NATIONS:
        base = _SPACED_WORD.match(s, end)
        if base is not None and currency_of(base.group(1)) is not None:
            name = currency_of(base.group(1)) or ""
            currency, end = NATIONS[lower].get(name, name), base.end()
    if currency is not None:
        amount.sort, amount.unit, amount.end = "m", currency, end
        return False
    if lower in MILLE or (lower == "per" and s[end : end + 6].lower() in (" mille", " mill")):
        amount.sort, amount.end = "‰", end + 6 * (lower == "per")
        return False
    if lower == "p" and s.startswith(".p.", end):
        amount.sort, amount.end = "p", end + 3
        return False
    if lower in ("minusgrader", "plusgrader"):
        if lower[0] == "m":
            negate(amount)
        amount.sort, amount.unit, amount.end = "q", "degree?", end
        return False
    if lower in PERCENT or (lower == "per" and s[end : end + 5].lower() == " cent"):
        _percent_word(s, amount, lower, end)
        return False
    if lower.startswith(("procentenhet", "procentpoäng")) or lower in ("pp", "percentpoints"):
        amount.sort, amount.end = "p", end
        return False
    if lower.startswith("procent"):
        amount.sort, amount.end = "%", end
        return False
    group = classify(word)
    if group is not None and group.sort == "quantity" and len(amount.values) == 1:
        amount.values = (of_fraction(Fraction(amount.values[0]) * Fraction(group.value)),)
        amount.end = end
        if group.unit is not None:
            amount.sort = "m" if group.unit[0] == "$" else "q"
            amount.unit = group.unit.removeprefix("$")
        return group.unit is None
    return _unit(s, amount, word, gap, hyphen, end, power)


def _percent_word(s: str, amount: Amount, lower: str, end: int) -> None:
    end = end + 5 if lower == "per" else end
    points = _SPACED_WORD.match(s, end)
    if points is not None and points.group(1).lower() in POINTS:
        amount.sort, amount.end = "p", points.end()
    else:
        amount.sort, amount.end = "%", end


def _unit(
    s: str, amount: Amount, word: str, gap: str, hyphen: str, end: int, power: "re.Match[str] | None"
) -> bool:
    """Read a unit of one or two words."""
    lower = word.lower()
    unit = unit_of(word)
    if unit is None and lower == "in" and (not gap or s[end : end + 1] == "."):
        unit = "inch"
    second = None
    if lower in _WORKING or lower in _SQUARE or lower in _FILLER:
        second = _SPACED_WORD.match(s, end)
        base = unit_of(second.group(1)) if second is not None else None
        if second is not None and base is not None:
            if lower in _WORKING:
                unit = "workday" if base == "day" else f"{lower} {base}"
            elif lower in _SQUARE:
                unit = f"{base}^{_SQUARE[lower]}"
            else:
                unit = f"calendar {base}" if lower in ("calendar", "kalender") else base
            end = second.end()
            if unit == "workday" or lower not in _FILLER:
                power = None
    if unit is None:
        return False
    amount.sort, amount.unit, amount.end = "q", unit, end
    if unit == "degree?":
        _degrees(s, amount, end)
    elif power is not None and unit in ("m", "cm", "mm", "dm", "km", "inch", "foot", "yard", "mile"):
        amount.unit, amount.end = f"{unit}^{power.group(1)}", power.end()
    else:
        per = _PER.match(s, end)
        if per is not None:
            amount.unit, amount.end = f"{unit}/{per.group(1)[0].replace('t', 'h')}", per.end()
    return False
