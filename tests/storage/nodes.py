"""Nodes for tests: the stores of one process over a PostgreSQL server, which can be killed, cut off and made old."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from math import inf
from typing import Any

import trio

from agent.host import WorkerThreads
from agent.ports.clock import Clock
from agent.storage.database import Database
from agent.storage.postgres.membership import NodeMembership
from agent.storage.postgres.place import DatabaseServer
from agent.storage.postgres.postgres_database import PostgresDatabase
from agent.storage.postgres.signals import PostgresHints
from agent.storage.store import Store
from agent.storage.stores import open_stores
from agent.testing.fakes import Noon
from tests.servers import run_statement


@asynccontextmanager
async def open_node(
    url: str, clock: Clock | None = None, checks_clock: bool = False
) -> AsyncGenerator[Store, None]:
    """All stores of one process over the database of `url`."""
    place = DatabaseServer(url, checks_clock=checks_clock)
    async with open_stores(place, WorkerThreads(2), clock or Noon(), kb="/docs") as made:
        yield made.store


def backend_of(store: Store) -> PostgresDatabase:
    """The backend below a store."""
    backend = database_of(store)._committer.backend
    assert isinstance(backend, PostgresDatabase)
    return backend


def database_of(store: Store) -> Database:
    """The database of a store."""
    database: Database = store.ledger._database  # type: ignore[attr-defined]
    return database


def membership_of(store: Store) -> NodeMembership:
    """The membership of a store's process among the nodes."""
    membership = backend_of(store)._node
    assert membership is not None
    return membership


def node_of(store: Store) -> str:
    """The id of a node."""
    place = membership_of(store).place
    assert place is not None
    return place.id


def cut_off(url: str, store: Store) -> None:
    """End the session of a node, as a broken network does: the node hears of it with its next statement."""
    place = membership_of(store).place
    assert place is not None
    assert run_statement(url, f"SELECT pg_terminate_backend({place.session}, 10000)") == [(True,)]


def kill(url: str, store: Store) -> None:
    """Let a node close as one that was killed: nothing is written any more, and its row stays."""
    cut_off(url, store)
    membership_of(store).place, backend_of(store).has_nodes = None, False


def make_silent(url: str, node: str, seconds: float) -> None:
    """Make the last heartbeat of a node older."""
    run_statement(
        url, f"UPDATE agent_ledger.nodes SET seen = seen - {seconds * 1000:.0f} WHERE id = '{node}'"
    )


async def look(store: Store) -> None:
    """Have a node show a heartbeat and look at the others, as it does every few seconds."""
    await keep_up(database_of(store))


async def keep_up(database: Database) -> None:
    """Have a database do at once what it does every few seconds."""
    database._committer._upkeep_at = -inf
    database._committer._wanted.set()
    with trio.fail_after(60):
        while database._committer._upkeep_at == -inf:  # noqa: ASYNC110
            await trio.sleep(0.005)


def list_ids(url: str) -> list[Any]:
    """The ids in the table of nodes, the oldest node first."""
    return [id for (id,) in run_statement(url, "SELECT id FROM agent_ledger.nodes ORDER BY since, id")]


def is_connected(hints: PostgresHints) -> bool:
    """Whether hints are carried now."""
    return hints._link is not None
