"""Which of the tools that are offered a user's words name, without a model; pure.

Strategy: words are compared by their stems, in every language, since a tool may be described in another one than its
user writes. A word of a tool's name says more than one of its description, and words that say nothing of a subject
count in neither. A tool is named by all words of its name, by two words of it and its description, or by one word of
its name that is asked for as an action is (`agent.actions.wanted`). One that needs approval changes something, so it is
named by all words of its name, or where it is asked for and the first word of its description is said, which is what it
does: "show me my order" cancels no order, and a question about a thing stays a question.

What the user said not to do is not done: a tool is struck out when a word that it was named by is negated, by the rule
of `agent.actions.triggers`, and not said again without. What stands in quotation marks names nothing.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, TypeAlias

from ..actions.triggers import NEW_START, negated
from ..actions.wanted import wanted
from ..lang import LANGUAGES, Lang
from ..lexical.stems import stem
from ..ports.tools import ToolDefinition
from ..text.words import FUNCTION_WORDS, fold, words

_OF_NAME = 3  # what a word of a tool's name counts ...
_DESCRIBED = 2  # ... and how many of its description count, one each
_SHARE = 3  # of the words of a description one in so many must be said, where none of the name is
_READ = 600  # words of a message that are looked at
_OCCURRENCES = 64  # of the words of one tool that are looked at
_KEPT = 4096  # tools, and words, whose stems are kept
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_QUOTED = re.compile(r"[\"“”„«»][^\"“”„«»]+[\"“”„«»]")
_PARTS = re.compile(r"(?<=[^\W\d_])(?=\d)|[\W_]+")
_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CLAUSE_END = re.compile(
    r"[.!?;:\n](?=\s|\Z)|,\s|\b(?:" + "|".join(sorted(NEW_START)) + r")\b", re.IGNORECASE
)
EMPTY = FUNCTION_WORDS.union(*(each.searching.empty_words for each in LANGUAGES.values()))
"""Folded words that say nothing of a subject, in any language."""
_OPENING = frozenset().union(
    *(each.acting.mood.asking | each.acting.mood.inverting for each in LANGUAGES.values())
)
_PAST = {code: re.compile(each.acting.mood.past or "(?!)") for code, each in LANGUAGES.items()}

Stems: TypeAlias = frozenset[tuple[Lang, str]]
"""A word, by its stem in each language."""


@dataclass(frozen=True, slots=True)
class Named:
    """The tools that a text names, best first. tied: the first two are named alike.

    asked: the names of those that are asked for: as an action is, or by a question that one which needs no approval
    may answer. told: the text without what is said not to be done, from which arguments may be read.
    """

    tools: tuple[ToolDefinition, ...]
    tied: bool
    asked: frozenset[str]
    told: str


class _Said(NamedTuple):
    """A word of a message at text[start:end]."""

    start: int
    end: int
    word: str
    stems: Stems


class _Message:
    """The words of a message, and what is known of each; found out once for all tools."""

    def __init__(self, text: str, lang: Lang) -> None:
        self.text = text
        self._past = _PAST[lang].fullmatch
        self._negated: dict[int, bool] = {}
        self._wanted: dict[int, bool] = {}
        quoted = _QUOTED.sub(lambda match: " " * len(match.group()), text)
        found = ((*match.span(), fold(match.group())) for match in islice(_WORD.finditer(quoted), _READ))
        self.said = [_Said(start, end, word, stems(word)) for start, end, word in found]

    def hits(self, its: Stems) -> list[_Said]:
        """Return the words that are a tool's."""
        return list(islice((each for each in self.said if not each.stems.isdisjoint(its)), _OCCURRENCES))

    def negated(self, said: _Said) -> bool:
        """Return whether a word is said not to be wanted."""
        if said.start not in self._negated:
            self._negated[said.start] = negated(self.text, said.start, said.end, True)
        return self._negated[said.start]

    def wanted(self, said: _Said) -> bool:
        """Return whether a word is asked for, as a thing or as what is to be done."""
        if said.start not in self._wanted:
            self._wanted[said.start] = any(
                wanted(self.text, said.start, said.end, is_thing) for is_thing in (True, False)
            )
        return self._wanted[said.start]

    def reported(self, said: _Said) -> bool:
        """Return whether a word tells what was done: "I cancelled it", but not "I want it cancelled"."""
        return self._past(said.word) is not None and not self.wanted(said)


