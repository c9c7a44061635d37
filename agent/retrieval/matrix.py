"""Vectors of sections and files, and which of them are near. Imported only where there is an embedder: numpy.

Strategy: brute force over one matrix, which is exact: a product of 25,000 sections with a question takes some 3 ms. A
file is where its sections are together, the mean of their vectors.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]

SPAN = 1000
"""Sections over which nearness is spread: the best is 1, this one and all after it 0."""


@dataclass(frozen=True, slots=True)
class Near:
    """How near sections are to a question, by number. cosine: as it is. near, file: 0..1 beside the best one."""

    numbers: Sequence[int]
    cosine: Sequence[float]
    near: Sequence[float]
    file: Sequence[float]


class Sections:
    """The vectors of an index's sections, in the order of their numbers. files: the number of each one's file."""

    def __init__(self, rows: Sequence[Matrix], files: Sequence[int]) -> None:
        matrix = self._matrix = np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)
        self._file = np.asarray(files, dtype=np.int64)
        means = np.zeros((int(self._file.max(initial=-1)) + 1, matrix.shape[1]), dtype=np.float32)
        np.add.at(means, self._file, matrix)
        self._means = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)

    @property
    def rows(self) -> Matrix:
        """Return the vector of each, by its number."""
        return self._matrix

    def near(self, question: object, others: Iterable[int], limit: int) -> Near:
        """Return how near the other sections are to a question, and after them the `limit` (<= SPAN) nearest."""
        if not len(self._matrix):
            return Near((), (), (), ())
        vector = np.asarray(question, dtype=np.float32)
        cosines = self._matrix @ vector
        files = self._means @ vector
        highest = _highest(cosines)
        numbers = list(dict.fromkeys([*others, *_top(cosines, highest, limit).tolist()]))
        at = np.asarray(numbers, dtype=np.int64)
        chosen = cosines[at]
        return Near(
            numbers,
            list(chosen.tolist()),
            list(_spread(highest, chosen).tolist()),
            list(_spread(_highest(files), files[self._file[at]]).tolist()),
        )


def unpacked(content: bytes, rows: int) -> Sequence[Matrix]:
    """Return so many rows that were bytes; () where these bytes are not such rows."""
    if not rows or len(content) % (4 * rows):
        return ()
    return list(np.frombuffer(content, np.float32).reshape(rows, -1))


def _highest(scores: Matrix) -> Matrix:
    """Return the SPAN highest scores, the highest last."""
    rest = max(0, len(scores) - SPAN)
    highest: Matrix = (np.partition(scores, rest) if rest else scores)[rest:]
    return np.sort(highest)


def _top(scores: Matrix, highest: Matrix, limit: int) -> npt.NDArray[np.int64]:
    """Return the places of the `limit` highest scores, in no order."""
    rest = len(scores) - limit
    if rest <= 0:
        return np.arange(len(scores))
    found = np.flatnonzero(scores >= highest[-limit]) if limit else np.arange(0)
    return (
        found if len(found) == limit else np.argpartition(scores, rest)[rest:]
    )  # several are as high as the last


def _spread(highest: Matrix, chosen: Matrix) -> Matrix:
    """Return chosen scores brought to 0..1, from the last of the SPAN highest to the highest."""
    best, least = float(highest[-1]), float(highest[0])
    spread: Matrix = np.clip((chosen - least) / max(best - least, 1e-9), 0.0, 1.0)
    return spread
