"""Tables and labels: a header gives its unit, currency, percent sign and rate to the numbers of its column.

A table is a run of lines with equally many bars; the first is its header, and lines of rules are skipped. A label
before a colon, as in `Price (kr/month): 149`, gives the same to the one number behind it. A heading that names the
unit of its sums, `Prices in kr`, gives it to the lines below that hold one number, at their end and behind a mark.
"""

import re
from bisect import bisect_left
from functools import lru_cache

import msgspec

from .identifiers import CALLS
from .language_tables import TEXT_PARTS, pattern, unite_words
from .rates import TIME_UNITS, find_charges, find_rates, remove_rates
from .reader import NumberReader
from .suffix_rows import is_known
from .suffixes import read_suffix
from .token import NO_RATE, Amount, NumberMatch, Rate, Sort, match_amount
from .units import SIGNS, UNITS

_RULE = re.compile(r"[ |:+=-]*")
_BRACKETS = re.compile(r"[(\[]([^()\[\]]{1,40})[)\]]")
_WITHIN = pattern(unite_words(lambda each: each.joints.within))
_IN = re.compile(rf"(?:{_WITHIN})[ ]", re.I)
_SAID_IN = re.compile(rf"(?:^|[ (\[])(?:{_WITHIN})[ ]([^()\[\]]{{1,30}})[)\]]?$", re.I)
_BRACKETED = re.compile(r"[(\[]([^()\[\]]{1,30})[)\]]$")
_PIECE = re.compile(r"[,;/]| (?=\()")
_LAST = re.compile(r"(?:^|[ ])([^\W\d_]+|[%‰°])$")
_LABEL = 80
"""Characters of a label that are examined."""


class Header(msgspec.Struct, frozen=True):
    """The unit and rate that a column's header or a label states for its numbers.

    `sort`, `unit`: for bare numbers; `Sort.BARE` states none. `rate`: for all numbers. `span`: the rate for money when
    the header only names a time.
    """

    sort: Sort = Sort.BARE
    unit: str = ""
    rate: Rate = NO_RATE
    span: Rate = NO_RATE


NOTHING = Header()


@lru_cache(maxsize=4096)
def header(text: str) -> Header:
    """Read the cell of a header, or a label."""
    text = text.strip(" |:*_")
    name = UNITS.get(text.lower(), "")
    span = frozenset((name,)) if name in TIME_UNITS else NO_RATE
    for said in _BRACKETS.findall(text):
        amount = _unit(said, True)
        if amount is not None:  # Mbit/s is a unit rather than a rate
            return Header(amount.sort, amount.unit, find_rates(_BRACKETS.sub("", text)), span)
    rate = find_rates(text)
    rest = remove_rates(text)
    pieces = [piece for said in _BRACKETS.findall(rest) for piece in _PIECE.split(said)]
    own = _BRACKETS.sub("", rest)
    candidates = [(piece, True) for piece in pieces] + (
        [] if any(c.isdigit() for c in own) else [(own, False)]
    )
    for piece, whole in candidates:
        amount = _unit(_IN.sub("", piece.strip(), count=1), whole)
        if amount is not None:
            return Header(amount.sort, amount.unit, rate, span)
    return Header(rate=rate, span=span)


@lru_cache(maxsize=4096)
def sums_in(heading: str) -> Header:
    """Read the currency or percent sign that a heading states for its sums: `Prices in kr`, `Rabatter (%)`.

    Other units are ignored: a bare number already supports any of them, and with a unit it would support only that one.
    """
    said = remove_rates(heading).strip(" :*_")
    found = _SAID_IN.search(said) or _BRACKETED.search(said)
    amount = _unit(found[1].strip(), True) if found is not None else None
    if amount is None or amount.sort not in (Sort.MONEY, Sort.PERCENT):
        return NOTHING
    return Header(amount.sort, amount.unit)


def lend_heading(r: NumberReader, said: Header) -> None:
    """Lend the unit of a heading to the bare numbers that are alone on their line, `- Basic: 149`."""
    starts = [found.start for found in r.found]
    at = 0
    for line in r.s.split("\n"):
        low, high = bisect_left(starts, at), bisect_left(starts, at + len(line))
        its = r.found[low] if high - low == 1 else None
        if its is not None and _is_sum(r, its, at, at + len(line)):
            r.lend(its, said.sort, said.unit)
        at += len(line) + 1


