"""Keeps an index up to date with the store: reads everything at a start, then follows the changes.

Strategy: rows first, the tail at once, the index when BATCH rows wait or after a quiet while. A search first reads the
store's new changes, since another process may have written some; callers that wait for such a look share it.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol

import structlog
import trio

from agent.errors import StorageFailed
from agent.heap import trim_heap
from agent.ports.memory import LIVE, Changes, Item, StoredTurn
from agent.ports.work import RunSync

from .index import BATCH, RecallIndex
from .rows import NONE

QUIET: Final = 1.0
"""Seconds without a change, after which the waiting rows are written into the index."""
LOOK: Final = 5.0
"""Seconds between looks for changes of other processes, if no search looks before."""
PAGE: Final = 64
"""Changes that are read at once."""
BULK: Final = 12_500
"""Waiting rows that are written although more are to come: waiting rows take memory, and an index in few pieces is
searched faster.
"""
_STEP: Final = 16  # changes applied without a pause: some ms of the event loop
_MUCH: Final = 2_500  # rows written at once that are worth a trim of the heap

_log = structlog.get_logger("agent.memory.recall")


class ChangeFeed(Protocol):
    """The changes of a store: `agent.ports.memory.MemoryStore` is one."""

    async def changes_after(self, after: int, limit: int) -> Changes:
        """Return the changes after number `after`, in every scope; fewer than `limit` only at the end."""
        ...

    async def forgotten_ids(self, ids: Collection[str]) -> frozenset[str]:
        """Return those of `ids` (items and turns) that were forgotten."""
        ...


class IndexFollower:
    """Follows a store with an index.

    `run_sync`: writes the index. `drop_row`: called with each row that is removed. `come`: set when rows
    were added or removed; a waiter replaces it. `beginning`: the first read has not reached the end yet.
    """

    def __init__(
        self, store: ChangeFeed, index: RecallIndex, run_sync: RunSync, drop_row: Callable[[int], None]
    ) -> None:
        self.come = trio.Event()
        self.beginning = True
        self._store = store
        self._index = index
        self._run_sync = run_sync
        self._drop_row = drop_row
        self._upto = 0
        self._looks = self._ended = 0  # looks begun, and the last that reached the end
        self._reading = trio.Lock()
        self._waits = trio.Event()
        self._enough = trio.Event()

    async def catch_up(self) -> None:
        """Read the store's changes and write the index. Raises `agent.errors.StorageFailed`.

        After a cancel, the index continues from its place.
        """
        while await self._read_page():
            if self._index.waiting_count >= BULK:
                await self._write()
        await self._write()

    async def read_changes(self) -> bool:
        """Read all changes, after looks already in progress; during the first read, only a page.

        Return whether that was all. Raises `agent.errors.StorageFailed`.
        """
        if self.beginning:
            if not self._reading.locked():
                await self._read_page()
            return not self.beginning
        came = self._looks
        while await self._read_page(came):
            pass
        return True

    async def keep_up(self) -> None:
        """Follow the store and write waiting rows into the index, in batches, until cancelled. For one task."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_looking)
            nursery.start_soon(self._keep_writing)

    def apply_changes(
        self, turns: Sequence[StoredTurn] = (), items: Sequence[Item] = (), more: bool = False
    ) -> None:
        """Apply new and forgotten turns, and changed items. Never blocks.

        New rows can be found at once, and removed rows no more. `more`: this is one page of many; its turns can be
        found when they are written.
        """
        self._apply_rows(turns, items, more)
        self.come.set()
        if not more or self._index.waiting_count >= BULK:
            self._wake_writer()

    async def _read_page(self, came: int | None = None) -> bool:
        """Read a page of the store's changes; return whether there may be more.

        Its rows can be found, or not any more, from then on. `came`: the number of looks that had begun when the caller
        `came`: a later look that reached the end counts for this caller too. A page cut off by a cancel is read again.
        """
        async with self._reading:
            if came is not None and self._ended > came:
                return False
            self._looks += 1
            changes = await self._store.changes_after(self._upto, PAGE)
            more = changes.upto - self._upto >= PAGE
            if not more:
                if self.beginning:
                    self._waits.set()  # for the last rows
                self.beginning = False
                self._ended = self._looks
            if changes.upto == self._upto:
                self._wake_writer()
                return False
            turns = changes.turns
            while more and turns:  # other tasks run in between
                self._apply_rows(turns[:_STEP], (), more)
                turns = turns[_STEP:]
                await trio.lowlevel.checkpoint()
            self.apply_changes(turns, changes.items, more)
            self._upto = changes.upto
            return more

    def _apply_rows(self, turns: Sequence[StoredTurn], items: Sequence[Item], more: bool) -> None:
        for turn in turns:
            if turn.remark.text:
                self._index.add_turn(turn, later=more)
            else:
                self._report_gone(self._index.forget_turn(turn.n))
        for item in items:
            self._report_gone(self._index.drop_item(item.id))
            if item.status in LIVE:
                self._index.put_item(item)

    def _report_gone(self, row: int) -> None:
        if row != NONE:
            self._drop_row(row)

    def _wake_writer(self) -> None:
        """Wake the writer: at once for a full batch, else after a quiet while."""
        if self._index.waiting_count:
            self._waits.set()
        if self._index.waiting_count >= BATCH:
            self._enough.set()

    async def _keep_looking(self) -> None:
        while True:
            try:
                while await self._read_page():
                    pass
            except StorageFailed:
                _log.warning("memory cannot be read now")
                self._wake_writer()
            await trio.sleep(LOOK)

    async def _keep_writing(self) -> None:
        began = self.beginning
        while True:
            await self._waits.wait()
            with trio.move_on_after(QUIET):
                await self._enough.wait()
            self._waits, self._enough = trio.Event(), trio.Event()
            await self._write()
            if began and not self.beginning:  # the first read frees the most memory
                began = False
                await self._run_sync(trim_heap)

    async def _write(self) -> None:
        if self._index.waiting_count:
            batch = self._index.make_batch()
            self._index.install_batch(batch, await self._run_sync(lambda: self._index.write_batch(batch)))
            if len(batch.rows) >= _MUCH:
                await self._run_sync(trim_heap)
