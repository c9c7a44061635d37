"""The vectors of turns and items, by row. Imported only with an embedder, since it needs numpy.

Strategy: a turn's vector covers its own words. The similarity of a turn with its neighbours is the mean of their
cosines, so that nothing is embedded twice and a new turn changes no other vector. Vectors from a model are stored
beside the words, in batches, and read at a start; only missing ones are embedded. They can be made again at any time,
so a store that fails costs no more than that. A question is compared with every row in its reach (see `packed`), in a
worker thread if there are many.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np
import structlog
import trio

from agent.errors import StorageFailed
from agent.lang import Lang
from agent.ports.embed import Embedder, Encoder, Vectors
from agent.ports.vectors import PackedVector, VectorKind, VectorStore
from agent.ports.work import RunSync
from agent.recall.columns import NONE
from agent.recall.rows import RecallRows

from ..settings import MEMORY_WRITE
from .packed import PackedVectors
from .packed import Rows as RowNumbers

NEAR: Final = 100
"""Rows that become candidates by their vectors alone."""
AT_ONCE: Final = 32
"""Texts that are embedded together."""
READ: Final = 256
"""Rows whose vectors are read together."""
KEPT: Final = 128
"""Unsaved vectors that trigger a save: some 2 ms of the store."""
AGAIN: Final = 60.0
"""Seconds until a store that failed is tried again."""
_MANY: Final = 4_096  # rows from which comparing takes a thread: some 0.5 ms
_SCOPES_KEPT: Final = 64

_log = structlog.get_logger("agent.memory.recall")


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The vector of a question, and its `nearest` rows, in no order."""

    vector: Vectors
    nearest: RowNumbers


