"""A database server that is away, as its watch tells it: not at once, and without anybody who asks."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from math import inf
from typing import Any

import sqlalchemy as sa
import trio
from trio.testing import MockClock

from agent.ports.clock import Clock
from agent.ports.hints import NO_HINTS, Hints
from agent.ports.work import RunSync
from agent.storage.backend import Backend, BatchReport, WriteRequest
from agent.storage.contents import DatabaseContents
from agent.storage.server_watch import AWAY_AFTER, LOOK_EVERY
from agent.storage.stall_watch import Progress
from agent.storage.stores import open_stores
from agent.testing.fakes import Noon
from agent.testing.network import inline


class FakeServer:
    """A server, and the one connection to it: it works unless `why` says why not."""

    is_server = True
    reads_beside = has_nodes = in_order = False
    faults: tuple[type[Exception], ...] = (OSError,)
    upkeep_every = inf

    def __init__(self) -> None:
        self.clock: Clock = Noon()
        self.progress = Progress()
        self.why = ""
        self.tries: list[float] = []

    def __str__(self) -> str:
        return "a server"

    def make_backend(self, clock: object, contents: DatabaseContents, beside: bool = False) -> Backend:
        return self

    def carry_hints(self, run_sync: RunSync, nursery: trio.Nursery) -> Hints:
        return NO_HINTS

    def open(self) -> None:
        pass

    def commit(self, requests: Sequence[WriteRequest]) -> BatchReport:
        self.tries.append(trio.current_time())
        return BatchReport(answers=[None] * len(requests), trouble=self.why)

    def read_each(self, works: Sequence[Callable[[sa.Connection], Any]]) -> list[Any]:
        return [()] * len(works)

    def keep_up(self, documents: str) -> str:
        return ""

    def count_foreign_commits(self) -> int | None:
        return None

    def close(self) -> None:
        pass


@asynccontextmanager
async def watched(server: FakeServer) -> AsyncGenerator[list[tuple[float, str]], None]:
    """The stores over a server; what is told of it, with the time."""
    told: list[tuple[float, str]] = []

    def tell(trouble: str) -> None:
        told.append((trio.current_time(), trouble))

    async with open_stores(server, inline, Noon(), told=tell):
        await trio.sleep(30)
        yield told


async def test_an_absence_is_told_once_it_has_lasted(autojump_clock: MockClock) -> None:
    """Though nobody asks for anything; its end is told at the next try, within two seconds."""
    server = FakeServer()
    async with watched(server) as told:
        began = trio.current_time()
        server.why = "the server was shut down: start it again"
        await trio.sleep(60)
        assert len(told) == 1
        at, trouble = told[0]
        assert AWAY_AFTER <= at - began <= AWAY_AFTER + 2 * LOOK_EVERY
        assert trouble == server.why
        began, server.why = trio.current_time(), ""
        await trio.sleep(10)
        assert told[1][1] == ""
        assert told[1][0] - began <= 2
        assert len(told) == 2


async def test_a_short_absence_is_not_told(autojump_clock: MockClock) -> None:
    """A restart of the server leaves all its clients ready."""
    server = FakeServer()
    async with watched(server) as told:
        for _ in range(3):
            server.why = "the server is starting or stopping: try again"
            await trio.sleep(AWAY_AFTER - 2)
            server.why = ""
            await trio.sleep(3)
        assert told == []


async def test_another_reason_is_told_while_it_lasts(autojump_clock: MockClock) -> None:
    """What is told is what stands in the way now."""
    server = FakeServer()
    async with watched(server) as told:
        for server.why in ("no server answers there", "the server is starting or stopping: try again"):
            await trio.sleep(20)
        assert [trouble for _, trouble in told] == [
            "no server answers there",
            "the server is starting or stopping: try again",
        ]


async def test_clients_of_a_server_that_is_away_do_not_try_in_step(autojump_clock: MockClock) -> None:
    """Two that lost it at the same moment come back at different ones."""
    one, other = FakeServer(), FakeServer()
    async with watched(one), watched(other):
        for server in (one, other):
            server.why = "no server answers there"
        await trio.sleep(3)
        for server in (one, other):
            server.tries.clear()
        await trio.sleep(30)
        assert len(one.tries) >= 10
        assert not set(one.tries) & set(other.tries)
