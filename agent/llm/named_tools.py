"""Finds the offered tools that a user's words name, without a model; pure.

Strategy: words are compared by their stems in every language, since a tool may be described in another language than
its user writes. A word of a tool's name counts more than a word of its description, and `EMPTY_WORDS` count in neither.
A tool is named by all words of its name, by two words of its name and description, or by one word of its name that is
asked for as an action is (`agent.intents.keyword_requests`). A tool that needs approval changes something. It must be
named by all words of its name, or be asked for while the message holds the first word of its description, which is the
verb: "show me my order" cancels no order, and a question about a thing stays a question.

A tool is struck out when a word that named it is negated, by the rule of `agent.intents.keyword_negations`, and not
repeated without the negation. Text in quotation marks names nothing.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, TypeAlias

from ..intents.keyword_negations import is_negated
from ..intents.keyword_requests import is_requested
from ..intents.mood_words import ANY_LANGUAGE, NEW_START, find_mood_words
from ..intents.quotations import QUOTED
from ..lang import LANGUAGES, Lang
from ..lexical.stems import stem
from ..ports.tools import ToolDefinition
from ..text.words import FUNCTION_WORDS, fold, split_words

_OF_NAME = 3  # points of a word of a tool's name
_DESCRIBED = 2  # words of its description that count, one point each
_SHARE = 3  # one in so many words of a description must be said when no word of the name is
_READ = 600  # words of a message that are read
_OCCURRENCES = 64  # words of a message that are compared for one tool
_KEPT = 4096  # tools, and words, whose stems are cached
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_PARTS = re.compile(r"(?<=[^\W\d_])(?=\d)|[\W_]+")
_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CLAUSE_END = re.compile(
    r"[.!?;:\n](?=\s|\Z)|,\s|\b(?:" + "|".join(sorted(NEW_START)) + r")\b", re.IGNORECASE
)
EMPTY_WORDS = FUNCTION_WORDS.union(*(each.searching.empty_words for each in LANGUAGES.values()))
"""Folded words that carry no subject, in any language."""

Stems: TypeAlias = frozenset[tuple[Lang, str]]
"""A word, as the pairs of each language and the word's stem in it."""


@dataclass(frozen=True, slots=True)
class NamedTools:
    """The tools that a text names, best first.

    `tied`: the first two tools are named equally well. `requested`: names of the tools that are asked for, as an action
    is, or by a question that a tool without approval may answer. `allowed_text`: the text without the clauses that
    negate a tool; arguments may be read from it.
    """

    tools: tuple[ToolDefinition, ...]
    tied: bool
    requested: frozenset[str]
    allowed_text: str


class _MessageWord(NamedTuple):
    """A word of a message at `text[start:end]`."""

    start: int
    end: int
    word: str
    stems: Stems


class _MessageWords:
    """The words of a message with their properties, which are found once for all tools."""

    def __init__(self, text: str, lang: Lang) -> None:
        self.text = text
        self._past = find_mood_words(frozenset((lang,))).past
        self._negated_cache: dict[int, bool] = {}
        self._wanted_cache: dict[int, bool] = {}
        quoted = QUOTED.sub(lambda match: " " * len(match.group()), text)
        spans = ((*match.span(), fold(match.group())) for match in islice(_WORD.finditer(quoted), _READ))
        self.words = [_MessageWord(start, end, word, stems(word)) for start, end, word in spans]

    def find_hits(self, tool_stems: Stems) -> list[_MessageWord]:
        """Return the words of the message that share a stem with `tool_stems`."""
        return list(
            islice((each for each in self.words if not each.stems.isdisjoint(tool_stems)), _OCCURRENCES)
        )

    def is_negated(self, word: _MessageWord) -> bool:
        """Return whether the message negates `word`."""
        if word.start not in self._negated_cache:
            self._negated_cache[word.start] = is_negated(self.text, word.start, word.end, True)
        return self._negated_cache[word.start]

    def is_wanted(self, word: _MessageWord) -> bool:
        """Return whether `word` is asked for, as a thing or as an action."""
        if word.start not in self._wanted_cache:
            self._wanted_cache[word.start] = any(
                is_requested(self.text, word.start, word.end, is_thing) for is_thing in (True, False)
            )
        return self._wanted_cache[word.start]

    def is_reported(self, word: _MessageWord) -> bool:
        """Return whether `word` reports a past action: "I cancelled it", but not "I want it cancelled"."""
        return self._past(word.word) is not None and not self.is_wanted(word)


