"""What was said since the index was written: searched word by word, so that a turn can be recalled at once.

Strategy: the tail is short (`index.BATCH` rows and what one batch takes to be written), so a pass over it costs some
hundredths of a millisecond. Its documents are the same as the index's, cut the same, and scored by the same formula
(BM25) with the index's counts, so that the scores of both can be compared.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from agent.lexical.queries import Term, gram_terms

from .documents import parts_of, window
from .rows import Rows

WORDS: Final = "words"
GRAMS: Final = "grams"
K1, B = 1.2, 0.75
"""BM25's, as tantivy has them."""

Terms = Mapping[str, float]


class _Document:
    """What one row is found by. words: of its window, and of each part. grams: of its own words."""

    def __init__(self, rows: Rows, row: int) -> None:
        said, *parts = [Counter(text.split(" ")) for text in texts_of(rows, row)]
        self.window, self.parts = said, parts
        self.grams = Counter(gram for _, gram in gram_terms(rows.letters(row), GRAMS))


def texts_of(rows: Rows, row: int) -> list[str]:
    """Return the terms of a row's documents, between spaces: of its window, then of its parts."""
    stems, about = rows.stems, rows.about(row)
    own = [stems[each] for each in rows.words(row)]
    before, after = ([stems[each] for each in side] for side in rows.around(row))
    return [window(own, before, after, about), *parts_of(own, rows.parts(row), about)]


class Tail:
    """The rows that wait for the index."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._documents: dict[int, _Document | None] = {}  # None until they are looked at

    def __contains__(self, row: int) -> bool:
        """Tell whether a row is searched here."""
        return row in self._documents

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self._documents)

    def add(self, row: int) -> None:
        """Add a row, or see it again after what it is found by has changed."""
        self._documents[row] = None

    def remove(self, row: int) -> None:
        """Take a row out."""
        self._documents.pop(row, None)

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
        here = [(row, self._document(row)) for row in self._documents if seen(row)]
        total = documents + len(here)
        found: tuple[dict[int, float], dict[int, float], dict[int, float]] = ({}, {}, {})
        if not here:
            return found
        weights = {
            each: counts
            * bm25_rarity(total, frequency((WORDS, each)) + _held(each, (of.window for _, of in here)))
            for each, counts in words.items()
        }
        of_grams = {
            each: bm25_rarity(total, frequency((GRAMS, each)) + _held(each, (of.grams for _, of in here)))
            for each in grams
        }
        long = lengths[0] or sum(of.window.total() for _, of in here) / len(here)
        wide = lengths[1] or sum(of.grams.total() for _, of in here) / len(here)
        for row, of in here:
            _put(found[0], row, _score(of.window, weights, long))
            _put(found[1], row, max([_score(part, weights, long) for part in of.parts], default=0.0))
            _put(found[2], row, _score(of.grams, of_grams, wide))
        return found

    def _document(self, row: int) -> _Document:
        known = self._documents[row]
        if known is None:
            known = self._documents[row] = _Document(self._rows, row)
        return known


def _held(term: str, documents: Iterable[Counter[str]]) -> int:
    return sum(term in each for each in documents)


def bm25_rarity(total: int, frequency: int) -> float:
    """Return how much BM25 counts a word that stands in `frequency` of `total` documents."""
    return math.log(1 + (max(total, frequency) - frequency + 0.5) / (frequency + 0.5))


def _score(document: Counter[str], weights: Terms, average: float) -> float:
    """Return BM25's score of a document."""
    norm = K1 * (1 - B + B * document.total() / (average or 1.0))
    score = 0.0
    for term, weight in weights.items():
        count = document.get(term, 0)
        if count:
            score += weight * count * (K1 + 1) / (count + norm)
    return score


def _put(found: dict[int, float], row: int, score: float) -> None:
    if score > 0:
        found[row] = score
