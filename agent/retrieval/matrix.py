"""Finds the sections whose vectors are nearest to that of a question. Imported only with an embedder: it needs numpy.

Strategy: brute force over one matrix, which is exact: the product of 25,000 sections with a question takes some 3 ms.
The vector of a file is the mean of the vectors of its sections.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .vectors import Nearness

Matrix = npt.NDArray[np.float32]

SPAN = 1000
"""Rank of the section from which on nearness is 0; the nearest section has 1."""


class SectionMatrix:
    """The vectors of an index's sections, by section number. `files`: the file's number of each section."""

    def __init__(self, rows: Sequence[Matrix], files: Sequence[int]) -> None:
        matrix = self._matrix = np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)
        self._file = np.asarray(files, dtype=np.int64)
        means = np.zeros((int(self._file.max(initial=-1)) + 1, matrix.shape[1]), dtype=np.float32)
        ends = np.flatnonzero(np.diff(self._file, append=-1)) + 1  # of the runs of sections of one file
        for start, end in pairwise([0, *ends.tolist()]):
            means[self._file[start]] += np.add.reduce(matrix[start:end])
        self._means = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)

    @property
    def rows(self) -> Matrix:
        """Return the vector of each section, by its number."""
        return self._matrix

    def find_near(self, question: object, others: Iterable[int], limit: int) -> Nearness:
        """Return the nearness of the sections `others`, and after them of the `limit` (<= `SPAN`) nearest ones."""
        if not len(self._matrix):
            return Nearness((), (), (), ())
        vector = np.asarray(question, dtype=np.float32)
        cosines = self._matrix @ vector
        files = self._means @ vector
        highest = _find_highest(cosines)
        numbers = list(dict.fromkeys([*others, *_find_top(cosines, highest, limit).tolist()]))
        at = np.array(numbers, np.int64)
        selected_cosines = cosines.take(at)
        return Nearness(
            numbers,
            selected_cosines.tolist(),
            _normalize_scores(highest, selected_cosines).tolist(),
            _normalize_scores(_find_highest(files), files.take(self._file.take(at))).tolist(),
        )


def unpack_rows(content: bytes, rows: int, size: int = 4) -> Sequence[Matrix]:
    """Return the number `rows` of vectors in `content`, of floats of `size` bytes; () where the bytes do not fit."""
    if not rows or len(content) % (size * rows):
        return ()
    return list(np.frombuffer(content, f"f{size}").reshape(rows, -1))


def _find_highest(scores: Matrix) -> Matrix:
    """Return the `SPAN` highest scores, in rising order."""
    rest = max(0, len(scores) - SPAN)
    highest: Matrix = np.partition(scores, rest)[rest:] if rest else scores.copy()
    highest.sort()
    return highest


def _find_top(scores: Matrix, highest: Matrix, limit: int) -> npt.NDArray[np.int64]:
    """Return the places of the `limit` highest scores, in no order."""
    rest = len(scores) - limit
    if rest <= 0:
        return np.arange(len(scores))
    found = np.flatnonzero(scores >= highest[-limit]) if limit else np.arange(0)
    return (
        found if len(found) == limit else np.argpartition(scores, rest)[rest:]
    )  # several scores equal the last one


def _normalize_scores(highest: Matrix, scores: Matrix) -> Matrix:
    """Return `scores` as 0..1, from the lowest of the `SPAN` highest to the highest."""
    best, least = float(highest[-1]), float(highest[0])
    spread: Matrix = (scores - least) / max(best - least, 1e-9)
    return np.maximum(spread, 0.0, out=spread)
