"""Makes the searchable documents of a turn or an item: its own words, those around it, its parts.

Strategy: a turn rarely names its subject, but the turns around it do. So a document holds its own words twice and those
of its neighbours in the same sitting once, fewer for a longer turn, with the speaker and the month. In a long message
one sentence may hold the answer, so its parts, whole sentences of some thirty words, are documents too. Words are
compared by their stems, in the language of the text; a text of no clear language takes that of the talk before it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise
from typing import Final

from agent.lang import LANGUAGES, Lang
from agent.lexical.stems import stem
from agent.lexical.subject import WORD_MAX
from agent.numbers.units import UNITS
from agent.text.sentences import find_line_sentences
from agent.text.words import FUNCTION_WORDS, split_words

from .amounts import find_amounts

OWN: Final = 2
"""How often a turn's own words count, against once for those of its neighbours."""
AROUND: Final = 40
"""Words of a turn and its neighbours on one side together, but of neighbours ..."""
LEAST, MOST = 10, 30
"""... at least and at most so many. Measured on LoCoMo and BEAM; 20 whatever its length is .6 points worse."""
LONG: Final = 60
"""Words from which a message is also indexed in parts."""
PART: Final = 30
"""Words after which the next part begins."""
READ: Final = 4_000
"""Words of a message that are read."""

_LENGTHS: Final = frozenset(
    word
    for word, unit in UNITS.items()
    if len(word) > 1 and unit in ("day", "night", "week", "month", "year", "workday")
)
_YEARS: Final = frozenset(map(str, range(1900, 2100)))


def _phrases() -> tuple[frozenset[str], frozenset[str]]:
    """Return the words and phrases, in all languages, that give a time."""
    found: set[str] = set(_LENGTHS)
    for language in LANGUAGES.values():
        dating, calendar = language.dating, language.counting.calendar
        found.update(language.recalling.times, dating.days, dating.weekdays, dating.gone, dating.spans)
        found.update({*calendar.months} - calendar.capitalized)
        found.update(each for each in (*dating.last, *dating.following) if each not in FUNCTION_WORDS)
    return frozenset(each for each in found if " " not in each), frozenset(
        f" {each} " for each in found if " " in each
    )


_WORDS, _TIME_PHRASES = _phrases()
_TIMES: Final = _WORDS | _YEARS
_PHRASES_BEGIN: Final = frozenset(each.split()[0] for each in _TIME_PHRASES)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTerms:
    """The terms of a text.

    `words`: the folded content words. `stems`: theirs, in the same order. `size`: the number of all words. `asks`: the
    share of sentences that are questions, 0..1. `timed`: it gives a time. `parts`: where each part of a long text
    begins in `words`; () for a short one.
    """

    lang: Lang
    words: tuple[str, ...]
    stems: tuple[str, ...]
    size: int
    asks: float
    timed: bool
    parts: tuple[int, ...]


def read_terms(text: str, lang: Lang) -> TextTerms:
    """Return the terms of `text`. `lang`: the language of its stems."""
    content: list[str] = []
    parts: list[int] = []
    words: list[str] = []
    asking = sentences = 0
    for start, end in find_line_sentences(text):
        sentence = text[start:end]
        if len(words) >= READ:
            break
        if not parts or len(content) - parts[-1] >= PART:
            parts.append(len(content))
        all_words = split_words(sentence)
        words += all_words
        content += content_words(all_words)
        content += find_amounts(sentence, all_words)
        sentences += 1
        asking += sentence.endswith("?")
    return TextTerms(
        lang=lang,
        words=tuple(content),
        stems=tuple([word if "_" in word else comparison_form(lang, word) for word in content]),
        size=len(words),
        asks=asking / sentences if sentences else 0.0,
        timed=_gives_time(words),
        parts=tuple(at for at in parts if at < len(content)) if len(words) > LONG else (),
    )


