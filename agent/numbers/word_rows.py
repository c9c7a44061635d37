"""Rows that begin with a word: number words, months, factors, magnitudes, Roman numerals, look-alikes."""

import re
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from . import keys
from .amounts import negate
from .date_rows import match_dates
from .dates import month_first_at
from .frequencies import match_factor, match_frequency
from .language_tables import (
    ARTICLES,
    COUNTINGS,
    MINUS,
    OF,
    TEXT_PARTS,
    either,
    merge_tables,
    pattern,
    unite_words,
)
from .number_words import NumberWord
from .ordinals import read_alternate, read_ordinal
from .ranges import read_range, same_unit, span
from .reader import Before, NumberReader
from .runs import run_at
from .suffixes import read_suffix
from .token import NO_RATE, Amount, Kind, NumberMatch, Sort, clock
from .units import CODES, SIGNS, WEAK_UNITS
from .vocabulary import MAGNITUDES

_POWER = merge_tables(lambda each: each.groups.vague_scales)
_MANY = re.compile(rf"\w+(?:[ \n](?:{pattern(OF)}))?[ \n]({pattern(_POWER)})s?(?!\w)", re.I)
_OF_MAGNITUDE = re.compile(rf"[ \n](?:{pattern(OF)})[ \n]({pattern(MAGNITUDES)})(?!\w)", re.I)
_DAYS_END = f"time {24 * 3600}"
_WITH_MORE = unite_words(lambda each: each.groups.compound_magnitudes)
_OF = re.compile(rf"[ \n](?:{pattern(OF)})(?=[ \n])")
_ENDED = re.compile(
    rf"[ \n]?(?:[^\w\s]|$)|[ \n](?:{pattern(unite_words(lambda each: each.groups.slang_followers))})(?![^\W_])"
)
_IDIOM = re.compile(rf"[ -](?:{either(lambda each: each.factors.idioms)})(?![^\W_])", re.I)
_OCCASION = re.compile(rf"[ \n](?:{either(lambda each: each.factors.occasion)})(?![^\W_])", re.I)
_LETTERS = unite_words(lambda each: each.labels.letters)
_GOES_ON = re.compile(rf" (?!(?:{pattern(unite_words(lambda each: each.labels.not_followers))})\b)[a-z]")
_OWN = {
    word: frozenset(code for code, each in COUNTINGS.items() if word in each.cardinals.words)
    for word in unite_words(lambda each: each.cardinals.homographs)
}
"""Words that are numbers only in a line of one of these languages, or of an unknown one."""
_NUMERIC_RUN = re.compile(r"[^\W\d_]")


class WordPlace(msgspec.Struct, frozen=True):
    """The place of a number word in a text."""

    r: NumberReader
    word: NumberWord
    start: int
    end: int
    text: str

    @property
    def before(self) -> Before:
        """The word before this one."""
        return self.r.before(self.start)

    def after(self, names: frozenset[str], most: int = 1) -> bool:
        """Tell whether the word before is one of `names`, at most `most` characters away."""
        before = self.before
        return before.word.lower() in names and 0 < self.start - before.end <= most


Row: TypeAlias = "Callable[[NumberReader, WordPlace], tuple[NumberMatch, ...]]"


def read_word(r: NumberReader, word: NumberWord, start: int, end: int, text: str) -> tuple[NumberMatch, ...]:
    """Read the token that begins with a number word."""
    row = _ROWS.get(word.sort)
    return row(r, WordPlace(r, word, start, end, text)) if row is not None else ()


def _month(r: NumberReader, place: WordPlace) -> tuple[NumberMatch, ...]:
    """Read `May 5, 2012`."""
    read = month_first_at(r.s, place.start)
    if not read:
        return ()
    return match_dates(r, read) or (r.exact(Kind.UNREAD, place.start, r.cluster_end(read[0].end)),)


def _factor(r: NumberReader, place: WordPlace) -> tuple[NumberMatch, ...]:
    """Read `double`, `trefaldig`."""
    if _IDIOM.match(r.s, place.end):
        return ()
    return (match_factor(r, place.start, place.end, place.word.value, is_ratio=True),)


def _frequency(r: NumberReader, place: WordPlace) -> tuple[NumberMatch, ...]:
    """Read `twice a day`. Without a rate "twice" is a factor, and "once" is no number."""
    times = place.word.value
    found = match_frequency(r, place.start, place.end, times)
    if found is None and times != "1":
        found = match_factor(r, place.start, place.end, times)
    return (found,) if found is not None else ()


def _clock(r: NumberReader, place: WordPlace) -> tuple[NumberMatch, ...]:
    """Read `noon`; midnight is the end of a day, and the beginning of the next."""
    hour = int(place.word.value)
    found = keys.time(clock(hour * 3600), hour * 3600, "", place.start, place.end, NO_RATE)
    if not hour:
        found.needs = (*found.needs, (_DAYS_END,))
        found.gives = (*found.gives, _DAYS_END)
    return (found,)


def _symbols(r: NumberReader, place: WordPlace) -> tuple[NumberMatch, ...]:
    """Read letters of numeric value, each as a token of its own."""
    return tuple(
        [
            symbol(match.group(), place.start + match.start(), place.start + match.end())
            for match in _NUMERIC_RUN.finditer(place.text)
            if match.group()[0].isnumeric()
        ]
    )


def symbol(text: str, start: int, end: int) -> NumberMatch:
    """Return a `NumberMatch` for characters of numeric value that no row reads."""
    return keys.same(Kind.SYMBOL, text, start, end, "symbol")


