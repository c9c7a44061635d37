"""The words of an index in one language: stems, how common each is, and the nearest known word to a misspelt one.

Strategy: a query word that the index knows is looked up by its stem. One that it does not know is, in this order,
a known word misspelt by one letter (two for long words), a compound of known words ("standardpaketet"), or the
beginning of longer known words ("leverans" for "leveranstid"). Neighbours at distance one are generated and looked
up, which does not depend on the size of the vocabulary; distance two looks only at words of the same first
two letters.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import tantivy

from agent.ports.search import Lang

STEMMERS: dict[Lang, str] = {"en": "english", "sv": "swedish"}

_LETTERS = "abcdefghijklmnopqrstuvwxyzåäöé"
_SPELLED = 4  # letters; a shorter word is too near to too many others
_SPELLED_TWICE = 8  # letters from which two mistakes are taken for one word
_SPELLED_MAX = 24
_PART = 4  # letters of a part of a compound
_BEGINS = 5  # letters of a word that may begin longer ones
_VARIANTS = 6
_SCAN_MAX = 400  # words compared at distance two

MISSPELT = 0.85
COMPOUND = 0.75
BEGINNING = 0.7


@dataclass(frozen=True, slots=True)
class Variant:
    """A known stem that a query word may stand for; `weight` 0..1 is how surely, `word` a form of it."""

    stem: str
    weight: float
    word: str


class Vocabulary:
    """The words and stems of one language. Filled with `add`, then only read."""

    def __init__(self, lang: Lang) -> None:
        self.lang = lang
        self._analyze = (
            tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
            .filter(tantivy.Filter.stemmer(STEMMERS[lang]))
            .build()
            .analyze
        )
        self._stems: dict[str, str] = {}  # word -> stem, of the words added
        self._df: dict[str, int] = {}  # stem -> number of snippets
        self._by_start: dict[str, list[str]] = {}  # first two letters -> words, filled when first asked for
        self._documents = 0

    def add(self, words: Iterable[str]) -> list[str]:
        """Take in the folded words of one snippet and return their stems, in order."""
        stems = [self._stems.get(word) or self._learn(word) for word in words]
        for stem in set(stems):
            self._df[stem] = self._df.get(stem, 0) + 1
        self._documents += 1
        return stems

    def _learn(self, word: str) -> str:
        """Note a word that was not met before."""
        stem = self._stems[word] = self.stem(word)
        return stem

    def stem(self, word: str) -> str:
        """Return the stem of a folded word, known or not."""
        return self._stems.get(word) or (self._analyze(word.removesuffix("'s")) or [word])[0]

    def knows(self, word: str) -> bool:
        """Return whether the word, or another form of it, stands in the index."""
        return self.stem(word) in self._df

    def rarity(self, stem: str) -> float:
        """Return 0..1: how much a stem tells; 1 for one that stands in a single snippet or in none."""
        if self._documents < 2:
            return 1.0
        return max(0.0, 1 - math.log(max(1, self._df.get(stem, 0))) / math.log(self._documents + 1))

    def variants(self, word: str) -> tuple[Variant, ...]:
        """Return the known stems that a folded word may stand for, the surest first; none when there is none."""
        stem = self.stem(word)
        if stem in self._df:
            return (Variant(stem, 1.0, word),)
        if not self._df or any(mark.isdigit() for mark in word):
            return ()
        spelled = self._misspelt(word)
        found = [Variant(self._stems[near], MISSPELT, near) for near in spelled]
        found = found or self._compound(word) or self._longer(word)
        best: dict[str, Variant] = {}
        for variant in found:
            best.setdefault(variant.stem, variant)
        return tuple(best.values())[:_VARIANTS]

    def correct(self, word: str) -> str:
        """Return the known word that a misspelt one stands for, else the word itself."""
        if self.knows(word) or any(mark.isdigit() for mark in word):
            return word
        return next(iter(self._misspelt(word)), word)

    def _misspelt(self, word: str) -> list[str]:
        """Return known words at the smallest distance, the most common first."""
        if not _SPELLED <= len(word) <= _SPELLED_MAX:
            return []
        near = {edit for edit in _edits(word) if edit in self._stems and len(edit) >= _SPELLED - 1}
        if not near and len(word) >= _SPELLED_TWICE:
            near = {other for other in self._alike(word) if _distance_two(word, other)}
        return sorted(near, key=lambda other: (-self._df[self._stems[other]], other))[:3]

    def _alike(self, word: str) -> list[str]:
        """Return the known words with the same two first letters and about the same length."""
        start = self._starts().get(word[:2], [])
        return [
            other for other in start if abs(len(other) - len(word)) <= 2 and len(other) >= _SPELLED_TWICE - 1
        ][:_SCAN_MAX]

    def _compound(self, word: str) -> list[Variant]:
        """Return the known parts that a compound begins and ends with."""
        found = []
        for cut in range(len(word) - 1, _PART - 1, -1):
            head = word[:cut]
            if head in self._stems or (
                head.endswith("s") and cut > _PART and (head := head[:-1]) in self._stems
            ):
                found.append(Variant(self._stems[head], COMPOUND, head))
                break
        for cut in range(1, len(word) - _PART + 1):
            tail = word[cut:]
            if (stem := self.stem(tail)) in self._df:
                found.append(Variant(stem, COMPOUND, tail))
                break
        return found

    def _longer(self, word: str) -> list[Variant]:
        """Return known words that begin with the word or, inflected, with its stem."""
        stem = self.stem(word)
        if len(stem) < _BEGINS:
            return []
        longer = [other for other in self._starts().get(stem[:2], []) if other.startswith(stem)]
        longer.sort(key=lambda other: (len(other), other))
        return [Variant(self._stems[other], BEGINNING, other) for other in longer[:_VARIANTS]]

    def _starts(self) -> dict[str, list[str]]:
        """Return the known words by their first two letters."""
        if not self._by_start:
            for word in self._stems:
                if len(word) >= _SPELLED and not word[0].isdigit():
                    self._by_start.setdefault(word[:2], []).append(word)
        return self._by_start


def _edits(word: str) -> set[str]:
    """Return every string one insertion, deletion, replacement or swap of neighbours away (Damerau)."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    edits = {left + right[1:] for left, right in cuts if right}
    edits.update(left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1)
    edits.update(left + letter + right[1:] for left, right in cuts if right for letter in _LETTERS)
    edits.update(left + letter + right for left, right in cuts for letter in _LETTERS)
    edits.discard(word)
    return edits


def _distance_two(one: str, other: str) -> bool:
    """Return whether at most two insertions, deletions or replacements lie between two words."""
    if len(one) > len(other):
        one, other = other, one
    row = list(range(len(one) + 1))
    for at, letter in enumerate(other, 1):
        before, row[0] = row[0], at
        for index, mine in enumerate(one, 1):
            cost = min(row[index] + 1, row[index - 1] + 1, before + (mine != letter))
            before, row[index] = row[index], cost
        if min(row) > 2:
            return False
    return row[-1] <= 2
