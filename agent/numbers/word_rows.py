"""Rows that begin with a word: number words, months, factors, magnitudes, Roman numerals, look-alikes."""

import re
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from . import keys
from .amounts import negate
from .date_rows import dated
from .dates import month_first_at
from .number_words import Word
from .ranges import ranged, same_unit, span
from .reader import Before, Reader
from .runs import run_at
from .spoken import ARTICLES, COUNTINGS, MINUS, OF, PARTS, either, merged, pattern, united
from .suffixes import suffix
from .token import Amount, Found, Kind, Sort
from .units import CODES, SHORT, SIGNS
from .vocabulary import MAGNITUDES

_POWER = merged(lambda each: each.groups.scales)
_MANY = re.compile(rf"\w+(?:[ \n](?:{pattern(OF)}))?[ \n]({pattern(_POWER)})s?(?!\w)", re.I)
_OF_MAGNITUDE = re.compile(rf"[ \n](?:{pattern(OF)})[ \n]({pattern(MAGNITUDES)})(?!\w)", re.I)
_WITH_MORE = united(lambda each: each.groups.with_more)
_OF = re.compile(rf"[ \n](?:{pattern(OF)})(?=[ \n])")
_ENDED = re.compile(
    rf"[ \n]?(?:[^\w\s]|$)|[ \n](?:{pattern(united(lambda each: each.groups.ends_slang))})(?![^\W_])"
)
_IDIOM = re.compile(rf"[ -](?:{either(lambda each: each.factors.idioms)})(?![^\W_])", re.I)
_LETTERS = united(lambda each: each.labels.letters)
_GOES_ON = re.compile(rf" (?!(?:{pattern(united(lambda each: each.labels.but_before))})\b)[a-z]")
_OWN = {
    word: frozenset(code for code, each in COUNTINGS.items() if word in each.cardinals.words)
    for word in united(lambda each: each.cardinals.own)
}
"""Words that are numbers only where a line is in no other language than these."""
_NUMERIC_RUN = re.compile(r"[^\W\d_]")


class Place(NamedTuple):
    """Where a word stands that says something about numbers."""

    r: Reader
    word: Word
    start: int
    end: int
    text: str

    @property
    def before(self) -> Before:
        """The word before it."""
        return self.r.before(self.start)

    def after(self, names: frozenset[str], most: int = 1) -> bool:
        """Tell whether the word before is one of `names`, at most `most` characters away."""
        before = self.before
        return before.word.lower() in names and 0 < self.start - before.end <= most


Row: TypeAlias = "Callable[[Reader, Place], tuple[Found, ...]]"


def read_word(r: Reader, word: Word, start: int, end: int, text: str) -> tuple[Found, ...]:
    """Read the token that begins with a word that says something about numbers."""
    row = _ROWS.get(word.sort)
    return row(r, Place(r, word, start, end, text)) if row is not None else ()


def _month(r: Reader, place: Place) -> tuple[Found, ...]:
    """Read `May 5, 2012`."""
    read = month_first_at(r.s, place.start)
    if not read:
        return ()
    return dated(r, read) or (r.exact(Kind.UNREAD, place.start, r.cluster_end(read[0].end)),)


def _factor(r: Reader, place: Place) -> tuple[Found, ...]:
    """Read `double`, `trefaldig`."""
    if _IDIOM.match(r.s, place.end):
        return ()
    value = place.word.value
    return (keys.same(Kind.FACTOR, value, place.start, place.end, "factor", (value,)),)


def _symbols(r: Reader, place: Place) -> tuple[Found, ...]:
    """Read letters of numeric value, each of its own."""
    return tuple(
        [
            symbol(match.group(), place.start + match.start(), place.start + match.end())
            for match in _NUMERIC_RUN.finditer(place.text)
            if match.group()[0].isnumeric()
        ]
    )


def symbol(text: str, start: int, end: int) -> Found:
    """Return characters of numeric value that no row reads."""
    return keys.same(Kind.SYMBOL, text, start, end, "symbol")


def _letter(r: Reader, place: Place) -> tuple[Found, ...]:
    """Read what is a Roman numeral only after version, chapter and the like."""
    pronoun = place.text in _LETTERS and place.before.word.islower() and _GOES_ON.match(r.s, place.end)
    return _roman(r, place) if place.after(PARTS, 2) and not pronoun else ()


