"""The vectors of what was said, by row: one of each turn's own words. Imported only where there is an embedder: numpy.

Strategy: a turn's vector is of its own words. How near a turn with its neighbours is comes from theirs, by the mean, so
that nothing is embedded twice and a turn that comes changes no vector but its own. Vectors that take a model are kept
beside the words, in batches, and a start reads them; only what lacks one is embedded. They can be made again at any
time, so that a store that fails costs no more than that. A question is compared with all rows that it may see (see
`packed`), which many rows take a worker thread for.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np
import structlog
import trio

from agent.config import MEMORY_WRITE
from agent.errors import StorageFailed
from agent.lang import Lang
from agent.ports.embed import Embedder, Encoder, Vectors
from agent.ports.vectors import PackedVector, VectorKind, VectorStore
from agent.ports.work import RunSync

from .packed import Packed
from .packed import Rows as RowNumbers
from .rows import NONE, Rows

NEAR: Final = 100
"""Rows that vectors alone make candidates."""
AT_ONCE: Final = 32
"""Texts that are embedded together."""
READ: Final = 256
"""Rows whose vectors are read together."""
KEPT: Final = 128
"""Vectors that wait, from which they are kept: some 2 ms of the store."""
AGAIN: Final = 60.0
"""Seconds after which a store is asked again that failed."""
_MANY: Final = 4_096  # rows from which comparing takes a thread: some 0.5 ms
_SCOPES_KEPT: Final = 64

_log = structlog.get_logger("agent.recall")


@dataclass(frozen=True, slots=True)
class Look:
    """What vectors say of a question. vector: its own. nearest: rows, in no order."""

    vector: Vectors
    nearest: RowNumbers


class Dense:
    """Vectors of rows. For one thread, but for what the embedder does in its own.

    embedder: of texts, awaited. run_sync: compares with many rows. at_once: the embedder of what takes no thread, such
    as means of word vectors; these are made faster than they are read. kept: where vectors are kept; None: nowhere.
    """

    def __init__(
        self,
        rows: Rows,
        embedder: Embedder,
        run_sync: RunSync,
        at_once: Encoder | None = None,
        kept: VectorStore | None = None,
    ) -> None:
        self._rows = rows
        self._run_sync = run_sync
        self._embedder = embedder
        self._at_once = at_once
        self._kept = kept if at_once is None else None
        self._packed: Packed | None = None
        self._known = 0  # rows from 0 on that have vectors
        self._unkept: list[int] = []  # rows whose vectors are to be kept
        self._try_again = 0.0  # when a store that failed is asked
        self._told = False  # that nothing can be kept, while that is so
        self._numbers: dict[frozenset[int], tuple[int, RowNumbers]] = {}

    @property
    def langs(self) -> frozenset[Lang] | None:
        """Return the languages whose questions have a vector; None is any."""
        return self._embedder.langs

    @property
    def behind(self) -> int:
        """Return how many rows have no vectors yet."""
        return len(self._rows) - self._known

    # --- rows get their vectors

    async def catch_up(self) -> None:
        """Give each row its vector, in their order: one that is kept, or else one that is made. One task's.

        A cancel leaves what is done, and what was made is kept but for the last KEPT. Raises
        `agent.errors.EmbeddingFailed` where a served model gives none.
        """
        while self.behind:
            end = min(len(self._rows), self._known + READ)
            lacking = await self._restore(end)
            while lacking:
                some, lacking = lacking[:AT_ONCE], lacking[AT_ONCE:]
                await self._make(some)
                self._reach(lacking[0] if lacking else end)
                if len(self._unkept) >= KEPT:
                    await self.keep()
            self._reach(end)

    def _reach(self, known: int) -> None:
        self._known = known
        if self._packed is not None:
            self._packed.reach(known)

    async def _restore(self, end: int) -> list[int]:
        """Take what is kept of the rows up to one; return those of which nothing is."""
        rows = [row for row in range(self._known, end) if self._rows.live(row)]
        if self._kept is None or not rows:
            return rows
        of = {self._rows.id(row): row for row in rows}
        dimension = self._embedder.dimension
        if not dimension:  # a server says it with its first answer, and is not asked of blanks
            text = next((text for row in rows if (text := self._rows.texts[row]).strip()), "")
            dimension = (await self._embedder.embed([text])).shape[1]
        kind = VectorKind(self._embedder.name, dimension)
        kept: Sequence[PackedVector] = ()
        with self._store_may_fail():
            kept = await self._kept.vectors(kind, [*of])
        found = [each for each in kept if self._rows.live(of[each.id])]
        if found:
            steps = b"".join([each.steps for each in found])
            self._pack(dimension).restore(
                [of[each.id] for each in found], steps, [each.scale for each in found]
            )
        there = {each.id for each in kept}
        return [row for id, row in of.items() if id not in there]

    async def _make(self, rows: Sequence[int]) -> None:
        """Embed rows. What is gone meanwhile gets no vector."""
        texts = [self._rows.texts[row] for row in rows]
        found = await self._embedder.embed(texts, "passage")
        if not found.shape[1]:  # blank texts, and a server that was not asked yet
            return
        still = [at for at, row in enumerate(rows) if self._rows.live(row)]
        living = [rows[at] for at in still]
        self._pack(found.shape[1]).put(living, found[still])
        if self._kept is not None:
            self._unkept += living

    def _pack(self, dimension: int) -> Packed:
        if self._packed is None:
            self._packed = Packed(dimension)
        return self._packed

    async def keep(self) -> int:
        """Keep the vectors that were made since, so that no start makes them again; return how many could not be.

        Where that fails, which is said once, it is tried again after AGAIN seconds; they are there all the same. One
        task's.
        """
        while self._unkept and trio.current_time() >= self._try_again:
            assert self._kept is not None
            assert self._packed is not None
            some = self._unkept[:KEPT]
            packed = [
                PackedVector(self._rows.id(row), *self._packed.packed(row))
                for row in some
                if self._rows.live(row)
            ]
            with self._store_may_fail():
                await self._kept.keep_vectors(VectorKind(self._embedder.name, self._packed.dimension), packed)
                self._told = False
                del self._unkept[: len(some)]
        return len(self._unkept)

    @contextmanager
    def _store_may_fail(self) -> Iterator[None]:
        """Go on where a store fails, or is silent for MEMORY_WRITE seconds: that is said once, until it keeps again."""
        why = "it does not answer"
        with trio.move_on_after(MEMORY_WRITE):
            try:
                yield
            except StorageFailed as error:
                why = str(error)
            else:
                return
        self._try_again = trio.current_time() + AGAIN
        if not self._told:
            self._told = True
            _log.warning("vectors of what was said are not kept, the next start makes them", why=why)

    def forget(self, row: int) -> None:
        """Take a row's vector out."""
        if self._packed is not None:
            self._packed.empty(row)

    # --- and are compared

    async def look(self, text: str, places: frozenset[int]) -> Look:
        """Return which rows of some places are nearest to a question. Raises `agent.errors.EmbeddingFailed`."""
        if self._at_once is not None:
            vector: Vectors = self._at_once.encode([text], "question")[0]
        else:
            vector = (await self._embedder.embed([text], "question"))[0]
        among, packed = self._among(places), self._packed
        if packed is None or not len(among):
            return Look(vector, among[:0])
        if len(among) < _MANY:
            return Look(vector, packed.nearest(among, vector, NEAR))
        return Look(vector, await self._run_sync(lambda: packed.nearest(among, vector, NEAR)))

    def near(
        self, look: Look, seen: Callable[[int], bool], candidates: Collection[int]
    ) -> tuple[Mapping[int, float], Mapping[int, float]]:
        """Return the cosines of candidates and of the nearest rows: of each alone, and with the turns beside it.

        seen: whether a row may be found.
        """
        if self._packed is None or not len(look.nearest):
            return {}, {}
        wanted = [row for row in {*look.nearest.tolist(), *candidates} if seen(row)]
        if not wanted:
            return {}, {}
        beside = np.array([(row, *self._rows.beside(row)) for row in wanted], np.int64).T
        known = (beside != NONE) & (beside < self._known)
        found = np.zeros(beside.shape)
        found[known] = self._packed.cosines(beside[known], look.vector)
        own = np.maximum(found[0], 0.0)
        around = np.maximum(found.sum(axis=0) / (beside != NONE).sum(axis=0), 0.0)
        return dict(zip(wanted, own.tolist(), strict=True)), dict(zip(wanted, around.tolist(), strict=True))

    def _among(self, places: frozenset[int]) -> RowNumbers:
        """Return the rows of some places that have vectors, in their order."""
        known = self._numbers.get(places)
        if known is None or known[0] != self._known:
            place = np.frombuffer(self._rows.place, np.uint32, self._known).copy()
            found = np.flatnonzero(np.isin(place, np.fromiter(places, np.uint32)))
            if len(self._numbers) > _SCOPES_KEPT:
                self._numbers.clear()
            known = self._numbers[places] = self._known, found
        return known[1]
