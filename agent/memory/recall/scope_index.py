"""Makes the index of one group of scopes from the store's rows, when it is first asked, and keeps it up to date.

Strategy: the turns are read in pages, each as it is then, so that no large group holds the event loop or the store. A
small group is one page, added in one step: beside many busy sessions each pause would take as long as all their steps.
Changes that come meanwhile wait until all is read, and are applied in their order, but for those that the first page
had: a row may have changed since. A page may be later than a change that waited, but not than the last change of its
rows. So what was forgotten while it was read does not come back, once all changes were read, as before each search.
"""

from array import array
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import trio

from agent.heap import trim_heap
from agent.ports.change_mark import BEGINNING
from agent.ports.conversation import Scope
from agent.ports.memory import Item, StoredTurn
from agent.ports.recall import Reach
from agent.ports.recall_store import Changes, RecallStore, ScopeGroup
from agent.ports.work import RunSync
from agent.recall.index import BATCH, BULK, RecallIndex

from .change_follower import PAGE
from .search import IndexSearch

_STEP: Final = 16  # turns that are added without a pause: some ms of the event loop
_MUCH: Final = 2_500  # rows written at once that are worth a trim of the heap


def group_of(scope: Scope, reach: Reach = "scope") -> ScopeGroup:
    """Return the group of scopes that a search reaches, or a larger one."""
    whole = reach == "user" or scope.user
    return ScopeGroup(scope.project, scope.user, None if whole else scope.thread)


class ScopeIndex:
    """The index of `group`. `users`: the callers that hold it now.

    Many are held and few are being loaded, so one that nobody loads has neither a lock nor an event.
    """

    def __init__(self, group: ScopeGroup, search: IndexSearch) -> None:
        self.group = group
        self.search = search
        self.index: RecallIndex = search.index
        self.users = 0
        self.is_loaded = False
        self._settled: trio.Event | None = None  # set when a load has ended or failed, for those that wait
        self._lock: trio.Lock | None = None  # of those that read or write its rows
        self._numbers: array[int] | None = None  # of the turns that are yet to be read, the last first
        self._upto = BEGINNING  # of the changes that every page of its rows has
        self._waiting: list[Changes] = []  # changes that came before it was loaded

    def take(self, changes: Changes) -> None:
        """Apply changes of the group's rows, or let them wait until it is loaded. Never blocks.

        New rows can be found at once, and removed rows no more.
        """
        if not self.is_loaded:
            self._waiting.append(changes)
        elif not self._upto.covers(changes.upto):
            self._apply(changes)

    def _apply(self, changes: Changes) -> None:
        removed = self.index.apply_changes(changes.turns, changes.items, changes.taken_back)
        if self.search.near is not None:
            for row in removed:
                self.search.near.drop_vector(row)

    async def load_first(self, store: RecallStore) -> None:
        """Read the group's rows, if they were not read yet: all of a small group, the first `BATCH` of a large one.

        `take` has to be called with all changes from before this. Callers that wait share it. Raises
        `agent.errors.StorageFailed`. After a cancel, the next call begins anew.
        """
        if self._numbers is not None:
            return
        async with self._hold_rows():
            if self._numbers is None:
                rows = await store.load_group(self.group, BATCH)
                rest = array("q", reversed(rows.numbers[BATCH:]))
                self.index.apply_changes(rows.turns, rows.items, later=bool(rest))  # some 5 ms
                for item, turns in rows.taken_back.items():
                    self.index.rows.take_back(item, turns)
                self._numbers, self._upto = rest, rows.upto
                if not rest:
                    self._end_load()

    async def load_rest(self, store: RecallStore, run_sync: RunSync) -> None:
        """Read the rest of the rows of a large group, and write the index; not in a scope that may be cancelled soon.

        Raises `agent.errors.StorageFailed`; after that, the next call goes on from its place.
        """
        await self.load_first(store)
        async with self._hold_rows():
            assert self._numbers is not None, "the first rows were read"
            while self._numbers:
                await self._add_turns(await store.load_turns(self._numbers[: -BATCH - 1 : -1]))
                del self._numbers[-BATCH:]
                if self.index.waiting_count >= BULK:
                    await self._write(run_sync)
            if not self.is_loaded:
                await self._write(run_sync)
                self._end_load()

    @asynccontextmanager
    async def _hold_rows(self) -> AsyncGenerator[None, None]:
        """Read or write the rows alone, for the time of a block; without a pause where nobody else does."""
        lock = self._lock = self._lock or trio.Lock()
        try:  # a pause takes long beside many busy sessions
            lock.acquire_nowait()
        except trio.WouldBlock:
            await lock.acquire()
        try:
            yield
        finally:
            lock.release()
            if not lock.locked():  # else the next one has it
                self._lock = None

    async def wait_settled(self) -> None:
        """Wait until the load that is due has ended or failed."""
        if self._settled is None:
            self._settled = trio.Event()
        await self._settled.wait()

    def _end_load(self) -> None:
        self.is_loaded = True
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            self.take(each)
        self.wake_waiting()

    def wake_waiting(self) -> None:
        """Wake the callers that wait for the load, which has failed unless `is_loaded`."""
        settled, self._settled = self._settled, None
        if settled is not None:
            settled.set()

    async def _add_turns(self, turns: tuple[StoredTurn, ...]) -> None:
        for at in range(0, len(turns), _STEP):
            self.index.apply_changes(turns[at : at + _STEP], later=True)
            await trio.lowlevel.checkpoint()

    async def write_waiting(self, run_sync: RunSync) -> None:
        """Write the waiting rows of a loaded index, if they are due; not in a scope that may be cancelled soon."""
        async with self._hold_rows():
            if self.is_loaded and self.index.is_due:
                await self._write(run_sync)

    async def _write(self, run_sync: RunSync) -> None:
        if self.index.waiting_count:
            batch = self.index.make_batch()
            self.index.install_batch(batch, await run_sync(partial(self.index.write_batch, batch)))
            if len(batch.rows) >= _MUCH:
                await run_sync(trim_heap)


async def index_everything(index: RecallIndex, store: RecallStore, run_sync: RunSync) -> None:
    """Read the rows of every scope into `index`, and write it. Raises `agent.errors.StorageFailed`."""
    upto, more = BEGINNING, True
    while more:
        changes = await store.changes_after(upto, PAGE)
        more, upto = changes.more, changes.upto
        index.apply_changes(changes.turns, changes.items, changes.taken_back, later=True)
        if index.waiting_count and (index.waiting_count >= BULK or not more):
            batch = index.make_batch()
            index.install_batch(batch, await run_sync(partial(index.write_batch, batch)))


def split_changes(changes: Changes) -> dict[ScopeGroup, Changes]:
    """Return the changes of each group that has any."""
    turns: dict[ScopeGroup, list[StoredTurn]] = {}
    items: dict[ScopeGroup, list[Item]] = {}
    for turn in changes.turns:
        for group in _groups_of(turn.scope):
            turns.setdefault(group, []).append(turn)
    for item in changes.items:
        for group in _groups_of(item.scope):
            items.setdefault(group, []).append(item)
    return {
        group: Changes(
            tuple(turns.get(group, ())), tuple(items.get(group, ())), changes.upto, changes.taken_back
        )
        for group in turns | items
    }


def _groups_of(scope: Scope) -> set[ScopeGroup]:
    return {group_of(scope), group_of(scope, "user")}