def _letter(r: NumberReader, place: WordPlace) -> tuple[NumberMatch, ...]:
    """Read a Roman numeral that counts as one only after "version", "chapter" and the like."""
    pronoun = place.text in _LETTERS and place.before.word.islower() and _GOES_ON.match(r.s, place.end)
    return _roman(r, place) if place.after(TEXT_PARTS, 2) and not pronoun else ()


def _roman(r: NumberReader, place: WordPlace) -> tuple[NumberMatch, ...]:
    """Read `XIV`."""
    if r.s[place.end : place.end + 1] == "-" and r.s[place.end + 1 : place.end + 2].isdecimal():
        return ()  # the digits take it with them
    name = place.word.value
    return (keys.same(Kind.ROMAN, name, place.start, place.end, "roman", (name,)),)


def _lookalike(r: NumberReader, place: WordPlace) -> tuple[NumberMatch, ...]:
    """Read `lOO kr`: letters that only look like digits, beside a unit or a currency."""
    start, end, text = place.start, place.end, place.text
    probe = read_suffix(r.s, Amount(end, ("0",)))
    weak = probe.sort is Sort.QUANTITY and (
        probe.unit in WEAK_UNITS or len(text) == 1 or r.s[end + 1 : probe.end] in WEAK_UNITS
        or probe.unit == r.s[end + 1 : probe.end]
    )  # fmt: skip
    before = r.s[max(start - 2, 0) : start].rstrip(" ")
    priced = before[-1:] in SIGNS or (place.before.word in CODES and 0 < start - place.before.end <= 1)
    if priced or (probe.sort is not Sort.BARE and not weak):
        return (r.exact(Kind.UNREAD, start, max(end, probe.end)),)
    return ()


def _every(r: NumberReader, place: WordPlace) -> tuple[NumberMatch, ...]:
    """Read `every other week`."""
    found = read_alternate(r, place.start, place.end)
    return (found,) if found is not None else ()


def _opaque(r: NumberReader, place: WordPlace) -> tuple[NumberMatch, ...]:
    return (r.exact(Kind.UNREAD, place.start, place.end),)


def _magnitude(r: NumberReader, place: WordPlace) -> tuple[NumberMatch, ...]:
    """Read `several thousand`, `hundreds of thousands`."""
    word, end = place.word, place.end
    many = _MANY.match(r.s, place.start) if word.sort == "vague" or word.value == "2" else None
    if many is not None and word.sort != "magnitude":
        power, end = _POWER[many[1].lower()], many.end()
    elif word.sort == "magnitude":
        more = _OF_MAGNITUDE.match(r.s, end)
        power = int(word.value) + (MAGNITUDES[more[1].lower()] if more is not None else 0)
        if more is not None:
            end = more.end()
        elif place.text.lower() in _WITH_MORE:
            return ()
    else:
        return () if word.sort == "vague" else (_group(r, place),)
    found = keys.same(Kind.MAGNITUDE, str(power), place.start, end, "magnitude")
    found.value = f"10^{power}"
    return (found,)


def _group(r: NumberReader, place: WordPlace) -> NumberMatch:
    """Read `a decade`, `a dozen`, `ett par dagar`."""
    word, end = place.word, place.end
    amount = Amount(end, (word.value,), words=True)
    if word.unit is not None:
        amount.sort = Sort.MONEY if word.unit[0] == "$" else Sort.QUANTITY
        amount.unit = word.unit.removeprefix("$")
        return r.match_counted(amount, place.start)
    of = _OF.match(r.s, end)
    read_suffix(r.s, amount)
    if amount.sort is Sort.BARE and of is not None:
        further = read_suffix(r.s, Amount(of.end(), (word.value,), words=True))
        amount = further if further.sort is not Sort.BARE else amount
    return r.match_counted(amount, place.start)


def _thousand(r: NumberReader, place: WordPlace) -> tuple[NumberMatch, ...]:
    """Read `a grand` unless a noun follows that it describes."""
    if not place.after(ARTICLES) or not _ENDED.match(r.s, place.end):
        return ()
    return (r.match_counted(Amount(place.end, (place.word.value,), words=True), place.start),)


def _run(r: NumberReader, place: WordPlace) -> tuple[NumberMatch, ...]:
    """Read a run of number words."""
    start, word = place.start, place.word
    occasion = _OCCASION.match(r.s, place.end) if word.sort == "article" else None
    if occasion is not None and (often := match_frequency(r, start, occasion.end(), "1")) is not None:
        return (often,)
    own = _OWN.get(place.text.lower())
    if own is not None and r.language(start) not in ("", *own):
        return ()
    article = word.sort not in ("article", "cardinal") and place.after(ARTICLES)
    run = run_at(r.s, word, place.end, article)
    if run.what == "exempt":
        return ()
    if run.what == "ordinal":
        return read_ordinal(r, start, run.end, run.ordinal)
    if run.amount is None or run.what == "unread":
        return (r.exact(Kind.UNREAD, start, run.end),)
    if run.low is not None:
        if same_unit(run.low, run.amount):
            return (span(run.low, run.amount, start),)
        return (r.exact(Kind.UNREAD, start, run.end),)
    if place.after(MINUS) and place.before.start >= r.at:
        negate(run.amount)
        start = place.before.start
    return (read_range(r, run.amount, start) or r.match_counted(run.amount, start),)


_ROWS: Final[dict[str, Row]] = {
    "cardinal": _run, "article": _run, "ordinal": _run, "third": _run, "fraction": _run, "month": _month,
    "factor": _factor, "quantity": _magnitude, "vague": _magnitude, "magnitude": _magnitude, "symbol": _symbols,
    "roman": _roman, "letter": _letter, "lookalike": _lookalike, "opaque": _opaque, "slang": _thousand,
    "every": _every, "frequency": _frequency, "clock": _clock,
}  # fmt: skip
"""The row that reads a word, by the word's `sort`."""