def named(
    text: str, lang: Lang, tools: Sequence[ToolDefinition], called: Collection[ToolDefinition] = ()
) -> Named:
    """Return which tools a message names.

    text: composed. lang: the message's. called: tools that have been called for it; another is named only with words
    that are not theirs.
    """
    message = _Message(text, lang)
    spent = frozenset().union(*map(_all, called))
    told = text
    asks = "?" in text or bool(message.said and message.said[0].word in _OPENING)
    asked: set[str] = set()
    ranked: list[tuple[tuple[int, float], ToolDefinition]] = []
    for tool in tools:
        hits = message.hits(_all(tool))
        denied = [each for each in hits if message.negated(each)]
        for each in denied:
            told = _without(told, each.start)
        meant = [each for each in hits if each not in denied and not message.reported(each)]
        rank = _rank(message, tool, meant, denied, spent)
        if rank is not None:
            ranked.append((rank, tool))
            if any(map(message.wanted, meant)) or (asks and not tool.requires_approval):
                asked.add(tool.name)
    ranked.sort(key=lambda each: each[0], reverse=True)
    tied = len(ranked) > 1 and ranked[0][0] == ranked[1][0]
    return Named(tuple(tool for _, tool in ranked), tied, frozenset(asked), told)


def name_words(name: str) -> list[str]:
    """Return the words that a tool's or a parameter's name is made of: cut at marks, capitals and digits."""
    return [word for part in _PARTS.split(_HUMP.sub(" ", name)) for word in words(part)]


@lru_cache(maxsize=_KEPT)
def stems(word: str) -> Stems:
    """Return a folded word by its stem in each language."""
    return frozenset((lang, stem(lang, word)) for lang in LANGUAGES)


def _content(text_words: Sequence[str]) -> list[str]:
    """Return the words that say something of a subject; all of them where none does."""
    return [word for word in text_words if word not in EMPTY] or list(text_words)


def _rank(
    message: _Message, tool: ToolDefinition, hits: list[_Said], denied: list[_Said], spent: Stems
) -> tuple[int, float] | None:
    """Return how well a tool is named: points, and the share of its name; None where it is not.

    hits: the words of it that are meant. denied: those that are negated.
    """
    name, description, deed = _words_of(tool.name, tool.description)
    meant = frozenset().union(*(each.stems for each in hits))
    if any(each.stems.isdisjoint(meant) for each in denied) or meant <= spent:
        return None
    in_name = sum(not group.isdisjoint(meant) for group in name)
    described = sum(not group.isdisjoint(meant) for group in description)
    covered = in_name == len(name)
    asked_for = any(map(message.wanted, hits))
    if tool.requires_approval and not covered and (not asked_for or deed.isdisjoint(meant)):
        return None
    by_name = in_name > 0 and (in_name + described > 1 or asked_for)
    by_description = described >= _DESCRIBED and described * _SHARE >= len(description)
    if not (covered or by_name or by_description):
        return None
    return _OF_NAME * in_name + min(described, _DESCRIBED), in_name / len(name)


def _all(tool: ToolDefinition) -> Stems:
    """Return every word of a tool."""
    name, description, _ = _words_of(tool.name, tool.description)
    return frozenset().union(*name, *description)


@lru_cache(maxsize=_KEPT)
def _words_of(name: str, description: str) -> tuple[tuple[Stems, ...], tuple[Stems, ...], Stems]:
    """Return the words of a tool's name, those that only its description has, and what it does."""
    of_name = tuple(dict.fromkeys(map(stems, _content(name_words(name)))))
    known = frozenset().union(*of_name)
    others = [stems(word) for word in words(description) if word not in EMPTY]
    described = tuple(each for each in dict.fromkeys(others) if each.isdisjoint(known))
    return of_name, described, (*others, *of_name)[0]


def _without(text: str, start: int) -> str:
    """Return a text with spaces in place of its clause from a negated word on."""
    end = _CLAUSE_END.search(text, start)
    stop = end.start() if end is not None else len(text)
    return text[:start] + " " * (stop - start) + text[stop:]
