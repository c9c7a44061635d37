"""Follows the changes of a store, from those after its start, and hands them on in their order.

Strategy: the store tells the changes of this process's own writes (`hear_changes`). A search reads those of other
processes first, if the store says that there may be any; callers that wait for such a look share it. A change that is
heard while a look is read waits for it, and is dropped where the look has it: the look may be of an earlier state, or
of a later one, and the older of both would undo the newer.
"""

from collections.abc import Callable
from typing import Final

import trio

from agent.ports.change_mark import ChangeMark
from agent.ports.recall_store import Changes, RecallStore

PAGE: Final = 64
"""Changes that are read at once."""


class ChangeFollower:
    """Follows `store`, and calls `take` with the changes after its start, in their order; `take` never blocks.

    Of two changes of one row, the one that is taken later has its later state.
    """

    def __init__(self, store: RecallStore, take: Callable[[Changes], None]) -> None:
        self._store = store
        self._take = take
        self._upto: ChangeMark | None = None  # the last change that was taken; None before the start
        self._looks = self._ended = 0  # looks begun, and the last that reached the end
        self._unheard = -1  # `count_unheard_writes` before that look
        self._heard: list[tuple[ChangeMark, Changes]] = []  # while a look is read
        self._reading = trio.Lock()
        self._listens = False

    async def start(self) -> None:
        """Follow the changes from now on, if this was not called before. Raises `agent.errors.StorageFailed`."""
        if self._upto is None:
            await self.read_changes()

    @property
    def is_complete(self) -> bool:
        """Whether all changes were taken, of every process."""
        return self._store.count_unheard_writes() == self._unheard and not self._heard

    async def read_changes(self) -> None:
        """Take all changes that were not heard, after looks already in progress. Raises `agent.errors.StorageFailed`.

        After a cancel, the next call continues from its place.
        """
        if self.is_complete:
            await trio.lowlevel.checkpoint()
            return
        came = self._looks
        while await self._read_page(came):
            pass

    def hear_changes(self, after: ChangeMark, changes: Changes) -> None:
        """Take the changes of a write of this process. Never blocks."""
        if self._reading.locked():
            self._heard.append((after, changes))
        elif self._upto is not None:
            self._take_heard(self._upto, after, changes)

    def _take_heard(self, upto: ChangeMark, after: ChangeMark, changes: Changes) -> None:
        if upto.covers(changes.upto):  # a look had them, and maybe what became of them since
            return
        self._take(changes)
        if upto.covers(after):
            self._upto = changes.upto
        else:  # changes of another process come before
            self._unheard = -1

    async def _read_page(self, came: int) -> bool:
        """Read a page of the store's changes; return whether there may be more.

        `came`: the number of looks that had begun when the caller came: a later look that reached the end counts for
        this caller too. A page cut off by a cancel is read again.
        """
        async with self._reading:
            if self._ended > came:
                return False
            self._looks += 1
            if not self._listens:
                await self._store.listen_for_changes(self.hear_changes)
                self._listens = True
            unheard = self._store.count_unheard_writes()
            if self._upto is None:
                self._upto, more = await self._store.find_last_change(), False
            else:
                changes = await self._store.changes_after(self._upto, PAGE)
                more = changes.more
                self._take(changes)
                self._upto = changes.upto
            if not more:
                self._ended = self._looks
                if unheard is not None:
                    self._unheard = unheard
                heard, self._heard = self._heard, []
                for after, written in heard:
                    self._take_heard(self._upto, after, written)
            return more
