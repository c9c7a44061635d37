"""Finds past messages and items for a question (implements `agent.ports.recall.Recaller`).

Strategy: each group of scopes that is searched together has an index of its own, made of the store's rows when it is
first asked, and kept up to date by the store's changes. Nothing is read at a start, and the least recently used indexes
are let go. A small group is read by the caller that asks first; a large one behind it, by `keep_up`, so that a caller
that leaves stops nothing. The vector of a question is awaited if its embedder takes a thread. If vectors are missing,
or a served model fails, words alone decide.
"""

from collections.abc import AsyncGenerator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Final

import structlog
import trio

from agent.errors import EmbeddingFailed, StorageFailed
from agent.heap import trim_heap
from agent.ports.conversation import Scope
from agent.ports.recall import Reach, RecallQuery, RecallResult
from agent.ports.recall_store import Changes, RecallStore, ScopeGroup
from agent.ports.work import RunSync
from agent.recall.index import RecallIndex
from agent.recall.rank import WEIGHTS, RankWeights
from agent.recall.sureness import FLOOR

from ..settings import MEMORY_INDEXES
from .change_follower import ChangeFollower
from .scope_index import ScopeIndex, group_of, split_changes
from .search import IndexSearch, VectorArm

AGAIN: Final = 60.0
"""Seconds between two times that new vectors are stored, at which a failed served model is tried again too."""
LOOK: Final = 5.0
"""Seconds between looks for changes of other processes, if no search looks before."""
_MANY: Final = 32  # rows whose new vectors are stored at once
_BEHIND: Final = 2
"""Indexes that are read or written at a time behind the searches."""
_TRIMMED: Final = 16
"""Indexes that are read or written before the heap is trimmed: each leaves up to a megabyte."""

_log = structlog.get_logger("agent.memory.recall")


