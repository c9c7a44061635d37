"""Who, when and what a question asks of a conversation.

Strategy: its content words are looked for, those that say little by half, and of a word that nothing here holds its
parts, where its language makes one of two. A speaker that it names is whom it is about; by "I" one means oneself, by
"you" whom one talks to. What only asks for an answer ("do you remember") says neither who nor what. "When" asks for
what says a time. Dates that it names, as such or counted from today, make what was said then likelier, and leave
nothing out. All the words that this takes are the languages' own (`agent.lang`).
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Final

from agent.lang import LANGUAGES, Lang
from agent.lexical.subject import stop_words
from agent.numbers.read import tokens
from agent.numbers.token import Kind
from agent.text.words import fold, words

from .amounts import amounts
from .documents import compared, content, day_of

USER: Final = "user"
ASSISTANT: Final = "assistant"
WORDS_MAX: Final = 24
"""Words of a question that are looked for: the first ones."""
EMPTY: Final = 0.5
"""What a word counts that says little of what a question is about."""
LONG: Final = 7
"""Letters from which a word that nothing holds is taken apart, as a language makes one of two, ..."""
LEAST: Final = 3
"""... each of so many letters at least, the last one of more where it alone is known, ..."""
OF_TWO: Final = 0.5
"""... and what each part counts then."""
AMOUNT: Final = 1.0
"""What a number with its unit counts, beside its words."""
READ: Final = 2_000
"""Characters of a question that are read."""

SAME_MONTH, SAME_YEAR = 0.5, 0.3
"""What it counts to have been said in the month of a day that is named, and in a year that is."""


@dataclass(frozen=True, slots=True)
class Span:
    """Days from the first to the last, and what it counts to have been said then, 0..1."""

    first: date
    last: date
    counts: float = 1.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, read. words: folded. terms: stems, and what each counts. by: who may have said it, () for anybody.

    stems: of each word, those that it may be written by: one for each language.
    when: it asks for a time. spans, months: what it names of dates; months: those without a year, 1 to 12.
    """

    words: tuple[str, ...]
    terms: Mapping[str, float]
    by: frozenset[str] = frozenset()
    stems: tuple[tuple[str, ...], ...] = ()
    when: bool = False
    spans: tuple[Span, ...] = ()
    months: frozenset[int] = frozenset()

    @property
    def dated(self) -> bool:
        """Tell whether it names a date."""
        return bool(self.spans or self.months)

    def fits(self, at: int) -> float:
        """Return how well a time fits the dates that are named, 0..1."""
        day = day_of(at).date()
        best = max([span.counts for span in self.spans if span.first <= day <= span.last], default=0.0)
        return max(best, float(day.month in self.months))


_REQUESTS: Final = {
    lang: re.compile(rf"\b(?:{language.recalling.requests})\b") for lang, language in LANGUAGES.items()
}
_WHEN: Final = {
    lang: re.compile(rf"\b(?:{language.searching.asking.time})\b") for lang, language in LANGUAGES.items()
}


def read_query(
    text: str,
    lang: Lang,
    speakers: Collection[str],
    at: int,
    asker: str = "",
    langs: Collection[Lang] = (),
    known: Callable[[str], object] = lambda _: True,
) -> Asked:
    """Return what a question asks.

    speakers: who spoke in what is searched, by which names are known; USER and ASSISTANT are no names. at: now. asker:
    who asks, "" for USER. langs: of what is searched, beside its own; words are looked for by their stems in each.
    known: tells of a stem by anything but None that something here holds it.
    """
    text = text[:READ]
    folded = fold(text)
    said = words(text)
    left = words(_REQUESTS[lang].sub(" ", folded))
    kept = (content(left) or content(said))[:WORDS_MAX]
    empty = stop_words(lang)
    terms: dict[str, float] = {}
    stems: dict[tuple[str, ...], None] = {}
    for word in kept:
        counts = EMPTY if word in empty else 1.0
        written = tuple({compared(each, word): None for each in (lang, *langs)})
        for each in written:
            terms[each] = max(counts, terms.get(each, 0.0))
        if len(word) >= LONG and all(known(each) is None for each in written):
            parts = dict.fromkeys(part for each in (lang, *langs) for part in _parts(word, each, known))
            written += tuple(parts)
            for each in parts:
                terms.setdefault(each, OF_TWO)
        stems[written] = None
    for each in amounts(text, said):
        terms[each] = AMOUNT
    spans, months = _dates(text, folded, said, at)
    return Asked(
        tuple(kept),
        terms,
        _by(said, left, lang, speakers, asker),
        tuple(stems),
        _WHEN[lang].search(folded) is not None,
        spans,
        months,
    )


