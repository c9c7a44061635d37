"""A connection to PostgreSQL that breaks at each message of a claim and of a record: cut, late, silent, or killed.

The short form tries some of the messages, others each day. BREAKS=all tries every one, in minutes, and kills the server
three times at each, which is over twenty times at each statement.
"""

import os
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import get_args

import pytest
import trio

from agent.config import RECORD_TIMEOUT
from agent.errors import StorageFailed
from agent.host import WallClock, WorkerThreads
from agent.storage.database_ledger import DatabaseLedger, open_database_ledger
from agent.testing.fakes import Figures
from tests.clusters import Cluster, running_cluster
from tests.share import count_runs

from .message_proxy import Break, MessageProxy

pytest.importorskip("psycopg", reason="needs the extra agent-server[postgres]")
from agent.storage.postgres.place import DatabaseServer

pytestmark = pytest.mark.proof

ALL = os.environ.get("BREAKS") == "all"
STRIDE = 1 if ALL else 12
KILLS = 3 if ALL else 1  # at each message: a statement has some seven
AT_ONCE = 16  # connections that are broken at the same time
SPARE = 3.0  # seconds on a busy machine, beside RECORD_TIMEOUT
LATE_MOST = RECORD_TIMEOUT  # seconds of the event loop: a call that blocks it would take longer
PATIENCE = 90.0  # seconds until the database can be asked again
NOW = WallClock().now_ms()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A server that can be killed."""
    with running_cluster() as made:
        yield made


@dataclass(kw_only=True)
class Account:
    """Everything that the callers of one id were told, and the effects that ran."""

    effects: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)
    waited: float = 0.0  # seconds, of the call that took longest

    async def claim(self, ledger: DatabaseLedger, id: str, name: str) -> bool | None:
        """Claim an id, run its effect when it is won; return `None` when the claim failed."""
        began = trio.current_time()
        try:
            won = await ledger.claim(id, "append", NOW)
        except StorageFailed:
            self.told[f"{name}: failed"] += 1
            return None
        finally:
            self.waited = max(self.waited, trio.current_time() - began)
        self.effects[id] += won
        self.told[f"{name}: {'won' if won else 'lost'}"] += 1
        return won

    async def record(self, ledger: DatabaseLedger, id: str) -> None:
        """Record that an effect is done."""
        began = trio.current_time()
        await ledger.record_outcome(id, "done", {"success": True}, NOW)
        self.waited = max(self.waited, trio.current_time() - began)


@asynccontextmanager
async def opened(url: str, figures: Figures) -> AsyncGenerator[DatabaseLedger, None]:
    """A ledger over a server, whose connection has been used; `figures` say how many outcomes it still keeps."""
    async with open_database_ledger(DatabaseServer(url), WorkerThreads(2), WallClock(), figures) as ledger:
        await ledger.get_row("warm")
        yield ledger


async def count_messages(cluster: Cluster) -> int:
    """Return how many messages a claim and a record take together."""
    with MessageProxy(cluster.port) as proxy:
        async with opened(proxy.url, Figures()) as ledger:
            proxy.break_at(0, None)
            account = Account()
            id = f"counted {proxy.url}"
            assert await account.claim(ledger, id, "first")
            await account.record(ledger, id)
            return proxy.count


async def break_once(cluster: Cluster, account: Account, id: str, number: int, how: Break) -> None:
    """Break a connection at one message of a claim and a record, while another process claims the same id too."""
    with MessageProxy(cluster.port, lambda: restart(cluster)) as proxy:
        async with opened(proxy.url, figures := Figures()) as ledger, opened(cluster.url, Figures()) as rival:
            proxy.break_at(number, how)
            won = await account.claim(ledger, id, "first")
            if won:
                await account.record(ledger, id)
            while (again := await account.claim(rival, id, "second")) is None:  # noqa: ASYNC110
                await trio.sleep(0.05)
            assert not (won and again), id
            with trio.move_on_after(PATIENCE):  # what the first has kept may not end the work of the second
                await wait_until_written(ledger, figures)
            if again:
                await account.record(rival, id)
            row = await rival.get_row(id)
            ended = "done" if account.effects[id] else "cancelled"
            assert proxy.broken, id
            assert (row and row.status) == ended, (id, proxy.broken, row)


async def wait_until_written(ledger: DatabaseLedger, figures: Figures) -> None:
    """Wait until the database can be asked again, and everything is written that was kept meanwhile."""
    while True:
        with suppress(StorageFailed):
            await ledger.get_row("any")
            if not figures.levels.get("actions_unrecorded"):
                return
        await trio.sleep(0.05)


def restart(cluster: Cluster) -> None:
    """Kill a server, and start it again."""
    cluster.kill()
    cluster.start()


@asynccontextmanager
async def watched_loop() -> AsyncGenerator[list[float], None]:
    """The delays of the event loop, in seconds, while the block runs."""
    delays: list[float] = [0.0]

    async def look() -> None:
        while True:
            due = trio.current_time() + 0.01
            await trio.sleep_until(due)
            delays.append(trio.current_time() - due)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(look)
        yield delays
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("how", get_args(Break))
async def test_wherever_a_connection_breaks_an_effect_runs_once(
    cluster: Cluster, how: Break, figures: list[str]
) -> None:
    """It runs once or not at all, its outcome can be asked for, and no caller waits for longer than it may."""
    count = await count_messages(cluster)
    account = Account()
    places = range(1 + count_runs() % STRIDE, count + 1, STRIDE)
    at_once = trio.CapacityLimiter(1 if how == "killed" else AT_ONCE)

    async def limited(number: int, time: int) -> None:
        async with at_once:
            await break_once(cluster, account, f"{how} {number} {time}", number, how)

    async with watched_loop() as delays, trio.open_nursery() as nursery:
        for number in places:
            for time in range(KILLS if how == "killed" else 1):
                nursery.start_soon(limited, number, time)
    figures.append(
        f"{len(places)} of {count} messages, {dict(sorted(account.told.items()))},"
        f" {account.effects.total()} effects, longest wait {account.waited:.2f} s, loop late by {max(delays):.3f} s"
    )
    assert max(account.effects.values()) == 1
    assert account.waited < RECORD_TIMEOUT + SPARE
    if how != "killed":  # this process starts the server again then, which may hold it up
        assert max(delays) < LATE_MOST
