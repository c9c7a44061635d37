"""Several processes over one PostgreSQL server: who lives, who ends what the dead left, and who may not come back."""

from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs

from agent.errors import Conflict, StorageFailed
from agent.host import WallClock
from agent.ports.nodes import Node
from agent.ports.projects import HOUSE
from agent.ports.requests import StoredAnswer
from agent.storage import server_watch
from agent.storage.settings import NODE_DEAD_AFTER
from agent.storage.store import Store
from agent.storage.transaction import Transaction
from tests.e2e.test_process import serve
from tests.servers import fresh_database, run_statement
from tests.stored import NOW, an_opening

pytest.importorskip("psycopg", reason="needs the extra agent-server[postgres]")
from agent.storage.postgres import membership, postgres_database
from agent.storage.postgres import node as nodes  # only with the extra
from agent.storage.postgres.connecting import driver_of

from .nodes import (
    backend_of,
    cut_off,
    database_of,
    kill,
    list_ids,
    look,
    make_silent,
    membership_of,
    node_of,
    open_node,
)

pytestmark = pytest.mark.proof

CLIENTS = """SELECT query FROM pg_stat_activity WHERE datname = current_database()
AND backend_type = 'client backend' AND pid <> pg_backend_pid()"""
OLD = NODE_DEAD_AFTER + 1
LOCKS = """SELECT count(*) FROM pg_locks
WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A database with all tables, on a server that counts as one that started long ago."""
    monkeypatch.setattr(nodes, "GRACE", 0.0)
    monkeypatch.setattr(membership, "GRACE", 0.0)
    monkeypatch.setattr(postgres_database, "HEARTBEAT", 3600.0)  # a test asks for each
    monkeypatch.setattr(server_watch, "LOOK_EVERY", 3600.0)
    with fresh_database() as made:
        yield made


async def _begin(store: Store) -> None:
    """Claim an action, and begin a turn."""
    assert await store.ledger.claim("s1", "send_sms", NOW)
    await store.threads.begin_turn(an_opening())


async def _state(store: Store) -> tuple[str, str]:
    """The status of that action, and of the message of that turn."""
    row = await store.ledger.get_row("s1")
    assert row is not None
    return row.status, (await store.threads.message(HOUSE, "m1")).status


async def _wait_until_it_works(store: Store) -> None:
    """Wait for a node that tries its lost connection every second."""
    with trio.fail_after(60):
        while database_of(store).is_failing:  # noqa: ASYNC110
            await trio.sleep(0.02)


async def test_a_node_is_one_row_and_one_lock(url: str) -> None:
    """However much it has claimed; and nothing of it is left once it has closed."""
    async with open_node(url) as store:
        for number in range(20):
            assert await store.ledger.claim(f"s{number}", "send_sms", NOW)
        await store.threads.begin_turn(an_opening())
        assert run_statement(url, LOCKS) == [(1,)]
        assert list_ids(url) == [node_of(store)]
    assert run_statement(url, LOCKS) == [(0,)]
    assert list_ids(url) == []


async def test_what_a_node_leaves_when_it_closes_is_ended_at_once(url: str) -> None:
    """By itself: nobody has to wait until it is dead."""
    async with open_node(url) as later:
        async with open_node(url) as store:
            await _begin(store)
        assert await _state(later) == ("unknown", "cancelled")


async def test_a_node_that_was_killed_is_found_by_one_that_runs(url: str) -> None:
    """Once its row is old; until then it may only have lost its connection."""
    async with open_node(url) as other:
        async with open_node(url) as store:
            await _begin(store)
            id = node_of(store)
            kill(url, store)
        await look(other)
        assert await _state(other) == ("claimed", "pending")
        make_silent(url, id, OLD)
        await look(other)
        assert await _state(other) == ("unknown", "cancelled")
        assert list_ids(url) == [node_of(other)]


async def test_a_node_that_was_killed_is_found_by_one_that_starts(url: str) -> None:
    """So a server that is alone and comes up later needs nobody else."""
    async with open_node(url) as store:
        await _begin(store)
        id = node_of(store)
        kill(url, store)
    async with open_node(url) as early:
        assert await _state(early) == ("claimed", "pending")
    make_silent(url, id, OLD)
    async with open_node(url) as later:
        assert await _state(later) == ("unknown", "cancelled")