def _roman(r: Reader, place: Place) -> tuple[Found, ...]:
    """Read `XIV`."""
    if r.s[place.end : place.end + 1] == "-" and r.s[place.end + 1 : place.end + 2].isdecimal():
        return ()  # the digits take it with them
    name = place.word.value
    return (keys.same(Kind.ROMAN, name, place.start, place.end, "roman", (name,)),)


def _lookalike(r: Reader, place: Place) -> tuple[Found, ...]:
    """Read `lOO kr`: letters that only look like digits, beside a unit or a currency."""
    start, end, text = place.start, place.end, place.text
    probe = suffix(r.s, Amount(end, ("0",)))
    weak = probe.sort is Sort.QUANTITY and (
        probe.unit in SHORT or len(text) == 1 or r.s[end + 1 : probe.end] in SHORT
        or probe.unit == r.s[end + 1 : probe.end]
    )  # fmt: skip
    before = r.s[max(start - 2, 0) : start].rstrip(" ")
    priced = before[-1:] in SIGNS or (place.before.word in CODES and 0 < start - place.before.end <= 1)
    if priced or (probe.sort is not Sort.BARE and not weak):
        return (r.exact(Kind.UNREAD, start, max(end, probe.end)),)
    return ()


def _opaque(r: Reader, place: Place) -> tuple[Found, ...]:
    return (r.exact(Kind.UNREAD, place.start, place.end),)


def _magnitude(r: Reader, place: Place) -> tuple[Found, ...]:
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


def _group(r: Reader, place: Place) -> Found:
    """Read `a decade`, `a dozen`, `ett par dagar`."""
    word, end = place.word, place.end
    amount = Amount(end, (word.value,), words=True)
    if word.unit is not None:
        amount.sort = Sort.MONEY if word.unit[0] == "$" else Sort.QUANTITY
        amount.unit = word.unit.removeprefix("$")
        return r.counted(amount, place.start)
    of = _OF.match(r.s, end)
    suffix(r.s, amount)
    if amount.sort is Sort.BARE and of is not None:
        further = suffix(r.s, Amount(of.end(), (word.value,), words=True))
        amount = further if further.sort is not Sort.BARE else amount
    return r.counted(amount, place.start)


def _thousand(r: Reader, place: Place) -> tuple[Found, ...]:
    """Read `a grand` where no noun follows, which it would describe."""
    if not place.after(ARTICLES) or not _ENDED.match(r.s, place.end):
        return ()
    return (r.counted(Amount(place.end, (place.word.value,), words=True), place.start),)


def _run(r: Reader, place: Place) -> tuple[Found, ...]:
    """Read a run of number words."""
    start, word = place.start, place.word
    own = _OWN.get(place.text.lower())
    if own is not None and r.language(start) not in ("", *own):
        return ()
    article = word.sort not in ("article", "cardinal") and place.after(ARTICLES)
    run = run_at(r.s, word, place.end, article)
    if run.what == "exempt":
        return ()
    if run.what == "ordinal":
        if run.ordinal > 3 or r.source:
            return (keys.ordinal(str(run.ordinal), start, run.end),)
        r.at = run.end
        return ()
    if run.amount is None or run.what == "unread":
        return (r.exact(Kind.UNREAD, start, run.end),)
    if run.low is not None:
        if same_unit(run.low, run.amount):
            return (span(run.low, run.amount, start),)
        return (r.exact(Kind.UNREAD, start, run.end),)
    if place.after(MINUS) and place.before.start >= r.at:
        negate(run.amount)
        start = place.before.start
    return (ranged(r, run.amount, start) or r.counted(run.amount, start),)


_ROWS: Final[dict[str, Row]] = {
    "cardinal": _run, "article": _run, "ordinal": _run, "third": _run, "fraction": _run, "month": _month,
    "factor": _factor, "quantity": _magnitude, "vague": _magnitude, "magnitude": _magnitude, "symbol": _symbols,
    "roman": _roman, "letter": _letter, "lookalike": _lookalike, "opaque": _opaque, "slang": _thousand,
}  # fmt: skip
"""The row that reads a word, by what it says."""
