"""What the processes do that remember in one file and are killed on the way: a life of proposals that replace another.

A process kills itself before the n-th statement that it has SQLite do, so that a kill falls into every gap between two:
within a transaction, before and after its commit, and before and after the log is cut off.
"""

import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest import mock

import sqlalchemy as sa
import trio

from agent.errors import Conflict, NotFound, StorageFailed
from agent.host import WallClock, WorkerThreads
from agent.ports.memory import MemoryStore
from agent.ports.note import ReadStore
from agent.storage.memories.store import open_database_memory
from agent.storage.prepared import PreparedStatement
from tests.forgetting import WHOSE, both_files, say_everywhere
from tests.remembered import ANA, NOW, a_draft, an_exchange, budget

ROUNDS = 2
SECRET = "quetzal"
"""What is said in a message, remembered, and forgotten again; in nothing else."""
ANIMALS = ("horse", "goat")


async def live_on(memory: MemoryStore, pipe: Connection) -> None:
    """Keep, propose, accept what replaces the one before, and forget; tell what is done, as it is answered."""
    for number in range(ROUNDS):
        secret = f"{SECRET}{number}"
        code = a_draft(f"The code is {secret}", f"code {'of door' * number}", message=f"s{number}")
        [[found]] = await memory.keep_exchanges(
            [an_exchange(f"s{number}", f"It is {secret}", "Noted", code)], NOW
        )
        pipe.send(("proposed", found.item.id))
        [budgeted] = await memory.propose_drafts(ANA, [budget(50 + number, message=f"b{number}")], NOW)
        pipe.send(("proposed", budgeted.item.id))
        for id in (budgeted.item.id, found.item.id):
            await memory.accept_item(
                ANA, id, NOW, 1, [item.id for item in budgeted.conflicts if id != found.item.id]
            )
            pipe.send(("accepted", id))
        await memory.forget_item(ANA, found.item.id, NOW)
        pipe.send(("forgotten", found.item.id))
    await memory.replace_item(ANA, budgeted.item.id, budget(90), NOW)
    pipe.send(("superseded", budgeted.item.id))


async def note(memory: ReadStore, pipe: Connection) -> None:
    """Keep messages that a model is to read, and propose what it found in each; tell what is done."""
    for number in range(ROUNDS):
        kept = replace(an_exchange(f"n{number}", f"I have {ANIMALS[number]}s"), tries=1)
        await memory.keep_exchanges([kept], NOW)
        pipe.send(("kept", number))
    for number in range(ROUNDS):
        [taken] = await memory.take_unread(9, NOW, NOW)
        found = a_draft(f"There are {ANIMALS[number]}s", ANIMALS[number], message=f"n{number}")
        await memory.record_reading(taken, [found], NOW)
        pipe.send(("read", number))


def one_life(folder: Path, statements: int, pipe: Connection) -> None:
    """Live on from the beginning; killed before so many statements, and never for 0. Tells how many there were."""
    _live(folder, statements, pipe, live_on)


def one_reading(folder: Path, statements: int, pipe: Connection) -> None:
    """Do the same with a life of messages that a model reads."""
    _live(folder, statements, pipe, note)


def _live(
    folder: Path,
    statements: int,
    pipe: Connection,
    live: Callable[[ReadStore, Connection], Awaitable[None]],
) -> None:
    async def life() -> int:
        async with open_database_memory(folder, WorkerThreads(), WallClock()) as memory:
            counted = kill_before(statements)
            await live(memory, pipe)
        return next(counted)

    pipe.send(("ended", trio.run(life)))


def kill_before(statements: int) -> Iterator[int]:
    """Kill this process before so many statements from now on, and never for 0; its next value is how many began."""
    began = count()

    def counted(*_: Any) -> None:
        if next(began) + 1 == statements:
            os.kill(os.getpid(), signal.SIGKILL)

    sa.event.listen(sa.Engine, "before_cursor_execute", counted)
    run = PreparedStatement.rows  # which goes to the driver itself

    def rows(statement: PreparedStatement, connection: sa.Connection, **values: Any) -> list[tuple[Any, ...]]:
        counted()
        return run(statement, connection, **values)

    mock.patch.object(PreparedStatement, "rows", rows).start()
    return began


async def accept_once(memory: MemoryStore, id: str) -> bool:
    """Accept an item; tell whether it was accepted, and was not refused.

    Nothing is stored while another process has the file for longer than anybody waits; then it is tried again.
    """
    while True:
        try:
            await memory.accept_item(ANA, id, NOW, 1)
        except (Conflict, NotFound):
            return False
        except StorageFailed:
            continue
        return True


def accepter(folder: Path, ids: list[str], pipe: Connection) -> None:
    """Accept these as the others do, from a start that is common to all; tell how many were refused."""

    async def life() -> int:
        refused = 0
        async with open_database_memory(folder, WorkerThreads(), WallClock()) as memory:
            pipe.send("open")
            pipe.recv()
            for id in ids:
                refused += not await accept_once(memory, id)
        return refused

    pipe.send(trio.run(life))


def one_forgetting(folder: Path, statements: int, pipe: Connection) -> None:
    """Say something in both files, then forget it; killed before so many statements of that, and never for 0."""

    async def life() -> int:
        async with both_files(folder, WorkerThreads(), WallClock()) as (desk, memory, store):
            id = await say_everywhere(memory, store)
            pipe.send(("said", id))
            counted = kill_before(statements)
            await desk.forget_item(WHOSE, id)
        return next(counted)

    pipe.send(("ended", trio.run(life)))
