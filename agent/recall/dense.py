"""The vectors of what was said, by row: one of each turn's own words. Imported only where there is an embedder: numpy.

Strategy: a turn's vector is of its own words. How near a turn with its neighbours is comes from theirs, by the mean, so
that nothing is embedded twice and a turn that comes changes no vector but its own. Rows are kept as bytes with a scale,
a quarter of the memory for an error of some thousandths, and a question is compared with all those that it may see:
100,000 in some milliseconds, which many rows take a worker thread for.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agent.lang import Lang
from agent.ports.embed import Embedder, Encoder, Vectors
from agent.ports.work import RunSync

from .rows import Rows

NEAR: Final = 100
"""Rows that vectors alone make candidates."""
AT_ONCE: Final = 32
"""Texts that are embedded together."""
_PIECE: Final = 1_024  # rows that are made floats at a time
_GROWTH: Final = 1_024
_MANY: Final = 4_096  # rows from which comparing takes a thread: some 0.5 ms
_SCOPES_KEPT: Final = 64

Cosines = tuple["NDArray[np.int64]", Vectors]
"""Rows, in their order, and how near each is to a question."""


class Dense:
    """Vectors of rows. For one thread, but for what the embedder does in its own.

    embedder: of texts, awaited. run_sync: compares with many rows. at_once: the embedder of what takes no thread, such
    as means of word vectors.
    """

    def __init__(
        self, rows: Rows, embedder: Embedder, run_sync: RunSync, at_once: Encoder | None = None
    ) -> None:
        self._rows = rows
        self._run_sync = run_sync
        self._embedder = embedder
        self._at_once = at_once
        self._held: NDArray[np.int8] | None = None
        self._scales = np.zeros(0, np.float32)
        self._known = 0  # rows from 0 on that have vectors
        self._numbers: dict[frozenset[int], tuple[int, NDArray[np.int64]]] = {}

    @property
    def langs(self) -> frozenset[Lang] | None:
        """Return the languages whose questions have a vector; None is any."""
        return self._embedder.langs

    @property
    def behind(self) -> int:
        """Return how many rows have no vectors yet."""
        return len(self._rows) - self._known

    async def catch_up(self) -> None:
        """Embed what has no vector yet, in the order of rows. A cancel leaves what is done.

        Raises `agent.errors.EmbeddingFailed` where a served model gives none.
        """
        while self.behind:
            texts = self._rows.texts[self._known : self._known + AT_ONCE]
            found = await self._embedder.embed(texts, "passage")
            for at, text in enumerate(texts, self._known):
                if text != self._rows.texts[at]:  # forgotten meanwhile
                    found[at - self._known] = 0
            self._add(found)

    def _add(self, found: Vectors) -> None:
        held = self._held
        end = self._known + len(found)
        if held is None or end > len(held):
            more = end + max(_GROWTH, end // 4)
            grown, scales = np.zeros((more, found.shape[1]), np.int8), np.zeros(more, np.float32)
            if held is not None:
                grown[: self._known], scales[: self._known] = held[: self._known], self._scales[: self._known]
            self._held, self._scales = held, _ = grown, scales
        most = np.abs(found).max(axis=1, initial=0.0)
        self._scales[self._known : end] = most / _STEPS
        held[self._known : end] = np.rint(found / np.where(most > 0, most, 1.0)[:, np.newaxis] * _STEPS)
        self._known = end

    def forget(self, row: int) -> None:
        """Take a row's vector out."""
        if self._held is not None and row < self._known:
            self._held[row] = 0

    async def look(self, text: str, places: frozenset[int]) -> Cosines:
        """Return how near each row of some places is to a question. Raises `agent.errors.EmbeddingFailed`."""
        if self._at_once is not None:
            vector: Vectors = self._at_once.encode([text], "question")[0]
        else:
            vector = (await self._embedder.embed([text], "question"))[0]
        among, held, scales = self._among(places), self._held, self._scales
        if held is None or not len(among):
            return among, np.zeros(0, np.float32)
        if len(among) < _MANY:
            return among, _compared(held, scales, among, vector)
        return among, await self._run_sync(lambda: _compared(held, scales, among, vector))

    def near(
        self, cosines: Cosines, seen: Callable[[int], bool], candidates: Collection[int]
    ) -> tuple[Mapping[int, float], Mapping[int, float]]:
        """Return the cosines of candidates and of the nearest rows: of each alone, and with the turns beside it.

        seen: whether a row may be found.
        """
        among, found = cosines
        if not len(among):
            return {}, {}
        most = min(NEAR, len(among))
        nearest = among[np.argpartition(-found, most - 1)[:most]]
        wanted = {row for row in (*nearest.tolist(), *candidates) if seen(row)}
        beside = {row: self._rows.neighbours(row, 1) for row in wanted}
        needed = sorted({each for near in beside.values() for each in near})
        at = np.minimum(np.searchsorted(among, needed), len(among) - 1)
        known = np.where(among[at] == needed, found[at], 0.0)
        of = dict(zip(needed, known.tolist(), strict=True))
        own = {row: max(0.0, of[row]) for row in wanted}
        around = {row: max(0.0, _mean([of[each] for each in near])) for row, near in beside.items()}
        return own, around

    def _among(self, places: frozenset[int]) -> "NDArray[np.int64]":
        """Return the rows of some places that have vectors, in their order."""
        known = self._numbers.get(places)
        if known is None or known[0] != self._known:
            place = np.frombuffer(self._rows.place, np.uint32, self._known).copy()
            found = np.flatnonzero(np.isin(place, np.fromiter(places, np.uint32)))
            if len(self._numbers) > _SCOPES_KEPT:
                self._numbers.clear()
            known = self._numbers[places] = self._known, found
        return known[1]


def _compared(
    held: "NDArray[np.int8]", scales: Vectors, among: "NDArray[np.int64]", vector: Vectors
) -> Vectors:
    """Return the dot products of some rows with a vector."""
    found = np.empty(len(among), np.float32)
    for start in range(0, len(among), _PIECE):
        piece = among[start : start + _PIECE]
        whole = piece[-1] - piece[0] + 1 == len(piece)  # a slice is no copy
        rows = held[piece[0] : piece[-1] + 1] if whole else held[piece]
        found[start : start + _PIECE] = rows.astype(np.float32) @ vector
    found *= scales[among]
    return found


_STEPS: Final = 127


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
