"""What the port asks for, over the queue of a database: see `agent.ports.memory.MemoryStore` for what each does."""

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from ...ports.clock import Clock
from ...ports.conversation import Scope
from ...ports.memory import (
    Change,
    Changes,
    Draft,
    Forgotten,
    Item,
    ItemStatus,
    ItemType,
    Kept,
    Proposed,
    StoredTurn,
)
from ...ports.note import Unread
from ...ports.pages import Page, Window
from ...ports.vectors import PackedVector, VectorKind
from ...ports.work import RunSync
from ..database import Database
from . import deciding, forgetting, items, listing, standing, turns, unread, vectors
from .schema import MEMORY


class SqliteMemory:
    """What is remembered, in a database that is open.

    Implements `agent.ports.memory.MemoryStore` and `agent.ports.note.UnreadStore`.
    reader: the same one over a connection of its own, so that no read waits for a write that is held up.
    """

    def __init__(self, database: Database, reader: Database) -> None:
        self._database = database
        self._reader = reader

    @property
    def stalled(self) -> bool:
        """Whether its disk stands still at a write."""
        return self._database.stalled

    async def keep(self, kept: Sequence[Kept], at: int) -> tuple[tuple[Proposed, ...], ...]:
        """Keep exchanges in one transaction, with what they propose; return that for each."""
        return await self._database.write(partial(turns.keep, kept, at))

    async def propose(self, scope: Scope, drafts: Sequence[Draft], at: int) -> tuple[Proposed, ...]:
        """Keep drafts as proposed, and accept what a rule accepts; return what became of each."""
        return await self._database.write(partial(deciding.propose, scope=scope, drafts=drafts, at=at))

    async def accept(
        self,
        scope: Scope,
        id: str,
        at: int,
        revision: int | None = None,
        replaces: Collection[str] | None = None,
    ) -> Item:
        """Make a proposed item live, by its user's word; what it contradicts is superseded."""
        return await self._database.write(partial(deciding.accept, scope, id, at, revision, replaces))

    async def decide(self, scope: Scope, id: str, trigger: str, at: int, revision: int | None = None) -> Item:
        """Take a row of the item's table by its user's word."""
        deciding.check_trigger(trigger)
        return await self._database.write(partial(deciding.decide, scope, id, trigger, at, revision))

    async def replace(
        self, scope: Scope, id: str, draft: Draft, at: int, revision: int | None = None
    ) -> Item:
        """Put another item in the place of a live or a proposed one, by its user's word; return it."""
        return await self._database.write(partial(deciding.replace, scope, id, draft, at, revision))

    async def forget(self, scope: Scope, id: str, at: int) -> Forgotten:
        """Take all that an item says out of what is kept, also out of the files; return what is left."""
        repeated, more = await self._reader.read(partial(forgetting.look, scope, id, None))
        while more:
            repeated, more = await self._reader.read(partial(forgetting.look, scope, id, repeated))
        return await self._database.write(partial(forgetting.forget, scope, id, at, repeated))

    async def item(self, scope: Scope, id: str) -> Item:
        """Return an item."""
        return await self._reader.read(lambda connection: items.one(connection, scope, id).item)

    async def history(self, scope: Scope, id: str) -> tuple[Change, ...]:
        """Return what happened to an item, and to those that it replaced, oldest first."""
        return await self._reader.read(partial(listing.history, scope, id))

    async def items(self, scope: Scope, window: Window, statuses: Collection[ItemStatus] = ()) -> Page[Item]:
        """Return a scope's items in the order they were made; statuses: () is all but forgotten."""
        return await self._reader.read(partial(listing.listed, scope, window, statuses))

    async def live(
        self, scope: Scope, at: int, types: Collection[ItemType] = (), most: int | None = None
    ) -> tuple[Item, ...]:
        """Return the items that may be told of at a time, oldest first."""
        return await self._reader.read(partial(listing.live, scope, at, types, most))

    async def contradicted(self, scope: Scope, id: str) -> tuple[Item, ...]:
        """Return the live items that an item contradicts, as `accept` would find them now, oldest first."""
        return await self._reader.read(partial(deciding.contradicted, scope, id))

    async def turns(self, after: int, limit: int) -> tuple[StoredTurn, ...]:
        """Return what was said, of every scope, in its order."""
        return await self._reader.read(partial(turns.listed, after, limit))

    async def changed(self, after: int, limit: int) -> Changes:
        """Return what has changed since an earlier call, of every scope."""
        return await self._reader.read(partial(listing.changed, after, limit))

    async def expire(self, at: int) -> int:
        """End the items whose time is over; return how many. Where there are none, nothing is written."""
        ended = 0
        while await self._reader.read(partial(deciding.anything_over, at=at)):
            now = await self._database.write(partial(deciding.expire, at=at))
            ended += now
            if now == 0:  # another process was first
                break
        return ended

    async def gap(self, scope: Scope, at: int, count: int) -> None:
        """Note that so many exchanges of a scope could not be kept."""
        await self._database.write(partial(turns.note_gap, scope, at, count))

    async def gaps(self) -> int:
        """Return how many exchanges could not be kept, of all scopes."""
        return await self._reader.read(turns.counted_gaps)

    async def standing(self, ids: Collection[str], at: int) -> frozenset[str]:
        """Return which of these items and turns may be cited at a time."""
        return await self._reader.read(partial(standing.standing, ids, at))

    async def forgotten(self, ids: Collection[str]) -> frozenset[str]:
        """Return which of these items and turns were forgotten."""
        return await self._reader.read(partial(standing.forgotten, ids))

    async def unsaid(self, scope: Scope, said: Mapping[str, Collection[str]]) -> frozenset[str]:
        """Return which messages of a thread hold what was forgotten since."""
        return await self._reader.read(partial(standing.unsaid, scope, said))

    async def known(self, scope: Scope) -> bool:
        """Return whether anything was ever kept of a scope."""
        return await self._reader.read(partial(standing.has, scope))

    async def take(self, most: int, at: int, until: int) -> tuple[Unread, ...]:
        """Return the oldest unread turn of each of some threads. Where there is none, nothing is written."""
        if not await self._reader.read(partial(unread.anything_free, at)):
            return ()
        return await self._database.write(partial(unread.take, most, at, until))

    async def read(
        self, taken: Unread, drafts: Sequence[Draft], at: int, known: Collection[str] = ()
    ) -> tuple[Proposed, ...] | None:
        """Note that a turn was read and propose what came of it; None where some of it was forgotten meanwhile."""
        return await self._database.write(partial(unread.read, taken, drafts, at, known))

    async def missed(self, taken: Unread, counts: bool) -> bool:
        """Note that reading failed; return whether any try is left."""
        return await self._database.write(partial(unread.missed, taken, counts))

    async def vectors(self, kind: VectorKind, ids: Collection[str]) -> tuple[PackedVector, ...]:
        """Return the vectors of one kind that are kept of these items and turns, of any scope."""
        return await self._reader.read(partial(vectors.read, kind, ids))

    async def keep_vectors(self, kind: VectorKind, packed: Sequence[PackedVector]) -> None:
        """Keep vectors in one transaction; one that is there stays as it is."""
        await self._database.write(partial(vectors.keep, kind, packed))

    async def drop_vectors(self) -> int:
        """Throw the vectors of all kinds away; return how many there were."""
        return await self._database.write(vectors.drop)


@asynccontextmanager
async def memory_in(
    data: Path | None, run_sync: RunSync, clock: Clock, told: Callable[[str], None] = lambda _: None
) -> AsyncGenerator[SqliteMemory, None]:
    """Open what is remembered in the folder `data`, or with None in memory (see `Database`), for the time of a block.

    run_sync: does two things at a time, or a read waits for a write. told: hears why nothing can be kept, and "" when
    it can again. Raises `agent.errors.UsageError` when the folder cannot be used.
    """
    async with Database(data, run_sync, clock, None, told, MEMORY, impatient=data is None) as database:
        if data is None:
            yield SqliteMemory(database, database)
            return
        async with Database(data, run_sync, clock, contents=MEMORY, beside=True, impatient=True) as reader:
            yield SqliteMemory(database, reader)
