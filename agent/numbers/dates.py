"""Reads dates and times of day at an offset of plain text."""

import re

import msgspec

from .language_tables import AM, AND, OR, PM, THE, TO, either, pattern, unite_words
from .vocabulary import CAPITALIZED_MONTHS, MONTHS

_MONTH_WORD = rf"(?i:{pattern(MONTHS)})(?![^\W_])"
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DOTTED = "".join(f"|(?<=(?i:{month}))" for month in sorted(unite_words(lambda each: each.calendar.dotted)))
_DOT = rf"(?:(?:(?<![^\W\d_]{{4}}){_DOTTED})\.)?"
_NTH = rf"(?:{either(lambda each: each.calendar.day_suffixes)})?"
_DAY_OF = pattern(unite_words(lambda each: each.calendar.day_of))
_THE = pattern(THE)
_NEXT_DAY = rf"(?:, | ?- ?|,? (?:{pattern(AND, OR, TO)}|&) )"
_AFTER = pattern(unite_words(lambda each: each.calendar.day_followers))
_ISO = re.compile(r"(\d{4})([-/])(\d{1,2})\2(\d{1,2})(?!\d)")
_DAY_MONTH = re.compile(
    rf"(\d{{1,2}}){_NTH}(?:[ \n](?:{_DAY_OF}))?[ \n-]({_MONTH_WORD}){_DOT}(?:(?:,?[ \n]|-)(\d{{4}})(?![\d:]|[.,]\d))?"
)
_MONTH_DAY = re.compile(
    rf"({_MONTH_WORD}){_DOT}[ \n-](?:(?:{_THE}) )?(\d{{1,2}}){_NTH}(?![\w%°]|[.,:]\d)"
    r"(?:,?[ \n](\d{4})(?![\d:]|[.,]\d))?"
)
_OF_MONTH = re.compile(
    rf"(?:[ \n](?:{_DAY_OF}))?[ \n]({_MONTH_WORD}){_DOT}(?:,?[ \n](\d{{4}})(?![\d:]|[.,]\d))?"
)
_MONTH_YEAR = re.compile(rf"({_MONTH_WORD}){_DOT},?[ \n](?:(?:{_DAY_OF}) )?(\d{{4}})(?![\w%°]|[.,:]\d)")
_DAY_LIST = re.compile(
    rf"(\d{{1,2}}){_NTH}(?:{_NEXT_DAY}(\d{{1,2}}){_NTH}){{1,6}}"
    rf"(?:[ \n](?:{_DAY_OF}))?[ \n]({_MONTH_WORD}){_DOT}"
    r"(?:,?[ \n](\d{4})(?![\d:]|[.,]\d))?"
)
_MORE_DAYS = re.compile(
    rf"({_NEXT_DAY})(?:(?:{_THE}) )?(\d{{1,2}}){_NTH}(?![\w%°]|[.,:/-]\d)"
    rf"(?!(?: |-)(?!(?:{_AFTER})\b)[^\W\d_])"
    rf"(?:,[ \n](\d{{4}})(?![\d:]|[.,]\d))?"
)
_TWO = re.compile(r"\d{1,2}")

_CLOCK = pattern(unite_words(lambda each: each.calendar.hour_openers))
_RANGE = re.compile(rf" ?- ?|[ \n](?:{pattern(TO, AND)})[ \n](?:(?:{_CLOCK})\.?[ \n])?")
_TIME = re.compile(
    rf"(\d{{1,2}})(?:([:.])(\d{{2}})(?:(?<=:\d\d):(\d{{2}}))?)?(?![\d])(?:(?P<am>{AM})|(?P<pm>{PM}))?", re.I
)
OPENING = unite_words(lambda each: each.calendar.time_openers)
"""Words after which "9.30" is a time."""


class Date(msgspec.Struct, frozen=True):
    """A date or a part of one; `year`, `month`, `day` are 0 where missing. `start` is that of its own digits."""

    start: int
    end: int
    year: int
    month: int
    day: int


def _month(word: str) -> int:
    return MONTHS[word.lower()]


