"""Which words of the knowledge base a word of a question may stand for, and how surely.

Strategy: a question rarely has the very words of its answer. A word stands fully for itself and for what has its stem;
less surely for a word that shares most of its letters in runs of three (an inflection, a misspelling, a part of a
compound); and, with word vectors, for one that means nearly the same. Each is a number 0..1, and the best of them
counts. Words that an operator's file of synonyms puts together stand for each other almost fully.
"""

from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Protocol

import msgspec

from .misspelt import neighbours, parts
from .postings import PackedPostings, Postings

GRAM = 3
DICE = 0.55
"""Least share of runs of three letters that two words have in common, of both together, to be alike ..."""
CONTAINED = 0.75
"""... or of those of the shorter one, which then may be a part of the other."""
PART_GRAMS = 5  # runs of the shorter one, from which being a part tells anything
PART_SURE, FORM_SURE, SYNONYM = 0.8, 0.95, 0.9
MEANING = 0.4
"""Least cosine of two word vectors that counts."""
MEANING_SURE = 0.9
SURE = 0.85
"""How surely a word must be stood for, so that nothing else is guessed, and ..."""
GUESSED = 0.8
"""... how surely what is guessed stands for it."""
_KEPT = 4096  # words whose likenesses are kept, and of which it is known how much they tell
_COMMON = 4000  # words that a run of letters may stand in and still be looked up


class WordMeanings(Protocol):
    """Tells how near the meanings of words are, and how much each tells."""

    def near(self, word: str, least: float) -> Sequence[tuple[int, float]]:
        """Return the numbers of the known words whose cosine with `word` is at least `least`, with it."""
        ...

    def telling(self, word: str) -> float:
        """Return how much a word tells in any text, 0..1."""
        ...


class PackedWords(msgspec.Struct, frozen=True, array_like=True):
    """What `Alike` knows of words. grams: how many runs of letters each has, as bytes."""

    words: list[str]
    stems: PackedPostings
    runs: PackedPostings
    grams: bytes


