"""Keeps an index what the store has: read to its end when it starts, and followed from then on.

Strategy: rows first, the tail at once, the index when BATCH rows wait or nothing has come for a while. Who searches
looks for what is new before, since another process may have written it; who waits for such a look shares it.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol

import structlog
import trio

from agent.errors import StorageFailed
from agent.heap import give_back
from agent.ports.memory import LIVE, Changes, Item, StoredTurn
from agent.ports.work import RunSync

from .index import BATCH, Index
from .rows import NONE

QUIET: Final = 1.0
"""Seconds in which nothing came, after which what waits is put into the index."""
LOOK: Final = 5.0
"""Seconds after which it is looked whether another process has changed something, where nobody asks before."""
PAGE: Final = 64
"""Changes that are read at once."""
BULK: Final = 12_500
"""Rows that wait, from which they are written though more are known to come: what waits takes memory, and what is
written in few pieces is searched sooner."""
_STEP: Final = 16  # of a full page that are taken in without a pause: some ms of the event loop
_MUCH: Final = 2_500  # rows that are written at once, after which there is memory to give back

_log = structlog.get_logger("agent.recall")


class Feed(Protocol):
    """What is kept, as it changes: `agent.ports.memory.MemoryStore` is one."""

    async def changed(self, after: int, limit: int) -> Changes:
        """Return what has changed since an earlier call, of every scope; fewer than `limit` only where that is all."""
        ...

    async def forgotten(self, ids: Collection[str]) -> frozenset[str]:
        """Return which of these items and turns were forgotten."""
        ...


class Following:
    """Follows a store with an index.

    run_sync: writes the index. gone: is told the rows that are taken out. come: set when rows have come or gone; who
    waits for that makes another. beginning: what is kept has not been read to its end yet.
    """

    def __init__(self, store: Feed, index: Index, run_sync: RunSync, gone: Callable[[int], None]) -> None:
        self.come = trio.Event()
        self.beginning = True
        self._store = store
        self._index = index
        self._run_sync = run_sync
        self._gone = gone
        self._upto = 0
        self._looks = self._ended = 0  # that have begun, and the last one that left nothing to be read
        self._reading = trio.Lock()
        self._waits = trio.Event()
        self._enough = trio.Event()

    async def catch_up(self) -> None:
        """Take in what has changed in the store, and write the index. Raises `agent.errors.StorageFailed`.

        A cancel leaves an index that goes on from where it was.
        """
        while await self._look():
            if self._index.waiting >= BULK:
                await self._write()
        await self._write()

    async def look(self) -> bool:
        """Take in all that has changed, after others who do; while the whole is read first, what is at hand.

        Return whether that was all. Raises `agent.errors.StorageFailed`.
        """
        if self.beginning:
            if not self._reading.locked():
                await self._look()
            return not self.beginning
        came = self._looks
        while await self._look(came):
            pass
        return True

    async def keep_up(self) -> None:
        """Follow the store, and write what waits into the index, in batches, until cancelled. One task's."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_looking)
            nursery.start_soon(self._keep_writing)

    def changed(
        self, turns: Sequence[StoredTurn] = (), items: Sequence[Item] = (), more: bool = False
    ) -> None:
        """Take in turns that were kept or forgotten, and what became of items. Never blocks.

        What is new can be found at once, and what is gone no more. more: it is a part of much, most likely; its turns
        are found when they are written.
        """
        self._take(turns, items, more)
        self.come.set()
        if not more or self._index.waiting >= BULK:
            self._say_what_waits()

    async def _look(self, came: int | None = None) -> bool:
        """Take in a page of what has changed in the store; return whether there may be more.

        It can be found from then on, or not any more. came: how many looks had begun when its caller came: one that
        began since and left nothing is his too. What a cancel leaves half taken is taken again.
        """
        async with self._reading:
            if came is not None and self._ended > came:
                return False
            self._looks += 1
            changes = await self._store.changed(self._upto, PAGE)
            more = changes.upto - self._upto >= PAGE
            if not more:
                if self.beginning:
                    self._waits.set()  # for the end of it
                self.beginning = False
                self._ended = self._looks
            if changes.upto == self._upto:
                self._say_what_waits()
                return False
            turns = changes.turns
            while more and turns:  # others get their turn between them
                self._take(turns[:_STEP], (), more)
                turns = turns[_STEP:]
                await trio.lowlevel.checkpoint()
            self.changed(turns, changes.items, more)
            self._upto = changes.upto
            return more

    def _take(self, turns: Sequence[StoredTurn], items: Sequence[Item], more: bool) -> None:
        for turn in turns:
            if turn.remark.text:
                self._index.add(turn, later=more)
            else:
                self._let_go(self._index.forget(turn.n))
        for item in items:
            self._let_go(self._index.drop(item.id))
            if item.status in LIVE:
                self._index.put(item)

    def _let_go(self, row: int) -> None:
        if row != NONE:
            self._gone(row)

    def _say_what_waits(self) -> None:
        """Let what waits be written: at once where it is enough, else when nothing came for a while."""
        if self._index.waiting:
            self._waits.set()
        if self._index.waiting >= BATCH:
            self._enough.set()

    async def _keep_looking(self) -> None:
        while True:
            try:
                while await self._look():
                    pass
            except StorageFailed:
                _log.warning("what is remembered cannot be read now")
                self._say_what_waits()
            await trio.sleep(LOOK)

    async def _keep_writing(self) -> None:
        began = self.beginning
        while True:
            await self._waits.wait()
            with trio.move_on_after(QUIET):
                await self._enough.wait()
            self._waits, self._enough = trio.Event(), trio.Event()
            await self._write()
            if began and not self.beginning:  # what reading it all has left free is the most there will be
                began = False
                await self._run_sync(give_back)

    async def _write(self) -> None:
        if self._index.waiting:
            batch = self._index.batch()
            self._index.take(batch, await self._run_sync(lambda: self._index.write(batch)))
            if len(batch.rows) >= _MUCH:
                await self._run_sync(give_back)
