"""Searches the rows that the index does not hold yet, so that a new turn can be recalled at once.

Strategy: a row is cut into terms when the tail is first searched after it came. Its documents are cut like the index's
and scored by the same formula (BM25) with the index's counts, so that the scores of both can be compared. The tail is
short: `index.BATCH` rows and those that come while one batch is written. So a search asks the window of each row for
its terms: each new turn changes the windows of some five rows, which an inverted index would have to be cleared of.
The 4-grams of a row never change, and are an inverted index.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from agent.lexical.queries import Term, grams_of

from .bounds import GRAMS, WORDS, SearchBounds
from .documents import part_terms, window_terms
from .rows import RecallRows, item_end

K1, B = 1.2, 0.75
"""BM25's, as tantivy has them."""

Terms = Mapping[str, float]


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
        self.clear()

    def clear(self) -> None:
        """Remove all rows."""
        self._dirty: dict[int, None] = {}  # rows that are not cut into terms yet
        self._windows: dict[int, Mapping[str, int]] = {}  # of the others: how often each term stands in it
        self._sizes: dict[int, int] = {}  # of these windows: their terms
        self._parts: dict[int, list[tuple[Mapping[str, int], int]]] = {}  # of long messages: counts and sizes
        self._gram_sizes: dict[int, int] = {}
        self._grams: dict[str, list[int]] = {}  # 4-gram -> rows

    def __iter__(self) -> Iterator[int]:
        """Iterate over the rows."""
        yield from self._dirty
        yield from self._sizes

    def __contains__(self, row: int) -> bool:
        """Tell whether `row` is searched here."""
        return row in self._dirty or row in self._sizes

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._dirty) + len(self._sizes)

    def add(self, row: int) -> None:
        """Add a row, or read it again after its neighbours changed; its own words never change."""
        self._drop_window(row)
        self._dirty[row] = None

    def remove(self, row: int) -> None:
        """Remove a row."""
        self._drop_window(row)
        if self._gram_sizes.pop(row, None) is not None:
            self._grams = {
                gram: left
                for gram, rows in self._grams.items()
                if (left := rows if row not in rows else [each for each in rows if each != row])
            }

    def retain(self, rows: Collection[int]) -> None:
        """Remove all rows but `rows`."""
        if all(row not in rows for row in self):
            self.clear()
        for row in [row for row in self if row not in rows]:
            self.remove(row)

    def _drop_window(self, row: int) -> None:
        """Remove what was cut of `row`, but for its 4-grams."""
        self._dirty.pop(row, None)
        self._parts.pop(row, None)
        self._sizes.pop(row, None)
        self._windows.pop(row, None)

    def _cut(self) -> None:
        """Cut the rows that are not cut yet; 4-grams once, since a row's own words never change."""
        grams, rows = self._grams, self._rows
        for row in self._dirty:
            window, *parts = document_terms(rows, row)
            self._windows[row], self._sizes[row] = dict(Counter(window)), len(window)
            if parts:
                self._parts[row] = [(Counter(terms), len(terms)) for terms in parts]
            if row not in self._gram_sizes:
                words = rows.letters(row).split(" ")
                own = {gram for word in words if word for gram in grams_of(word)}
                self._gram_sizes[row] = len(own)
                for gram in own:
                    at = grams.get(gram)
                    if at is None:
                        grams[gram] = [row]
                    else:
                        at.append(row)
                rows.drop_letters(row)
        self._dirty.clear()

    # --- searching

    def count_rows(self, bounds: SearchBounds) -> int:
        """Return the number of rows within `bounds`."""
        return len(self) - len(self._rows_outside(bounds))

    def count_holding(self, term: str, bounds: SearchBounds) -> int:
        """Return the number of rows within `bounds` that hold `term`."""
        self._cut()
        return sum([term in counts for _, counts in self._shown_windows(self._rows_outside(bounds))])

    def _shown_windows(self, hidden: Collection[int]) -> Collection[tuple[int, Mapping[str, int]]]:
        """Return the windows of all rows but `hidden`."""
        windows = self._windows.items()
        return [(row, counts) for row, counts in windows if row not in hidden] if hidden else windows

    def _rows_outside(self, bounds: SearchBounds) -> Collection[int]:
        """Return the rows that are outside `bounds`."""
        is_within = bounds.test_of(self._rows)
        return () if is_within is None else {row for row in self if not is_within(row)}

    def _hidden_rows(self, bounds: SearchBounds, at: int) -> Collection[int]:
        """Return the rows that a search may not find: those outside its bounds, and items not valid at time `at`."""
        invalid = [
            row
            for row in self._rows.item_rows()
            if row in self._sizes
            and (item := self._rows.item(row)) is not None
            and not item.valid_from <= at < item_end(item)
        ]
        return {*self._rows_outside(bounds), *invalid}

    def score_rows(
        self,
        words: Terms,
        grams: Collection[str],
        bounds: SearchBounds,
        at: int,
        frequency: Callable[[Term], int],
        documents: int,
        lengths: tuple[float, float],
    ) -> tuple[dict[int, float], dict[int, float], dict[int, float]]:
        """Return scores by row: of windows, of the best part of long messages, of 4-grams.

        `bounds`: of the search. `at`: its time, at which items have to be valid. `frequency`: of a term
        in the index. `documents`: those in the index. `lengths`: the average number of words and of 4-grams of its
        documents; 0 if it has none.
        """
        self._cut()
        hidden = self._hidden_rows(bounds, at)
        shown = len(self._sizes) - len(hidden)
        if not shown:
            return {}, {}, {}
        total = documents + shown
        average = lengths[0] or self._mean_size(self._sizes, hidden)
        weights: dict[str, float] = {}  # of the terms that are found
        scored = self._score_windows(words, hidden, total, frequency, average, weights)
        parts = {
            row: best
            for row, cut in self._parts.items()
            if row in scored
            and (best := max(_score_counts(counts, size, weights, average) for counts, size in cut)) > 0
        }
        wide = lengths[1] or self._mean_size(self._gram_sizes, hidden)
        return scored, parts, self._score_grams(grams, hidden, total, frequency, wide)

    def _mean_size(self, sizes: Mapping[int, int], hidden: Collection[int]) -> float:
        shown = [size for row, size in sizes.items() if row not in hidden] if hidden else sizes.values()
        return sum(shown) / len(shown) or 1.0

    def _score_windows(
        self,
        terms: Terms,
        hidden: Collection[int],
        total: int,
        frequency: Callable[[Term], int],
        average: float,
        weights: dict[str, float],
    ) -> dict[int, float]:
        """Return the BM25 scores of the rows with any of `terms`, and fill in the weight of each term they hold.

        `total`: of documents, including these. `average`: the mean size of all documents.
        """
        scores: dict[int, float] = {}
        short, by_size, sizes = K1 * (1 - B), K1 * B / average, self._sizes
        shown = self._shown_windows(hidden)
        for term, factor in terms.items():
            holding = [(row, counts[term]) for row, counts in shown if term in counts]
            if holding:
                weight = weights[term] = factor * bm25_rarity(total, frequency((WORDS, term)) + len(holding))
                weight *= K1 + 1
                for row, count in holding:
                    score = weight * count / (count + short + by_size * sizes[row])
                    scores[row] = scores.get(row, 0.0) + score
        return scores

    def _score_grams(
        self,
        grams: Collection[str],
        hidden: Collection[int],
        total: int,
        frequency: Callable[[Term], int],
        average: float,
    ) -> dict[int, float]:
        """Return the BM25 scores of the rows with any of `grams`, each of which counts once in a row."""
        sums: dict[int, float] = {}
        for gram in grams:
            rows: Sequence[int] = self._grams.get(gram, ())
            if hidden:
                rows = [row for row in rows if row not in hidden]
            if rows:
                weight = bm25_rarity(total, frequency((GRAMS, gram)) + len(rows))
                for row in rows:
                    sums[row] = sums.get(row, 0.0) + weight
        sizes, short, by_size = self._gram_sizes, K1 * (1 - B), K1 * B / average
        return {row: each * (K1 + 1) / (1 + short + by_size * sizes[row]) for row, each in sums.items()}


def _score_counts(counts: Mapping[str, int], size: int, weights: Terms, average: float) -> float:
    """Return the BM25 score of a document of these `counts`."""
    norm = K1 * (1 - B + B * size / average)
    return sum(
        weight * count * (K1 + 1) / (count + norm)
        for term, weight in weights.items()
        if (count := counts.get(term, 0))
    )


def bm25_rarity(total: int, frequency: int) -> float:
    """Return the weight in BM25 of a word that stands in `frequency` of `total` documents."""
    return math.log(1 + (max(total, frequency) - frequency + 0.5) / (frequency + 0.5))
