"""The word lists of retrieval, one set of small text files per language beside this module.

Strategy: an operator can edit them without touching code. `stop_*.txt`: words that say nothing about what a question
is about. `generic_*.txt`: words that go with any subject. `synonyms_*.txt`: one group of words per line that ask for
the same thing. `known_*.txt`: ordinary words that are never taken for a misspelling. Lines that begin with # are
comments. A file is read once, when first needed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agent.ports.search import Lang
from agent.text.words import FUNCTION_WORDS, fold, words

from .vocabulary import Vocabulary

_TELLING = 4  # letters; shorter stems are shared by words that have nothing to do with each other
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Synonyms:
    """Groups of words that ask for the same thing.

    groups: the members of each group, phrases left out. of: word, or a stem that is long enough to tell -> group.
    phrases: the words of a phrase -> group.
    """

    groups: tuple[tuple[str, ...], ...]
    of: dict[str, int]
    phrases: dict[tuple[str, ...], int]
    stem: Callable[[str], str]

    def group(self, word: str) -> int | None:
        """Return the number of the group of a folded word, in whatever form, or None."""
        return self.of.get(word, self.of.get(self.stem(word)))


def is_function_word(word: str) -> bool:
    """Return whether a folded word carries grammar only, in either language."""
    return word in FUNCTION_WORDS["en"] or word in FUNCTION_WORDS["sv"]


@cache
def stop_words(lang: Lang) -> frozenset[str]:
    """Return the words of a language that say nothing about what a question is about."""
    return frozenset(word for line in _lines(f"stop_{lang}.txt") for word in line)


@cache
def known_words(lang: Lang) -> frozenset[str]:
    """Return ordinary words of a language, which are no misspelling of another."""
    return frozenset(word for line in _lines(f"known_{lang}.txt") for word in line)


@cache
def generic_words(lang: Lang) -> frozenset[str]:
    """Return words of a language that go with any subject."""
    return frozenset(word for line in _lines(f"generic_{lang}.txt") for word in line)


@cache
def synonyms(lang: Lang) -> Synonyms:
    """Return the groups of synonyms of a language; a word in two groups belongs to the first."""
    stem = Vocabulary(lang).stem
    groups: list[tuple[str, ...]] = []
    of: dict[str, int] = {}
    phrases: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(_lines(f"synonyms_{lang}.txt")):
        entries = [tuple(words(entry.replace("_", " "))) for entry in line]
        members = tuple(entry[0] for entry in entries if len(entry) == 1)
        groups.append(members)
        for word in members:
            of.setdefault(word, number)
        for form in map(stem, members):
            if len(form) >= _TELLING:
                of.setdefault(form, number)
        for entry in entries:
            if len(entry) > 1:
                phrases.setdefault(entry, number)
    return Synonyms(tuple(groups), of, phrases, stem)


def _lines(name: str) -> Iterator[list[str]]:
    """Yield the folded entries of each line of a table, comments left out."""
    for line in (_HERE / name).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield fold(line).split()
