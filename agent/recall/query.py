"""Reads a question about past messages: its words, the speakers it is about, and the dates it names.

Strategy: the content words are searched; a word that says little about the subject has half the weight. A word that no
row holds is split in two if its language forms compounds. The question is about the speakers that it names; otherwise
"I" stands for the asker and "you" for the assistant. Phrases that only ask for an answer ("do you remember") count
neither as words nor as speakers. "When" asks for a text that gives a time. Dates that the question names, directly or
relative to today, raise the score of messages from that time and exclude no message. All word lists belong to the
languages (`agent.lang`).
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
QUESTION_MAX: Final = 2_000
"""Characters of a question that are read."""
WORDS_MAX: Final = 24
"""Content words of a question that are searched: the first ones."""

WEAK_WEIGHT: Final = 0.5
"""The weight of a stop word, which says little about the subject; other words weigh 1."""
PART_WEIGHT: Final = 0.5
"""The weight of each part of a split compound."""
AMOUNT_WEIGHT: Final = 1.0
"""The weight of a number with its unit, in addition to its words."""

COMPOUND_MIN: Final = 7
"""Letters of the shortest word that is split."""
PART_MIN: Final = 3
"""Letters of the shortest part; a last part that is found without its first part needs one more."""
GENITIVE_MIN: Final = 4
"""Letters of the shortest word that is also compared without its final "s", the Swedish genitive."""

MONTH_FIT, YEAR_FIT = 0.5, 0.3
"""How well a message fits a named day if it is from the same month only, and how well it fits a named year."""


@dataclass(frozen=True, slots=True)
class DaySpan:
    """The days from `first` to `last`, both included, and how well (`fit`, 0..1) a message from them fits."""

    first: date
    last: date
    fit: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzedQuestion:
    """The parts of a question about past messages.

    `words`: its content words, folded. `terms`: the weights of the stems and amounts to search for. `speakers`: the
    speakers it is about, empty for any. `stems`: for each word, its stems in the searched languages and those of its
    parts. `asks_time`: whether it asks for a time. `spans`: the dates that it names. `months`: named months without a
    year, 1 to 12.
    """

    words: tuple[str, ...]
    terms: Mapping[str, float]
    speakers: frozenset[str] = frozenset()
    stems: tuple[tuple[str, ...], ...] = ()
    asks_time: bool = False
    spans: tuple[DaySpan, ...] = ()
    months: frozenset[int] = frozenset()

    @property
    def has_dates(self) -> bool:
        """Whether the question names a date."""
        return bool(self.spans or self.months)

    def fit_time(self, at: int) -> float:
        """Return how well a message fits the named dates, 0..1. `at`: its time in milliseconds since 1970."""
        day = day_of(at).date()
        best = max([span.fit for span in self.spans if span.first <= day <= span.last], default=0.0)
        return max(best, float(day.month in self.months))


_REQUESTS: Final = {
    lang: re.compile(rf"\b(?:{language.recalling.requests})\b") for lang, language in LANGUAGES.items()
}
_TIME_QUESTIONS: Final = {
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
    """Return the parts of the question `text`, written in `lang`.

    `speakers`: the speakers of the searched rows; `USER` and `ASSISTANT` are roles, other entries are names. `at`: now,
    in milliseconds since 1970. `asker`: the name of the asker, "" for `USER`. `langs`: further languages of the
    searched rows, in which the words are stemmed too. `known`: returns None for a stem that no row holds.
    """
    text = text[:QUESTION_MAX]
    folded = fold(text)
    words = split_words(text)
    words_left = split_words(_REQUESTS[lang].sub(" ", folded))
    content = (content_words(words_left) or content_words(words))[:WORDS_MAX]
    weak = stop_words(lang)
    terms: dict[str, float] = {}
    stems: dict[tuple[str, ...], None] = {}
    for word in content:
        weight = WEAK_WEIGHT if word in weak else 1.0
        word_stems = tuple({comparison_form(each, word): None for each in (lang, *langs)})
        for stem in word_stems:
            terms[stem] = max(weight, terms.get(stem, 0.0))
        if len(word) >= COMPOUND_MIN and all(known(stem) is None for stem in word_stems):
            parts = tuple(
                dict.fromkeys(part for each in (lang, *langs) for part in _split_compound(word, each, known))
            )
            word_stems += parts
            for part in parts:
                terms.setdefault(part, PART_WEIGHT)
        stems[word_stems] = None
    for amount in find_amounts(text, words):
        terms[amount] = AMOUNT_WEIGHT
    spans, months = _find_dates(text, folded, words, at)
    return AnalyzedQuestion(
        words=tuple(content),
        terms=terms,
        speakers=_find_speakers(words, words_left, lang, speakers, asker),
        stems=tuple(stems),
        asks_time=_TIME_QUESTIONS[lang].search(folded) is not None,
        spans=spans,
        months=months,
    )


def _split_compound(word: str, lang: Lang, known: Callable[[str], object]) -> tuple[str, ...]:
    """Return the stems of the two parts of `word` if rows hold both, else that of its last part if rows hold it.

    The last part carries the meaning. The first part is as short as possible, since the rest may be a compound itself.
    Returns () in languages without compounds.
    """
    joints = LANGUAGES[lang].recalling.joints
    if not joints:
        return ()
    last_alone: tuple[str, ...] = ()
    for at in range(PART_MIN, len(word) - PART_MIN + 1):
        last = comparison_form(lang, word[at:])
        if known(last) is None:
            continue
        for joint in joints:
            if not word[:at].endswith(joint):
                continue
            first = word[:at].removesuffix(joint)
            if len(first) >= PART_MIN and known(comparison_form(lang, first)) is not None:
                return comparison_form(lang, first), last
        if not last_alone and len(word) - at > PART_MIN:
            last_alone = (last,)
    return last_alone


def _find_speakers(
    words: list[str], words_left: list[str], lang: Lang, speakers: Collection[str], asker: str
) -> frozenset[str]:
    """Return the speakers that a question is about: those it names, else the asker for "I" or the assistant for "you".

    If both pronouns occur, the first one decides ("what have I told you", "what did you tell me"). `words_left`: the
    words of the question without phrases that only ask for an answer.
    """
    candidates = {word.removesuffix("'s") for word in words}
    candidates |= {word.removesuffix("s") for word in candidates if len(word) >= GENITIVE_MIN}
    by_word = _speakers_by_word(frozenset(speakers))
    named = frozenset([name for word in candidates if word in by_word for name in by_word[word]])
    if named:
        return named
    recalling = LANGUAGES[lang].recalling
    pronouns = recalling.agent | recalling.asker
    first = next((word for word in words_left if word in pronouns), None)
    if first is None:
        return frozenset()
    return frozenset((ASSISTANT if first in recalling.agent else asker or USER,)).intersection(speakers)


@lru_cache(maxsize=64)
def _speakers_by_word(speakers: frozenset[str]) -> Mapping[str, Collection[str]]:
    """Return the content words of the speakers' names, each with the speakers that it may name."""
    by_word: dict[str, list[str]] = {}
    for speaker in speakers - {USER, ASSISTANT}:
        for word in set(content_words(split_words(speaker))):
            by_word.setdefault(word, []).append(speaker)
    return by_word


