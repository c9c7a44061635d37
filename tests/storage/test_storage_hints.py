"""Hints over a PostgreSQL server: between two nodes, through lost connections, and from other programs."""

import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import trio

from agent.host import WorkerThreads
from agent.ports.hints import Hint
from agent.ports.projects import HOUSE
from agent.storage.memories.store import open_database_memory
from agent.storage.stores import open_stores
from agent.testing.fakes import Noon
from agent.threads import call_ends, thread_registry
from tests.servers import empty_database, fresh_database, run_statement
from tests.threads.lab import ANSWER, LOOK_UP, REFUND, Lab, lab
from tests.threads.test_elsewhere import Asking, the_thread

psycopg: Any = pytest.importorskip("psycopg", reason="needs the extra agent-server[postgres]")
from agent.storage.postgres import connecting, signals  # noqa: E402  # only with the extra
from agent.storage.postgres.place import DatabaseServer  # noqa: E402
from agent.storage.postgres.signals import CHANNEL, HINTS_MOST, PostgresHints, parse_hint  # noqa: E402

from .nodes import is_connected  # noqa: E402

pytestmark = pytest.mark.proof

A_HINT = Hint("call_ended", "c1")
SOON = 20.0  # seconds within which what is awaited comes on any machine
_LISTENING = "query LIKE '%agent_hints%' AND pid <> pg_backend_pid() AND datname = current_database()"
LISTENERS = f"SELECT count(*) FROM pg_stat_activity WHERE {_LISTENING}"
END_LISTENERS = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {_LISTENING}"


@pytest.fixture
def url() -> Iterator[str]:
    """A database without tables: hints need none."""
    with empty_database() as made:
        yield made


async def until(condition: Callable[[], Any]) -> None:
    """Wait until a condition holds."""
    with trio.fail_after(SOON):
        while not condition():  # noqa: ASYNC110
            await trio.sleep(0.01)


class Node:
    """The hints of one process, and what it has heard."""

    def __init__(self, url: str) -> None:
        self.hints = PostgresHints(url, WorkerThreads(1))
        self.heard: list[Hint] = []
        self.hints.subscribe(self.heard.append)


@asynccontextmanager
async def nodes(*urls: str) -> AsyncGenerator[tuple[Node, ...], None]:
    """Some processes whose hints are carried."""
    made = tuple(map(Node, urls))
    async with trio.open_nursery() as nursery:
        for node in made:
            nursery.start_soon(node.hints.run)
        await until(lambda: all(is_connected(node.hints) for node in made))
        yield made
        nursery.cancel_scope.cancel()


async def test_a_hint_reaches_every_other_process(url: str) -> None:
    """And not the one that sends it; with more than can wait, the further ones are dropped."""
    async with nodes(url, url, url) as (one, two, three):
        one.hints.send(A_HINT)
        await until(lambda: two.heard and three.heard)
        for number in range(2 * HINTS_MOST):
            two.hints.send(Hint("thread_cancelled", f"t{number}"))
        await until(lambda: len(one.heard) == len(three.heard) - 1 == HINTS_MOST)
        assert (two.heard, three.heard[0]) == ([A_HINT], A_HINT)
        assert one.heard == [Hint("thread_cancelled", f"t{number}") for number in range(HINTS_MOST)]


