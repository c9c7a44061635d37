"""Reads a question about past messages: its words, the speakers it is about, and the dates it names.

Strategy: the content words are searched, weak ones with half the weight. A word that no row holds is split in two if
its language forms compounds. A named speaker is the one in question; "I" means the asker, "you" the other party.
Phrases that only ask for an answer ("do you remember") count for neither words nor speakers. "When" asks for a text
that gives a time. Dates that the question names, directly or relative to today, make messages of that time likelier
and exclude nothing. All word lists are the languages' own (`agent.lang`).
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Final

from agent.lang import LANGUAGES, Lang
from agent.lexical.subject import stop_words
from agent.numbers.number_tokens import tokens
from agent.numbers.token import Kind
from agent.text.words import fold, split_words

from .amounts import find_amounts
from .documents import comparison_form, content_words, day_of

USER: Final = "user"
ASSISTANT: Final = "assistant"
WORDS_MAX: Final = 24
"""Words of a question that are searched: the first ones."""
EMPTY: Final = 0.5
"""The weight of a word that says little about the subject."""
LONG: Final = 7
"""Letters from which a word that no row holds is split, in languages that form compounds, ..."""
LEAST: Final = 3
"""... into parts of at least so many letters, the last of more if it alone is known, ..."""
OF_TWO: Final = 0.5
"""... and the weight of each part."""
AMOUNT: Final = 1.0
"""The weight of a number with its unit, in addition to its words."""
READ: Final = 2_000
"""Characters of a question that are read."""

SAME_MONTH, SAME_YEAR = 0.5, 0.3
"""What it counts to have been said in the month of a day that is named, and in a year that is."""


@dataclass(frozen=True, slots=True)
class DaySpan:
    """Days from `first` to `last`, and the score (`counts`) of a message from that time, 0..1."""

    first: date
    last: date
    counts: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzedQuestion:
    """A question, read.

    `words`: folded. `terms`: stems with their weights. `by`: the speakers it is about, () for any. `stems`: for each
    word, its stem in each language. `when`: it asks for a time. `spans`, `months`: the dates that it names; `months`
    are those without a year, 1 to 12.
    """

    words: tuple[str, ...]
    terms: Mapping[str, float]
    by: frozenset[str] = frozenset()
    stems: tuple[tuple[str, ...], ...] = ()
    when: bool = False
    spans: tuple[DaySpan, ...] = ()
    months: frozenset[int] = frozenset()

    @property
    def has_dates(self) -> bool:
        """Whether the question names a date."""
        return bool(self.spans or self.months)

    def fit_time(self, at: int) -> float:
        """Return how well `at` fits the named dates, 0..1."""
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
) -> AnalyzedQuestion:
    """Return the parts of a question.

    `speakers`: the names of speakers in the search's reach; USER and ASSISTANT are roles, not names. `at`: now.
    `asker`: the name of the asker, "" for USER. `langs`: other languages of the searched rows; words are searched by
    their stems in each. `known`: returns None for a stem that no row holds.
    """
    text = text[:READ]
    folded = fold(text)
    words = split_words(text)
    words_left = split_words(_REQUESTS[lang].sub(" ", folded))
    content = (content_words(words_left) or content_words(words))[:WORDS_MAX]
    empty = stop_words(lang)
    terms: dict[str, float] = {}
    stems: dict[tuple[str, ...], None] = {}
    for word in content:
        counts = EMPTY if word in empty else 1.0
        written = tuple({comparison_form(each, word): None for each in (lang, *langs)})
        for each in written:
            terms[each] = max(counts, terms.get(each, 0.0))
        if len(word) >= LONG and all(known(each) is None for each in written):
            parts = dict.fromkeys(
                part for each in (lang, *langs) for part in _split_compound(word, each, known)
            )
            written += tuple(parts)
            for each in parts:
                terms.setdefault(each, OF_TWO)
        stems[written] = None
    for each in find_amounts(text, words):
        terms[each] = AMOUNT
    spans, months = _find_dates(text, folded, words, at)
    return AnalyzedQuestion(
        words=tuple(content),
        terms=terms,
        by=_find_speakers(words, words_left, lang, speakers, asker),
        stems=tuple(stems),
        when=_WHEN[lang].search(folded) is not None,
        spans=spans,
        months=months,
    )


def _split_compound(word: str, lang: Lang, known: Callable[[str], object]) -> tuple[str, ...]:
    """Return the stems of both parts of a compound that no row holds whole, or of its last part, which carries the
    meaning.

    The first part is as short as possible, since the rest may be a compound itself.
    """
    alone: tuple[str, ...] = ()
    for at in range(LEAST, len(word) - LEAST + 1) if LANGUAGES[lang].recalling.joints else ():
        last = comparison_form(lang, word[at:])
        if known(last) is None:
            continue
        for joint in LANGUAGES[lang].recalling.joints:
            first = word[:at].removesuffix(joint)
            if (
                word[:at].endswith(joint)
                and len(first) >= LEAST
                and known(comparison_form(lang, first)) is not None
            ):
                return comparison_form(lang, first), last
        if not alone and len(word) - at > LEAST:
            alone = (last,)
    return alone


def _find_speakers(
    words: list[str], words_left: list[str], lang: Lang, speakers: Collection[str], asker: str
) -> frozenset[str]:
    """Return the speakers that a question is about: those it names, else the asker for "I", the other party for "you".

    If both occur, the first one counts ("what have I told you", "what did you tell me"). `words_left`: the
    question's words without phrases that only ask for an answer.
    """
    plain = {word.removesuffix("'s") for word in words}
    plain |= {word.removesuffix("s") for word in plain if len(word) > _GENITIVE}
    called = _speakers_by_word(frozenset(speakers))
    named = frozenset([each for word in plain if word in called for each in called[word]])
    if named:
        return named
    recalling = LANGUAGES[lang].recalling
    both = recalling.agent | recalling.asker
    first = next((word for word in words_left if word in both), None)
    if first is None:
        return frozenset()
    return frozenset((ASSISTANT if first in recalling.agent else asker or USER,)).intersection(speakers)


_GENITIVE: Final = 3  # letters of a word that may be a name with a Swedish genitive's s


@lru_cache(maxsize=64)
def _speakers_by_word(speakers: frozenset[str]) -> Mapping[str, Collection[str]]:
    """Return the words of the speakers' names, each with the speakers that it may name."""
    speakers_of: dict[str, list[str]] = {}
    for speaker in speakers - {USER, ASSISTANT}:
        for word in set(content_words(split_words(speaker))):
            speakers_of.setdefault(word, []).append(speaker)
    return speakers_of


