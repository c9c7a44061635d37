"""A text that arguments may come from, read once: its numbers, its identifiers, its words, and the dates it means.

Strategy: everything is made of the text when it is first asked for and kept with it, so that ten arguments cost ten
look-ups. Texts that come again from turn to turn (messages, memory, snippets) are kept here, bounded; what is longer
is kept by whoever holds its `Text`. An identifier is looked for among the text's runs of characters between what
separates them, never as a part of one: "W12" does not stand in "W123", nor "bob@x.se" in "evil.bob@x.se".
"""

import re
from datetime import date
from functools import cached_property, lru_cache
from typing import Final

from agent.lang import LANGUAGES
from agent.lexical.stems import stem
from agent.numbers import days
from agent.numbers.given import Given, given
from agent.numbers.read import Token, tokens
from agent.text.words import FUNCTION_WORDS, fold, words

KEPT: Final = 4096
"""Texts that are kept here."""
SHORT: Final = 2048
"""Characters of a text that may be kept here; what is made of it takes some ten times as much."""

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
"""What may surround an identifier and is no part of it."""
_UNSPACED: Final = re.compile(
    r"[\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af]"
)


def plain(text: str) -> str:
    """Return a text as its numbers are read here.

    The date and the time of an ISO 8601 instant stand apart, and so do the items of a list without spaces ("2,3,4",
    "59.3,18.1"), which a sentence of prose hardly has and a message to a tool often does.
    """
    if "-" in text:
        text = _INSTANT.sub(r"\1 \2", text)
    if "," in text:
        text = _PAIR.sub(r"\1, \2", _LIST.sub(lambda match: match.group().replace(",", ", "), text))
    return text


class Text:
    """A text and what is read in it, when it is asked for. `raw` is as it was given."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self._said: tuple[date, frozenset[date]] | None = None

    @cached_property
    def _plain(self) -> str:
        return plain(self.raw)

    @cached_property
    def _tokens(self) -> tuple[Token, ...]:
        return tokens(self._plain, source=True)

    @cached_property
    def given(self) -> Given:
        """What its numbers give together."""
        return given(self._tokens)

    @cached_property
    def folded(self) -> str:
        """It in small letters, composed."""
        return fold(self.raw)

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """Its runs of characters that an identifier may be, folded, without what surrounds them."""
        return frozenset(run.strip(AROUND) for pattern in _RUNS for run in pattern.findall(self.folded))

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words, folded."""
        return frozenset(words(self.raw))

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of its content words."""
        return frozenset().union(*map(stems_of, self.words))

    @cached_property
    def capitals(self) -> frozenset[str]:
        """Its words in capitals, folded: they may be the initials of what is written out elsewhere."""
        return frozenset(word.casefold() for word in _CAPITALS.findall(self.raw))

    @cached_property
    def dates(self) -> frozenset[date]:
        """The dates that it names with their year, and the ends of the months that it names so."""
        return days.whole(self._plain, self._tokens) | days.months(self._tokens)

    def read(self) -> bool:
        """Read all that may be looked for in it; return whether something was still to be read."""
        if "_meanings" in self.__dict__:
            return False
        _ = self.given, self.identifiers, self.stems, self.capitals, self.dates, self._meanings
        return True

    def says(self, legend: "tuple[frozenset[str], ...]") -> bool:
        """Tell whether it says what a code stands for, each word of that."""
        return bool(legend) and all(self.stems & each for each in legend)

    @cached_property
    def _meanings(self) -> tuple[days.Meaning, ...]:
        return days.meanings(self.folded, self._plain, self._tokens)

    def meant(self, today: date) -> frozenset[date]:
        """Return the dates that its words mean when they are said today."""
        if self._said is None or self._said[0] != today:
            self._said = (today, days.all_days(self._meanings, today))
        return self._said[1]

    def shares(self, value: str) -> bool:
        """Tell whether it shares a content word with a value, or holds its initials; of one that has none, any word."""
        folded = words(value)
        content = [word for word in folded if word not in FUNCTION_WORDS]
        if any(not self.stems.isdisjoint(stems_of(word)) for word in content):
            return True
        if len(content) > 1 and "".join([word[0] for word in content]) in self.capitals:
            return True
        if not content and not self.words.isdisjoint(folded):
            return True
        return any(_UNSPACED.search(word) is not None and word in self.folded for word in folded)


@lru_cache(maxsize=1024)
def legend_of(code: str, description: str) -> tuple[frozenset[str], ...]:
    """Return the stems of each content word that a description explains a code with; () when it does not.

    "such as 1 for Oslo, 2 for Bergen" explains 1 with "Oslo": what stands behind it in its clause, where no other
    number is.
    """
    for clause in _CLAUSE.split(description) if code in description else ():
        before, found, behind = clause.partition(code)
        if (
            not found
            or before[-1:].isalnum()
            or behind[:1].isalnum()
            or any(map(str.isdecimal, before + behind))
        ):
            continue
        meant = tuple(stems for stems in map(stems_of, words(behind)) if stems)
        if meant:
            return meant
    return ()


@lru_cache(maxsize=20_000)
def stems_of(word: str) -> frozenset[str]:
    """Return the stems of a folded content word, in every language; none for a word that carries grammar only."""
    if word in FUNCTION_WORDS:
        return frozenset()
    return frozenset(stem(lang, word) for lang in LANGUAGES)


def text_of(raw: str | Text) -> Text:
    """Return a text to look things up in, kept when it is short; one that is such already as it is."""
    if isinstance(raw, Text):
        return raw
    return _kept(raw) if len(raw) <= SHORT else Text(raw)


_kept = lru_cache(maxsize=KEPT)(Text)