@lru_cache(maxsize=20_000)
def comparison_form(lang: Lang, word: str) -> str:
    """Return the form in which a folded word is compared: its stem, without the endings that the stemmer leaves."""
    return trim_stem(lang, stem(lang, word))


def trim_stem(lang: Lang, stem: str) -> str:
    """Return `stem` without the endings that its language's stemmer leaves."""
    endings = _ENDINGS[lang]
    if endings is None:
        return stem
    while (cut := endings.sub("", stem)) != stem:
        stem = cut
    return stem


_ENDINGS: Final = {
    lang: re.compile(rf"(?:{language.recalling.endings})\Z") if language.recalling.endings else None
    for lang, language in LANGUAGES.items()
}


@dataclass(frozen=True, slots=True)
class SentenceSpan:
    """The place of a sentence in its text, and its folded content words."""

    start: int
    end: int
    words: frozenset[str]


def split_sentences(text: str) -> tuple[SentenceSpan, ...]:
    """Return the sentences of `text`."""
    return tuple(
        SentenceSpan(start, end, frozenset(content_words(split_words(text[start:end]))))
        for start, end in find_line_sentences(text)
    )


def content_words(words: Sequence[str]) -> list[str]:
    """Return the content words of `words`: no function words, no single letters."""
    return [
        word[:WORD_MAX]
        for word in words
        if word not in FUNCTION_WORDS and not (len(word) == 1 and word.isalpha())
    ]


def _gives_time(words: Sequence[str]) -> bool:
    """Tell whether folded words give a time."""
    if not _TIMES.isdisjoint(words):
        return True
    if _PHRASES_BEGIN.isdisjoint(words):
        return False
    text = f" {' '.join(words)} "
    return any(phrase in text for phrase in _TIME_PHRASES)


def reach_of(own: int) -> int:
    """Return how many words of the neighbours on each side count for a turn of `own` words."""
    return max(LEAST, min(MOST, AROUND - own))


def window_terms(
    own: Sequence[str], before: Iterable[str], after: Iterable[str], about: Sequence[str]
) -> list[str]:
    """Return the terms of a turn's document. `about`: those of its speaker and time."""
    return [*(list(own) * OWN), *before, *after, *about]


def part_terms(words: Sequence[str], starts: Sequence[int], about: Sequence[str]) -> Iterator[list[str]]:
    """Yield the terms of each part's document of a long message."""
    for start, end in pairwise((*starts, len(words))):
        yield window_terms(words[start:end], (), (), about)


@lru_cache(maxsize=4096)
def context_terms(lang: Lang, by: str, at: int) -> tuple[str, ...]:
    """Return the terms of a message's speaker and time: stems of the name, the month and the year.

    `at`: the first millisecond of the month.
    """
    day = day_of(at)
    names = [word for word in split_words(by) if word not in FUNCTION_WORDS]
    return tuple(
        [comparison_form(lang, word) for word in (*names, _MONTHS[lang][day.month - 1])] + [str(day.year)]
    )


def month_of(at: int) -> int:
    """Return the first millisecond of the month of `at`."""
    return _month_of(at // _DAY)


@lru_cache(maxsize=4096)
def _month_of(day: int) -> int:
    """Return the first millisecond of the month of `day`, counted from 1970."""
    first = day_of(day * _DAY).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return int(first.timestamp() * 1000)


def day_of(at: int) -> datetime:
    """Return the date and time of `at` milliseconds, within the years 1970 to 9999."""
    return datetime.fromtimestamp(max(_FIRST, min(at, _LAST)) / 1000, UTC)


_DAY: Final = 86_400_000
_FIRST: Final = 0
_LAST: Final = 253_402_300_799_000  # the last second of the year 9999


def _month_names(lang: Lang) -> tuple[str, ...]:
    """Return the names of the months, in order: the longest that a language has for each."""
    months = LANGUAGES[lang].counting.calendar.months
    return tuple(max((name for name, at in months.items() if at == month), key=len) for month in range(1, 13))


_MONTHS: Final = {lang: _month_names(lang) for lang in LANGUAGES}
