"""Writes a number that was read in a text in the words in which a person says it, by the number's type.

Strategy: an amount is written from its value and unit and not from its characters, so that "5 tkr" becomes "five
thousand kronor"; a unit that stands as a word is left as it is. What is compared character by character is said so:
codes, versions, telephone numbers. `None` stands for "no words": the caller says that the figure is on the screen. The
result is read back (`agent.numbers.written_forms`), so an odd form costs a sentence and no truth.
"""

import re
from typing import Final

from agent.lang import LANGUAGES, Lang
from agent.lang.language import words
from agent.lang.saying import Saying

from .identifiers import CALLS
from .keys import MANY
from .language_tables import AND, MINUS, TO, pattern
from .numerals import say_cardinal, say_centuries, say_decimal, say_fraction, say_ordinal, say_year
from .ranges import falls
from .reader import NumberReader
from .token import Amount, Kind, NumberMatch, Sort

LONGEST: Final = 40
"""Characters of a code that are said one by one."""
_PLAIN_WORDS: Final = re.compile(r"[^\W\d_]+(?:[ \n-][^\W\d_]+)*")
_UNIT_WORDS: Final = re.compile(r"[ \n-]?[^\W\d_]{3,}(?:[ \n][^\W\d_]{3,})*")
_MINUS: Final = re.compile(rf"\D{{0,4}}-|(?:{pattern(MINUS)})[ \n]", re.I)
_DECIMALS: Final = re.compile(r"[.,](\d+)\D*")
_WRITTEN_PART: Final = re.compile(r"(?:(\d{1,4}) )?(\d{1,4}/\d{1,4})(?!\d)")
_JOINT: Final = re.compile(r"[ \n]([^\W\d_]+(?:[ \n]to)?)[ \n]")
_DATE: Final = re.compile(r"(?:(\d{4})-)?(\d\d)(?:-(\d\d))?")
_TIME: Final = re.compile(r"(\d\d):(\d\d)")
_WRITTEN_TIME: Final = re.compile(r"(\d{1,2})(?:[:.]\d\d)?(?:[ \n]?([ap])\.?m)?", re.I)
_SIDES: Final = re.compile(r"(\d+(?:\.\d+)?(?:x\d+(?:\.\d+)?)+)(?: (\S+))?")
_LONE_CHARACTER: Final = re.compile(r"(?<!\S)\S(?!\S)")
_EXACT: Final = frozenset((Kind.PHONE, Kind.IDENTIFIER, Kind.UNREAD, Kind.ROMAN))
_SIGNS: Final = {Sort.PERCENT: "%", Sort.POINTS: "pp", Sort.MILLE: "‰"}


def say_number(r: NumberReader, found: NumberMatch, lang: Lang) -> str | None:
    """Return the words for one of the numbers of `r`; `None` where the language has none for it.

    A number that is written in words is returned as it stands.
    """
    saying = LANGUAGES[lang].saying
    text = r.s[found.start : found.end]
    if found.kind not in _EXACT and _PLAIN_WORDS.fullmatch(text):
        return text
    if found.amount is not None:
        return _say_amounts(r, found, found.amount, saying)
    if found.kind is Kind.DATE:
        return _say_date(found.value, r.before(found.start).word, saying)
    if found.kind is Kind.TIME or (found.kind is Kind.RANGE and ":" in found.value):
        return _say_times(text, found.value, r.before(found.start).word, saying)
    if found.kind is Kind.ORDINAL:
        return say_ordinal(int(found.value), saying.numerals)
    if found.kind is Kind.FACTOR:
        return _say_factor(found.value, saying)
    if found.kind in _EXACT:
        sides = _SIDES.fullmatch(found.value) if found.kind is Kind.IDENTIFIER else None
        if sides is not None and (said := _say_sides(sides[1].split("x"), sides[2] or "", saying)):
            return said
        return spell(text, saying, found.kind is Kind.PHONE)
    return None


def _say_amounts(r: NumberReader, found: NumberMatch, high: Amount, saying: Saying) -> str | None:
    """Say a lone amount, or a range of two."""
    text = r.s[found.start : found.end]
    low = found.low
    if low is None:
        return _say_amount(r, found, high, saying)
    if falls(low, high):
        return spell(text, saying, False)
    first = _say_value(low, r.s[found.start : low.end], saying)
    last = _say_value(high, r.s[low.end : found.end], saying)
    if first is None or last is None:
        return None
    joint = _JOINT.match(r.s, low.end) if low.end < found.end else None
    unit = _say_unit(high, text, saying, False)
    return None if unit is None else f"{first} {joint[1] if joint is not None else saying.to} {last}{unit}"