async def test_a_node_without_a_heartbeat_lives_as_long_as_its_session(url: str) -> None:
    """A machine that is too busy for heartbeats still runs what it claimed."""
    async with open_node(url) as store, open_node(url) as other:
        await _begin(store)
        make_silent(url, node_of(store), 10 * OLD)
        await look(other)
        async with open_node(url):
            assert await _state(other) == ("claimed", "pending")


async def test_a_node_that_lost_its_connection_keeps_what_is_its_own(url: str) -> None:
    """It takes the same place again, and its outcome counts."""
    async with open_node(url) as store, open_node(url) as other:
        await _begin(store)
        id = node_of(store)
        cut_off(url, store)
        await look(other)
        with pytest.raises(StorageFailed):
            await store.ledger.claim("s2", "send_sms", NOW)
        await _wait_until_it_works(store)
        assert node_of(store) == id
        await store.ledger.record_outcome("s1", "done", {"success": True}, NOW)
        assert await _state(other) == ("done", "pending")


async def test_a_node_that_was_declared_dead_keeps_nothing_of_what_was_ended(url: str) -> None:
    """Its outcome changes nothing, its turn says no more, and it goes on in another place."""
    async with open_node(url) as store, open_node(url) as other:
        await _begin(store)
        id = node_of(store)
        cut_off(url, store)
        make_silent(url, id, OLD)
        await look(other)
        await look(store)  # and hears of its lost connection
        await _wait_until_it_works(store)
        assert node_of(store) != id
        await store.ledger.record_outcome("s1", "done", {"success": True}, NOW)
        assert await _state(store) == ("unknown", "cancelled")
        assert await store.ledger.claim("s2", "send_sms", NOW)
        await store.ledger.record_outcome("s2", "done", {"success": True}, NOW)
        row = await other.ledger.get_row("s2")
        assert row is not None
        assert row.status == "done"
        assert set(list_ids(url)) == {node_of(store), node_of(other)}


