"""Vectors in a quarter of their memory, by row: a signed byte for each number, and a scale for each row.

Strategy: the error of a cosine is some thousandths. Of many rows all are compared by the signs of their numbers first,
which is a count of bits for each 64 of them, and cosines are computed of those that agree most with the question. Rows
stand in pieces of memory that are never copied, so that one more costs the same however many there are.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from agent.ports.embed import Vectors

Rows: TypeAlias = "NDArray[np.int64]"
"""Numbers of rows."""

MANY: Final = 8_192
"""Rows of which cosines are computed, where there are more: so many that agree most, and all that agree as much.

Of 20,000 sentences the ten nearest to a question were among the twelfth part that agrees most, for 200 questions and
two models; of the hundred nearest 98.
"""
_PIECE: Final = 16_384  # rows; memory that nothing was written to takes none
_STEPS: Final = 127
_FLOATS: Final = 1_024  # rows that are floats at a time: what a processor's cache holds
_BITS: Final = 64


class Packed:
    """Vectors of `dimension` numbers, by row; one that was given none has zeros.

    For one thread to write, which others may look at meanwhile.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._words = -(-dimension // _BITS)
        self._steps: list[NDArray[np.int8]] = []
        self._scales: list[Vectors] = []
        self._signs: list[NDArray[np.uint64]] = []  # of all rows the first 64 numbers, then the next

    def reach(self, rows: int) -> None:
        """Have room for so many rows."""
        while len(self._steps) * _PIECE < rows:
            self._signs.append(np.zeros((self._words, _PIECE), np.uint64))
            self._scales.append(np.zeros(_PIECE, np.float32))
            self._steps.append(np.zeros((_PIECE, self.dimension), np.int8))

    def put(self, rows: Sequence[int], found: Vectors) -> None:
        """Take vectors of rows, in their order."""
        most = np.abs(found).max(axis=1, initial=0.0)
        steps = np.rint(found / np.where(most > 0, most, 1.0)[:, np.newaxis] * _STEPS)
        self._put(rows, steps.astype(np.int8), most / np.float32(_STEPS))

    def restore(self, rows: Sequence[int], steps: bytes, scales: Sequence[float]) -> None:
        """Take vectors as `packed` returned them, their bytes one after the other."""
        held = np.frombuffer(steps, np.int8).reshape(len(rows), self.dimension)
        self._put(rows, held, np.array(scales, np.float32))

    def _put(self, rows: Sequence[int], steps: "NDArray[np.int8]", scales: Vectors) -> None:
        self.reach(max(rows, default=-1) + 1)
        signs = self._signs_of(steps)
        for piece, some, places in _by_piece(np.array(rows, np.int64)):
            self._steps[piece][places] = steps[some]
            self._scales[piece][places] = scales[some]
            self._signs[piece][:, places] = signs[:, some]

    def empty(self, row: int) -> None:
        """Take a row's vector out."""
        piece, place = divmod(row, _PIECE)
        if piece < len(self._steps):
            self._steps[piece][place] = 0
            self._scales[piece][place] = 0
            self._signs[piece][:, place] = 0

    def packed(self, row: int) -> tuple[bytes, float]:
        """Return the bytes of a row's vector, and what one step of theirs is."""
        piece, place = divmod(row, _PIECE)
        return self._steps[piece][place].tobytes(), float(self._scales[piece][place])

    def cosines(self, rows: Rows, vector: Vectors) -> Vectors:
        """Return how near rows are to a vector."""
        found = np.empty(len(rows), np.float32)
        for piece, some, places in _by_piece(rows):
            held, scales = self._steps[piece], self._scales[piece]
            of = np.empty(len(places), np.float32)
            for start in range(0, len(places), _FLOATS):
                few = places[start : start + _FLOATS]
                of[start : start + _FLOATS] = held.take(few, 0).astype(np.float32) @ vector
            found[some] = of * scales[places]
        return found

    def nearest(self, among: Rows, vector: Vectors, most: int) -> Rows:
        """Return the `most` nearest of some rows, in no order. Of more than MANY, of those that agree most in sign."""
        if len(among) > MANY:
            apart = self._disagreeing(vector)[among]
            most_apart = np.searchsorted(np.bincount(apart).cumsum(), MANY)
            among = among[apart <= most_apart]
        if len(among) <= most:
            return among
        return among[np.argpartition(-self.cosines(among, vector), most - 1)[:most]]

    def _disagreeing(self, vector: Vectors) -> "NDArray[np.uint16]":
        """Return in how many numbers' signs each row differs from a vector."""
        wanted, held = self._signs_of(vector[np.newaxis])[:, 0], self._signs[:]  # there may be more meanwhile
        found = np.zeros(len(held) * _PIECE, np.uint16)
        for piece, signs in enumerate(held):
            of = found[piece * _PIECE : (piece + 1) * _PIECE]
            for word, bits in zip(signs, wanted, strict=True):
                of += np.bitwise_count(word ^ bits)
        return found

    def _signs_of(self, numbers: "NDArray[np.int8] | Vectors") -> "NDArray[np.uint64]":
        """Return one column for each row: a bit for each of its numbers that is above 0."""
        bits = np.zeros((len(numbers), self._words * _BITS), np.uint8)
        bits[:, : self.dimension] = numbers > 0
        return np.ascontiguousarray(np.packbits(bits, axis=1).view(np.uint64).T)


def _by_piece(rows: Rows) -> Iterator[tuple[int, Rows, Rows]]:
    """Yield for each piece that some rows are in: which of them these are, and where they are in it."""
    pieces, places = np.divmod(rows, _PIECE)
    for piece in sorted({*pieces.tolist()}):
        some = np.flatnonzero(pieces == piece)
        yield piece, some, places[some]