class IndexRecaller:
    """Searches the indexes of scopes.

    `store`: the source of the indexes. `run_sync`: writes them. `near`: makes the vectors of one, or None. `floor`: the
    sureness below which nothing is found. `most`: the indexes that are held at a time, besides those in use.
    """

    def __init__(
        self,
        store: RecallStore,
        run_sync: RunSync,
        near: Callable[[RecallIndex], VectorArm] | None = None,
        floor: float = FLOOR,
        weights: RankWeights = WEIGHTS,
        most: int = MEMORY_INDEXES,
    ) -> None:
        self._store = store
        self._run_sync = run_sync
        self._near = near
        self._floor, self._weights = floor, weights
        self._most = most
        self._follower = ChangeFollower(store, self._take)
        self._held: dict[ScopeGroup, ScopeIndex] = {}  # the least recently used first
        self._due: dict[ScopeIndex, None] = {}  # to be read or written
        self._work = trio.Event()
        self._come = trio.Event()  # rows were added or removed
        self._is_kept_up = False
        self._works = 0
        self._logged_reason: str | None = None  # the reason that was logged for missing vectors

    # --- following the store

    def _take(self, changes: Changes) -> None:
        for group, some in split_changes(changes).items():
            held = self._held.get(group)
            if held is not None:
                held.take(some)
                self._come.set()
                if held.is_loaded and held.index.is_due:
                    self._queue(held)

    def _queue(self, held: ScopeIndex) -> None:
        self._due[held] = None
        self._work.set()

    async def keep_up(self) -> None:
        """Follow the store, and read and write indexes behind the searches, until cancelled.

        For one task, during the whole use of this object.
        """
        self._is_kept_up = True
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._keep_looking)
                for _ in range(_BEHIND):
                    nursery.start_soon(self._keep_working)
                if self._near is not None:
                    nursery.start_soon(self._keep_embedded)
        finally:
            self._is_kept_up = False

    async def _keep_looking(self) -> None:
        while True:
            try:
                await self._follower.read_changes()
            except StorageFailed:
                _log.warning("memory cannot be read now")
            await trio.sleep(LOOK)

    async def _keep_working(self) -> None:
        while True:
            while not self._due:
                self._work = trio.Event()
                await self._work.wait()
            held = next(iter(self._due))
            del self._due[held]
            with self._using(held):
                try:
                    await held.load_rest(self._store, self._run_sync)
                    await held.write_waiting(self._run_sync)
                except StorageFailed:
                    held.wake_waiting()
                self._works += 1
                if self._works % _TRIMMED == 0:
                    await self._run_sync(trim_heap)

    # --- holding indexes

    @contextmanager
    def _using(self, held: ScopeIndex) -> Iterator[None]:
        """Hold an index for the time of a block. It is let go where nobody reads the rest of its rows."""
        held.users += 1
        try:
            yield
        finally:
            held.users -= 1
            if not (held.is_loaded or held.users or held in self._due) and self._held.get(held.group) is held:
                del self._held[held.group]

    @asynccontextmanager
    async def _open_index(self, scope: Scope, reach: Reach) -> AsyncGenerator[ScopeIndex, None]:
        """Give the up-to-date index that a search reaches, for the time of a block.

        Raises `agent.errors.StorageFailed`. After a cancel, its rows are read on behind the searches.
        """
        await self._follower.start()
        group = group_of(scope, reach)
        held = self._held.pop(group, None) or ScopeIndex(group, self._make_search())
        self._held[group] = held
        with self._using(held):
            self._let_go()
            has_paused = not held.is_loaded
            await self._load(held)
            if not (has_paused and self._follower.is_complete):
                await self._follower.read_changes()
            yield held

    async def _load(self, held: ScopeIndex) -> None:
        if held.is_loaded:
            return
        try:
            await held.load_first(self._store)
        except trio.Cancelled:
            if self._is_kept_up:  # its next question finds it
                self._queue(held)
            raise
        if not (held.is_loaded or self._is_kept_up):
            await held.load_rest(self._store, self._run_sync)
        if not held.is_loaded:
            self._queue(held)
            await held.wait_settled()
            if not held.is_loaded:
                raise StorageFailed("memory cannot be read now")
        self._come.set()

    def _make_search(self) -> IndexSearch:
        search = IndexSearch(RecallIndex(), self._floor, self._weights)
        search.near = None if self._near is None else self._near(search.index)
        return search

    def _let_go(self) -> None:
        """Let the least recently used indexes go that are too many and not in use."""
        too_many = len(self._held) - self._most
        if too_many > 0:
            idle = [held for held in self._held.values() if not held.users]
            for held in idle[:too_many]:
                del self._held[held.group]
                self._due.pop(held, None)

    # --- searching

    async def recall(self, search: RecallQuery) -> RecallResult:
        """Return the excerpts that fit, within the budget, oldest first, including changes by other processes.

        A cancel leaves nothing behind but what was read. Raises `agent.errors.StorageFailed`.
        """
        async with self._open_index(search.scope, search.reach) as held:
            look = None
            try:
                look = await held.search.look(search)
            except EmbeddingFailed as error:
                self._log_missing(error)
            result = held.search.search_index(search, look)
            cited = [each.id for each in (*result.excerpts, *result.visible_excerpts) if each.citable]
            standing = held.index.rows.standing_ids(cited, search.at)
            return replace(result, items=held.search.valid_items(search), standing=standing)

    async def standing_ids(self, scope: Scope, ids: Collection[str], at: int) -> frozenset[str]:
        """Return the subset of these items and turns of `scope` that may be cited at the time `at`, after the changes
        by other processes. Raises `agent.errors.StorageFailed`.
        """
        held = self._held.get(group_of(scope))
        if held is None or not held.is_loaded:
            return await self._store.citable_ids(ids, at)
        with self._using(held):
            await self._follower.read_changes()
            return held.index.rows.standing_ids(ids, at)

    async def load_index(self, scope: Scope, reach: Reach = "scope") -> RecallIndex:
        """Return the up-to-date index that a search reaches. Raises `agent.errors.StorageFailed`."""
        async with self._open_index(scope, reach) as held:
            return held.index

    # --- embedding rows

    async def embed_with(self, near: Callable[[RecallIndex], VectorArm]) -> None:
        """Search with vectors from now on, and embed rows, until cancelled. For one task."""
        self._near = near
        for held in self._held.values():
            held.search.near = near(held.index)
        await self._keep_embedded()

    async def _keep_embedded(self) -> None:
        save_at = trio.current_time() + AGAIN
        while True:
            self._come = trio.Event()
            await self.embed_rows()
            with trio.move_on_at(save_at):
                await self._come.wait()
            if trio.current_time() >= save_at:  # however many changes come meanwhile
                await self.save_vectors()
                save_at = trio.current_time() + AGAIN

    async def embed_rows(self) -> None:
        """Embed the rows without a vector of the indexes that are held. A cancel leaves the finished part."""
        for held in [*self._held.values()]:
            near = held.search.near
            if near is None or not held.is_loaded or not near.missing_count:
                continue
            if self._held.get(held.group) is not held:  # let go meanwhile, and told of no change since
                continue
            many = near.missing_count > _MANY
            with self._using(held):
                try:
                    await near.catch_up()
                    self._logged_reason = None
                except EmbeddingFailed as error:
                    self._log_missing(error)
                    return
                if many:  # the index may be let go before the next time
                    await near.save_vectors()

    async def save_vectors(self) -> int:
        """Store the vectors that `embed_rows` left unsaved; return how many could not be stored."""
        arms = [near for held in self._held.values() if (near := held.search.near) is not None]
        return sum([await near.save_vectors() for near in arms])

    def _log_missing(self, error: EmbeddingFailed) -> None:
        """Log that vectors are missing, once per reason until rows are embedded again."""
        if self._logged_reason != str(error):
            self._logged_reason = str(error)
            _log.warning("no vectors from the served model, words alone recall", why=str(error))
