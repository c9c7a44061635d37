"""Finds the dates that a text names or means: "2026-12-24", "12/24/2026", "24 december", "tomorrow", "next week".

Strategy: whole dates come from the text's number tokens, and from three numbers in a row ("12/24/2026", read in both
orders where both are dates). Days that are counted from today are looked for as phrases of every language
(`agent.lang`), and each phrase gives all the days that people mean by it: "next Friday" is one of two, "next week" its
first and its last day, and the day a week from now. A text is read once; only `today` changes the result.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from agent.lang import LANGUAGES
from agent.lang.dating import Dating
from agent.numbers.number_tokens import Kind, NumberToken, tokens

Meaning = Callable[[date], Iterable[date]]
"""The days that a phrase means, by the day on which it is said."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A phrase whose days depend on the day on which it is said.

    `often`: it tells how often something happens ("every Friday", "500 kr i veckan"). `sure`: it means the same in the
    past and the future: "tomorrow" and "this Friday" do, "on Friday" and "in three weeks" may be either.
    """

    meaning: Meaning
    often: bool = False
    sure: bool = False


_DATINGS: Final = [language.dating for language in LANGUAGES.values()]
_DAY: Final = timedelta(days=1)
_WEEK: Final = timedelta(days=7)
_NUMERIC: Final = re.compile(r"(?<![\w./-])(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?![\w/-])")
_LENGTHS: Final = {"day": 1, "week": 7}
_MONTHS: Final = {"month": 1, "year": 12}
_NEAR: Final = 16  # characters around a length of time that are searched for "ago", "from now" and the like


def _unite_words(of: Callable[[Dating], Iterable[str]]) -> list[str]:
    """Return the words of all languages, the longest first."""
    return sorted({word for each in _DATINGS for word in of(each)}, key=lambda word: (-len(word), word))


def _any(of: Callable[[Dating], Iterable[str]]) -> str:
    return "|".join(map(re.escape, _unite_words(of)))


_DAYS: Final = {phrase: away for each in _DATINGS for phrase, away in each.days.items()}
_WEEKDAYS: Final = {word: day for each in _DATINGS for word, day in each.weekdays.items()}
_GONE: Final = {word: day for each in _DATINGS for word, day in each.gone.items()}
_SPANS: Final = {word: span for each in _DATINGS for word, span in each.spans.items()}
_PHRASES: Final = re.compile(
    rf"\b(?:(?P<day>{_any(lambda each: each.days)})"
    rf"|(?P<gone>{_any(lambda each: each.gone)})"
    rf"|(?:(?:(?P<last>{_any(lambda each: each.last)})|(?P<next>{_any(lambda each: each.following)})"
    rf"|(?P<this>{_any(lambda each: each.this)}))\s+)?"
    rf"(?:(?P<weekday>{_any(lambda each: each.weekdays)})|(?P<span>{_any(lambda each: each.spans)})))\b"
)
_AHEAD: Final = re.compile(rf"\b(?:{_any(lambda each: each.ahead)})\s+\Z")
_BEHIND: Final = re.compile(rf"\s+(?:{_any(lambda each: each.behind)})\b")
_AGO: Final = re.compile(rf"\s+(?:{_any(lambda each: each.ago)})\b")
_EACH: Final = re.compile(rf"\b(?:{_any(lambda each: each.each)})\s+\Z")
_OF_EACH: Final = re.compile(rf"\s+(?:\w+\s+)?(?:{_any(lambda each: each.each)})\b")
_PER: Final = frozenset(_unite_words(lambda each: each.per))
_ONE: Final = re.compile(rf"\b(?:{_any(lambda each: each.one)})\s+\w+\s+\Z")
_ON: Final = re.compile(rf"\b(?:{_any(lambda each: each.on)})\s+\Z")
_FROM_NOW: Final = re.compile(rf"\b(?:{_any(lambda each: each.from_now)})\s+\Z")
_PLAIN: Final = frozenset(
    next(word for word, day in each.weekdays.items() if day == wanted)
    for each in _DATINGS
    for wanted in range(7)
)
_TIMES: Final = 32  # characters before "i veckan" that are searched for a count


def find_dates(text: str, found: Sequence[NumberToken]) -> frozenset[date]:
    """Return the dates that a text names with their year. `found`: its number tokens."""
    named = {made for token in found if (made := _of_token(token)) is not None}
    for match in _NUMERIC.finditer(text):
        one, other, year = int(match[1]), int(match[3]), int(match[4])
        named.update(_valid_dates((year, one, other), (year, other, one)))
    return frozenset(named)


def find_months(found: Sequence[NumberToken]) -> frozenset[date]:
    """Return the first and the last day of each month that is named with its year."""
    ends: set[date] = set()
    for token in found:
        if token.kind is Kind.DATE and len(token.value) == 7:
            ends.update(_month(int(token.value[:4]), int(token.value[5:])))
    return frozenset(ends)


def _of_token(token: NumberToken) -> date | None:
    if token.kind is not Kind.DATE or len(token.value) != 10:
        return None
    return next(_valid_dates((int(token.value[:4]), int(token.value[5:7]), int(token.value[8:]))), None)


def _valid_dates(*parts: tuple[int, int, int]) -> Iterator[date]:
    """Yield the valid dates among some (year, month, day)."""
    for year, month, day in parts:
        if 1 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]:
            yield date(year, month, day)


def find_mentions(folded: str, text: str, found: Sequence[NumberToken]) -> tuple[Mention, ...]:
    """Return the phrases of a text that mean days without naming their year, in order.

    `folded`: the case-folded text. `text`: the text that `found`, its number tokens, have offsets in.
    """
    said = [
        Mention(_phrase(match), _says_how_often(folded, match), _is_sure(folded, match))
        for match in _PHRASES.finditer(folded)
    ]
    for token in found:
        meaning = _counted_day(text, token)
        if meaning is not None:
            before, behind = _beside(text, token)
            often = _EACH.search(before) is not None or _OF_EACH.match(behind) is not None
            from_now = _FROM_NOW.search(before) is not None or _BEHIND.match(behind) is not None
            said.append(Mention(meaning, often, token.kind is Kind.QUANTITY and from_now))
    return tuple(said)


def find_meanings(folded: str, text: str, found: Sequence[NumberToken]) -> tuple[Meaning, ...]:
    """Return the `meaning` of each of the text's `mentions`."""
    return tuple([each.meaning for each in find_mentions(folded, text, found)])