def _parts(word: str, lang: Lang, known: Callable[[str], object]) -> tuple[str, ...]:
    """Return the stems of the parts of a word that nothing holds whole: of both, or of the last, which says what it is.

    As short a first part as there is: the rest may be made of two itself.
    """
    alone: tuple[str, ...] = ()
    for at in range(LEAST, len(word) - LEAST + 1) if LANGUAGES[lang].recalling.joints else ():
        last = compared(lang, word[at:])
        if known(last) is None:
            continue
        for joint in LANGUAGES[lang].recalling.joints:
            first = word[:at].removesuffix(joint)
            if word[:at].endswith(joint) and len(first) >= LEAST and known(compared(lang, first)) is not None:
                return compared(lang, first), last
        if not alone and len(word) - at > LEAST:
            alone = (last,)
    return alone


def _by(
    said: list[str], left: list[str], lang: Lang, speakers: Collection[str], asker: str
) -> frozenset[str]:
    """Return whom of the speakers a question is about: those that it names, or else who asks, or who is asked.

    Of the two whom it speaks of first ("what have I told you", "what did you tell me"). left: its words without what
    only asks for an answer.
    """
    plain = {word.removesuffix("'s") for word in said}
    plain |= {word.removesuffix("s") for word in plain if len(word) > _GENITIVE}
    called = _called(frozenset(speakers))
    named = frozenset([each for word in plain if word in called for each in called[word]])
    if named:
        return named
    recalling = LANGUAGES[lang].recalling
    both = recalling.agent | recalling.asker
    first = next((word for word in left if word in both), None)
    if first is None:
        return frozenset()
    return frozenset((ASSISTANT if first in recalling.agent else asker or USER,)).intersection(speakers)


_GENITIVE: Final = 3  # letters of a word that may be a name with a Swedish genitive's s


@lru_cache(maxsize=64)
def _called(speakers: frozenset[str]) -> Mapping[str, Collection[str]]:
    """Return the words that name some speakers, and whom each of them names."""
    found: dict[str, list[str]] = {}
    for speaker in speakers - {USER, ASSISTANT}:
        for word in set(content(words(speaker))):
            found.setdefault(word, []).append(speaker)
    return found


# --- dates

_CALENDARS: Final = [language.counting.calendar for language in LANGUAGES.values()]
_MONTHS: Final = {name: month for each in _CALENDARS for name, month in each.months.items()}
_CAPITAL: Final = frozenset().union(*[each.capital for each in _CALENDARS])
_DATINGS: Final = [language.dating for language in LANGUAGES.values()]
_DAYS: Final = {phrase: away for each in _DATINGS for phrase, away in each.days.items()}
_WEEKDAYS: Final = {word: day for each in _DATINGS for word, day in {**each.weekdays, **each.gone}.items()}
_SPANS: Final = {word: span for each in _DATINGS for word, span in each.spans.items()}
_YEAR: Final = re.compile(r"(?<![\w.,-])(?:19|20)\d\d(?![\w-]|[.,]\d)")
_WORD: Final = re.compile(r"[^\W\d_]+")


def _any(phrases: Collection[str]) -> str:
    return "|".join(re.escape(each) for each in sorted(phrases, key=len, reverse=True))


