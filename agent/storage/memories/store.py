"""The store of memory: the port `agent.ports.memory.MemoryStore` over the queue of a `Database`."""

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import trio

from ...ports.change_mark import ChangeMark
from ...ports.clock import Clock
from ...ports.conversation import Scope
from ...ports.memory import (
    Change,
    Draft,
    ExchangeRecord,
    ForgottenItem,
    Item,
    ItemStatus,
    ItemType,
    ProposalOutcome,
    StoredTurn,
)
from ...ports.note import UnreadTurn
from ...ports.pages import Page, Window
from ...ports.recall_store import ChangeListener, Changes, GroupRows, ScopeGroup
from ...ports.thread_history import ThreadChanges, ThreadMark, ThreadMessage, ThreadOwner, ThreadSummary
from ...ports.vectors import PackedVector, VectorKind
from ...ports.work import RunSync
from ..database import Database
from ..places import Data, place_of
from . import (
    group_rows,
    item_decisions,
    item_forgetting,
    items,
    known_ids,
    listing,
    thread_deletion,
    threads,
    turns,
    unread_turns,
    vectors,
)
from .clean_messages import CleanMessages
from .listing import FollowedWrite
from .memory_contents import MEMORY


class DatabaseMemory:
    """Memory in an open database.

    Implements `agent.ports.memory.MemoryStore`, `agent.ports.recall_store.RecallStore`,
    `agent.ports.note.UnreadStore` and `agent.ports.thread_history.ThreadHistory`. `reader` is the same database, in a
    folder over a connection of its own, so that no read waits for a write that is held up.
    """

    def __init__(self, database: Database, reader: Database) -> None:
        self._database = database
        self._reader = reader
        self._listeners: list[ChangeListener] = []
        self._clean = CleanMessages()

    @property
    def is_stalled(self) -> bool:
        """Whether the disk stalls at a write, or the last write failed."""
        return self._database.is_stalled or self._database.is_failing

    async def keep_exchanges(
        self, kept: Sequence[ExchangeRecord], at: int
    ) -> tuple[tuple[ProposalOutcome, ...], ...]:
        """Insert exchanges and their drafts in one transaction; return the outcomes of the drafts for each exchange."""
        return await self._database.write(partial(turns.keep_exchanges, kept, at))

    async def propose_drafts(
        self, scope: Scope, drafts: Sequence[Draft], at: int
    ) -> tuple[ProposalOutcome, ...]:
        """Insert drafts as proposed items, and accept those that a rule accepts; return an outcome for each."""
        return await self._database.write(
            partial(item_decisions.propose_drafts, scope=scope, drafts=drafts, at=at)
        )

    async def accept_item(
        self,
        scope: Scope,
        id: str,
        at: int,
        revision: int | None = None,
        replaces: Collection[str] | None = None,
    ) -> Item:
        """Make a proposed item live by its user's word; the items that it contradicts become superseded."""
        return await self._database.write(
            partial(item_decisions.accept_item, scope, id, at, revision, replaces)
        )

    async def decide_item(
        self, scope: Scope, id: str, trigger: str, at: int, revision: int | None = None
    ) -> Item:
        """Apply a trigger of the item's table by its user's word."""
        item_decisions.check_trigger(trigger)
        return await self._database.write(
            partial(item_decisions.decide_item, scope, id, trigger, at, revision)
        )

    async def replace_item(
        self, scope: Scope, id: str, draft: Draft, at: int, revision: int | None = None
    ) -> Item:
        """Replace a live or proposed item by another one, by its user's word; return the new item."""
        return await self._database.write(
            partial(item_decisions.replace_item, scope, id, draft, at, revision)
        )

    async def forget_item(self, scope: Scope, id: str, at: int) -> ForgottenItem:
        """Empty all words of an item, in rows and in the files; return the item and the turns that were emptied."""
        repeated, more = await self._reader.read(partial(item_forgetting.find_repeats, scope, id, None))
        while more:
            repeated, more = await self._reader.read(
                partial(item_forgetting.find_repeats, scope, id, repeated)
            )
        return await self._database.write(partial(item_forgetting.forget_item, scope, id, at, repeated))

    async def item(self, scope: Scope, id: str) -> Item:
        """Return an item."""
        return await self._reader.read(lambda connection: items.find_item(connection, scope, id).item)

    async def history(self, scope: Scope, id: str) -> tuple[Change, ...]:
        """Return the history of an item and of the items that it replaced, oldest first."""
        return await self._reader.read(partial(listing.load_history, scope, id))

    async def items(self, scope: Scope, window: Window, statuses: Collection[ItemStatus] = ()) -> Page[Item]:
        """Return a page of a scope's items in the order they were made; `statuses=()` means all but `forgotten`."""
        return await self._reader.read(partial(listing.load_page, scope, window, statuses))

    async def live_items(
        self, scope: Scope, at: int, types: Collection[ItemType] = (), most: int | None = None
    ) -> tuple[Item, ...]:
        """Return the items that a prompt may use at a time, oldest first."""
        return await self._reader.read(partial(listing.load_live, scope, at, types, most))

    async def conflicting_items(self, scope: Scope, id: str) -> tuple[Item, ...]:
        """Return the live items that an item contradicts, as `accept` would find them now, oldest first."""
        return await self._reader.read(partial(item_decisions.find_conflicting, scope, id))

    async def turns(self, after: int, limit: int) -> tuple[StoredTurn, ...]:
        """Return turns of every scope, in the order they were kept."""
        return await self._reader.read(partial(turns.load_turns, after, limit))

    async def changes_after(self, after: ChangeMark, limit: int) -> Changes:
        """Return changes of every scope since an earlier call."""
        return await self._reader.read(partial(listing.load_changes, after, limit))

    async def find_last_change(self) -> ChangeMark:
        """Return the mark after all changes."""
        return await self._reader.read(listing.find_mark)

    async def load_group(self, group: ScopeGroup, limit: int) -> GroupRows:
        """Return the rows of a group, with its first `limit` turns."""
        return await self._reader.read(partial(group_rows.load_group, group, limit))

    async def load_turns(self, numbers: Sequence[int]) -> tuple[StoredTurn, ...]:
        """Return the turns of these numbers, in their order."""
        return await self._reader.read(partial(turns.find_turns, numbers=numbers))

    async def listen_for_changes(self, hear: ChangeListener) -> None:
        """Call `hear` with the changes of each write of this process, in their order, from now on."""
        await trio.lowlevel.checkpoint()
        if not self._listeners:
            self._database.follow_writes(listing.follow_write, self._tell_listeners)
        self._listeners.append(hear)

    def count_unheard_writes(self) -> int | None:
        """Return a number that grows whenever there may be changes that no listener heard of; `None` for unknown."""
        return self._database.count_unheard_writes()

    def _tell_listeners(self, written: FollowedWrite[Any]) -> None:
        changes = written.changes
        if any(not each.remark.text for each in changes.turns) or any(
            not each.text for each in changes.items
        ):
            self._clean.note_erasure()
        answers = [each for each in changes.turns if each.remark.role != "user" and each.remark.text]
        keys = [(each.scope, each.remark.message) for each in answers]
        self._clean.add(self._database.unheard_before, keys)
        if changes.upto != written.after:
            for hear in self._listeners:
                hear(written.after, changes)

    async def expire_items(self, at: int) -> int:
        """End the items that have expired; return their number. When there are none, nothing is written."""
        ended = 0
        while await self._reader.read(partial(item_decisions.has_expired_items, at=at)):
            now = await self._database.write(partial(item_decisions.expire_items, at=at))
            ended += now
            if now == 0:  # another process was first
                break
        return ended

    async def record_gap(self, scope: Scope, at: int, count: int) -> None:
        """Record that `count` exchanges of a scope could not be kept."""
        await self._database.write(partial(turns.record_gap, scope, at, count))

    async def count_gaps(self) -> int:
        """Return the number of exchanges, of all scopes, that could not be kept."""
        return await self._reader.read(turns.count_gaps)

    async def citable_ids(self, ids: Collection[str], at: int) -> frozenset[str]:
        """Return the ids, among items and turns, that may be cited at a time."""
        return await self._reader.read(partial(known_ids.find_citable, ids, at))

    async def forgotten_messages(self, scope: Scope, said: Mapping[str, Collection[str]]) -> frozenset[str]:
        """Return the messages of a thread that hold words forgotten since."""
        unheard = self.count_unheard_writes() if self._listeners else None
        messages = [(scope, message) for message in said]
        if unheard is not None and self._clean.has_all(unheard, messages):
            await trio.lowlevel.checkpoint()
            return frozenset()
        erasures = self._clean.erasures
        forgotten = await self._reader.read(partial(known_ids.find_forgotten_messages, scope, said))
        if erasures == self._clean.erasures:
            self._clean.add(unheard, [each for each in messages if each[1] not in forgotten])
        return forgotten

    async def is_known(self, scope: Scope) -> bool:
        """Return whether a row was ever kept of a scope."""
        return await self._reader.read(partial(known_ids.is_known, scope))

    async def list_threads(self, scope: Scope, window: Window) -> Page[ThreadSummary]:
        """Return a page of a user's threads, latest first."""
        return await self._reader.read(partial(threads.list_threads, scope, window))

    async def load_messages(self, scope: Scope, window: Window) -> Page[ThreadMessage]:
        """Return the latest messages of a thread before a number, in their order."""
        return await self._reader.read(partial(threads.load_messages, scope, window))

    async def find_exchange(self, scope: Scope, message: str) -> tuple[ThreadMessage, ThreadMessage]:
        """Return a message of a thread and the answer to it."""
        return await self._reader.read(partial(threads.find_exchange, scope, message))

    async def rename_thread(self, scope: Scope, title: str, at: int) -> ThreadSummary:
        """Give a thread a title, or with "" the first question as its title again."""
        return await self._database.write(partial(threads.rename_thread, scope, title, at))

    async def delete_thread(self, scope: Scope, at: int) -> tuple[StoredTurn, ...]:
        """Empty all words of a thread, in rows and in the files; return the turns that were emptied."""
        return await self._database.write(partial(thread_deletion.delete_thread, scope, at))

    async def find_mark(self) -> ThreadMark:
        """Return the mark of the latest change of any thread."""
        return await self._reader.read(threads.find_mark)

    async def thread_changes_after(
        self, mark: ThreadMark, owners: Collection[ThreadOwner], limit: int
    ) -> ThreadChanges:
        """Return the changed threads of some users, and the deleted threads of all, since a mark."""
        return await self._reader.read(partial(threads.load_changes, mark, owners, limit))

    async def take_unread(self, most: int, at: int, until: int) -> tuple[UnreadTurn, ...]:
        """Return the oldest unread turn of each of some threads. When there is none, nothing is written."""
        if not await self._reader.read(partial(unread_turns.has_free_turn, at)):
            return ()
        return await self._database.write(partial(unread_turns.take_turns, most, at, until))

    async def record_reading(
        self, taken: UnreadTurn, drafts: Sequence[Draft], at: int, known: Collection[str] = ()
    ) -> tuple[ProposalOutcome, ...] | None:
        """Record that a turn was read and propose its `drafts`; `None` if some of its words were forgotten since."""
        return await self._database.write(partial(unread_turns.record_reading, taken, drafts, at, known))

    async def record_failure(self, taken: UnreadTurn, counts: bool) -> bool:
        """Record that reading failed; return whether a try is left."""
        return await self._database.write(partial(unread_turns.record_failure, taken, counts))

    async def vectors(self, kind: VectorKind, ids: Collection[str]) -> tuple[PackedVector, ...]:
        """Return the vectors of one kind that are kept of these items and turns, of any scope."""
        return await self._reader.read(partial(vectors.load_vectors, kind, ids))

    async def keep_vectors(self, kind: VectorKind, packed: Sequence[PackedVector]) -> None:
        """Insert vectors in one transaction; an existing one stays as it is."""
        await self._database.write(partial(vectors.keep_vectors, kind, packed))

    async def drop_vectors(self) -> int:
        """Delete the vectors of all kinds; return their number."""
        return await self._database.write(vectors.drop_vectors)


@asynccontextmanager
async def open_database_memory(
    data: Data, run_sync: RunSync, clock: Clock, told: Callable[[str], None] = lambda _: None
) -> AsyncGenerator[DatabaseMemory, None]:
    """Open the memory in the folder `data`, or with `None` in memory (see `Database`), for the block.

    `run_sync` must run two calls at a time, or a read waits for a write. `told` gets the reason why nothing can be
    kept, and "" when writes work again. Raises `agent.errors.UsageError` when the folder cannot be used.
    """
    place = place_of(data)
    impatient = not place.reads_beside
    async with Database(place, run_sync, clock, None, told, MEMORY, impatient=impatient) as database:
        if not place.reads_beside:
            yield DatabaseMemory(database, database)
            return
        async with Database(place, run_sync, clock, contents=MEMORY, beside=True, impatient=True) as reader:
            yield DatabaseMemory(database, reader)