def find_named_tools(
    text: str, lang: Lang, tools: Sequence[ToolDefinition], called: Collection[ToolDefinition] = ()
) -> NamedTools:
    """Return the tools that a message names.

    `text`: composed. `lang`: of the message. `called`: tools that have been called for this message; another tool is
    named only by words that are not theirs.
    """
    message = _MessageWords(text, lang)
    called_stems = frozenset().union(*map(_tool_stems, called))
    allowed_text = text
    asks = "?" in text or bool(message.words and message.words[0].word in ANY_LANGUAGE.question_openers)
    requested: set[str] = set()
    ranked: list[tuple[tuple[int, float], ToolDefinition]] = []
    for tool in tools:
        hits = message.find_hits(_tool_stems(tool))
        denied = [each for each in hits if message.is_negated(each)]
        for each in denied:
            allowed_text = _blank_clause(allowed_text, each.start)
        affirmed = [each for each in hits if each not in denied and not message.is_reported(each)]
        rank = _rank_tool(message, tool, affirmed, denied, called_stems)
        if rank is not None:
            ranked.append((rank, tool))
            if any(map(message.is_wanted, affirmed)) or (asks and not tool.requires_approval):
                requested.add(tool.name)
    ranked.sort(key=lambda each: each[0], reverse=True)
    tied = len(ranked) > 1 and ranked[0][0] == ranked[1][0]
    return NamedTools(tuple(tool for _, tool in ranked), tied, frozenset(requested), allowed_text)


def name_words(name: str) -> list[str]:
    """Return the words of a tool's or parameter's name, which is cut at marks, capitals and digits."""
    return [word for part in _PARTS.split(_HUMP.sub(" ", name)) for word in split_words(part)]


@lru_cache(maxsize=_KEPT)
def stems(word: str) -> Stems:
    """Return the stem of a folded word in each language."""
    return frozenset((lang, stem(lang, word)) for lang in LANGUAGES)


def _content_words(text_words: Sequence[str]) -> list[str]:
    """Return the words of `text_words` that carry a subject; all of them when none does."""
    return [word for word in text_words if word not in EMPTY_WORDS] or list(text_words)


def _rank_tool(
    message: _MessageWords,
    tool: ToolDefinition,
    hits: list[_MessageWord],
    denied: list[_MessageWord],
    called_stems: Stems,
) -> tuple[int, float] | None:
    """Return the points of `tool` and the share of its name that is said; None when the message does not name it.

    `hits`: words of the tool that are meant. `denied`: words of the tool that are negated.
    """
    name, description, verb = _split_stems(tool.name, tool.description)
    hit_stems = frozenset().union(*(each.stems for each in hits))
    if any(each.stems.isdisjoint(hit_stems) for each in denied) or hit_stems <= called_stems:
        return None
    in_name = sum(not group.isdisjoint(hit_stems) for group in name)
    described = sum(not group.isdisjoint(hit_stems) for group in description)
    covered = in_name == len(name)
    asked_for = any(map(message.is_wanted, hits))
    if tool.requires_approval and not covered and (not asked_for or verb.isdisjoint(hit_stems)):
        return None
    by_name = in_name > 0 and (in_name + described > 1 or asked_for)
    by_description = described >= _DESCRIBED and described * _SHARE >= len(description)
    if not (covered or by_name or by_description):
        return None
    return _OF_NAME * in_name + min(described, _DESCRIBED), in_name / len(name)


def _tool_stems(tool: ToolDefinition) -> Stems:
    """Return the stems of every word of a tool's name and description."""
    name, description, _ = _split_stems(tool.name, tool.description)
    return frozenset().union(*name, *description)


@lru_cache(maxsize=_KEPT)
def _split_stems(name: str, description: str) -> tuple[tuple[Stems, ...], tuple[Stems, ...], Stems]:
    """Return the stems of a tool's name, those that only its description has, and the verb of its description."""
    of_name = tuple(dict.fromkeys(map(stems, _content_words(name_words(name)))))
    name_stems = frozenset().union(*of_name)
    description_stems = [stems(word) for word in split_words(description) if word not in EMPTY_WORDS]
    described = tuple(each for each in dict.fromkeys(description_stems) if each.isdisjoint(name_stems))
    return of_name, described, (*description_stems, *of_name)[0]


def _blank_clause(text: str, start: int) -> str:
    """Return `text` with spaces in place of its clause from the negated word at `start` on."""
    end = _CLAUSE_END.search(text, start)
    stop = end.start() if end is not None else len(text)
    return text[:start] + " " * (stop - start) + text[stop:]