class Alike:
    """The words of one snapshot, by number, and what is like them. Filled with `add`, then only read.

    stem: returns the stem of a folded word in one of the languages. packed: what another one knew; raises ValueError.
    """

    def __init__(self, stem: Callable[[str], Sequence[str]], packed: PackedWords | None = None) -> None:
        self.words: list[str] = []
        self._meanings: WordMeanings | None = None
        self._synonyms: Mapping[str, Sequence[str]] = {}
        self._synonyms_by_stem: dict[str, list[str]] = {}
        self._numbers: dict[str, int] = {}
        self._stem = stem
        self._by_stem = Postings()
        self._by_gram = Postings()
        self._grams = array("H")  # how many each word has
        self._kept: OrderedDict[str, Mapping[int, float]] = OrderedDict()
        self._told: dict[str, float] = {}
        if packed is not None:
            self.words = packed.words
            self._numbers = dict(zip(self.words, range(len(self.words)), strict=True))
            self._by_stem, self._by_gram = Postings(packed.stems), Postings(packed.runs)
            self._grams.frombytes(packed.grams)
            if len(self._numbers) != len(self._grams):
                raise ValueError("what is known of words does not fit them")

    def settle(self) -> None:
        """Hold what is known as it takes the least, when most words have been added."""
        self._by_stem.settle()
        self._by_gram.settle()

    def packed(self) -> PackedWords:
        """Return what is known of words, but for `learn`, as it can be kept."""
        stems, runs = self._by_stem.packed(), self._by_gram.packed()
        return PackedWords(list(self.words), stems, runs, self._grams.tobytes())

    def copy(self) -> "Alike":
        """Return another one that shares every word, known now or later, and keeps no likeness.

        What the other learns this one knows too, which changes nothing for whoever has no statement with it.
        """
        other = Alike(self._stem)
        other.words, other._numbers = self.words, self._numbers
        other._by_stem, other._by_gram, other._grams = self._by_stem, self._by_gram, self._grams
        return other

    def learn(self, synonyms: Mapping[str, Sequence[str]], meanings: WordMeanings | None) -> None:
        """Take over what else tells which words are alike, in place of what did."""
        self._synonyms, self._meanings = synonyms, meanings
        self._synonyms_by_stem = dict[str, list[str]]()
        for word, others in synonyms.items():
            for stem in self._stem(word):
                self._synonyms_by_stem.setdefault(stem, []).extend(others)
        self._kept = OrderedDict()
        self._told = {}

    def add(self, word: str) -> int:
        """Return the number of a folded word, which is made known if it is not."""
        number = self._numbers.get(word)
        if number is None:
            number = self._numbers[word] = len(self.words)
            self.words.append(word)
            self._by_stem.add(self._stem(word), number)
            grams = _grams(word)
            self._grams.append(len(grams))
            self._by_gram.add(grams, number)
        return number

    def numbers(self, words: Sequence[str]) -> list[int]:
        """Return the numbers of folded words, which are made known if they are not."""
        found = list(map(self._numbers.get, words))
        return [self.add(words[at]) if number is None else number for at, number in enumerate(found)]

    def number(self, word: str) -> int | None:
        """Return the number of a known word, or None."""
        return self._numbers.get(word)

    def like(self, word: str) -> Mapping[int, float]:
        """Return the known words that a folded word may stand for, by number, with how surely; the surest first."""
        kept = self._kept.get(word)
        if kept is not None:
            self._kept.move_to_end(word)
            return kept
        found = self._spelled(word)
        if self._meanings is not None:
            for number, cosine in self._meanings.near(word, MEANING):
                found[number] = max(found.get(number, 0.0), cosine * MEANING_SURE)
        for number in self.explained(word):
            found[number] = max(found.get(number, 0.0), SYNONYM)
        for stem in self._stem(word):
            for number in self._by_stem.get(stem):
                found[number] = 1.0
        own = self._numbers.get(word)
        if own is not None:
            found[own] = 1.0
        if max(found.values(), default=0.0) < SURE:
            self._guess(word, found)
        found = self._kept[word] = dict(sorted(found.items(), key=itemgetter(1), reverse=True))
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found

    def telling(self, word: str) -> float | None:
        """Return how much a folded word tells in any text, 0..1; None where nothing is known of words in general."""
        if self._meanings is None:
            return None
        told = self._told.get(word)
        if told is None:
            if len(self._told) >= _KEPT:
                self._told = {}
            told = self._told[word] = self._meanings.telling(word)
        return told

    def explained(self, word: str) -> Iterator[int]:
        """Give the known words that a folded word stands for as the operator says, by number."""
        for synonym in self._synonyms_of(word):
            for stem in self._stem(synonym):
                yield from self._by_stem.get(stem)

    def _guess(self, word: str, found: dict[int, float]) -> None:
        """Add what a word that is not known may be misspelt from, else put together from."""
        meant = [number for each in neighbours(word) if (number := self._numbers.get(each)) is not None]
        if not meant:
            stems = {stem for part in parts(word) for stem in self._stem(part)}
            meant = [number for stem in stems for number in self._by_stem.get(stem)]
        for number in meant:
            found[number] = max(found.get(number, 0.0), GUESSED)

    def _synonyms_of(self, word: str) -> Sequence[str]:
        """Return what the operator says a word stands for, in whatever form it is said."""
        return self._synonyms.get(word) or next(
            (found for stem in self._stem(word) if (found := self._synonyms_by_stem.get(stem))), ()
        )

    def _spelled(self, word: str) -> dict[int, float]:
        """Return the words that share most of their runs of letters with a word."""
        grams = _grams(word)
        shared: Counter[int] = Counter()
        for gram in grams:
            numbers = self._by_gram.get(gram)
            if len(numbers) <= _COMMON:
                shared.update(numbers)
        found: dict[int, float] = {}
        size, sizes = len(grams), self._grams
        # Most share one run or two; more than half of them, of the shorter one's, is what both measures ask for.
        near = [each for each in shared.items() if 2 * each[1] > size or 2 * each[1] > sizes[each[0]]]
        for number, count in near:
            other = sizes[number]
            least = min(size, other)
            dice = 2 * count / (size + other)
            part = count / least if least >= PART_GRAMS else 0.0
            sure = dice * FORM_SURE if dice > DICE else 0.0
            if part > CONTAINED:
                sure = max(sure, part * PART_SURE)
            if sure:
                found[number] = sure
        return found


def _grams(word: str) -> set[str]:
    padded = f" {word} "
    return {padded[at : at + GRAM] for at in range(len(padded) - GRAM + 1)}