async def test_what_other_programs_notify_is_ignored(url: str) -> None:
    """Whatever it is, and however much of it comes; and what has no form of an id is not sent."""
    hostile = ["", " ", "call_ended", "call_ended ", "call_ended a b", "call_ended é", "call_ended '; DROP"]
    hostile += ["drain n1", "call_ended " + "x" * 129, "x" * 7999, "call_ended\nc1", 'call_ended "}', "{}"]
    assert [parse_hint(each.encode()) for each in hostile] == [None] * len(hostile)
    assert parse_hint(b"call_ended \xff") is None
    assert parse_hint(b"call_ended " + b"x" * 128) == Hint("call_ended", "x" * 128)
    async with nodes(url, url) as (one, two):
        with psycopg.connect(url, autocommit=True) as other:
            for each in hostile:
                other.execute("SELECT pg_notify(%s, %s)", (CHANNEL, each))
            other.execute(
                f"SELECT pg_notify('{CHANNEL}', repeat('x', 7000) || n) FROM generate_series(1, 2000) n"
            )
        for bad in ("", 'c"}', "c,d", "x" * 129, "é", "a b"):
            one.hints.send(Hint("call_ended", bad))
        one.hints.send(A_HINT)
        await until(lambda: two.heard)
        assert two.heard == [A_HINT]


async def test_a_connection_that_is_ended_is_made_anew(url: str) -> None:
    """By itself, and hints come again; one that is sent meanwhile is dropped, and waits nowhere."""
    async with nodes(url, url) as (one, two):
        for _ in range(3):
            run_statement(url, END_LISTENERS)
            await until(lambda: not is_connected(one.hints))
            one.hints.send(Hint("call_ended", "lost"))
            await until(lambda: is_connected(one.hints) and is_connected(two.hints))
        one.hints.send(A_HINT)
        await until(lambda: two.heard)
        assert two.heard == [A_HINT]
        assert run_statement(url, LISTENERS) == [(2,)]


class Relay:
    """A way to a server that can fall silent and be closed. `url` is the way, `attempts` is when each one came."""

    def __init__(self, url: str, folder: Path) -> None:
        known = psycopg.conninfo.conninfo_to_dict(url)
        self._host, self._port = str(known["host"]), int(known.get("port") or 5432)
        self._path = str(folder / ".s.PGSQL.5432")
        options = {"host": str(folder), "user": known.get("user"), "password": known.get("password")}
        self.url = f"postgresql:///{known['dbname']}?" + urlencode({k: v for k, v in options.items() if v})
        self.attempts: list[float] = []
        self.flows = trio.Event()  # bytes flow while it is set
        self.flows.set()
        self._running = trio.CancelScope()

    async def run(self, task_status: "trio.TaskStatus[None]" = trio.TASK_STATUS_IGNORED) -> None:
        """Take connections until `close`."""
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        with trio.CancelScope() as self._running, trio.socket.socket(trio.socket.AF_UNIX) as listener:
            await listener.bind(self._path)
            listener.listen(16)
            task_status.started()
            async with trio.open_nursery() as nursery:
                while True:
                    client, _ = await listener.accept()
                    self.attempts.append(trio.current_time())
                    nursery.start_soon(self._serve, trio.SocketStream(client))

    def close(self) -> None:
        """End every connection, and take no other until `run`."""
        self._running.cancel()

    async def _serve(self, client: trio.SocketStream) -> None:
        server: trio.abc.Stream
        if self._host.startswith("/"):
            server = await trio.open_unix_socket(f"{self._host}/.s.PGSQL.{self._port}")
        else:
            server = await trio.open_tcp_stream(self._host, self._port)
        async with server, client, trio.open_nursery() as nursery:
            nursery.start_soon(self._pass, client, server, nursery)
            await self._pass(server, client, nursery)

    async def _pass(self, source: trio.abc.Stream, sink: trio.abc.Stream, nursery: trio.Nursery) -> None:
        with suppress(trio.BrokenResourceError):
            while data := await source.receive_some(65536):
                await self.flows.wait()
                await sink.send_all(data)
        nursery.cancel_scope.cancel()


