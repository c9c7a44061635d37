"""Reads typed number tokens: every place in a text that shows a number, by kind and value.

The text is brought to plain form (`make_plain`), then read once from left to right. At each digit run, number word or
numeric symbol (`scan`) the rows of the number rule are tried, longest first (`digit_rows`, `word_rows`); a row counts
only when its token ends at a border (`reader`), so touching characters are one token. A number that no row reads
becomes an "unread" token: no digit is ever skipped. Tables lend their headers' units (`columns`), and at last each
number gets the keys by which it is compared (`keys`). All languages are read at once, in time linear in the text.

The rule cannot catch a number that a source holds with another meaning. So a URL's port supports a bare
count; a number alone on its line below "Prices in kr", behind a mark, supports any price; and a price of
three decimals, `$3,499`, is one of thousands in a line whose words do not tell its language.
"""

from typing import Final

from . import keys
from .columns import NOTHING, Header, lend_charges, lend_headers, lend_heading, lend_labels
from .digit_rows import read_digits
from .identifiers import segments, urls
from .number_words import classify
from .rates import TIME_UNITS, read_rate_after
from .reader import NumberReader
from .scan import PLACES, places
from .token import NO_RATE, Kind, NumberMatch, NumberToken, Rate
from .word_rows import read_word, symbol

__all__ = ["TOO_MANY", "Kind", "NumberToken", "find_numbers", "make_tokens", "tokens"]

TOO_MANY: Final = 10_000
"""Tokens; a text with more is read no further, and its last token is unread with the value "too many"."""


def tokens(
    text: str, *, source: bool = False, rates: bool = True, heading: Header = NOTHING
) -> tuple[NumberToken, ...]:
    """Return the number tokens of `text` in order, none overlapping another.

    `text`: an answer, or with `source` a snippet of a source. In a source list markers are skipped, "3 or 4" and
    "between 3 and 5" are ranges and first to third always count; its tokens carry `gives`, an answer's `needs`.
    `rates`: whether to read the numbers' rates; they are compared with nothing when no source states a rate. `heading`:
    the unit of sums that a heading above the text states. A text with more than `TOO_MANY` tokens is read no further,
    and the last token is unread.
    """
    return make_tokens(find_numbers(text, source=source, heading=heading), rates)


def find_numbers(text: str, *, source: bool = False, heading: Header = NOTHING) -> NumberReader:
    """Return the reader of `text` after it has read all of it, for `make_tokens`. `source`, `heading`: as in `tokens`.

    The numbers are the same with and without their rates, so one reading serves for both.
    """
    r = NumberReader(text, source)
    links = {start: (end, url) for start, end, url in urls(r.s) if any(c.isnumeric() for c in url)}
    interesting = places(r, links) if not r.plain.has_too_many_edits else ()
    if r.plain.has_too_many_edits or len(interesting) > PLACES:
        r.add(r.exact(Kind.UNREAD, 0, len(r.s), "too many"))
        r.is_cut = True
        return r
    for start, end in interesting:
        if start < r.at:
            continue
        for found in _read_at(r, start, end, links):
            r.add(found)
        if len(r.found) > TOO_MANY:
            last = r.found[-1]
            del r.found[TOO_MANY:]
            r.found.append(NumberMatch(Kind.UNREAD, "too many", last.start, last.end))
            r.is_cut = True
            return r
    if "|" in r.s:
        lend_headers(r)
    if ":" in r.s:
        lend_labels(r)
    if heading is not NOTHING:
        lend_heading(r, heading)
    return r


def make_tokens(r: NumberReader, rates: bool) -> tuple[NumberToken, ...]:
    """Return the tokens of a text that `find_numbers` has read. `rates`: as in `tokens`."""
    if r.is_cut:
        return _tokens(r, rates)
    if rates:
        lend_charges(r)
    return _with_references(r, _with_hidden(r, _tokens(r, rates)))


def _read_at(
    r: NumberReader, start: int, end: int, links: dict[int, tuple[int, str]]
) -> tuple[NumberMatch, ...]:
    """Read the number at `start`, one of the text's `places`."""
    if start in links:
        end, url = links[start]
        return (keys.url(url, segments(url.partition("://")[2]), start, end),)
    char = r.s[start]
    if char.isdecimal():
        return read_digits(r, start, end)
    text = r.s[start:end]
    if not (char.isalpha() or char.isnumeric()):
        return (symbol(text, start, end),)
    word = classify(text)
    return read_word(r, word, start, end, text) if word is not None else ()


def _tokens(r: NumberReader, rates: bool) -> tuple[NumberToken, ...]:
    """Return the numbers of `r.found` as tokens over the original offsets, with their keys."""
    made: list[NumberToken] = []
    end = 0
    maps, origin = r.plain.maps, r.plain.origin
    for found in r.found:
        first, last = found.start, found.end
        if maps:
            first, last = origin(first, last)
            if first < end:  # both lie in one repair
                first = end
                last = max(first, last)
        end = last
        needs, gives = ((), keys.gives_of(found)) if r.source else (keys.needs_of(found), ())
        made.append(
            NumberToken(
                text=r.text[first:last],
                kind=found.kind,
                value=found.value,
                start=first,
                end=last,
                needs=needs,
                gives=gives,
                amounts=found.amounts,
                rate=_rate(r, found) if rates else NO_RATE,
                words=found.amount is not None and found.amount.words,
            )
        )
    return tuple(made)


def _rate(r: NumberReader, found: NumberMatch) -> Rate:
    """Return the rate of a number: the one behind it, else the one of its table's header."""
    if found.amount is None:
        return found.rate
    own = read_rate_after(r.s, found.rated if found.rated >= 0 else found.end)
    return own | found.rate if own.isdisjoint(TIME_UNITS) else own


def _as_written(text: str, start: int, end: int, source: bool) -> NumberToken:
    """Return a token that only the same characters support, at offsets in the original."""
    found = keys.same(Kind.UNREAD, text.casefold(), start, end, "id")
    needs, gives = ((), found.gives) if source else (found.needs, ())
    return NumberToken(
        text=text, kind=Kind.UNREAD, value=text, start=start, end=end, needs=needs, gives=gives
    )


def _with_hidden(r: NumberReader, made: tuple[NumberToken, ...]) -> tuple[NumberToken, ...]:
    """Add the digits that markup hides."""
    if not r.plain.hidden:
        return made
    hidden = [_as_written(each.text, each.start, each.end, r.source) for each in r.plain.hidden]
    return tuple(sorted([*made, *hidden], key=lambda token: token.start))


def _with_references(r: NumberReader, made: tuple[NumberToken, ...]) -> tuple[NumberToken, ...]:
    """Make sure that character references written with digits count, for any character.

    A reference that is no part of a token becomes one itself. A reference without its semicolon, which some readers
    resolve and others do not, makes its token one that only the same characters support.
    """
    if not r.plain.references:
        return made
    found = list(made)
    added: list[NumberToken] = []
    written = -1
    at, holder = 0, -1  # `holder`: of the tokens that begin before a reference, the one with the farthest end
    for each in r.plain.references:
        while at < len(found) and found[at].start <= each.start:
            holder = at if holder < 0 or found[at].end > found[holder].end else holder
            at += 1
        if holder < 0 or found[holder].end <= each.start:
            added.append(_as_written(r.text[each.start : each.end], each.start, each.end, r.source))
        elif not each.closed and holder != written:
            token, written = found[holder], holder
            found[holder] = _as_written(token.text, token.start, token.end, r.source)
    return tuple(sorted([*found, *added], key=lambda token: token.start))
