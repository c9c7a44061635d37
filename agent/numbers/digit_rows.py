"""Rows that begin with digits, longest first: names, dates, times, phones, versions, ordinals, factors, amounts."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from agent.lang.language import words

from . import keys
from .amounts import canonical, digits_at
from .date_rows import day_row, iso_row, time_row
from .dates import OPENING
from .digit_places import SPACES, Digits, digits_place
from .frequencies import match_factor, match_frequency
from .identifiers import CALLS, dimension_at, dotted_at, phone_at, run_at
from .language_tables import AM, AND, BY, OR, PM, TO, either, pattern, unite_words
from .number_words import classify
from .ordinals import EVERY, read_interval
from .ranges import digits_amount, read_range, span
from .reader import GLUED_SIGNS, NumberReader
from .suffixes import suffix_of_count
from .token import Amount, Kind, NumberMatch, Sort, match_amount
from .units import CODES, WORKDAY_WORDS
from .vocabulary import MONTHS

_ORDINAL = re.compile(rf"(\d{{1,9}})(?:{either(lambda each: each.ordinals.digit_suffixes)})(?!\w)")
_FACTOR = re.compile(
    rf"(\d{{1,6}}(?:[.,]\d{{1,3}})?)(?:x|×|{either(lambda each: each.factors.digit_suffixes)})(?!\w)"
)
_TIMES = re.compile(r"[x×](\d{1,6})(?!\w)")
_DECADE = re.compile(rf"\d{{1,3}}0(?:{either(lambda each: each.groups.decade_suffixes)})(?!\w)")
_ABBREVIATIONS = unite_words(lambda each: each.labels.abbreviations)
_VERSIONS = unite_words(lambda each: each.labels.versions)
_NO_END = frozenset(("", " ", "\n", ".", ",", ";", "/", ")", "%"))
_NO_SIDE = frozenset(("", "-", ":", ";", "/"))
_NAMING = frozenset(".-")
_LONG = re.compile(r"\d[\d -]+")
_COUNTRY = 2
"""Capitals before many digits that may form one code with them: a VAT number or an IBAN."""
_ROOTS = frozenset("±^√∛∜")
_NUMBERED = frozenset("#№")

Row: TypeAlias = "Callable[[NumberReader, Digits], tuple[NumberMatch, ...]]"


def read_digits(r: NumberReader, at: int, end: int) -> tuple[NumberMatch, ...]:
    """Read the token whose first digit run is `at` to `end`, by the first row that reads all of it."""
    place = digits_place(r, at, end)
    found = _by_rows(r, place)
    if place.before.end == at - 1 and place.before.start >= r.at and place.char in _NAMING:
        _add_name(r, place, found)
    elif len(place.before.word) == _COUNTRY and found:
        _add_code(r, place, found[0])
    return found


def _by_rows(r: NumberReader, place: Digits) -> tuple[NumberMatch, ...]:
    if place.char in _ROOTS:
        return (r.read_cluster(place.at - 1, place.at),)
    for row in _ROWS if _has_shape(r, place) else _PLAIN:
        found = row(r, place)
        if found:
            return found
    return (r.read_cluster(place.at if place.plain() else place.start, place.at),)


def _has_shape(r: NumberReader, place: Digits) -> bool:
    """Tell whether a date, time, telephone number or the like may begin here."""
    if not place.plain():
        return False
    s, end, follow = r.s, place.end, place.follow
    if follow in SPACES:
        word = _NEXT.match(s, end)
        alone = (
            word[2] is None and _goes_alone(word[1])
            if word is not None
            else s[end + 1 : end + 2] not in _JOINING
        )
    else:
        alone = follow == "" or (follow in ".,;!?" and s[end + 1 : end + 2] in SPACES)
    return not alone or s[place.at] == "0" or place.char in ("+", "(") or place.after(OPENING)


@lru_cache(maxsize=16_384)
def _goes_alone(word: str) -> bool:
    """Tell whether the word after a digit run cannot be part of a date, a time, a dimension or a range of them."""
    said = classify(word)
    return (
        (said is None or said.sort != "month")
        and word.lower() not in _SHAPING
        and not _NOON.match(f" {word}")
    )


_NEXT: Final = re.compile(rf"[ \n]([^\W\d_]++)( [x×] ?\d| (?:{pattern(BY)}) \d)?")
_SHAPING: Final = words("x a p") | {
    re.split(r"\W", phrase)[0]
    for phrase in (*BY, *TO, *AND, *OR, *unite_words(lambda each: each.calendar.day_of))
}
_NOON: Final = re.compile(f"(?:{AM}|{PM})", re.I)
_JOINING: Final = frozenset("0123456789×-–'\"″′(&")
_LEADS: Final = frozenset((" ", "\n", "(", ""))


def _count_row(r: NumberReader, place: Digits) -> tuple[NumberMatch, ...]:
    """Read the common case at once: a count before one ordinary word or unit, with nothing after it that changes it."""
    found = _COUNT.match(r.s, place.at) if place.start == place.at and place.char in _LEADS else None
    if found is None or place.before.word in _VERSIONS:
        return ()
    digits, word = found.groups()
    if word is None:
        return (match_amount(Amount(found.end(), (digits,)), place.at),)
    kind = suffix_of_count(word)
    if kind is None:
        return ()
    if kind[0] is Sort.BARE:
        return (match_amount(Amount(found.end(1), (digits,)), place.at),)
    end = found.end()
    if _TAIL.match(r.s, end):
        return ()
    return (match_amount(Amount(end, (digits,), None, *kind), place.at),)


def _span_row(r: NumberReader, place: Digits) -> tuple[NumberMatch, ...]:
    """Read the common range at once, `3-5 days`."""
    found = _SPAN.match(r.s, place.at) if place.follow == "-" and place.char in _LEADS else None
    if found is None or (len(found[1]) == 3 and len(found[2]) == 4):  # may be a telephone number
        return ()
    if found[3].lower() in MONTHS:
        return ()
    kind = suffix_of_count(found[3])
    if kind is None or _TAIL.match(r.s, found.end()) or place.after(OPENING) or place.after(CALLS):
        return ()
    end = found.end(2) if kind[0] is Sort.BARE else found.end()
    return (span(Amount(end, (found[1],), None, *kind), Amount(end, (found[2],), None, *kind), place.at),)


_ENDS: Final = rf"(?![\w^/°'@#{GLUED_SIGNS}-])"  # a word that nothing continues
_SPAN: Final = re.compile(
    rf"([1-9]\d{{0,3}})-([1-9]\d{{0,3}}) ((?:(?:{pattern(WORKDAY_WORDS)}) )?[^\W\d_]++){_ENDS}"
)
_COUNT: Final = re.compile(rf"([1-9]\d{{0,3}})(?: ([^\W\d_]++){_ENDS}|(?=[.,;:!?)]++(?:[ \n]|$)|$))")
_TAIL: Final = re.compile(rf" - |-|\n| (?:{pattern(TO, OR, AND)})", re.I)
"""What may make an amount with a unit the beginning of a range."""


def _led_row(r: NumberReader, place: Digits) -> tuple[NumberMatch, ...]:
    """Read digits that letters lead into: `H1N1`, `ABC-123`, `kb/2.md`."""
    if place.char in _LEADS:
        return ()
    s, at = r.s, place.at
    start = _led_from(r, place)
    if start < 0:
        return ()
    times = _TIMES.match(s, start)
    if times is not None and r.border(times.end()):
        return (keys.times(canonical(times[1]), times.group(), start, times.end()),)
    run = run_at(s, start)
    end = max(run, at + 1)
    if r.border(end):
        return (r.exact(Kind.IDENTIFIER, start, end),)
    return (r.exact(Kind.UNREAD, start, max(r.cluster_end(max(run, at)), at + 1)),)


def _led_from(r: NumberReader, place: Digits) -> int:
    """Return the offset of the letters that lead into digits, -1 without any."""
    at, char, before = place.at, place.char, place.before
    fresh = before.start >= r.at and before.word != ""
    if char.isalnum() or char == "_":
        if before.end == at and before.word in CODES:
            return -1
        return before.start if before.end >= at - 1 and fresh else at - 1
    if before.end != at - 1 or not fresh:
        return -1
    named = char == "." and not r.source and before.word.lower() not in _ABBREVIATIONS
    return before.start if (char == "-" and not before.word.islower()) or char in "@^/\\" or named else -1


def _phone_row(r: NumberReader, place: Digits) -> tuple[NumberMatch, ...]:
    """Read a telephone number."""
    s, at, start = r.s, place.at, place.start
    follow = place.follow
    may = s[start] in "+(0" or s[at] == "0" or place.char == "("
    if follow == ":" or (not may and (follow not in ("-", ".", " ") or place.end - at not in (1, 3))):
        return ()
    called = place.after(CALLS)
    first = at - 1 if place.char == "(" else start
    found = phone_at(s, first, called)
    if found is None and first != at:
        first, found = at, phone_at(s, at, called)
    if found is None or not r.border(found[0]):
        return ()
    return (keys.phone(found[1], first, found[0]),)


def _dotted_row(r: NumberReader, place: Digits) -> tuple[NumberMatch, ...]:
    """Read `1.2.3`, `10.0.0.1`."""
    end = dotted_at(r.s, place.at) if place.follow == "." else None
    if end is None or not r.border(end):
        return ()
    amount = digits_at(r.s, place.at, "")
    return () if amount is not None and amount.end >= end else (r.exact(Kind.IDENTIFIER, place.at, end),)


def _ordinal_row(r: NumberReader, place: Digits) -> tuple[NumberMatch, ...]:
    """Read `5th`, `5:e`."""
    found = _ORDINAL.match(r.s, place.at) if place.follow not in _NO_END else None
    if found is None:
        return ()
    every = read_interval(r, place.at, found.end(), int(found[1])) if place.after(EVERY) else None
    return (every or keys.ordinal(canonical(found[1]), place.at, found.end()),)


def _decade_row(r: NumberReader, place: Digits) -> tuple[NumberMatch, ...]:
    """Read `1990s`, `1990-talet`."""
    found = _DECADE.match(r.s, place.at) if place.follow not in _NO_END else None
    if found is None:
        return ()
    return (r.exact(Kind.IDENTIFIER, place.at, found.end(), found.group().replace("'", "")),)


def _dimension_row(r: NumberReader, place: Digits) -> tuple[NumberMatch, ...]:
    """Read `4x4`, `10 cm x 20 cm`."""
    sized = dimension_at(r.s, place.at) if place.follow not in _NO_SIDE else None
    if sized is None or not r.border(sized.end):
        return ()
    return (keys.dimension(sized.sides, sized.unit, place.at, sized.end),)


def _factor_row(r: NumberReader, place: Digits) -> tuple[NumberMatch, ...]:
    """Read `3x`, `10-fold`, `3x daily`."""
    found = _FACTOR.match(r.s, place.at) if place.follow not in SPACES else None
    if found is None or not r.border(found.end()):
        return ()
    value = canonical(found[1].replace(",", "."))
    often = match_frequency(r, place.at, found.end(), value)
    return (often or match_factor(r, place.at, found.end(), value),)


def _amount_row(r: NumberReader, place: Digits) -> tuple[NumberMatch, ...]:
    """Read an amount or a range."""
    amount = digits_amount(r, place.at, place.sign, place.currency, place.point)
    if amount is None:
        return ()
    found = read_range(r, amount, place.start)
    if found is not None:
        return (found,)
    if not r.border(amount.end):
        return ()
    if amount.sort is Sort.BARE:
        _mark_version(r, place, amount)
    return (r.match_counted(amount, place.start),)


def _mark_version(r: NumberReader, place: Digits, amount: Amount) -> None:
    """Set on a bare amount whether its digits are, or may be, those of a version, and whether it counts something."""
    written = r.s[place.at : amount.end]
    decimal = "." in written
    if place.after(_VERSIONS):
        amount.written, amount.version = written, decimal
    elif decimal and written.replace(".", "", 1).isdecimal():
        amount.written = written
        amount.version = _is_product(r, place)
    if decimal or "," in written or place.char in _NUMBERED:
        amount.counts = amount.counts and r.source and place.char not in _NUMBERED


def _is_product(r: NumberReader, place: Digits) -> bool:
    """Tell whether a name stands before the digits: capitals inside a word, or one at its start inside a sentence."""
    word, start = place.before.word, place.before.start
    if place.before.end != place.at - 1 or place.char != " " or len(word) < 2:
        return False
    if not word[1:].islower():
        return word not in CODES
    lead = r.s[max(start - 2, 0) : start]
    return word[0].isupper() and len(lead) == 2 and lead[1] == " " and (lead[0].isalnum() or lead[0] == ",")


def _add_name(r: NumberReader, place: Digits, found: tuple[NumberMatch, ...]) -> None:
    """Add to a number that a word leads into, as in `covid-19`, the name that both form."""
    if len(found) != 1:
        return
    its, s, start = found[0], r.s, place.before.start
    if place.char == "." and r.source:
        end = run_at(s, start)
        ends = {end, max(its.end, place.at), r.cluster_end(end)}
        its.names = tuple([s[start:each] for each in sorted(ends)])
    elif its.kind is Kind.NUMBER and place.char == "-" and place.before.word.islower():
        its.names = (s[start : its.end],) if s[place.at : its.end].isdecimal() else ()


def _add_code(r: NumberReader, place: Digits, its: NumberMatch) -> None:
    """Add to many digits behind two capitals, as in `SE 556677889901`, the code that both form."""
    word = place.before.word
    if not (word.isupper() and word.isascii() and place.char == " " and place.before.end == place.at - 1):
        return
    digits = "".join([c for c in r.s[place.at : its.end] if c.isdecimal()])
    if len(digits) >= keys.MANY and _LONG.fullmatch(r.s, place.at, its.end):
        its.names = (word + digits,)


_PLAIN: Final[tuple[Row, ...]] = (_count_row, _led_row, _amount_row)
_ROWS: Final[tuple[Row, ...]] = (
    _span_row, _led_row, iso_row, day_row, _phone_row, time_row, _dotted_row, _ordinal_row, _decade_row, _dimension_row,
    _factor_row, _amount_row,
)  # fmt: skip
"""The rows in order; `_PLAIN` are those to try where none of the others can match."""
