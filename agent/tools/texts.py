"""Reads a text that arguments may come from: its numbers, identifiers and words, and the dates that its words mean.

Strategy: every reading is made when it is first needed and cached with the text, so that ten arguments cost ten
look-ups. Short texts that recur from turn to turn (messages, memory, snippets) are cached here, bounded; the owner of a
longer text keeps its `SourceText`. An identifier must equal a whole run of characters between separators: "W12" does
not stand in "W123", nor "bob@x.se" in "evil.bob@x.se".
"""

import re
from datetime import date
from functools import cached_property, lru_cache
from typing import Final

from agent.lang import LANGUAGES
from agent.lexical.stems import stem
from agent.numbers import days
from agent.numbers.number_tokens import NumberToken, tokens
from agent.numbers.source_numbers import SourceNumbers, collect_keys
from agent.text.words import FUNCTION_WORDS, fold, split_words

KEPT: Final = 4096
"""Texts that are cached here."""
SHORT: Final = 2048
"""Characters of a text that may be cached here; its readings take some ten times as much."""

_INSTANT: Final = re.compile(
    r"(?<!\d)(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?(?![\w:])"
)
_LIST: Final = re.compile(r"(?<![\w.,-])-?\d{1,2}(?:,-?\d{1,2}){2,}(?![\w,]|\.\d)")
_PAIR: Final = re.compile(r"(?<![\w.,-])(-?\d{1,3}\.\d+),(-?\d{1,3}\.\d+)(?![\w,]|\.\d)")
_CLAUSE: Final = re.compile(r"[,;()\n]|\.\s")
_CAPITALS: Final = re.compile(r"\b[^\W\d_a-z]{2,8}\b")
_RUNS: Final = (
    re.compile(r"\S+"),
    re.compile(r"[^\s\"'<>()\[\]{}|,;`]+"),
    re.compile(r"[\w.@+-]+"),
)
AROUND: Final = " \t\r\n\"'`‘’“”()[]{}<>|,.;:!?#*_-"
"""Characters that may surround an identifier and are no part of it."""
_UNSPACED: Final = re.compile(
    r"[\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af]"
)


def space_numbers(text: str) -> str:
    """Return a text with spaces between numbers that would read as one.

    The date and the time of an ISO 8601 instant are separated, and so are the items of a list without spaces ("2,3,4",
    "59.3,18.1"), which is rare in prose and common in messages to a tool.
    """
    if "-" in text:
        text = _INSTANT.sub(r"\1 \2", text)
    if "," in text:
        text = _PAIR.sub(r"\1, \2", _LIST.sub(lambda match: match.group().replace(",", ", "), text))
    return text


class SourceText:
    """A text with its readings, each made when it is first needed. `raw`: the text as it was given."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self._dates_on: tuple[date, frozenset[date]] | None = None

    @cached_property
    def _plain(self) -> str:
        return space_numbers(self.raw)

    @cached_property
    def _tokens(self) -> tuple[NumberToken, ...]:
        return tokens(self._plain, source=True)

    @cached_property
    def number_keys(self) -> SourceNumbers:
        """The values that the numbers of the text support together."""
        return collect_keys(self._tokens)

    @cached_property
    def folded_text(self) -> str:
        """The text composed and in small letters."""
        return fold(self.raw)

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """The runs of characters that may be identifiers, folded, without the characters `AROUND` them."""
        return frozenset(run.strip(AROUND) for pattern in _RUNS for run in pattern.findall(self.folded_text))

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the text, folded."""
        return frozenset(split_words(self.raw))

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of the content words of the text."""
        return frozenset().union(*map(stems_of, self.words))

    @cached_property
    def capitals(self) -> frozenset[str]:
        """The words in capitals, folded: they may be the initials of words that are written out elsewhere."""
        return frozenset(word.casefold() for word in _CAPITALS.findall(self.raw))

    @cached_property
    def dates(self) -> frozenset[date]:
        """The dates that are named with their year, and the ends of the months that are named with their year."""
        return days.find_dates(self._plain, self._tokens) | days.find_months(self._tokens)

    def read_all(self) -> bool:
        """Make all readings; return whether one was still to be made."""
        if "_meanings" in self.__dict__:
            return False
        _ = self.number_keys, self.identifiers, self.stems, self.capitals, self.dates, self._meanings
        return True

    def explains(self, legend: "tuple[frozenset[str], ...]") -> bool:
        """Return whether the text holds every word of a `legend`, the explanation of a code."""
        return bool(legend) and all(self.stems & each for each in legend)

    @cached_property
    def _meanings(self) -> tuple[days.Meaning, ...]:
        return days.find_meanings(self.folded_text, self._plain, self._tokens)

    def dates_meant(self, today: date) -> frozenset[date]:
        """Return the dates that the words of the text mean when they are written `today`."""
        if self._dates_on is None or self._dates_on[0] != today:
            self._dates_on = (today, days.all_days(self._meanings, today))
        return self._dates_on[1]

    def shares_word(self, value: str) -> bool:
        """Return whether the text shares a content word with `value`, or holds the initials of `value`.

        A `value` without content words must share any word.
        """
        value_words = split_words(value)
        content = [word for word in value_words if word not in FUNCTION_WORDS]
        if any(not self.stems.isdisjoint(stems_of(word)) for word in content):
            return True
        if len(content) > 1 and "".join([word[0] for word in content]) in self.capitals:
            return True
        if not content and not self.words.isdisjoint(value_words):
            return True
        return any(_UNSPACED.search(word) is not None and word in self.folded_text for word in value_words)


@lru_cache(maxsize=1024)
def legend_of(code: str, description: str) -> tuple[frozenset[str], ...]:
    """Return the stems of each content word that explains a code in a description; () when the code is not explained.

    "such as 1 for Oslo, 2 for Bergen" explains 1 by "Oslo": the words behind the code in its clause, when the clause
    holds no other number.
    """
    for clause in _CLAUSE.split(description) if code in description else ():
        before, separator, behind = clause.partition(code)
        if (
            not separator
            or before[-1:].isalnum()
            or behind[:1].isalnum()
            or any(map(str.isdecimal, before + behind))
        ):
            continue
        explanation = tuple(stems for stems in map(stems_of, split_words(behind)) if stems)
        if explanation:
            return explanation
    return ()


@lru_cache(maxsize=20_000)
def stems_of(word: str) -> frozenset[str]:
    """Return the stems of a folded content word, in every language; none for a word of `FUNCTION_WORDS`."""
    if word in FUNCTION_WORDS:
        return frozenset()
    return frozenset(stem(lang, word) for lang in LANGUAGES)


def make_text(raw: str | SourceText) -> SourceText:
    """Return the `SourceText` of a text, cached when the text is short; a `SourceText` is returned as it is."""
    if isinstance(raw, SourceText):
        return raw
    return _cached_text(raw) if len(raw) <= SHORT else SourceText(raw)


_cached_text = lru_cache(maxsize=KEPT)(SourceText)