class RowVectors:
    """The vectors of rows. For one thread, except the work that the embedder does in its own.

    `embedder`: embeds texts, awaited. `run_sync`: compares with many rows. `at_once`: an encoder that needs no thread,
    such as means of word vectors; those vectors are made faster than read, and not stored. `store`: the store of
    vectors, or None.
    """

    def __init__(
        self,
        rows: RecallRows,
        embedder: Embedder,
        run_sync: RunSync,
        at_once: Encoder | None = None,
        store: VectorStore | None = None,
    ) -> None:
        self._rows = rows
        self._run_sync = run_sync
        self._embedder = embedder
        self._at_once = at_once
        self._store = store if at_once is None else None
        self._packed: PackedVectors | None = None
        self._known = 0  # rows 0 to this one have vectors
        self._unsaved: list[int] = []  # rows whose vectors are to be kept
        self._try_again = 0.0  # when to try a failed store again
        self._failure_logged = False  # whether the current failure was logged
        self._numbers: dict[frozenset[int], tuple[int, RowNumbers]] = {}

    @property
    def langs(self) -> frozenset[Lang] | None:
        """The languages whose questions have a vector; None for all."""
        return self._embedder.langs

    @property
    def missing_count(self) -> int:
        """The number of rows without a vector."""
        return len(self._rows) - self._known

    # --- making and storing vectors

    async def catch_up(self) -> None:
        """Give each row its vector, in order: the stored one, else a new one. For one task.

        A cancel leaves the finished part, and all of it stored but the last KEPT. Raises `agent.errors.EmbeddingFailed`
        if a served model returns none.
        """
        while self.missing_count:
            end = min(len(self._rows), self._known + READ)
            lacking = await self._restore(end)
            while lacking:
                some, lacking = lacking[:AT_ONCE], lacking[AT_ONCE:]
                await self._embed_rows(some)
                self._mark_known(lacking[0] if lacking else end)
                if len(self._unsaved) >= KEPT:
                    await self.save_vectors()
            self._mark_known(end)

    def _mark_known(self, known: int) -> None:
        self._known = known
        if self._packed is not None:
            self._packed.make_room(known)

    async def _restore(self, end: int) -> list[int]:
        """Read the stored vectors of the rows up to `end`; return the rows without one."""
        rows = [row for row in range(self._known, end) if self._rows.is_live(row)]
        if self._store is None or not rows:
            return rows
        row_of = {self._rows.id(row): row for row in rows}
        dimension = self._embedder.dimension
        if not dimension:
            # The first answer of a served model gives its dimension; blank texts are not sent to it.
            text = next((text for row in rows if (text := self._rows.texts[row]).strip()), "")
            dimension = (await self._embedder.embed([text])).shape[1]
        kind = VectorKind(self._embedder.name, dimension)
        stored_vectors: Sequence[PackedVector] = ()
        with self._store_may_fail():
            stored_vectors = await self._store.vectors(kind, [*row_of])
        live_vectors = [each for each in stored_vectors if self._rows.is_live(row_of[each.id])]
        if live_vectors:
            steps = b"".join([each.steps for each in live_vectors])
            self._pack(dimension).restore_vectors(
                [row_of[each.id] for each in live_vectors], steps, [each.scale for each in live_vectors]
            )
        stored_ids = {each.id for each in stored_vectors}
        return [row for id, row in row_of.items() if id not in stored_ids]

    async def _embed_rows(self, rows: Sequence[int]) -> None:
        """Embed rows. A row that is forgotten before its vector arrives gets none."""
        texts = [self._rows.texts[row] for row in rows]
        vectors = await self._embedder.embed(texts, "passage")
        if not vectors.shape[1]:  # blank texts, before the served model was first asked
            return
        live_positions = [at for at, row in enumerate(rows) if self._rows.is_live(row)]
        live_rows = [rows[at] for at in live_positions]
        self._pack(vectors.shape[1]).put_vectors(live_rows, vectors[live_positions])
        if self._store is not None:
            self._unsaved += live_rows

    def _pack(self, dimension: int) -> PackedVectors:
        if self._packed is None:
            self._packed = PackedVectors(dimension)
        return self._packed

    async def save_vectors(self) -> int:
        """Store the new vectors, so that no start makes them again; return how many could not be stored.

        A failure is logged once and tried again after AGAIN seconds; searches use the vectors all the same. For one
        task.
        """
        while self._unsaved and trio.current_time() >= self._try_again:
            assert self._store is not None
            assert self._packed is not None
            some = self._unsaved[:KEPT]
            packed = [
                PackedVector(self._rows.id(row), *self._packed.vector_bytes(row))
                for row in some
                if self._rows.is_live(row)
            ]
            with self._store_may_fail():
                await self._store.keep_vectors(
                    VectorKind(self._embedder.name, self._packed.dimension), packed
                )
                self._failure_logged = False
                del self._unsaved[: len(some)]
        return len(self._unsaved)

    @contextmanager
    def _store_may_fail(self) -> Iterator[None]:
        """Carry on if the store fails or is silent for `MEMORY_WRITE` seconds; log that once until a save succeeds."""
        why = "the store does not answer"
        with trio.move_on_after(MEMORY_WRITE):
            try:
                yield
            except StorageFailed as error:
                why = str(error)
            else:
                return
        self._try_again = trio.current_time() + AGAIN
        if not self._failure_logged:
            self._failure_logged = True
            _log.warning("vectors of messages are not stored; the next start computes them again", why=why)

    def drop_vector(self, row: int) -> None:
        """Remove the vector of `row`."""
        if self._packed is not None:
            self._packed.clear_vector(row)

    # --- comparing a question with rows

    async def find_nearest(self, text: str, places: frozenset[int]) -> QueryVector:
        """Return the vector of a question and the nearest rows of `places`. Raises `agent.errors.EmbeddingFailed`."""
        if self._at_once is not None:
            vector: Vectors = self._at_once.encode([text], "question")[0]
        else:
            vector = (await self._embedder.embed([text], "question"))[0]
        among, packed = self._rows_among(places), self._packed
        if packed is None or not len(among):
            return QueryVector(vector, among[:0])
        if len(among) < _MANY:
            return QueryVector(vector, packed.find_nearest(among, vector, NEAR))
        return QueryVector(vector, await self._run_sync(lambda: packed.find_nearest(among, vector, NEAR)))

    def measure_cosines(
        self, look: QueryVector, is_visible: Callable[[int], bool], candidates: Collection[int]
    ) -> tuple[Mapping[int, float], Mapping[int, float]]:
        """Return the cosines of candidates and of the nearest rows: of each alone, and with its neighbours.

        `is_visible`: whether a row may be found.
        """
        if self._packed is None or not len(look.nearest):
            return {}, {}
        wanted = [row for row in {*look.nearest.tolist(), *candidates} if is_visible(row)]
        if not wanted:
            return {}, {}
        beside = np.array([(row, *self._rows.neighbours(row)) for row in wanted], np.int64).T
        known = (beside != NONE) & (beside < self._known)
        cosines = np.zeros(beside.shape)
        cosines[known] = self._packed.cosines(beside[known], look.vector)
        own = np.maximum(cosines[0], 0.0)
        around = np.maximum(cosines.sum(axis=0) / (beside != NONE).sum(axis=0), 0.0)
        return dict(zip(wanted, own.tolist(), strict=True)), dict(zip(wanted, around.tolist(), strict=True))

    def _rows_among(self, places: frozenset[int]) -> RowNumbers:
        """Return the rows of `places` that have vectors, in order."""
        known = self._numbers.get(places)
        if known is None or known[0] != self._known:
            place = np.frombuffer(self._rows.place, np.uint32, self._known).copy()
            rows = np.flatnonzero(np.isin(place, np.fromiter(places, np.uint32)))
            if len(self._numbers) > _SCOPES_KEPT:
                self._numbers.clear()
            known = self._numbers[places] = self._known, rows
        return known[1]