_LAST: Final = _any({word for each in _DATINGS for word in each.last})
_THIS: Final = _any({word for each in _DATINGS for word in each.this if len(word) > 3})
_RELATIVE: Final = re.compile(
    rf"\b(?:(?P<day>{_any(_DAYS)})"
    rf"|(?:(?P<last>{_LAST})|(?P<this>{_THIS}))\s+(?:(?P<weekday>{_any(_WEEKDAYS)})|(?P<span>{_any(_SPANS)})))\b"
)
_AGO: Final = re.compile(rf"\b(?:{_any({word for each in _DATINGS for word in each.ago})})\b")
_NEAR: Final = 40  # characters behind an amount of time in which the word stands that makes it a past one
_LENGTHS: Final = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}
_DAY: Final = timedelta(days=1)


def _dates(text: str, folded: str, said: list[str], at: int) -> tuple[tuple[Span, ...], frozenset[int]]:
    """Return what a question names of dates. at: now."""
    spans: list[Span] = []
    months = {_MONTHS[word] for word in said if word in _MONTHS and word not in _CAPITAL}
    if not _CAPITAL.isdisjoint(said):
        months |= {_MONTHS[fold(word)] for word in _capitals(text) if fold(word) in _CAPITAL}
    if any(each.isdigit() for each in text) or _AGO.search(folded):
        spans += _numbered(text, day_of(at).date())
        years = {int(each) for each in _YEAR.findall(text)}
        if any(span.counts == 1.0 for span in spans):
            months = set()  # they have their year
        elif years and months:
            spans += [_month(year, month) for year in years for month in months]
            months = set()
        else:
            spans += [Span(date(year, 1, 1), date(year, 12, 31), SAME_YEAR) for year in years]
    spans += [_relative(match, day_of(at).date()) for match in _RELATIVE.finditer(folded)]
    return tuple(spans), frozenset(months)


def _capitals(text: str) -> list[str]:
    """Return the words of a text with a capital that do not begin it."""
    return [match.group() for match in _WORD.finditer(text) if match.start() and match.group()[0].isupper()]


def _numbered(text: str, today: date) -> list[Span]:
    """Return the days and months with their year that a text names, and what it counts back from today."""
    found: list[Span] = []
    for token in tokens(text, rates=False):
        if token.kind is Kind.DATE and re.fullmatch(r"\d{4}-\d\d(?:-\d\d)?", token.value):
            parts = [int(each) for each in token.value.split("-")]
            try:
                whole = _month(parts[0], parts[1])
                if len(parts) == 2:
                    found.append(whole)
                else:
                    day = date(*parts)
                    found += [Span(day, day), Span(whole.first, whole.last, SAME_MONTH)]
            except ValueError:
                continue
        elif token.kind is Kind.QUANTITY and _AGO.match(fold(text[token.end : token.end + _NEAR]).lstrip()):
            count, _, unit = token.value.partition(" ")
            days = _LENGTHS.get(unit, 0)
            if days and count.isdecimal() and int(count) * days < today.toordinal() - 366:
                day = today - int(count) * days * _DAY
                found.append(Span(day - days // 2 * _DAY, day + days // 2 * _DAY))
    return found


def _month(year: int, month: int, counts: float = 1.0) -> Span:
    """Return a month. Raises ValueError where there is none."""
    first = date(year, month, 1)
    return Span(first, (first + 31 * _DAY).replace(day=1) - _DAY, counts)


def _relative(match: re.Match[str], today: date) -> Span:
    """Return the days that a phrase means, said today."""
    if match["day"] is not None:
        day = today + _DAYS[match["day"]] * _DAY
        return Span(day, day)
    if match["weekday"] is not None:
        day = today - ((today.weekday() - _WEEKDAYS[match["weekday"]] - 1) % 7 + 1) * _DAY
        return Span(day, day)
    back = 1 if match["last"] is not None else 0
    span = _SPANS[match["span"]]
    if span == "month":
        month = today.month - 1 - back
        return _month(today.year + month // 12, month % 12 + 1)
    if span == "year":
        return Span(date(today.year - back, 1, 1), date(today.year - back, 12, 31))
    monday = today - (today.weekday() + 7 * back) * _DAY
    return Span(monday if span == "week" else monday + 5 * _DAY, monday + 6 * _DAY)