# --- dates

_CALENDARS: Final = [language.counting.calendar for language in LANGUAGES.values()]
_MONTHS: Final = {name: month for each in _CALENDARS for name, month in each.months.items()}
_CAPITAL: Final = frozenset().union(*[each.capitalized for each in _CALENDARS])
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
_NEAR: Final = 40  # characters after an amount of time in which a word for "ago" is looked for
_LENGTHS: Final = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}
_DAY: Final = timedelta(days=1)


def _find_dates(
    text: str, folded: str, words: list[str], at: int
) -> tuple[tuple[DaySpan, ...], frozenset[int]]:
    """Return the dates that a question names. `at`: now."""
    spans: list[DaySpan] = []
    months = {_MONTHS[word] for word in words if word in _MONTHS and word not in _CAPITAL}
    if not _CAPITAL.isdisjoint(words):
        months |= {_MONTHS[fold(word)] for word in _capital_words(text) if fold(word) in _CAPITAL}
    if any(each.isdigit() for each in text) or _AGO.search(folded):
        spans += _find_numbered_dates(text, day_of(at).date())
        years = {int(each) for each in _YEAR.findall(text)}
        if any(span.counts == 1.0 for span in spans):
            months = set()  # the months have their year
        elif years and months:
            spans += [_month_span(year, month) for year in years for month in months]
            months = set()
        else:
            spans += [DaySpan(date(year, 1, 1), date(year, 12, 31), SAME_YEAR) for year in years]
    spans += [_relative_span(match, day_of(at).date()) for match in _RELATIVE.finditer(folded)]
    return tuple(spans), frozenset(months)


def _capital_words(text: str) -> list[str]:
    """Return the words of `text` with a capital, except the first word."""
    return [match.group() for match in _WORD.finditer(text) if match.start() and match.group()[0].isupper()]


def _find_numbered_dates(text: str, today: date) -> list[DaySpan]:
    """Return the days and months with a year that `text` names, and those it counts back from `today`."""
    spans: list[DaySpan] = []
    for token in tokens(text, rates=False):
        if token.kind is Kind.DATE and re.fullmatch(r"\d{4}-\d\d(?:-\d\d)?", token.value):
            parts = [int(each) for each in token.value.split("-")]
            try:
                month = _month_span(parts[0], parts[1])
                if len(parts) == 2:
                    spans.append(month)
                else:
                    day = date(*parts)
                    spans += [DaySpan(day, day), DaySpan(month.first, month.last, SAME_MONTH)]
            except ValueError:
                continue
        elif token.kind is Kind.QUANTITY and _AGO.match(fold(text[token.end : token.end + _NEAR]).lstrip()):
            count, _, unit = token.value.partition(" ")
            days = _LENGTHS.get(unit, 0)
            if days and count.isdecimal() and int(count) * days < today.toordinal() - 366:
                day = today - int(count) * days * _DAY
                spans.append(DaySpan(day - days // 2 * _DAY, day + days // 2 * _DAY))
    return spans


def _month_span(year: int, month: int, counts: float = 1.0) -> DaySpan:
    """Return the days of a month. Raises ValueError for an impossible month."""
    first = date(year, month, 1)
    return DaySpan(first, (first + 31 * _DAY).replace(day=1) - _DAY, counts)


def _relative_span(match: re.Match[str], today: date) -> DaySpan:
    """Return the days that a relative phrase means when said on `today`."""
    if match["day"] is not None:
        day = today + _DAYS[match["day"]] * _DAY
        return DaySpan(day, day)
    if match["weekday"] is not None:
        day = today - ((today.weekday() - _WEEKDAYS[match["weekday"]] - 1) % 7 + 1) * _DAY
        return DaySpan(day, day)
    back = 1 if match["last"] is not None else 0
    span = _SPANS[match["span"]]
    if span == "month":
        month = today.month - 1 - back
        return _month_span(today.year + month // 12, month % 12 + 1)
    if span == "year":
        return DaySpan(date(today.year - back, 1, 1), date(today.year - back, 12, 31))
    monday = today - (today.weekday() + 7 * back) * _DAY
    return DaySpan(monday if span == "week" else monday + 5 * _DAY, monday + 6 * _DAY)