def _says_how_often(folded: str, match: re.Match[str]) -> bool:
    """Tell whether a phrase states how often something happens."""
    before = folded[max(0, match.start() - _TIMES) : match.start()]
    if _EACH.search(before) or (match["day"] is None and _OF_EACH.match(folded, match.end())):
        return True
    if match["span"] is None or match["this"] not in _PER:
        return False
    return _ONE.search(before) is not None or any(
        len(before[token.end :].split()) <= 1 for token in tokens(before, source=True)
    )


def _is_sure(folded: str, match: re.Match[str]) -> bool:
    """Tell whether a phrase means one day, in the past and the future alike."""
    if match["day"] is not None:
        return _DAYS[match["day"]] != 0
    if match["weekday"] is None or match["last"] is not None:
        return False
    if match["this"] is not None or match["next"] is not None:
        return True
    before = folded[max(0, match.start() - _NEAR) : match.start()]
    return match["weekday"] in _PLAIN and _ON.search(before) is not None


def _phrase(match: re.Match[str]) -> Meaning:
    """Return the days that a phrase means."""
    if match["day"] is not None:
        away = _DAYS[match["day"]] * _DAY
        return lambda today: (today + away,)
    which = 1 if match["next"] is not None else -1 if match["last"] is not None else 0
    if match["gone"] is not None:
        day = _GONE[match["gone"]]
        return lambda today: _weekday(today, day, -1)
    if match["weekday"] is not None:
        day, near = _WEEKDAYS[match["weekday"]], match["this"] is not None
        return lambda today: _weekday(today, day, which, near)
    span = _SPANS[match["span"]]
    if not which and match["this"] is None:
        return _nothing
    return lambda today: _span(today, span, which)


def _nothing(_: date) -> Iterable[date]:
    return ()


def all_days(meant: Iterable[Meaning], today: date) -> frozenset[date]:
    """Return all the days that some phrases mean when said on `today`; days beyond the calendar's ends are left out."""
    found: set[date] = set()
    for meaning in meant:
        with suppress(OverflowError):
            found.update(meaning(today))
    return frozenset(found)


