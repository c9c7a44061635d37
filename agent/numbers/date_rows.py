"""Rows for dates and times of day that begin with digits: `2025-12-12`, `18 och 19 augusti`, `09:00-17:00`."""

import re

from . import keys
from .amounts import digits_at
from .dates import OPENING, Date, day_first_at, iso_at, time_at, time_range_at
from .digit_places import Digits
from .language_tables import AM, AND, PM, TO, pattern, unite_words
from .rates import read_zone_after
from .reader import NumberReader
from .suffix_rows import is_known
from .suffixes import read_suffix
from .token import Amount, NumberMatch, Sort, clock

_TIMELY = re.compile(
    rf"\d{{1,2}}(?:[:.]\d\d|{AM}|{PM}|(?: ?- ?| (?:{pattern(TO, AND)}) )\d{{1,2}}(?:[:.]\d\d|{AM}|{PM}))",
    re.I,
)
_HOURS = re.compile(r"(\d{1,2}) ?- ?(\d{1,2})(?![\d:.])")
_CLOCK = re.compile(r"\d{1,2}[:.]\d\d(?!\d)")
_BARS = frozenset("-/")
_MINUTES = frozenset([f":{digit}" for digit in range(10)])
_CLOCKED = unite_words(lambda each: each.calendar.hour_openers)


def match_dates(r: NumberReader, read: tuple[Date, ...]) -> tuple[NumberMatch, ...]:
    """Return some dates as `NumberMatch` when the last one ends at a border (a time may follow), else ()."""
    if not read:
        return ()
    end = read[-1].end
    if not r.border(end) and not (r.s[end : end + 1] == " " and _CLOCK.match(r.s, end + 1)):
        return ()
    return tuple([_date(date) for date in read])


def _date(date: Date) -> NumberMatch:
    year, month, day = date.year, date.month, date.day
    value = f"{month:02}-{day:02}"
    parts: tuple[str, ...] = ()
    if not day:
        value = f"{year:04}-{month:02}"
    elif year:
        value, parts = f"{year:04}-{value}", (f"{year:04}-{month:02}", value)
    return keys.date(value, parts, year, date.start, date.end)


def iso_row(r: NumberReader, place: Digits) -> tuple[NumberMatch, ...]:
    """Read a date such as `2025-12-12`."""
    if place.end - place.at != 4 or place.follow not in _BARS:
        return ()
    date = iso_at(r.s, place.at)
    return match_dates(r, (date,)) if date is not None else ()


def day_row(r: NumberReader, place: Digits) -> tuple[NumberMatch, ...]:
    """Read a date such as `12 december 2025`."""
    if not r.months or place.end - place.at > 2 or r.s[place.end : place.end + 2] in _MINUTES:
        return ()
    return match_dates(r, day_first_at(r.s, place.at))


def time_row(r: NumberReader, place: Digits) -> tuple[NumberMatch, ...]:
    """Read a time of day or a range of times."""
    s, at = r.s, place.at
    hint = place.after(OPENING)
    if place.end - at > 2 or (not hint and not _TIMELY.match(s, at)):
        return ()
    time = time_at(s, at)
    span = time_range_at(s, time)
    if span is not None and r.border(span[0]) and (_ends_in_half(s, span[0]) or not _is_amount(s, span[0])):
        end, low, high, hours = span
        whole = (str(low // 3600), str(high // 3600)) if low % 3600 == high % 3600 == 0 else None
        found = keys.hours(_span(low, high), (low, high), whole, True, (at, end), read_zone_after(s, end))
        written = f"range {hours[0]} {hours[1]}"
        if whole is not None and written not in found.gives:
            found.gives += (written,)
        return (found,)
    clocked = hint and place.after(_CLOCKED)
    if clocked and (opened := _whole_hours(r, at)) is not None:
        return (opened,)
    if time is None or not r.border(time.end):
        return ()
    if not time.sure and (not hint or not (time.dotted or clocked) or _is_amount(s, time.end)):
        return ()
    amount = digits_at(s, at, "") if not time.sure else None
    number = amount.values[0] if amount is not None and amount.end == time.end else ""
    zone = read_zone_after(s, time.end)
    return (keys.time(clock(time.seconds), time.seconds, number, at, time.end, zone),)


def _whole_hours(r: NumberReader, at: int) -> NumberMatch | None:
    """Read `9-17` after "kl" as a range of hours."""
    found = _HOURS.match(r.s, at)
    if found is None or not r.border(found.end()) or _is_amount(r.s, found.end()):
        return None
    low, high = int(found[1]), int(found[2])
    if high > 24 or low >= high:
        return None
    ends, bare = (low * 3600, high * 3600), (str(low), str(high))
    return keys.hours(_span(*ends), ends, bare, False, (at, found.end()), read_zone_after(r.s, found.end()))


def _span(low: int, high: int) -> str:
    return f"{clock(low)}-{clock(high)}"


def _ends_in_half(s: str, end: int) -> bool:
    """Tell whether a time ends in "am" or "pm", so that a letter after it ("4 p.m. A notice") is no unit of it."""
    return not s[end - 1].isdecimal()


def _is_amount(s: str, end: int) -> bool:
    """Tell whether a unit, currency or percent sign after `end` turns a seeming time into an amount."""
    probe = read_suffix(s, Amount(end, ("0",)))
    return probe.shift != 0 or (probe.sort is not Sort.BARE and is_known(probe))