async def test_the_session_of_a_node_that_is_stopped_is_ended_by_the_server(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is stopped keeps its connection, so its lock would be held for as long as it is stopped."""
    async with open_node(url) as other:
        shown = await _ask(other, "SHOW idle_session_timeout")
        assert shown == f"{nodes.SILENT_AFTER:.0f}s"
        assert nodes.SILENT_AFTER < NODE_DEAD_AFTER
        monkeypatch.setattr(postgres_database, "SILENT_AFTER", 1.0)
        async with open_node(url) as store:
            await _begin(store)
            id = node_of(store)
            make_silent(url, id, OLD)
            with trio.fail_after(60):
                while id in list_ids(url):
                    await trio.sleep(0.2)
                    await look(other)
            assert await _state(other) == ("unknown", "cancelled")
            with pytest.raises(StorageFailed, match="said nothing for too long"):
                await store.ledger.claim("s2", "send_sms", NOW)
            await _wait_until_it_works(store)
            assert node_of(store) != id


async def test_a_write_that_takes_too_long_leaves_its_node_in_its_place(url: str) -> None:
    """Else each slow statement would give its lock up, and a slow server would lose all its nodes."""
    async with open_node(url) as store:
        await _begin(store)
        before = membership_of(store).place

        def sleep(transaction: Transaction) -> None:
            transaction.connection.exec_driver_sql("SET LOCAL statement_timeout = '50ms'")
            transaction.connection.exec_driver_sql("SELECT pg_sleep(5)")

        with pytest.raises(StorageFailed, match="it took too long"):
            await database_of(store).write(sleep)
        await look(store)
        assert membership_of(store).place == before  # the same session


async def test_a_lock_that_an_earlier_session_still_has_is_taken_from_it(url: str) -> None:
    """Where the network broke, the server may not know for minutes that the session is over."""
    async with open_node(url) as store:
        backend = backend_of(store)
        before, earlier = membership_of(store).place, backend._connection
        backend._connection = None  # as one that is silent: nobody has closed it
        await look(store)
        place = membership_of(store).place
        assert place is not None
        assert before is not None
        assert place.id == before.id
        assert place.session != before.session
        assert earlier is not None
        driver_of(earlier).close()
        earlier.invalidate()
        earlier.close()


async def test_nodes_see_each_other_and_what_each_of_them_serves(url: str) -> None:
    """From the next heartbeat on, and after a process has lost its place too."""
    async with open_node(url) as store, open_node(url) as other:
        assert store.nodes is not None
        assert other.nodes is not None
        before = [*await other.nodes.list_nodes()]
        assert [(each.id, each.kb) for each in before] == [(node_of(store), ""), (node_of(other), "")]
        assert {each.version for each in before} == {version("agent-server")}
        await store.nodes.announce_documents("d1")
        await _wait_for_documents(other, node_of(store), "d1")
        async with open_node(url) as lost:
            silent = node_of(lost)
            kill(url, lost)
            make_silent(url, silent, OLD)
            known = {node_of(store), node_of(other)}
            assert {each.id for each in await other.nodes.list_nodes()} == known
        with trio.fail_after(60):
            while node_of(store) in known:  # a heartbeat of its own may bring it back before it is ended
                cut_off(url, store)
                make_silent(url, node_of(store), OLD)
                await look(other)
                with suppress(StorageFailed):  # unless a heartbeat has found the cut-off first
                    await store.nodes.list_nodes()
                await store.nodes.list_nodes()
        await _wait_for_documents(other, node_of(store), "d1")


async def _wait_for_documents(store: Store, id: str, digest: str) -> None:
    with trio.fail_after(60):
        while digest not in {each.kb for each in await _list_nodes(store) if each.id == id}:  # noqa: ASYNC110
            await trio.sleep(0.05)


async def _list_nodes(store: Store) -> tuple[Node, ...]:
    assert store.nodes is not None
    return await store.nodes.list_nodes()


async def test_a_node_that_runs_looks_at_the_others_by_itself(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside its heartbeat, whether or not anybody asks it for anything."""
    monkeypatch.setattr(postgres_database, "HEARTBEAT", 0.1)
    async with open_node(url) as other:
        async with open_node(url) as store:
            await _begin(store)
            id = node_of(store)
            kill(url, store)
        make_silent(url, id, OLD)
        with trio.fail_after(60):
            while id in list_ids(url):  # noqa: ASYNC110
                await trio.sleep(0.05)
        assert await _state(other) == ("unknown", "cancelled")


async def test_a_server_that_is_gone_is_told_without_any_request(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a connection that is lost is made anew before a request needs it."""
    monkeypatch.setattr(postgres_database, "HEARTBEAT", 0.1)
    async with open_node(url) as store:
        before = membership_of(store).place
        cut_off(url, store)
        with trio.fail_after(60), capture_logs() as lines:
            while membership_of(store).place == before:  # noqa: ASYNC110
                await trio.sleep(0.05)
    assert lines[0]["event"] == "ledger does not work"
    assert "shut down" in lines[0]["why"]


async def test_who_was_cut_off_gives_others_time_to_come_back(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has cut it off has cut them off too: the first to be back must not end what all others do."""
    monkeypatch.setattr(membership, "GRACE", 3600.0)
    async with open_node(url) as store, open_node(url) as first:
        await _begin(store)
        cut_off(url, first)
        await look(first)  # and hears of it
        await _wait_until_it_works(first)
        cut_off(url, store)
        make_silent(url, node_of(store), OLD)
        await look(first)
        with pytest.raises(Conflict):  # nor for whoever wants to begin a turn there
            await first.threads.begin_turn(an_opening("m2", new=False, alone=False))
        id = node_of(store)
        await look(store)
        await _wait_until_it_works(store)
        assert node_of(store) == id
        assert await _state(first) == ("claimed", "pending")


async def test_a_server_that_has_just_started_gives_all_time_to_come_back(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that starts with it, before the others have found it again, ends nothing of theirs."""
    async with open_node(url) as store:
        await _begin(store)
        id = node_of(store)
        cut_off(url, store)
        make_silent(url, id, OLD)
        monkeypatch.setattr(nodes, "GRACE", 10 * 365 * 86_400.0)
        async with open_node(url) as other:
            assert await _state(other) == ("claimed", "pending")
            assert id in list_ids(url)


async def test_a_dead_nodes_turn_is_no_hindrance(url: str) -> None:
    """Whoever begins the next one ends it, whether or not anybody has looked."""
    async with open_node(url) as other:
        async with open_node(url) as store:
            await _begin(store)
            id = node_of(store)
            kill(url, store)
        with pytest.raises(Conflict):
            await other.threads.begin_turn(an_opening("m2", new=False, alone=False))
        make_silent(url, id, OLD)
        await other.threads.begin_turn(an_opening("m3", new=False, alone=False))
        assert (await other.threads.message(HOUSE, "m1")).status == "cancelled"


async def test_who_takes_over_a_dead_nodes_request_has_it_alone(url: str) -> None:
    """The dead node may have stood still. Awake again it is another node, and answers or frees no request of before."""
    asked = "operator", "key", "digest", NOW, HOUSE
    async with open_node(url) as store, open_node(url) as other:
        assert await store.requests.begin_request(*asked) is None
        id = node_of(store)
        cut_off(url, store)
        make_silent(url, id, OLD)
        assert await other.requests.begin_request(*asked) is None
        await look(store)  # and hears of its lost connection
        await _wait_until_it_works(store)
        assert node_of(store) != id
        for late in (StoredAnswer(200, b"late"), None):
            await store.requests.record_answer("operator", "key", late)
            with pytest.raises(Conflict, match="in_progress"):
                await store.requests.begin_request(*asked)
        await other.requests.record_answer("operator", "key", StoredAnswer(200, b"good"))
        assert await store.requests.begin_request(*asked) == StoredAnswer(200, b"good")


class _WrongClock:
    """The time of this machine, wrong by some milliseconds."""

    def __init__(self, wrong: int) -> None:
        self.wrong = wrong

    def now_ms(self) -> int:
        return WallClock().now_ms() + self.wrong


@pytest.mark.parametrize("wrong", [-3_000, 100, 3_000])
async def test_stamps_go_by_the_servers_clock(url: str, wrong: int) -> None:
    """So deadlines and leases end at the same moment on every machine; a clock that is wrong is told."""
    with capture_logs() as lines:
        async with open_node(url, _WrongClock(wrong), checks_clock=True) as store:
            assert store.clock is not None
            assert abs(store.clock.now_ms() - WallClock().now_ms()) < 400
            await look(store)
    told = [line for line in lines if "clocks" in line["event"]]
    assert len(told) == (abs(wrong) > postgres_database.CLOCK_TOLD)
    assert all(abs(line["ms"] + wrong) < 400 for line in told)


async def test_the_servers_clock_is_looked_at_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes wrong while its server runs is told once, and followed however wrong it is."""
    monkeypatch.setattr(postgres_database, "CLOCK_EVERY", 0.0)
    clock = _WrongClock(0)
    async with open_node(url, clock, checks_clock=True) as store:
        assert store.clock is not None
        clock.wrong = 60_000
        with capture_logs() as lines:
            await look(store)
            await look(store)
        assert abs(store.clock.now_ms() - WallClock().now_ms()) < 400
        assert [line["event"] for line in lines] == ["the clocks of this machine and of the database differ"]


def test_a_server_has_few_connections(url: str, tmp_path: Path) -> None:
    """One for the ledger and one for memory, beside the one that listens for hints."""
    with serve(tmp_path, "--data", url, "--memory", "on"):
        queries = [query for (query,) in run_statement(url, CLIENTS)]
    assert len(queries) <= 3
    assert len([query for query in queries if "agent_hints" not in query]) == 2


async def _ask(store: Store, statement: str) -> Any:
    """The answer of a statement over the session of a node."""
    return await database_of(store).read(lambda connection: connection.exec_driver_sql(statement).scalar())