# --- dates

_CALENDARS: Final = [language.counting.calendar for language in LANGUAGES.values()]
_MONTHS: Final = {name: month for each in _CALENDARS for name, month in each.months.items()}
_CAPITALIZED_MONTHS: Final = frozenset().union(*[each.capitalized for each in _CALENDARS])
_DATINGS: Final = [language.dating for language in LANGUAGES.values()]
_DAY_OFFSETS: Final = {phrase: days for each in _DATINGS for phrase, days in each.days.items()}
_WEEKDAYS: Final = {word: day for each in _DATINGS for word, day in {**each.weekdays, **each.gone}.items()}
_SPAN_UNITS: Final = {word: span for each in _DATINGS for word, span in each.spans.items()}
_YEAR: Final = re.compile(r"(?<![\w.,-])(?:19|20)\d\d(?![\w-]|[.,]\d)")
_WORD: Final = re.compile(r"[^\W\d_]+")


def _any(phrases: Collection[str]) -> str:
    """Return a pattern that matches any of `phrases`, the longest first."""
    return "|".join(re.escape(each) for each in sorted(phrases, key=len, reverse=True))


_LAST: Final = _any({word for each in _DATINGS for word in each.last})
_THIS: Final = _any({word for each in _DATINGS for word in each.this if len(word) > 3})
_RELATIVE: Final = re.compile(
    rf"\b(?:(?P<day>{_any(_DAY_OFFSETS)})"
    rf"|(?:(?P<last>{_LAST})|(?P<this>{_THIS}))\s+(?:(?P<weekday>{_any(_WEEKDAYS)})|(?P<span>{_any(_SPAN_UNITS)})))\b"
)
_AGO: Final = re.compile(rf"\b(?:{_any({word for each in _DATINGS for word in each.ago})})\b")
_AGO_WITHIN: Final = 40  # characters after an amount of time in which a word for "ago" is looked for
_DAYS_OF_UNIT: Final = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}
_DAY: Final = timedelta(days=1)