def _weekday(today: date, day: int, which: int, near: bool = False) -> Iterable[date]:
    """Return the days that a weekday means with "next" (`which` 1), "last" (-1) or neither.

    `near`: it is in this week.
    """
    monday = today - today.weekday() * _DAY
    coming = today + ((day - today.weekday()) % 7) * _DAY
    if which < 0:
        before = coming - _WEEK
        return {before, monday - _WEEK + day * _DAY}
    if which > 0:
        return {coming if coming > today else coming + _WEEK, monday + _WEEK + day * _DAY}
    if near:
        return {coming, monday + day * _DAY}
    return {coming} if coming > today else {coming, coming + _WEEK}


def _span(today: date, span: str, which: int) -> Iterable[date]:
    """Return the first and last day of this (`which` 0), the next (1) or the last (-1) week, weekend, month or year."""
    monday = today - today.weekday() * _DAY + which * _WEEK
    if span == "week":
        return (monday, monday + 6 * _DAY, today + which * _WEEK)
    if span == "weekend":
        first = today + ((5 - today.weekday()) % 7) * _DAY
        coming = (first, first + _DAY) if which >= 0 else ()
        return (monday + 5 * _DAY, monday + 6 * _DAY, *coming)
    if span == "month":
        year, month = divmod(today.year * 12 + today.month - 1 + which, 12)
        return (*_month(year, month + 1), *_later(today, which))
    return (
        *_valid_dates((today.year + which, 1, 1), (today.year + which, 12, 31)),
        *_later(today, 12 * which),
    )


def _month(year: int, month: int) -> Iterable[date]:
    """Return the first and the last day of a month."""
    first = next(_valid_dates((year, month, 1)), None)
    return () if first is None else (first, first.replace(day=monthrange(year, month)[1]))


def _later(today: date, months: int) -> Iterable[date]:
    """Return the same day `months` later, or the last day of a shorter month."""
    year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
    last = monthrange(year, month + 1)[1] if 1 <= year <= 9999 else 0
    return _valid_dates((year, month + 1, min(today.day, last)))


def _counted_day(text: str, token: NumberToken) -> Meaning | None:
    """Return the day that a token counts to: a length of time away, or the coming date or day of a month."""
    value = token.value
    if token.kind is Kind.DATE and len(value) == 5:
        month, day = int(value[:2]), int(value[3:])
        return lambda today: _coming(today, [(today.year + after, month, day) for after in range(9)])
    if token.kind is Kind.ORDINAL and token.text[:1].isdigit() and value.isdigit() and len(value) <= 2:
        number = int(value)
        return lambda today: _coming(today, [_of_month(today, after, number) for after in range(3)])
    if token.kind is not Kind.QUANTITY:
        return None
    count, _, unit = value.partition(" ")
    if not count.isdigit() or len(count) > 4 or unit not in (_LENGTHS | _MONTHS):
        return None
    way = _way(text, token)
    if not way:
        return None
    amount = way * int(count)
    if unit in _MONTHS:
        return lambda today: _later(today, amount * _MONTHS[unit])
    return lambda today: (today + amount * _LENGTHS[unit] * _DAY,)


def _way(text: str, token: NumberToken) -> int:
    """Return 1 for a length of time counted from today on, -1 for one counted back, else 0."""
    before, behind = _beside(text, token)
    if _AGO.match(behind):
        return -1
    return int(_BEHIND.match(behind) is not None or _AHEAD.search(before) is not None)


def _beside(text: str, token: NumberToken) -> tuple[str, str]:
    """Return the characters just before a token and just behind it."""
    before = text[max(0, token.start - _NEAR) : token.start].casefold()
    return before, text[token.end : token.end + _NEAR].casefold()


def _coming(today: date, parts: Iterable[tuple[int, int, int]]) -> Iterable[date]:
    """Return the first date of `parts`, in their order, that is not past."""
    return next(((made,) for made in _valid_dates(*parts) if made >= today), ())


def _of_month(today: date, after: int, day: int) -> tuple[int, int, int]:
    year, month = divmod(today.year * 12 + today.month - 1 + after, 12)
    return year, month + 1, day