def _say_amount(r: NumberReader, found: NumberMatch, amount: Amount, saying: Saying) -> str | None:
    text = r.s[found.start : found.end]
    if len(amount.values) != 1:
        return None
    value = amount.values[0]
    if amount.sort is Sort.BARE and text.isdecimal():
        if len(text) >= MANY or r.before(found.start).word.lower() in CALLS:
            return spell(text, saying, False)
        if 1100 <= int(text) <= 1999:
            return say_centuries(int(text), saying.numerals)
    if amount.sort is Sort.MONEY and (said := _say_hundredths(amount, saying)) is not None:
        return said
    is_one = value in ("1", "-1") and not _written_decimals(amount, text, "")  # "1.00" is said digit by digit
    unit = _say_unit(amount, text, saying, is_one)
    said = _say_value(amount, text, saying)
    if said is None or unit is None:
        return None
    if is_one and not _is_neuter(r, found, amount, saying):
        said = said.removesuffix(saying.numerals.ones[1]) + saying.numerals.one
    return said + unit


def _is_neuter(r: NumberReader, found: NumberMatch, amount: Amount, saying: Saying) -> bool:
    """Tell whether the word for one stands alone, or before a word of the neuter gender."""
    if amount.sort is Sort.BARE:
        behind = r.s[found.end : found.end + 2]
        return not (behind[:1] == " " and behind[1:].isalpha())
    return amount.unit in saying.neuter


def _say_value(amount: Amount, text: str, saying: Saying) -> str | None:
    """Say the value of an amount without its unit. `text`: as it is written, for its decimals."""
    if len(amount.values) != 1:
        return None
    value = amount.values[0]
    sign = f"{saying.numerals.minus} " if value[0] == "-" else ""
    value = value.removeprefix("-")
    part = _WRITTEN_PART.search(text)
    if part is not None and not amount.shift:
        said = say_fraction(part[2], saying.numerals, int(part[1] or 0))
    elif "/" in value:
        upper, _, below = value.partition("/")
        count, rest = divmod(int(upper), int(below))
        said = say_fraction(f"{rest}/{below}", saying.numerals, count)
    else:
        whole, _, digits = value.partition(".")
        written = _written_decimals(amount, text, digits)
        said = (
            say_decimal(int(whole), written, saying.numerals)
            if written
            else say_cardinal(int(whole), saying.numerals)
        )
    return said and sign + said


def _written_decimals(amount: Amount, text: str, digits: str) -> str:
    """Return the decimals of an amount as they are written, with idle zeros."""
    found = _DECIMALS.search(text) if not amount.shift else None
    for each in _DECIMALS.finditer(text) if found is not None else ():
        found = each
    if found is None or found[1].rstrip("0") != digits:
        return digits
    before = "".join([c for c in text[: found.start()] if c.isdecimal()]).lstrip("0")
    return found[1] if before == amount.values[0].lstrip("-").partition(".")[0].lstrip("0") else digits


def _say_unit(amount: Amount, text: str, saying: Saying, is_one: bool) -> str | None:
    """Return the words of an amount's unit with a space before them, "" without a unit, `None` without words for it."""
    if amount.sort is Sort.BARE:
        return ""
    last_digit = max((at for at, char in enumerate(text) if char.isdecimal()), default=-1)
    tail = text[last_digit + 1 :]
    below = amount.values[0][0] == "-" and not _MINUS.match(text)
    named = _UNIT_WORDS.fullmatch(tail) if not (amount.shift or amount.prefixed or below) else None
    if named is not None and _is_word(tail, saying):
        return tail.replace("\n", " ")
    forms = _unit_forms(amount, saying)
    return None if forms is None else f" {forms[0] if is_one else forms[1]}"


def _unit_forms(amount: Amount, saying: Saying) -> tuple[str, ...] | None:
    """Return one and several of a unit."""
    if amount.sort is Sort.MONEY:
        return saying.money.get(amount.unit)
    unit = _SIGNS.get(amount.sort) or amount.unit
    per = saying.per.get(unit[-2:])
    forms = saying.units.get(unit[:-2] if per else unit)
    return forms if forms is None or not per else (f"{forms[0]} {per}", f"{forms[1]} {per}")


def _is_word(tail: str, saying: Saying) -> bool:
    """Tell whether a unit is written as words to be said, rather than as a symbol or an abbreviation."""
    return all(
        word.islower()
        and not (len(word) < 5 and (word in _ABBREVIATIONS or f"{word}." in saying.short_forms))
        for word in tail.replace("-", " ").split()
    )


_ABBREVIATIONS: Final = words(
    "min mins sec secs sek tim mån hrs yrs wks mos lbs yds tbsp tsp gal msk tsk kvm sqm sqft mph kmh kph psi dpi ppi "
    "ppm rpm mol mmol kwh mwh mah kcal khz mhz ghz tkr kkr mkr mnkr mdkr deg degs pct ggr sts stk mbit gbit kbit kbps "
    "mbps gbps mcg lux"
)
"""Units of three letters or more that are no words."""


