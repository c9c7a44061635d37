"""Threads and their messages, in a database. A turn is two writes, its message and all that it says: turns.py."""

from collections.abc import Collection, Sequence
from functools import partial

import sqlalchemy as sa

from ..ports.clock import Clock
from ..ports.conversation import Scope
from ..ports.memory import StoredTurn
from ..ports.pages import Page, Window
from ..ports.remember import Again
from ..ports.threads import Begun, Opening, Said, StoredMessage, Thread, Woken
from . import moves, turns, unsaying
from .asked import Late, wait_on
from .database import Database
from .listing import known_project, known_thread, one_thread, page, row
from .schema import calls, messages, threads
from .transaction import Transaction


class SqliteThreads:
    """Threads in a database that is open (implements `agent.ports.threads.ThreadStore`).

    clock: stamps what is ended because its thread is deleted, or its words are forgotten. kb: the knowledge base of its
    server, noted in the ledger with each call that is handed over.
    """

    def __init__(self, database: Database, clock: Clock, kb: str | None = None) -> None:
        self._database = database
        self._clock = clock
        self._kb = kb

    async def begin_turn(self, opening: Opening) -> Begun:
        """Keep a message as pending, in a thread that is there or, if `new`, is made."""
        return await self._database.write(partial(turns.begin, opening), partial(turns.abandon, opening))

    async def say(self, said: Said, late: Late = wait_on) -> bool:
        """Keep what a turn says; False for one that ended otherwise before. Idempotent."""
        return await self._database.write(partial(turns.say, said, self._kb), late=late)

    async def cancel_turn(self, project: str, thread: str, at: int, calls: bool = False) -> tuple[str, ...]:
        """End the message that is pending as cancelled; return the calls of turns that other processes have claimed."""
        return await self._database.write(partial(turns.cancel, project, thread, at, calls))

    async def cancelled(self, messages: Collection[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        """Return which of these messages have ended as cancelled."""
        return await self._database.read(partial(turns.cancelled, messages))

    async def wake(self, project: str, thread: str, exchanges: int) -> Woken:
        """Return what a thread needs to go on, with at most so many of its last exchanges that were answered."""
        return await self._database.read(partial(turns.wake, project, thread, exchanges))

    async def thread(self, project: str, id: str) -> Thread:
        """Return a thread."""
        return await self._database.read(lambda connection: turns.thread(one_thread(connection, project, id)))

    async def message(self, project: str, id: str) -> StoredMessage:
        """Return a message."""
        of = (messages.c.project_id == project, messages.c.id == id)
        return await self._database.read(lambda connection: turns.message(row(connection, messages, *of)))

    async def threads(self, project: str, window: Window, user: str | None = None) -> Page[Thread]:
        """Return a project's threads, or one user's, in the order they were made."""
        wanted = sa.select(threads).where(threads.c.project_id == project)
        if user is not None:
            wanted = wanted.where(threads.c.user_id == user)

        def listed(connection: sa.Connection) -> Page[Thread]:
            known_project(connection, project)
            return page(connection, threads, wanted, window, turns.thread)

        return await self._database.read(listed)

    async def messages(self, project: str, thread: str, window: Window) -> Page[StoredMessage]:
        """Return a thread's messages, oldest first."""
        wanted = sa.select(messages).where(messages.c.project_id == project, messages.c.thread_id == thread)

        def listed(connection: sa.Connection) -> Page[StoredMessage]:
            known_thread(connection, project, thread)
            return page(connection, messages, wanted, window, turns.message)

        return await self._database.read(listed)

    async def forget(self, turns: Sequence[StoredTurn], item: str = "") -> None:
        """Empty what was said in these turns, and the answers of requests that tell of them; out of the file too."""
        await self._database.write(partial(unsaying.forget, turns, item), late=wait_on)

    async def unsay(self, scope: Scope, again: Again) -> None:
        """Empty what says it again in a user's threads; these are looked through some messages at a time."""
        found, more = unsaying.Found(), True
        while more:
            found, more = await self._database.read(partial(unsaying.look, scope, again, found), wait_on)
        if found.upto:
            now = self._clock.now_ms()
            await self._database.write(partial(unsaying.unsay, scope, again, found, now), late=wait_on)

    async def delete_thread(self, project: str, id: str) -> None:
        """Delete a thread with its messages and calls."""

        def delete(transaction: Transaction) -> None:
            known_thread(transaction.connection, project, id)
            moves.bar(
                transaction, self._clock.now_ms(), calls.c.project_id == project, calls.c.thread_id == id
            )
            transaction.connection.execute(
                sa.delete(threads).where(threads.c.project_id == project, threads.c.id == id)
            )

        await self._database.write(delete)
