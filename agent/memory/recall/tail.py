"""Searches the rows that the index does not hold yet, word by word, so that a new turn can be recalled at once.

Strategy: the tail is short (`index.BATCH` rows and those that come while one batch is written), so a pass over it costs
some hundredths of a millisecond. Its documents are cut like the index's and scored by the same formula (BM25) with the
index's counts, so that the scores of both can be compared.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from agent.lexical.queries import Term, grams_of

from .documents import part_terms, window_terms
from .rows import RecallRows

WORDS: Final = "words"
GRAMS: Final = "grams"
K1, B = 1.2, 0.75
"""BM25's, as tantivy has them."""

Terms = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Bag:
    """The terms of a document with their counts. `size`: the sum of the counts."""

    counts: Mapping[str, int]
    size: int


def document_terms(rows: RecallRows, row: int) -> list[list[str]]:
    """Return the terms of a row's documents: of its window, then of its parts."""
    stem, about = rows.stems.__getitem__, rows.context_terms(row)
    own = [*map(stem, rows.words(row))]
    before, after = (map(stem, side) for side in rows.neighbour_words(row))
    return [window_terms(own, before, after, about), *part_terms(own, rows.parts(row), about)]


class Tail:
    """The rows that wait for the index."""

    def __init__(self, rows: RecallRows) -> None:
        self._rows = rows
        self._windows: dict[int, list[_Bag] | None] = {}  # window and parts; None until they are read
        self._grams: dict[int, _Bag] = {}  # of rows already read

    def __iter__(self) -> Iterator[int]:
        """Iterate over the rows."""
        return iter(self._windows)

    def __contains__(self, row: int) -> bool:
        """Tell whether `row` is searched here."""
        return row in self._windows

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._windows)

    def add(self, row: int) -> None:
        """Add a row, or read it again after its neighbours changed; its own words never change."""
        self._windows[row] = None

    def remove(self, row: int) -> None:
        """Remove a row."""
        self._windows.pop(row, None)
        self._grams.pop(row, None)

    def score_rows(
        self,
        words: Terms,
        grams: Collection[str],
        is_visible: Callable[[int], bool],
        frequency: Callable[[Term], int],
        documents: int,
        lengths: tuple[float, float],
    ) -> tuple[dict[int, float], dict[int, float], dict[int, float]]:
        """Return scores by row: of windows, of the best part of long messages, of 4-grams.

        `is_visible`: whether a row may be found. `frequency`: of a term in the index. `documents`: those in the index.
        `lengths`: the average number of words and of 4-grams of its documents; 0 if it has none.
        """
        here = [row for row in self._windows if is_visible(row)]
        if not here:
            return {}, {}, {}
        cut = {row: self._cut_row(row) for row in here}
        of_windows = {row: bags[0] for row, bags in cut.items()}
        of_grams = {row: self._grams[row] for row in here}
        total = documents + len(here)
        average = lengths[0] or _mean_size(of_windows.values())
        weights = _weigh_terms(words, of_windows, lambda term: frequency((WORDS, term)), total)
        windows = _score_bags(of_windows, weights, average)
        parts = {
            row: max(_score_bags(dict(enumerate(of)), weights, average).values(), default=0.0)
            for row in windows
            if (of := cut[row][1:])
        }
        gram_weights = dict.fromkeys(grams, 1.0)
        weights = _weigh_terms(gram_weights, of_grams, lambda term: frequency((GRAMS, term)), total)
        lettered = _score_bags(of_grams, weights, lengths[1] or _mean_size(of_grams.values()))
        return windows, {row: score for row, score in parts.items() if score > 0}, lettered

    def _cut_row(self, row: int) -> list[_Bag]:
        """Return the terms of a row's window and parts, and cache its 4-grams."""
        known = self._windows[row]
        if known is None:
            known = self._windows[row] = [
                _Bag(Counter(terms), len(terms)) for terms in document_terms(self._rows, row)
            ]
        if row not in self._grams:
            letters = self._rows.letters(row).split(" ")
            grams = dict.fromkeys([gram for word in letters if word for gram in grams_of(word)], 1)
            self._grams[row] = _Bag(grams, len(grams))
        return known


def _mean_size(bags: Collection[_Bag]) -> float:
    return sum(each.size for each in bags) / len(bags) or 1.0


def _weigh_terms(
    terms: Terms, bags: Mapping[int, _Bag], frequency: Callable[[str], int], total: int
) -> Terms:
    """Return the weight of each term that one of `bags` holds. `total`: of documents, including these."""
    weights: dict[str, float] = {}
    for term, counts in terms.items():
        holding = sum([term in bag.counts for bag in bags.values()])
        if holding:
            weights[term] = counts * bm25_rarity(total, frequency(term) + holding)
    return weights


def bm25_rarity(total: int, frequency: int) -> float:
    """Return the weight in BM25 of a word that stands in `frequency` of `total` documents."""
    return math.log(1 + (max(total, frequency) - frequency + 0.5) / (frequency + 0.5))


def _score_bags(bags: Mapping[int, _Bag], weights: Terms, average: float) -> dict[int, float]:
    """Return the BM25 scores of the documents with any term of `weights`. `average`: the mean size of all documents."""
    scores: dict[int, float] = {}
    for term, weight in weights.items():
        for at, bag in bags.items():
            count = bag.counts.get(term, 0)
            if count:
                norm = K1 * (1 - B + B * bag.size / average)
                scores[at] = scores.get(at, 0.0) + weight * count * (K1 + 1) / (count + norm)
    return scores
