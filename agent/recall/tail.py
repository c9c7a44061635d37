"""What was said since the index was written: searched word by word, so that a turn can be recalled at once.

Strategy: the tail is short (`index.BATCH` rows and what one batch takes to be written), so a pass over it costs some
hundredths of a millisecond. Its documents are the same as the index's, cut the same, and scored by the same formula
(BM25) with the index's counts, so that the scores of both can be compared.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from agent.lexical.queries import Term, grams_of

from .documents import parts_of, window
from .rows import Rows

WORDS: Final = "words"
GRAMS: Final = "grams"
K1, B = 1.2, 0.75
"""BM25's, as tantivy has them."""

Terms = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Bag:
    """Terms of a document and how often it has each. size: of all of them together."""

    counts: Mapping[str, int]
    size: int


def terms_of(rows: Rows, row: int) -> list[list[str]]:
    """Return the terms of a row's documents: of its window, then of its parts."""
    stem, about = rows.stems.__getitem__, rows.about(row)
    own = [*map(stem, rows.words(row))]
    before, after = (map(stem, side) for side in rows.around(row))
    return [window(own, before, after, about), *parts_of(own, rows.parts(row), about)]


class Tail:
    """The rows that wait for the index."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._windows: dict[int, list[_Bag] | None] = {}  # and parts; None until they are looked at
        self._grams: dict[int, _Bag] = {}  # of those that were looked at

    def __iter__(self) -> Iterator[int]:
        """Return the rows."""
        return iter(self._windows)

    def __contains__(self, row: int) -> bool:
        """Tell whether a row is searched here."""
        return row in self._windows

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self._windows)

    def add(self, row: int) -> None:
        """Add a row, or see it again after those around it have changed; its own words do not."""
        self._windows[row] = None

    def remove(self, row: int) -> None:
        """Take a row out."""
        self._windows.pop(row, None)
        self._grams.pop(row, None)

    def best(
        self,
        words: Terms,
        grams: Collection[str],
        seen: Callable[[int], bool],
        frequency: Callable[[Term], int],
        documents: int,
        lengths: tuple[float, float],
    ) -> tuple[dict[int, float], dict[int, float], dict[int, float]]:
        """Return scores by row: of windows, of the best part of long ones, of 4-grams.

        seen: whether a row may be found. frequency: of a term in the index. documents: that it has. lengths: how many
        words, and 4-grams, its documents have on average; 0 of none.
        """
        here = [row for row in self._windows if seen(row)]
        if not here:
            return {}, {}, {}
        cut = {row: self._cut(row) for row in here}
        of_windows = {row: bags[0] for row, bags in cut.items()}
        of_grams = {row: self._grams[row] for row in here}
        total = documents + len(here)
        average = lengths[0] or _mean_size(of_windows.values())
        weights = _weights(words, of_windows, lambda term: frequency((WORDS, term)), total)
        windows = _scores(of_windows, weights, average)
        parts = {
            row: max(_scores(dict(enumerate(of)), weights, average).values(), default=0.0)
            for row in windows
            if (of := cut[row][1:])
        }
        every = dict.fromkeys(grams, 1.0)
        weights = _weights(every, of_grams, lambda term: frequency((GRAMS, term)), total)
        lettered = _scores(of_grams, weights, lengths[1] or _mean_size(of_grams.values()))
        return windows, {row: score for row, score in parts.items() if score > 0}, lettered

    def _cut(self, row: int) -> list[_Bag]:
        """Return what a row is found by: the terms of its window, then of its parts; and know its 4-grams."""
        known = self._windows[row]
        if known is None:
            known = self._windows[row] = [
                _Bag(Counter(terms), len(terms)) for terms in terms_of(self._rows, row)
            ]
        if row not in self._grams:
            letters = self._rows.letters(row).split(" ")
            grams = dict.fromkeys([gram for word in letters if word for gram in grams_of(word)], 1)
            self._grams[row] = _Bag(grams, len(grams))
        return known


def _mean_size(bags: Collection[_Bag]) -> float:
    return sum(each.size for each in bags) / len(bags) or 1.0


def _weights(terms: Terms, bags: Mapping[int, _Bag], frequency: Callable[[str], int], total: int) -> Terms:
    """Return what each term counts that any of some documents holds. total: of documents, these included."""
    weights: dict[str, float] = {}
    for term, counts in terms.items():
        held = sum([term in bag.counts for bag in bags.values()])
        if held:
            weights[term] = counts * bm25_rarity(total, frequency(term) + held)
    return weights


def bm25_rarity(total: int, frequency: int) -> float:
    """Return how much BM25 counts a word that stands in `frequency` of `total` documents."""
    return math.log(1 + (max(total, frequency) - frequency + 0.5) / (frequency + 0.5))


def _scores(bags: Mapping[int, _Bag], weights: Terms, average: float) -> dict[int, float]:
    """Return BM25's scores of the documents that hold any of some terms. average: size of all documents."""
    scores: dict[int, float] = {}
    for term, weight in weights.items():
        for at, bag in bags.items():
            count = bag.counts.get(term, 0)
            if count:
                norm = K1 * (1 - B + B * bag.size / average)
                scores[at] = scores.get(at, 0.0) + weight * count * (K1 + 1) / (count + norm)
    return scores
