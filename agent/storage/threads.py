"""Threads and their messages in a database. A turn is two writes, its message and its end: see `turns.py`."""

from collections.abc import Collection, Sequence
from functools import partial

import sqlalchemy as sa

from ..ports.clock import Clock
from ..ports.conversation import Scope
from ..ports.memory import StoredTurn
from ..ports.pages import Page, Window
from ..ports.remember import RepeatMatcher
from ..ports.threads import (
    StoredMessage,
    Thread,
    ThreadState,
    TurnCancellation,
    TurnOpening,
    TurnStart,
    TurnStep,
)
from . import call_groups, thread_forgetting, turns
from .database import Database
from .listing import find_row, find_thread, load_page, require_project, require_thread
from .pending_requests import Late, wait_on
from .schema import calls, messages, threads
from .transaction import Transaction


class DatabaseThreads:
    """Threads in an open database (implements `agent.ports.threads.ThreadStore`).

    `clock` stamps calls that end because their thread is deleted or their words are forgotten. `kb` names the server's
    knowledge base, which the ledger notes with each call that is handed over.
    """

    def __init__(self, database: Database, clock: Clock, kb: str | None = None) -> None:
        self._database = database
        self._clock = clock
        self._kb = kb

    async def begin_turn(self, opening: TurnOpening) -> TurnStart:
        """Keep a message as pending, in a thread that is there or, if `new`, is made."""
        return await self._database.write(
            partial(turns.begin_turn, opening), partial(turns.abandon_turn, opening)
        )

    async def record_step(self, step: TurnStep, late: Late = wait_on) -> bool:
        """Write a step of a turn; return `False` for a turn that ended otherwise before. Idempotent."""
        return await self._database.write(partial(turns.record_step, step, self._kb), late=late)

    async def cancel_turn(self, project: str, thread: str, at: int, calls: bool = False) -> TurnCancellation:
        """End the pending message as cancelled; return whether there was one, and the calls that other processes have
        claimed.
        """
        return await self._database.write(partial(turns.cancel_turn, project, thread, at, calls))

    async def cancelled_messages(self, messages: Collection[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        """Return those `messages` that have ended as cancelled."""
        return await self._database.read(partial(turns.find_cancelled, messages))

    async def load_state(self, project: str, thread: str, exchanges: int) -> ThreadState:
        """Return the state with which a thread wakes, with at most `exchanges` of its last answered exchanges."""
        return await self._database.read(partial(turns.load_state, project, thread, exchanges))

    async def thread(self, project: str, id: str) -> Thread:
        """Return a thread."""
        return await self._database.read(
            lambda connection: turns.thread_of(find_thread(connection, project, id))
        )

    async def message(self, project: str, id: str) -> StoredMessage:
        """Return a message."""
        of = (messages.c.project_id == project, messages.c.id == id)
        return await self._database.read(
            lambda connection: turns.message_of(find_row(connection, messages, *of))
        )

    async def threads(self, project: str, window: Window, user: str | None = None) -> Page[Thread]:
        """Return a page of a project's threads, or of one user's, in the order they were made."""
        wanted = sa.select(threads).where(threads.c.project_id == project)
        if user is not None:
            wanted = wanted.where(threads.c.user_id == user)

        def load(connection: sa.Connection) -> Page[Thread]:
            require_project(connection, project)
            return load_page(connection, threads, wanted, window, turns.thread_of)

        return await self._database.read(load)

    async def messages(self, project: str, thread: str, window: Window) -> Page[StoredMessage]:
        """Return a page of a thread's messages, oldest first."""
        wanted = sa.select(messages).where(messages.c.project_id == project, messages.c.thread_id == thread)

        def load(connection: sa.Connection) -> Page[StoredMessage]:
            require_thread(connection, project, thread)
            return load_page(connection, messages, wanted, window, turns.message_of)

        return await self._database.read(load)

    async def forget_turns(self, turns: Sequence[StoredTurn], item: str = "") -> None:
        """Empty the words of these turns, in rows, stored answers and the file itself."""
        await self._database.write(partial(thread_forgetting.empty_turns, turns, item), late=wait_on)

    async def forget_repeats(self, scope: Scope, again: RepeatMatcher) -> None:
        """Empty the rows of a user's threads that repeat some words, after a search in reads of a bounded number of
        rows.
        """
        found, more = thread_forgetting.RepeatingRows(), True
        while more:
            found, more = await self._database.read(
                partial(thread_forgetting.find_repeats, scope, again, found), wait_on
            )
        if found.upto:
            now = self._clock.now_ms()
            await self._database.write(
                partial(thread_forgetting.empty_repeats, scope, again, found, now), late=wait_on
            )

    async def delete_thread(self, project: str, id: str) -> tuple[str, ...]:
        """Delete a thread with its messages and calls; return the calls that other processes have claimed."""

        def delete(transaction: Transaction) -> tuple[str, ...]:
            require_thread(transaction.connection, project, id)
            claimed = call_groups.bar_calls(
                transaction, self._clock.now_ms(), calls.c.project_id == project, calls.c.thread_id == id
            )
            transaction.connection.execute(
                sa.delete(threads).where(threads.c.project_id == project, threads.c.id == id)
            )
            return claimed

        return await self._database.write(delete)