def _valid(year: int, month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= _DAYS[month - 1] and (year == 0 or year >= 1000)


def iso_at(s: str, at: int) -> Date | None:
    """Read `2025-12-12` or `2025/12/12`."""
    found = _ISO.match(s, at)
    if found is None:
        return None
    year, month, day = int(found[1]), int(found[3]), int(found[4])
    return Date(at, found.end(), year, month, day) if _valid(year, month, day) else None


def day_first_at(s: str, at: int) -> tuple[Date, ...]:
    """Read `12 december 2025`, `12th of May`, `18 och 19 augusti`; one `Date` for each day."""
    found = _DAY_LIST.match(s, at)
    if found is not None:
        month, year = _month(found[3]), int(found[4] or 0)
        days = list(_TWO.finditer(s, at, found.start(3)))
        if all(_valid(year, month, int(d.group())) for d in days):
            ends = [d.end() for d in days[:-1]] + [found.end()]
            return tuple(
                Date(d.start(), e, year, month, int(d.group())) for d, e in zip(days, ends, strict=True)
            )
    found = _DAY_MONTH.match(s, at)
    if found is None:
        return ()
    year, month, day = int(found[3] or 0), _month(found[2]), int(found[1])
    if not _valid(year, month, day):
        return ()
    return (Date(at, found.end(), year, month, day),)


def month_at(s: str, start: int, end: int, day: int) -> Date | None:
    """Read the month after the ordinal `day` at `start` to `end`: `the third of May 2025`, `den tredje maj`."""
    found = _OF_MONTH.match(s, end) if day <= 31 else None
    if found is None or (found[1].lower() in CAPITALIZED_MONTHS and found[1].islower()):
        return None
    year, month = int(found[2] or 0), _month(found[1])
    return Date(start, found.end(), year, month, day) if _valid(year, month, day) else None


def month_first_at(s: str, at: int) -> tuple[Date, ...]:
    """Read `December 12, 2025`, `May 2012`, `Aug 18 and 19`; one `Date` for each day."""
    found = _MONTH_YEAR.match(s, at)
    if found is not None and 1000 <= int(found[2]) <= 2999:
        return (Date(at, found.end(), int(found[2]), _month(found[1]), 0),)
    found = _MONTH_DAY.match(s, at)
    if found is None or not _valid(0, _month(found[1]), int(found[2])):
        return ()
    month, year = _month(found[1]), int(found[3] or 0)
    dates = [Date(at, found.end(), year, month, int(found[2]))]
    while not dates[-1].year and len(dates) < 8:
        more = _MORE_DAYS.match(s, dates[-1].end)
        if more is None or not _valid(0, month, int(more[2])):
            break
        dates.append(Date(more.start(2), more.end(), int(more[3] or 0), month, int(more[2])))
    if dates[-1].year:
        dates = [Date(d.start, d.end, dates[-1].year, d.month, d.day) for d in dates]
    return tuple(dates)


class Time(msgspec.Struct, frozen=True, kw_only=True):
    """A time of day in seconds since midnight.

    `sure`: it can be nothing else. `half`: "a" or "p" when "am" or "pm" was written, else "". `hour`: as it is written.
    `dotted`: a point parts its hours and minutes.
    """

    end: int
    seconds: int
    sure: bool
    half: str
    hour: int
    dotted: bool


def time_at(s: str, at: int) -> Time | None:
    """Read `9:00`, `09.00`, `9 am`, `9`; the caller decides whether an unsure result is a time."""
    found = _TIME.match(s, at)
    if found is None:
        return None
    hour, minute, second = int(found[1]), int(found[3] or 0), int(found[4] or 0)
    half = "a" if found["am"] else "p" if found["pm"] else ""
    if minute > 59 or second > 59 or hour > 24 or (hour == 24 and minute) or (half and not 1 <= hour <= 12):
        return None
    whole = hour % 12 + (12 if half == "p" else 0) if half else hour
    dotted = found[2] == "."
    sure = bool(half) or found[2] == ":" or (dotted and len(found[1]) == 2 and found[1][0] == "0")
    return Time(
        end=found.end(),
        seconds=whole * 3600 + minute * 60 + second,
        sure=sure,
        half=half,
        hour=hour,
        dotted=dotted,
    )


def time_range_at(s: str, first: Time | None) -> tuple[int, int, int, tuple[int, int]] | None:
    """Read `09:00-17:00`, `9 am to 5 pm`, `10.00-18.00`, `9-11 am` as (end, start, stop, hours), times in seconds.

    `first`: the time at its start. `hours`: the two hours as they are written, in either half of the day.
    """
    between = _RANGE.match(s, first.end) if first is not None else None
    if first is None or between is None:
        return None
    last = time_at(s, between.end())
    if last is None or not (last.sure or (first.dotted and last.dotted)):
        return None
    if first.dotted != last.dotted and not (last.half or first.half) and not (first.sure and last.sure):
        return None
    start = first.seconds
    if last.half and not first.half:
        if not 1 <= first.hour <= 12:
            return None
        start = first.seconds % 43200 + (43200 if last.half == "p" else 0)
        if start >= last.seconds:
            start = (start + 43200) % 86400
        if start >= last.seconds:
            return None
    elif not first.sure and not (first.dotted and last.dotted):
        return None
    return last.end, start, last.seconds, (first.hour, last.hour)