async def test_a_connection_that_falls_silent_is_made_anew(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is said, and nothing is closed; one attempt at a time is made until the way is there again."""
    monkeypatch.setattr(signals, "PULSE_EVERY", 0.2)
    monkeypatch.setattr(signals, "PULSE_ANSWER", 2.0)
    relay = Relay(url, tmp_path)
    async with trio.open_nursery() as nursery:
        await nursery.start(relay.run)
        async with nodes(relay.url, url) as (one, two):
            await trio.sleep(0.8)  # some pulses, each of them answered
            assert len(relay.attempts) == 1
            relay.flows = trio.Event()
            await until(lambda: not is_connected(one.hints))
            await until(lambda: len(relay.attempts) == 2)
            await trio.sleep(1)
            assert len(relay.attempts) == 2  # it waits for the one that it has made
            relay.flows.set()
            await until(lambda: is_connected(one.hints))
            two.hints.send(A_HINT)
            await until(lambda: one.heard)
        nursery.cancel_scope.cancel()


async def test_a_server_that_is_away_is_tried_seldom(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With pauses that grow, and no work of the processor meanwhile; it comes back without a restart."""
    monkeypatch.setattr(signals, "PAUSE_MOST", 2.0)
    relay, connects = Relay(url, tmp_path), list[float]()

    def count(*arguments: Any) -> Any:
        connects.append(1)
        return connecting.connect(*arguments)

    monkeypatch.setattr(signals, "connect", count)
    async with trio.open_nursery() as nursery:
        await nursery.start(relay.run)
        async with nodes(relay.url) as (one,):
            relay.close()
            await until(lambda: not is_connected(one.hints))
            tried = len(connects)
            await trio.sleep(3)
            assert 1 <= len(connects) - tried <= 8
            await nursery.start(relay.run)
            await until(lambda: is_connected(one.hints))
        nursery.cancel_scope.cancel()


def open_files() -> int:
    """How many files this process has open."""
    return len(os.listdir("/proc/self/fd"))


async def test_a_cancel_at_any_instant_leaves_nothing(url: str) -> None:
    """Neither a file of this process nor a session of the server, also where its thread still connects."""
    await trio.to_thread.run_sync(lambda: None)
    before = open_files()
    for step in range(40):
        with trio.move_on_after(step * 0.002):
            await PostgresHints(url, WorkerThreads(1)).run()
    async with nodes(url) as (one,):
        one.hints.send(A_HINT)
    await until(lambda: run_statement(url, LISTENERS) == [(0,)])
    await until(lambda: open_files() <= before)


async def test_an_idle_connection_costs_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its task runs at a pulse and at its answer, and at nothing else."""
    steps: list[str] = []

    def counted(name: str) -> Callable[..., Any]:
        method = getattr(signals._Link, name)

        def count(*arguments: Any) -> Any:
            steps.append(name)
            return method(*arguments)

        return count

    for name in ("read", "ask"):
        monkeypatch.setattr(signals._Link, name, counted(name))
    monkeypatch.setattr(signals, "PULSE_EVERY", 0.2)
    async with nodes(url):
        await until(lambda: steps.count("ask") == 5)
    assert steps.count("read") <= 2 * 5 + 2


# --- two nodes


@asynccontextmanager
async def two_nodes(
    *decisions: Any, theirs: tuple[Any, ...] = (), **how: Any
) -> AsyncGenerator[tuple[Lab, Lab, str], None]:
    """Two desks over two databases on one server, which hear each other; and the database."""
    async with AsyncExitStack() as stack:
        url = stack.enter_context(fresh_database())
        opened = [
            await stack.enter_async_context(
                open_stores(DatabaseServer(url, checks_clock=False), WorkerThreads(2), Noon())
            )
            for _ in range(2)
        ]
        one, another = (each.store for each in opened)
        hints: list[Any] = [one.hints, another.hints]
        await until(lambda: all(is_connected(each) for each in hints))
        ours = await stack.enter_async_context(lab(*decisions, stores=one, hints=one.hints, **how))
        other = await stack.enter_async_context(
            lab(*theirs, stores=another, name="other", hints=another.hints)
        )
        yield ours, other, url


def is_asking(at: Lab) -> bool:
    """Whether a turn is in progress at a desk."""
    awake = [at.desk.awake.get(*key) for key in at.desk.awake]
    return any(each is not None and each.message is not None for each in awake)


@pytest.fixture
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks by themselves: what comes in time comes by a hint."""
    monkeypatch.setattr(thread_registry, "SWEEP_EVERY", 3600.0)
    monkeypatch.setattr(call_ends, "CALL_LOOK", 3600.0)


@pytest.mark.usefixtures("seldom")
async def test_a_cancel_through_another_node_ends_the_turn() -> None:
    """By a hint alone: nobody sweeps. Then the thread can be used through either node."""
    async with two_nodes(think=60.0) as (ours, other, _), trio.open_nursery() as nursery:
        asked = Asking(ours)
        nursery.start_soon(asked.run, "price?")
        await until(lambda: is_asking(ours))
        thread = await the_thread(other)
        await other.desk.cancel_turn(HOUSE, thread)
        assert [each.status for each in await other.messages(thread)] == ["cancelled"]
        await until(lambda: asked.end is not None)
        assert asked.end == "cancelled"
        assert (await other.chat("price?", thread)).mode == "NOOP"
        nursery.cancel_scope.cancel()


@pytest.mark.usefixtures("seldom")
async def test_a_wait_on_another_node_ends_with_the_call() -> None:
    """By a hint alone, once the node that runs it has stored its end."""
    async with two_nodes(REFUND, after=1.0) as (ours, other, _), trio.open_nursery() as nursery:
        (call,) = (await ours.chat()).calls
        nursery.start_soon(partial(ours.desk.approve_call, HOUSE, call.id, "anna"))
        with trio.fail_after(SOON):
            assert (await other.desk.wait_for_end(HOUSE, call.id, 600.0)).status == "done"
        assert ours.began() == [(call.id, {"order": "A-1"})]


async def test_while_hints_are_lost_a_cancel_and_a_wait_end_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The connections for them have been ended, and what is sent meanwhile is dropped."""
    async with two_nodes(REFUND, ANSWER, after=1.0, think=60.0) as (ours, other, url):
        (call,) = (await ours.chat("refund A-1")).calls
        monkeypatch.setattr(signals, "PAUSE_FIRST", 600.0)
        monkeypatch.setattr(signals, "PAUSE_MOST", 600.0)
        run_statement(url, END_LISTENERS)
        await until(lambda: not is_connected(ours.stores.hints) and not is_connected(other.stores.hints))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(ours.desk.approve_call, HOUSE, call.id, "anna"))
            with trio.fail_after(SOON):
                assert (await other.desk.wait_for_end(HOUSE, call.id, 600.0)).status == "done"
        asked = Asking(ours)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(asked.run, "price?", call.thread)
            await until(lambda: is_asking(ours))
            await other.desk.cancel_turn(HOUSE, call.thread)
            await until(lambda: asked.end is not None)
        assert asked.end == "cancelled"


async def test_a_node_has_three_connections_and_an_ordinary_turn_sends_no_hint() -> None:
    """One for the ledger, one for hints and one for the memory; a turn with a call says nothing to other nodes."""
    async with two_nodes(LOOK_UP, ANSWER) as (ours, _, url):
        place = DatabaseServer(url, checks_clock=False)
        async with open_database_memory(place, WorkerThreads(2), Noon()):
            assert run_statement(url, LISTENERS) == [(2,)]
            named = "application_name = 'agent-server' AND datname = current_database()"
            both = run_statement(url, f"SELECT count(*) FROM pg_stat_activity WHERE {named}")
            assert both == [(2 * 2 + 1,)]  # the memory of one of them is open
        with psycopg.connect(url, autocommit=True) as listener:
            listener.execute(f"LISTEN {CHANNEL}")
            assert (await ours.chat("price of A-1?")).calls[0].status == "done"
            assert [*listener.notifies(timeout=0.5)] == []