def _say_hundredths(amount: Amount, saying: Saying) -> str | None:
    """Say "five kronor and fifty öre"; `None` where an amount of money has no two decimals, or they have no name."""
    one, many, name = saying.money.get(amount.unit, ("", "", ""))
    whole, _, digits = amount.values[0].partition(".")
    if not name or not 1 <= len(digits) <= 2 or not whole.removeprefix("-").isdecimal():
        return None
    numerals = saying.numerals
    value = int(whole.removeprefix("-"))
    said = numerals.one if value == 1 else say_cardinal(value, numerals)
    hundredths = say_cardinal(int(digits.ljust(2, "0")), numerals)
    if said is None:
        return None
    sign = f"{numerals.minus} " if whole[0] == "-" else ""
    return sign + saying.with_hundredths.format(
        whole=f"{said} {one if value == 1 else many}", hundredths=f"{hundredths} {name}"
    )


def _say_date(value: str, before: str, saying: Saying) -> str | None:
    found = _DATE.fullmatch(value)
    if found is None:
        return None
    year, month, day = found.groups()
    if not day:
        said = saying.months[int(month) - 1]
    else:
        ordinal = say_ordinal(int(day or 0), saying.numerals)
        if ordinal is None:
            return None
        said = saying.date.format(day=ordinal, month=saying.months[int(month) - 1])
        if saying.the and before.lower() != saying.the:
            said = f"{saying.the} {said}"
    words = say_year(int(year), saying.numerals) if year else ""
    return None if words is None else f"{said} {words}".strip()


def _say_times(text: str, value: str, before: str, saying: Saying) -> str | None:
    """Say a time of day, or a range of two."""
    times = _TIME.findall(value)
    written = [*_WRITTEN_TIME.finditer(text)][: len(times)]
    if not times or len(written) != len(times) or value.count(":") != len(times):
        return None
    said: list[str] = []
    for (hour, minute), each in zip(times, written, strict=True):
        half = each[2] is not None or int(hour) > 12 or each[1][0] == "0"
        opener = "" if not said and before.lower() in _clock_words(saying) else saying.clock.opener
        time = _say_time(int(hour), int(minute), half, saying)
        said.append(f"{opener} {time}".strip())
    between = next((word for word in text.split() if word.lower() in TO | AND), saying.to)
    return f" {between} ".join(said)


def _clock_words(saying: Saying) -> frozenset[str]:
    opener = saying.clock.opener
    return frozenset(
        (opener, *(each.strip(".") for each, word in saying.short_forms.items() if word == opener))
    )


def _say_time(hour: int, minute: int, half: bool, saying: Saying) -> str:
    """Say one time. `half`: the half of the day is sure, so that a clock of twelve hours names it."""
    clock, numerals = saying.clock, saying.numerals
    named = clock.halves and half and hour < 24
    name = numerals.ones[hour % 12 or 12] if named else _say_hour(hour, saying)
    end = f" {clock.halves[hour >= 12]}" if named else ""
    if not minute:
        return f"{name}{end}" if named else clock.whole.format(hour=name)
    words = say_cardinal(minute, numerals)
    if minute < 10:
        words = clock.low_minute.format(minute=words)
    return clock.parted.format(hour=name, minute=words) + end


def _say_hour(hour: int, saying: Saying) -> str:
    return say_cardinal(hour, saying.numerals) or ""


def _say_factor(value: str, saying: Saying) -> str | None:
    if not value.isdecimal() or not 2 <= int(value) <= 10:
        return None
    return saying.numerals.fold.format(count=saying.numerals.ones[int(value)])


def _say_sides(sides: list[str], unit: str, saying: Saying) -> str | None:
    """Say the sides of a dimension and its unit."""
    said: list[str] = []
    for side in sides:
        whole, _, digits = side.partition(".")
        words = (
            say_decimal(int(whole), digits, saying.numerals)
            if digits
            else say_cardinal(int(whole), saying.numerals)
        )
        if words is None:
            return None
        said.append(words)
    forms = saying.units.get(unit, ("", "")) if unit else ("", "")
    if unit and not forms[1]:
        return None
    return f" {saying.by} ".join(said) + (f" {forms[1]}" if unit else "")


def spell(text: str, saying: Saying, grouped: bool) -> str | None:
    """Say a code character by character; `None` for a character without a name.

    `grouped`: the marks between its groups of digits say nothing, so that a pause stands for each. A pause stands for
    a space too, but beside a lone character it would not be heard, and the space is named.
    """
    if len(text) > LONGEST:
        return None
    said: list[str] = []
    pause = False
    spaced = not grouped and _LONE_CHARACTER.search(text) is not None
    for char in text:
        if char.isspace() and spaced:
            char = " "
        elif char.isspace() or (grouped and char in "-().") or char == ")":
            pause = bool(said)
            continue
        if char.isdecimal():
            name: str | None = saying.numerals.ones[int(char)]
        elif char.isalpha():
            name = char.upper()
        else:
            name = saying.marks.get(char)
            pause = False
        if name is None:
            return None
        if pause:
            said[-1] += ","
            pause = False
        said.append(name)
    return " ".join(said)