def _is_sum(r: NumberReader, its: NumberMatch, begin: int, end: int) -> bool:
    """Tell whether the only number of a line is bare, ends the line, and stands behind a mark rather than a word."""
    amount = its.amount
    if amount is None or its.low is not None or amount.sort is not Sort.BARE or amount.version:
        return False
    mark = _MARKED.search(r.s, begin, its.start)
    if mark is None or _ENDS.fullmatch(r.s, its.end, end) is None:
        return False
    return r.before(mark.start()).word.lower() not in _NUMBERED


_MARKED = re.compile(r"[:|-] ?\Z")
_ENDS = re.compile(r"[ |.*_]*")
_NUMBERED = TEXT_PARTS | CALLS | unite_words(lambda each: each.labels.versions)
"""Labels of numbers that are not sums."""


def _unit(text: str, whole: bool) -> Amount | None:
    """Read a unit, currency or percent sign. `whole`: it is all of `text`, else its last word."""
    if not whole:
        last = _LAST.search(text)
        if last is None:
            return None
        text = last[1]
    if not text or len(text) > 30:
        return None
    if text in SIGNS:
        return Amount(1, ("1",), sort=Sort.MONEY, unit=SIGNS[text])
    amount = read_suffix(f"1 {text}", Amount(1, ("1",)))
    taken = amount.end == len(text) + 2 and not amount.shift
    return amount if taken and amount.sort is not Sort.BARE and is_known(amount) else None


def lend_headers(r: NumberReader) -> None:
    """Give each bare number of a table the unit of its column, and each number without a rate the column's rate."""
    starts = [found.start for found in r.found]
    at = bars = 0
    names: list[str] = []
    for line in r.s.split("\n"):
        count = line.count("|")
        if count and count == bars:
            if not _RULE.fullmatch(line):
                inside = slice(bisect_left(starts, at), bisect_left(starts, at + len(line)))
                _lend_row(line, at, names, r.found[inside])
        elif count or not bars or not line or not _RULE.fullmatch(line):  # rules do not part a table
            names, bars = line.split("|") if count else [], count
        at += len(line) + 1


def _lend_row(line: str, at: int, names: list[str], found: list[NumberMatch]) -> None:
    """Give the numbers of one row, which begins at `at`, the units and rates of their columns and of its first cell."""
    label = line.split("|", 2)[line.startswith("|")]
    column = done = 0
    for its in found:
        column += line.count("|", done, its.start - at)
        done = its.start - at
        if column < len(names) and its.amount is not None:
            give(its, header(names[column]), True)
            give(its, header(label), False, units="(" in label)


def lend_labels(r: NumberReader) -> None:
    """Give the number behind a label, `Price (kr/month): 149`, the label's unit and rate."""
    s = r.s
    for found in r.found:
        start = found.start
        if found.amount is None or start < 2:
            continue
        colon = start - 1 if s[start - 1] == ":" else start - 2
        if s[colon] != ":" or (colon == start - 2 and s[start - 1] != " "):
            continue
        low = max(0, colon - _LABEL)
        begin = max(s.rfind(mark, low, colon) for mark in ("\n", ";", "|", ". ", ": ")) + 1
        label = s[max(begin, low) : colon].strip()
        give(found, header(label), r.source, units="(" in label)


def lend_charges(r: NumberReader) -> None:
    """Give the amount of money behind "the monthly fee is", "priset per år är" that rate."""
    charges = [found.start for found in r.found if _may_be_charge(found)]
    if not charges:  # as in most texts
        return
    s = r.s
    starts = [found.start for found in r.found]
    for end, rate in find_charges(s, charges[-1]):
        index = bisect_left(starts, end)
        if index < len(starts) and _SAID_OF.fullmatch(s, end, starts[index]):
            found = r.found[index]
            if _may_be_charge(found):
                found.rate = rate


def _may_be_charge(found: NumberMatch) -> bool:
    """Tell whether a number is an amount of money without a rate."""
    return found.amount is not None and found.amount.sort is Sort.MONEY and not found.rate


_SAID_OF = re.compile(r"[^.;!?\n|\d]{0,40}")


def give(found: NumberMatch, said: Header, spans: bool, units: bool = True) -> None:
    """Give a number the unit and rate of `said` that it lacks.

    `spans`, `units`: whether `said.span` and its unit count.
    """
    amount, low = found.amount, found.low
    if amount is None:
        return
    rate = said.rate or (said.span if spans and amount.sort is Sort.MONEY else NO_RATE)
    if rate and not found.rate:
        found.rate = rate
    if not units or said.sort is Sort.BARE or amount.sort is not Sort.BARE or amount.version or found.earlier:
        return
    for each in (amount, low):
        if each is not None:
            each.sort, each.unit, each.written = said.sort, said.unit, ""
    if low is None:
        lent = match_amount(amount, found.start)
        found.kind, found.value = lent.kind, lent.value
