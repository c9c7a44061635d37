"""Turns a question into a search query of at most twelve words.

Strategy: keep the words that carry the subject, in their order; put the known word in place of a misspelt one; then
fill what room is left with synonyms, from small files that an operator can edit (`stop_*.txt`, `synonyms_*.txt`
beside this module). The result is plain words, so nothing in it can be an operator. The search reads the same groups
of synonyms: words of one group count as one thing asked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agent.config import QUERY_WORDS
from agent.ports.search import Lang
from agent.text.words import fold, words

from .index import is_function_word
from .vocabulary import Vocabulary

_HERE = Path(__file__).parent
_ADDED = 2  # synonyms for one word
_NEVER_CORRECTED = 3  # letters; a shorter word is left as it is


@dataclass(frozen=True, slots=True)
class Synonyms:
    """Groups of words that ask for the same thing.

    groups: the members of each group, phrases left out. of: word -> group. phrases: words of a phrase -> group.
    """

    groups: tuple[tuple[str, ...], ...]
    of: dict[str, int]
    phrases: dict[tuple[str, ...], int]


def rewrite(question: str, lang: Lang, vocabulary: Vocabulary | None = None) -> str:
    """Return the query for a question: at most `config.QUERY_WORDS` folded words, separated by spaces.

    vocabulary: the words of the index in this language; with it misspelt words are corrected, and only synonyms
    that the index knows are added. A question without a subject ("what is it?") gives "".
    """
    table = synonyms(lang)
    said = words(question)
    kept = list(dict.fromkeys(_correct(word, table, vocabulary) for word in subject_words(said, lang)))
    kept = kept[:QUERY_WORDS]
    groups = dict.fromkeys(table.of[word] for word in kept if word in table.of)
    groups.update(dict.fromkeys(_phrases(said, table)))
    for group in groups:
        known = [word for word in table.groups[group] if vocabulary is None or vocabulary.knows(word)]
        for word in [word for word in known if word not in kept][:_ADDED]:
            if len(kept) < QUERY_WORDS:
                kept.append(word)
    return " ".join(kept)


def subject_words(said: list[str], lang: Lang) -> list[str]:
    """Return the folded words that carry a subject: neither function words nor listed as empty in this language."""
    empty = stop_words(lang)
    return [word for word in said if not is_function_word(word) and word not in empty]


@cache
def stop_words(lang: Lang) -> frozenset[str]:
    """Return the words of a language that say nothing about what a question is about."""
    return frozenset(word for line in _lines(f"stop_{lang}.txt") for word in line)


@cache
def synonyms(lang: Lang) -> Synonyms:
    """Return the groups of synonyms of a language; a word in two groups belongs to the first."""
    groups: list[tuple[str, ...]] = []
    of: dict[str, int] = {}
    phrases: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(_lines(f"synonyms_{lang}.txt")):
        members = [word for entry in line if "_" not in entry for word in words(entry)]
        groups.append(tuple(members))
        for word in members:
            of.setdefault(word, number)
        for entry in line:
            if "_" in entry:
                phrases.setdefault(tuple(entry.split("_")), number)
    return Synonyms(tuple(groups), of, phrases)


def _lines(name: str) -> Iterator[list[str]]:
    """Yield the folded entries of each line of a table, comments left out."""
    for line in (_HERE / name).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield fold(line).split()


def _phrases(said: list[str], table: Synonyms) -> Iterator[int]:
    """Yield the groups whose phrases stand in the question."""
    for phrase, group in table.phrases.items():
        if any(tuple(said[at : at + len(phrase)]) == phrase for at in range(len(said) - len(phrase) + 1)):
            yield group


def _correct(word: str, table: Synonyms, vocabulary: Vocabulary | None) -> str:
    """Return the known word that a misspelt one stands for, from the index or from the table of synonyms."""
    if vocabulary is None or word in table.of or len(word) <= _NEVER_CORRECTED:
        return word
    return vocabulary.correct(word)
