"""A PostgreSQL server that is killed, or gives way to its standby, while many processes claim the same ids.

POSTGRES_KILLS=all takes minutes: 8 processes with 10,000 ids each and six kills, and ten failovers.
"""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.host import WallClock
from agent.storage.ledger import LEDGER
from tests.clusters import Cluster, running_cluster
from tests.servers import run_statement

from . import ledger_kill
from .ledger_kill import effects
from .test_ledger_kill import process, told

pytest.importorskip("psycopg", reason="needs the extra agent-server[postgres]")
from agent.storage.postgres.place import DatabaseServer
from agent.storage.postgres.postgres_database import PostgresDatabase

pytestmark = pytest.mark.proof

ALL = os.environ.get("POSTGRES_KILLS") == "all"
PROCESSES = 8 if ALL else 4
IDS, KILLS = (10_000, 6) if ALL else (150, 2)
FAILOVER_IDS, FAILOVERS = (5_000, 10) if ALL else (150, 1)
PATIENCE = 120  # seconds without any effect, or until a standby follows
SYNCHRONOUS = {"synchronous_standby_names": "*"}


@dataclass(kw_only=True)
class Account:
    """The end of some ids: their effects, the statuses of their rows, and the failures that callers heard of."""

    ids: Sequence[str]
    effects: Counter[str]
    statuses: dict[str, str]
    failed: Counter[str] = field(default_factory=Counter)

    def check(self) -> None:
        """Check that no effect ran twice, none is without its outcome, and each id that did not run has its reason."""
        assert [id for id, times in self.effects.items() if times > 1] == []
        assert [id for id in self.effects if self.statuses.get(id) != "done"] == []
        idle = [id for id in self.ids if id not in self.effects]
        assert [id for id in idle if self.statuses.get(id) != "cancelled" or not self.failed[id]] == []
        assert set(self.statuses.values()) <= {"done", "cancelled"}

    def __str__(self) -> str:
        return (
            f"{len(self.ids)} ids: {self.effects.total()} effects, {dict(Counter(self.statuses.values()))},"
            f" {self.failed.total()} claims failed, {len(self.failed)} of the ids"
        )


def claim_under(
    url: str, folder: Path, count: int, disturbances: Sequence[Callable[[], None]], ask: Callable[[], str]
) -> Account:
    """Let processes claim all ids, each disturbance at its share of the effects; return the account.

    `ask` returns the URL of the server that has the rows in the end. They are read while the processes live: what they
    leave would be settled when they close.
    """
    ids = [f"s{number}" for number in range(count)]
    failed: Counter[str] = Counter()
    with ExitStack() as stack:
        pipes = [
            stack.enter_context(process(ledger_kill.claim_all, DatabaseServer(url), folder, ids))[1]
            for _ in range(PROCESSES)
        ]
        assert [told(pipe) for pipe in pipes] == ["open"] * PROCESSES
        for pipe in pipes:
            pipe.send("go")
        for number, disturb in enumerate(disturbances, 1):
            wait_for_effects(folder, count * number // (len(disturbances) + 1))
            disturb()
        for pipe in pipes:
            while not pipe.poll(PATIENCE):
                wait_for_effects(folder, len(effects(folder)) + 1)
            failed += told(pipe)
        rows = run_statement(ask(), "SELECT suggestion_id, status FROM agent_ledger.actions")
        for pipe in pipes:
            pipe.send("leave")
    return Account(ids=ids, effects=Counter(effects(folder)), statuses=dict(rows), failed=failed)


def make_tables(url: str) -> None:
    """Make the tables of the ledger."""
    database = PostgresDatabase(url, WallClock(), LEDGER)
    database.open()
    database.close()


def wait_for_effects(folder: Path, count: int) -> None:
    """Wait until so many effects have run."""
    seen, since = -1, time.monotonic()
    while (now := len(effects(folder))) < count:
        if now != seen:
            seen, since = now, time.monotonic()
        assert time.monotonic() - since < PATIENCE, f"no effect after {now}"
        time.sleep(0.02)


def test_of_many_processes_no_effect_runs_twice_while_the_server_is_killed(
    tmp_path: Path, figures: list[str]
) -> None:
    """Each id ends done, or cancelled after a failure that its caller heard of; in the end no row is claimed."""
    with running_cluster() as cluster:

        def restart() -> None:
            cluster.kill()
            cluster.start()

        account = claim_under(cluster.url, tmp_path, IDS, [restart] * KILLS, lambda: cluster.url)
    figures.append(f"{PROCESSES} processes, server killed {KILLS} times, {account}")
    account.check()


class Pair:
    """A primary server and its standby, which change places."""

    def __init__(self, primary: Cluster, standby: Cluster) -> None:
        self.primary, self.standby = primary, standby
        self.url = (
            f"postgresql://postgres@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/postgres"
            "?target_session_attrs=read-write"
        )
        self.follow()

    def follow(self) -> None:
        """Make the standby anew, as a copy of the primary, and wait until it follows."""
        self.standby.copy(self.primary)
        self.standby.start()
        give_up = time.monotonic() + PATIENCE
        while run_statement(self.primary.url, "SELECT state FROM pg_stat_replication") != [("streaming",)]:
            assert time.monotonic() < give_up
            time.sleep(0.02)

    def fail_over(self) -> None:
        """Kill the primary, and let the standby take its place."""
        self.primary.kill()
        self.primary, self.standby = self.standby, self.primary
        self.primary.promote()

    def replace(self) -> None:
        """Fail over, and make the old primary the new standby: a synchronous one lets commits wait until then."""
        self.fail_over()
        self.follow()

    def stop_sending(self) -> None:
        """Let the primary send nothing more to its standby."""
        [(pid,)] = run_statement(self.primary.url, "SELECT pid FROM pg_stat_replication")
        os.kill(pid, signal.SIGSTOP)


@contextmanager
def running_pair(**settings: str) -> Iterator[Pair]:
    """A primary server with these settings, and a standby that follows it."""
    with running_cluster(**settings) as primary:
        standby = Cluster()
        try:
            yield Pair(primary, standby)
        finally:
            standby.remove()


def test_no_claim_is_lost_by_a_failover_to_a_synchronous_standby(tmp_path: Path, figures: list[str]) -> None:
    """An effect runs once its claim was answered: the new primary has that row, and no other process runs it."""
    with running_pair() as pair:
        make_synchronous(pair.primary)
        account = claim_under(
            pair.url, tmp_path, FAILOVER_IDS, [pair.replace] * FAILOVERS, lambda: pair.primary.url
        )
    figures.append(f"{PROCESSES} processes, {FAILOVERS} failovers, {account}")
    account.check()


def make_synchronous(primary: Cluster) -> None:
    """Let each commit wait for a standby, on this server and on what is copied from it."""
    for name, value in SYNCHRONOUS.items():
        primary.write_settings(**{name: value})
    run_statement(primary.url, "SELECT pg_reload_conf()")


def test_a_failover_to_a_standby_that_lags_is_seen_to_lose_a_claim(tmp_path: Path) -> None:
    """The check is not blind: an answered claim is gone, another process wins its id, and the effect runs twice."""
    with running_pair() as pair:
        make_tables(pair.url)
        pair.stop_sending()
        claim_under(pair.url, tmp_path, 1, [], lambda: pair.primary.url).check()
        pair.fail_over()
        account = claim_under(pair.url, tmp_path, 1, [], lambda: pair.primary.url)
    assert account.effects == Counter(s0=2)
    with pytest.raises(AssertionError):
        account.check()