def _find_dates(
    text: str, folded: str, words: list[str], at: int
) -> tuple[tuple[DaySpan, ...], frozenset[int]]:
    """Return the spans of days that a question names, and its months without a year. `at`: now, in milliseconds."""
    today = day_of(at).date()
    spans: list[DaySpan] = []
    months = {_MONTHS[word] for word in words if word in _MONTHS and word not in _CAPITALIZED_MONTHS}
    if not _CAPITALIZED_MONTHS.isdisjoint(words):
        months |= {_MONTHS[fold(word)] for word in _capital_words(text) if fold(word) in _CAPITALIZED_MONTHS}
    if any(each.isdigit() for each in text) or _AGO.search(folded):
        spans += _find_numbered_dates(text, today)
        years = {int(each) for each in _YEAR.findall(text)}
        if any(span.fit == 1.0 for span in spans):
            months = set()  # they belong to the dates just found
        elif years and months:
            spans += [_month_span(year, month) for year in years for month in months]
            months = set()
        else:
            spans += [DaySpan(date(year, 1, 1), date(year, 12, 31), YEAR_FIT) for year in years]
    spans += [_relative_span(match, today) for match in _RELATIVE.finditer(folded)]
    return tuple(spans), frozenset(months)


def _capital_words(text: str) -> list[str]:
    """Return the words of `text` that begin with a capital letter, except at its very start."""
    return [match.group() for match in _WORD.finditer(text) if match.start() and match.group()[0].isupper()]


def _find_numbered_dates(text: str, today: date) -> list[DaySpan]:
    """Return the days and months that `text` names together with a year or counts back from `today` ("3 weeks ago").

    A day also yields its month, with `MONTH_FIT`. Impossible dates are ignored.
    """
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
                    spans += [DaySpan(day, day), DaySpan(month.first, month.last, MONTH_FIT)]
            except ValueError:
                continue
        elif token.kind is Kind.QUANTITY and _AGO.match(
            fold(text[token.end : token.end + _AGO_WITHIN]).lstrip()
        ):
            count, _, unit = token.value.partition(" ")
            length = _DAYS_OF_UNIT.get(unit, 0)
            if length and count.isdecimal() and int(count) * length < today.toordinal() - 366:
                day = today - int(count) * length * _DAY
                spans.append(DaySpan(day - length // 2 * _DAY, day + length // 2 * _DAY))
    return spans


def _month_span(year: int, month: int) -> DaySpan:
    """Return the days of a month. Raises `ValueError` for an impossible month."""
    first = date(year, month, 1)
    return DaySpan(first, (first + 31 * _DAY).replace(day=1) - _DAY)


def _relative_span(match: re.Match[str], today: date) -> DaySpan:
    """Return the days that a phrase means when said on `today`.

    Phrases name a day ("yesterday"), a past weekday ("last friday"), or the current or previous week, weekend, month or
    year ("last month").
    """
    if match["day"] is not None:
        day = today + _DAY_OFFSETS[match["day"]] * _DAY
        return DaySpan(day, day)
    if match["weekday"] is not None:
        day = today - ((today.weekday() - _WEEKDAYS[match["weekday"]] - 1) % 7 + 1) * _DAY
        return DaySpan(day, day)
    units_back = 1 if match["last"] is not None else 0
    unit = _SPAN_UNITS[match["span"]]
    if unit == "month":
        months = today.month - 1 - units_back
        return _month_span(today.year + months // 12, months % 12 + 1)
    if unit == "year":
        return DaySpan(date(today.year - units_back, 1, 1), date(today.year - units_back, 12, 31))
    monday = today - (today.weekday() + 7 * units_back) * _DAY
    return DaySpan(monday if unit == "week" else monday + 5 * _DAY, monday + 6 * _DAY)
