"""Which known words a word of a question may stand for, and how surely.

Strategy: a question rarely has the very words of its answer. A word stands fully for itself and for what has its stem;
less surely for a word that shares most of its letters in runs of three (an inflection, a misspelling, a part of a
compound); and, with word vectors, for one that means nearly the same. Each is a number 0..1, and the best of them
counts. Words that an operator's file of synonyms puts together stand for each other almost fully.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Protocol

from .misspelt import neighbours, parts
from .vocabulary import Vocabulary, runs_of

DICE = 0.55
"""Least share of runs of three letters that two words have in common, of both together, to be alike ..."""
CONTAINED = 0.75
"""... or of those of the shorter one, which then may be a part of the other."""
PART_RUNS = 5  # runs of the shorter one, from which being a part tells anything
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


class Alike:
    """What is like the words of a vocabulary, by their numbers.

    Of two over one vocabulary, what the one adds to it the other knows too, which changes nothing for whoever has no
    text with it; what each learns and keeps is its own.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._meanings: WordMeanings | None = None
        self._synonyms: Mapping[str, Sequence[str]] = {}
        self._synonyms_by_stem: dict[str, list[str]] = {}
        self._kept: OrderedDict[str, Mapping[int, float]] = OrderedDict()
        self._told: dict[str, float] = {}

    def learn(self, synonyms: Mapping[str, Sequence[str]], meanings: WordMeanings | None) -> None:
        """Take over what else tells which words are alike, in place of what did."""
        self._synonyms, self._meanings = synonyms, meanings
        self._synonyms_by_stem = dict[str, list[str]]()
        for word, others in synonyms.items():
            for stem in self.vocabulary.stem(word):
                self._synonyms_by_stem.setdefault(stem, []).extend(others)
        self._kept = OrderedDict()
        self._told = {}

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
        for stem in self.vocabulary.stem(word):
            for number in self.vocabulary.by_stem.get(stem):
                found[number] = 1.0
        own = self.vocabulary.number(word)
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
            for stem in self.vocabulary.stem(synonym):
                yield from self.vocabulary.by_stem.get(stem)

    def _guess(self, word: str, found: dict[int, float]) -> None:
        """Add what a word that is not known may be misspelt from, else put together from."""
        meant = self.vocabulary.known(neighbours(word))
        if not meant:
            stems = {stem for part in parts(word) for stem in self.vocabulary.stem(part)}
            meant = [number for stem in stems for number in self.vocabulary.by_stem.get(stem)]
        for number in meant:
            found[number] = max(found.get(number, 0.0), GUESSED)

    def _synonyms_of(self, word: str) -> Sequence[str]:
        """Return what the operator says a word stands for, in whatever form it is said."""
        return self._synonyms.get(word) or next(
            (found for stem in self.vocabulary.stem(word) if (found := self._synonyms_by_stem.get(stem))), ()
        )

    def _spelled(self, word: str) -> dict[int, float]:
        """Return the words that share most of their runs of letters with a word."""
        runs, by_run = runs_of(word), self.vocabulary.by_run
        shared: Counter[int] = Counter()
        for run in runs:
            numbers = by_run.get(run)
            if len(numbers) <= _COMMON:
                shared.update(numbers)
        found: dict[int, float] = {}
        size, sizes = len(runs), self.vocabulary.runs
        # Most share one run or two; more than half of them, of the shorter one's, is what both measures ask for.
        near = [each for each in shared.items() if 2 * each[1] > size or 2 * each[1] > sizes[each[0]]]
        for number, count in near:
            other = sizes[number]
            least = min(size, other)
            dice = 2 * count / (size + other)
            part = count / least if least >= PART_RUNS else 0.0
            sure = dice * FORM_SURE if dice > DICE else 0.0
            if part > CONTAINED:
                sure = max(sure, part * PART_SURE)
            if sure:
                found[number] = sure
        return found
