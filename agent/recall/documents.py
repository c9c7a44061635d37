"""What a turn or an item is found by: its own words, those around it, its sentences.

Strategy: a turn rarely says what it is about; the turns around it do. So a document holds its own words twice and those
of its neighbours in the same sitting once, the fewer the longer it is itself, with who said it and in which month. In a
long message one sentence may say it, so that its parts, whole sentences of some thirty words, are documents too. Words
are compared by their stems, in the language of the text; one that does not tell takes that of the talk before it.
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
from agent.text.sentences import by_line
from agent.text.words import FUNCTION_WORDS, words

from .amounts import amounts

OWN: Final = 2
"""Times that a turn's own words count, where its neighbours' count once."""
AROUND: Final = 40
"""Words that a turn and its neighbours on one side have together, but of neighbours ..."""
LEAST, MOST = 10, 30
"""... at least and at most so many. Measured on LoCoMo and BEAM; 20 whatever its length is .6 points worse."""
LONG: Final = 60
"""Words of a message from which its parts are found by themselves."""
PART: Final = 30
"""Words of a part, from which the next one begins."""
READ: Final = 4_000
"""Words of a message that are read."""

_LENGTHS: Final = frozenset(
    word
    for word, unit in UNITS.items()
    if len(word) > 1 and unit in ("day", "night", "week", "month", "year", "workday")
)
_YEARS: Final = frozenset(map(str, range(1900, 2100)))


def _phrases() -> tuple[frozenset[str], frozenset[str]]:
    """Return the words, and the phrases of several, that say in a turn when something was, of all languages."""
    found: set[str] = set(_LENGTHS)
    for language in LANGUAGES.values():
        dating, calendar = language.dating, language.counting.calendar
        found.update(language.recalling.times, dating.days, dating.weekdays, dating.gone, dating.spans)
        found.update({*calendar.months} - calendar.capital)
        found.update(each for each in (*dating.last, *dating.following) if each not in FUNCTION_WORDS)
    return frozenset(each for each in found if " " not in each), frozenset(
        f" {each} " for each in found if " " in each
    )


_WORDS, _TIME_PHRASES = _phrases()
_TIMES: Final = _WORDS | _YEARS
_PHRASES_BEGIN: Final = frozenset(each.split()[0] for each in _TIME_PHRASES)


@dataclass(frozen=True, slots=True)
class Said:
    """A text, read. words: the folded words that carry a subject. stems: of these, in their order. size: of all words.

    asks: the share of its sentences that are questions, 0..1. timed: it says when something was. parts: where each part
    of a long text begins in `words`; () of a short one.
    """

    lang: Lang
    words: tuple[str, ...]
    stems: tuple[str, ...]
    size: int
    asks: float
    timed: bool
    parts: tuple[int, ...]


def read(text: str, lang: Lang) -> Said:
    """Return what a text says. lang: what its words are compared in."""
    kept: list[str] = []
    parts: list[int] = []
    said: list[str] = []
    asking = sentences = 0
    for start, end in by_line(text):
        sentence = text[start:end]
        if len(said) >= READ:
            break
        if not parts or len(kept) - parts[-1] >= PART:
            parts.append(len(kept))
        all_words = words(sentence)
        said += all_words
        kept += content(all_words)
        kept += amounts(sentence, all_words)
        sentences += 1
        asking += sentence.endswith("?")
    return Said(
        lang,
        tuple(kept),
        tuple([word if "_" in word else compared(lang, word) for word in kept]),
        len(said),
        asking / sentences if sentences else 0.0,
        _timed(said),
        tuple(at for at in parts if at < len(kept)) if len(said) > LONG else (),
    )


@lru_cache(maxsize=20_000)
def compared(lang: Lang, word: str) -> str:
    """Return what a folded word of one language is compared by: its stem, without what the stemmer leaves on."""
    return shortened(lang, stem(lang, word))


def shortened(lang: Lang, stem: str) -> str:
    """Return a stem without the endings that its language's stemmer leaves on."""
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
class Sentence:
    """Where one begins and ends in its text, and its folded words that carry a subject."""

    start: int
    end: int
    words: frozenset[str]


def sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a text."""
    return tuple(
        Sentence(start, end, frozenset(content(words(text[start:end])))) for start, end in by_line(text)
    )


def content(said: Sequence[str]) -> list[str]:
    """Return those of some folded words that carry a subject: no function words, no single letters."""
    return [
        word[:WORD_MAX]
        for word in said
        if word not in FUNCTION_WORDS and not (len(word) == 1 and word.isalpha())
    ]


def _timed(said: Sequence[str]) -> bool:
    """Tell whether folded words say when something was."""
    if not _TIMES.isdisjoint(said):
        return True
    if _PHRASES_BEGIN.isdisjoint(said):
        return False
    text = f" {' '.join(said)} "
    return any(phrase in text for phrase in _TIME_PHRASES)


def reach_of(own: int) -> int:
    """Return how many words of its neighbours on each side count for a turn that has `own` ones itself."""
    return max(LEAST, min(MOST, AROUND - own))


def window(
    own: Sequence[str], before: Iterable[str], after: Iterable[str], about: Sequence[str]
) -> list[str]:
    """Return the terms of a turn's document. about: who said it, and when."""
    return [*(list(own) * OWN), *before, *after, *about]


def parts_of(said: Sequence[str], starts: Sequence[int], about: Sequence[str]) -> Iterator[list[str]]:
    """Yield the terms of the document of each part of a long message."""
    for start, end in pairwise((*starts, len(said))):
        yield window(said[start:end], (), (), about)


@lru_cache(maxsize=4096)
def about(lang: Lang, by: str, at: int) -> tuple[str, ...]:
    """Return the terms that say who said something and when: stems of a name, the month and the year.

    at: the first millisecond of the month.
    """
    day = day_of(at)
    names = [word for word in words(by) if word not in FUNCTION_WORDS]
    return tuple([compared(lang, word) for word in (*names, _MONTHS[lang][day.month - 1])] + [str(day.year)])


def month_of(at: int) -> int:
    """Return the first millisecond of the month of a time."""
    return _month_of(at // _DAY)


@lru_cache(maxsize=4096)
def _month_of(day: int) -> int:
    """Return the first millisecond of the month of a day, which are counted from 1970 on."""
    first = day_of(day * _DAY).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return int(first.timestamp() * 1000)


def day_of(at: int) -> datetime:
    """Return the time of some milliseconds; that of the earliest or latest one where it is none."""
    return datetime.fromtimestamp(max(_FIRST, min(at, _LAST)) / 1000, UTC)


_DAY: Final = 86_400_000
_FIRST: Final = 0
_LAST: Final = 253_402_300_799_000  # the last second of the year 9999


def _month_names(lang: Lang) -> tuple[str, ...]:
    """Return the names of the months, in their order: the longest that a language has for each."""
    months = LANGUAGES[lang].counting.calendar.months
    return tuple(max((name for name, at in months.items() if at == month), key=len) for month in range(1, 13))


_MONTHS: Final = {lang: _month_names(lang) for lang in LANGUAGES}
