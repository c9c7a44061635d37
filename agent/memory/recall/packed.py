"""Stores vectors in a quarter of their memory, by row: a signed byte per number, and a scale per row.

Strategy: the error of a cosine is some thousandths. Of many rows, all are first compared by the signs of their numbers,
which takes a bit count per 64 numbers; cosines are computed for the rows that agree most. Rows lie in pieces of memory
that are never copied, so that adding one costs the same at any size.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from agent.ports.embed import Vectors

Rows: TypeAlias = "NDArray[np.int64]"
"""Numbers of rows."""

MANY: Final = 8_192
"""Rows to compute cosines for, if there are more: those that agree most in sign, and all ties.

Of 20,000 sentences the ten nearest to a question were among the twelfth part that agrees most, for 200 questions and
two models; of the hundred nearest 98.
"""
_PIECE: Final = 16_384  # rows; untouched memory is not allocated
_STEPS: Final = 127
_FLOATS: Final = 1_024  # rows converted to floats at a time: they fit a processor's cache
_BITS: Final = 64


class PackedVectors:
    """Vectors of `dimension` numbers, by row; a row without a vector has zeros.

    One thread may write while others read.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._words = -(-dimension // _BITS)
        self._steps: list[NDArray[np.int8]] = []
        self._scales: list[Vectors] = []
        self._signs: list[NDArray[np.uint64]] = []  # the first 64 numbers of all rows, then the next 64

    def make_room(self, rows: int) -> None:
        """Make room for `rows` rows."""
        while len(self._steps) * _PIECE < rows:
            self._signs.append(np.zeros((self._words, _PIECE), np.uint64))
            self._scales.append(np.zeros(_PIECE, np.float32))
            self._steps.append(np.zeros((_PIECE, self.dimension), np.int8))

    def put_vectors(self, rows: Sequence[int], vectors: Vectors) -> None:
        """Store the vectors `vectors` of `rows`, in the same order."""
        most = np.abs(vectors).max(axis=1, initial=0.0)
        steps = np.rint(vectors / np.where(most > 0, most, 1.0)[:, np.newaxis] * _STEPS)
        self._put(rows, steps.astype(np.int8), most / np.float32(_STEPS))

    def restore_vectors(self, rows: Sequence[int], steps: bytes, scales: Sequence[float]) -> None:
        """Store vectors in the form that `vector_bytes` returns, their bytes concatenated."""
        vectors = np.frombuffer(steps, np.int8).reshape(len(rows), self.dimension)
        self._put(rows, vectors, np.array(scales, np.float32))

    def _put(self, rows: Sequence[int], steps: "NDArray[np.int8]", scales: Vectors) -> None:
        self.make_room(max(rows, default=-1) + 1)
        signs = self._signs_of(steps)
        for piece, some, places in _by_piece(np.array(rows, np.int64)):
            self._steps[piece][places] = steps[some]
            self._scales[piece][places] = scales[some]
            self._signs[piece][:, places] = signs[:, some]

    def clear_vector(self, row: int) -> None:
        """Remove the vector of `row`."""
        piece, place = divmod(row, _PIECE)
        if piece < len(self._steps):
            self._steps[piece][place] = 0
            self._scales[piece][place] = 0
            self._signs[piece][:, place] = 0

    def vector_bytes(self, row: int) -> tuple[bytes, float]:
        """Return the bytes of a row's vector, and the value of one step."""
        piece, place = divmod(row, _PIECE)
        return self._steps[piece][place].tobytes(), float(self._scales[piece][place])

    def cosines(self, rows: Rows, vector: Vectors) -> Vectors:
        """Return the cosine of each row to `vector`, which has length 1."""
        cosines = np.empty(len(rows), np.float32)
        for piece, some, places in _by_piece(rows):
            piece_steps, scales = self._steps[piece], self._scales[piece]
            of = np.empty(len(places), np.float32)
            for start in range(0, len(places), _FLOATS):
                few = places[start : start + _FLOATS]
                of[start : start + _FLOATS] = piece_steps.take(few, 0).astype(np.float32) @ vector
            cosines[some] = of * scales[places]
        return cosines

    def find_nearest(self, among: Rows, vector: Vectors, most: int) -> Rows:
        """Return the `most` nearest of `among`, in no order; of more than MANY, only those that agree most in sign."""
        if len(among) > MANY:
            apart = self._count_disagreements(vector)[among]
            most_apart = np.searchsorted(np.bincount(apart).cumsum(), MANY)
            among = among[apart <= most_apart]
        if len(among) <= most:
            return among
        return among[np.argpartition(-self.cosines(among, vector), most - 1)[:most]]

    def _count_disagreements(self, vector: Vectors) -> "NDArray[np.uint16]":
        """Return, for each row, the number of signs that differ from those of `vector`."""
        wanted, row_signs = (
            self._signs_of(vector[np.newaxis])[:, 0],
            self._signs[:],
        )  # there may be more meanwhile
        counts = np.zeros(len(row_signs) * _PIECE, np.uint16)
        for piece, signs in enumerate(row_signs):
            of = counts[piece * _PIECE : (piece + 1) * _PIECE]
            for word, bits in zip(signs, wanted, strict=True):
                of += np.bitwise_count(word ^ bits)
        return counts

    def _signs_of(self, numbers: "NDArray[np.int8] | Vectors") -> "NDArray[np.uint64]":
        """Return a column per row, with one bit per number: whether it is above 0."""
        bits = np.zeros((len(numbers), self._words * _BITS), np.uint8)
        bits[:, : self.dimension] = numbers > 0
        return np.ascontiguousarray(np.packbits(bits, axis=1).view(np.uint64).T)


def _by_piece(rows: Rows) -> Iterator[tuple[int, Rows, Rows]]:
    """Yield, for each piece with some of `rows`: its number, the indices of its rows, and their places in it."""
    pieces, places = np.divmod(rows, _PIECE)
    for piece in sorted({*pieces.tolist()}):
        some = np.flatnonzero(pieces == piece)
        yield piece, some, places[some]
