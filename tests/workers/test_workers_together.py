"""A real supervisor and real workers in one event loop: channels and connections in memory, on virtual time."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from agent.client.client import Client, connect_over
from agent.compose.adapters import Adapters
from agent.errors import UsageError
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.settings import Settings
from agent.testing.faults import PipeEnd, pipe
from agent.testing.network import inline
from agent.workers.channel import Channel
from agent.workers.messages import (
    WORKER_ANSWER,
    AliveProbe,
    AliveReply,
    BeginWork,
    DrainRequest,
    ReportRequest,
    StartFailed,
    StopRequest,
    ToSupervisor,
    ToWorker,
    WorkerLeaving,
    WorkerReady,
    WorkerReport,
    WorkerUp,
)
from agent.workers.rates import make_rates
from agent.workers.revival import WORKER_PAUSE_FIRST
from agent.workers.settings import pack_settings, unpack_settings
from agent.workers.supervisor import Supervisor
from agent.workers.worker import Worker, shared_rates

from .fakes import FakeChild

PRICES = (SourceFile.of("kb/prices.md", "# Prices\n\nThe Basic plan costs 149 kr per month.\n"),)
QUESTION = "What does the Basic plan cost?"


class Streams(trio.abc.Listener[trio.SocketStream]):
    """Gives the streams that are put into it."""

    def __init__(self) -> None:
        self.send, self._receive = trio.open_memory_channel[trio.abc.Stream](1000)

    async def accept(self) -> trio.SocketStream:
        """Return the next one."""
        return cast(trio.SocketStream, await self._receive.receive())

    async def aclose(self) -> None:
        """Do nothing."""
        await trio.lowlevel.checkpoint()


def worker(channel: Channel[ToWorker], begin: BeginWork, streams: Streams, rates: int) -> Worker:
    """Return a worker that has a knowledge base of one page."""
    settings = unpack_settings(begin.settings)
    adapters = Adapters(run_sync=inline, knowledge=KnowledgeBase.build(PRICES))
    limits = shared_rates(rates, settings)
    return Worker(channel, begin, settings, lambda *_: streams, limits, adapters)


class LiveChild(FakeChild):
    """A worker that works."""

    def __init__(self, number: int, rates: int) -> None:
        super().__init__(number)
        self.streams = Streams()
        self.scope = trio.CancelScope()
        self.mute = False
        self._rates = rates

    async def run(self) -> None:
        """Do what a worker's process does."""
        with self.scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.channel.write)
                begin = await self.channel.receive()
                assert isinstance(begin, BeginWork)
                self.worker = worker(self.channel, begin, self.streams, self._rates)
                await self.worker.run()
                nursery.cancel_scope.cancel()
        self.end()

    def give(self, connection: Any) -> bool:
        """Take a connection."""
        self.given.append(connection)
        self.streams.send.send_nowait(connection)
        return True

    def kill(self) -> None:
        """End at once, and say nothing more."""
        self.channel._writing.cancel()
        self.scope.cancel()
        super().kill()


class House:
    """The server. children: its workers, by their number; the newest of each."""

    def __init__(self, nursery: trio.Nursery, rates: int, **chosen: Any) -> None:
        self.children: dict[int, LiveChild] = {}
        self._nursery = nursery
        self._rates = rates
        settings = Settings.of(
            port=0, workers=2, pace_ms=0, data="memory", allow_host=("127.0.0.1",), **chosen
        )
        self.supervisor = Supervisor(settings, self._spawn)

    async def _spawn(self, number: int) -> LiveChild:
        child = self.children[number] = LiveChild(number, self._rates)
        self._nursery.start_soon(child.run)
        return child

    async def open(self) -> PipeEnd:
        """Open a connection; return the client's end."""
        ours, theirs = pipe(1 << 30)
        await self.supervisor.give_connection(cast(Any, theirs))
        return ours

    async def client(self, stack: AsyncExitStack) -> Client:
        """Connect a client."""
        return await stack.enter_async_context(connect_over(await self.open()))

    async def get(self, path: str) -> tuple[int, str]:
        """Return status and body of a plain request."""
        stream = await self.open()
        await stream.send_all(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        answer = bytearray()
        while data := await stream.receive_some():
            answer += data
        await stream.aclose()
        head, _, body = answer.decode().partition("\r\n\r\n")
        return int(head.split()[1]), body

    async def figure(self, name: str) -> float:
        """Return one of the figures of all."""
        lines = (await self.get("/metrics"))[1].splitlines()
        return float(next((line.split()[-1] for line in lines if line.startswith(f"{name} ")), 0))


@asynccontextmanager
async def house(**chosen: Any) -> AsyncIterator[House]:
    """Run a server of two workers for the time of a block."""
    rates = make_rates()
    try:
        async with trio.open_nursery() as nursery:
            made = House(nursery, rates, **chosen)
            await nursery.start(made.supervisor.run)
            await made.supervisor.ready()
            yield made
            nursery.cancel_scope.cancel()
    finally:
        os.close(rates)


async def asked(client: Client) -> str:
    """Ask, and return the answer."""
    await client.ask(QUESTION)
    return str((await client.frames_until("response"))[-1]["text"])


async def test_the_pair_answers_as_one(autojump_clock: trio.testing.MockClock) -> None:
    """Whichever worker is asked for them, the figures are those of both, and so is its readiness."""
    async with house() as here, AsyncExitStack() as stack:
        clients = [await here.client(stack) for _ in range(4)]
        for client in clients:
            assert "149" in await asked(client)
        assert [len(each.given) for each in here.children.values()] == [2, 2]
        for _ in range(2):
            assert await here.figure("agent_messages_total") == 4
            assert await here.figure("agent_sessions") == 4
            assert await here.get("/readyz") == (200, "ready\n")
            assert await here.get("/healthz") == (200, "ok\n")
        here.children[2].worker.server.readiness.note_ledger_trouble("the disk is full")
        for _ in range(2):
            status, words = await here.get("/readyz")
            assert (status, words.partition(":")[2].split(":")[0]) == (503, " Worker 2")


async def test_a_silent_worker_makes_the_pair_unready_and_its_figures_stay(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others wait a second for it and then go without what is new."""
    async with house() as here, AsyncExitStack() as stack:
        for _ in range(2):
            assert "149" in await asked(await here.client(stack))
        assert await here.figure("agent_messages_total") == 2
        monkeypatch.setattr(here.children[2].worker, "_report", lambda *_, **__: None)
        began = trio.current_time()
        assert (await here.get("/readyz"))[1] == "not ready: Worker 2 does not answer.\n"
        assert WORKER_ANSWER <= trio.current_time() - began < WORKER_ANSWER + 0.5
        assert await here.figure("agent_messages_total") == 2


async def test_the_limits_are_those_of_the_pair(autojump_clock: trio.testing.MockClock) -> None:
    """Places, and the rate of an address, over both workers; a place that is left in one is free in the other."""
    async with house(max_connections=3, address_rate=2.0) as here, AsyncExitStack() as stack:
        clients = [await here.client(stack) for _ in range(3)]
        for client in clients:
            await asked(client)
        assert (await refused(here), await refused(here)) == (503, 503)
        await asked(clients[0])
        await clients[1].ask(QUESTION)
        assert (await clients[1].frames_until("error"))[-1]["code"] == "rate_limited"
        await clients[1].close()
        await trio.sleep(1)
        assert await here.figure("agent_sessions") == 2
        await here.client(stack)
        assert await here.figure("agent_sessions") == 3


async def refused(here: House) -> int:
    """Return the status that a newcomer's upgrade is answered with."""
    stream = await here.open()
    await stream.send_all(
        b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    answer = bytes(await stream.receive_some())
    await stream.aclose()
    return int(answer.split()[1])


async def test_a_killed_worker_ends_its_own_connections_only(autojump_clock: trio.testing.MockClock) -> None:
    """Its places are free at once, what it counted stays in the sum, and the next serves in its place."""
    async with house(max_connections=2) as here, AsyncExitStack() as stack:
        one, two = await here.client(stack), await here.client(stack)
        for client in (one, two):
            await asked(client)
        assert await here.figure("agent_messages_total") == 2
        with capture_logs():
            killed = here.children[1]
            killed.kill()
            await trio.testing.wait_all_tasks_blocked()
            assert "149" in await asked(two)
            newcomer = await here.client(stack)
            assert "149" in await asked(newcomer)
            await trio.sleep(WORKER_PAUSE_FIRST)
            await here.supervisor.ready()
        assert here.children[1] is not killed
        await trio.sleep(1)
        assert await here.figure("agent_messages_total") == 4
        assert await here.figure("agent_sessions") == 2
        assert await here.figure("agent_worker_deaths_total") == 1


@pytest.mark.parametrize("how", ["drain", "stop", "supervisor gone", "told by another"])
async def test_a_worker_goes_down_as_it_is_told(how: str, autojump_clock: trio.testing.MockClock) -> None:
    """It drains; without a supervisor, too. Its last word are its figures."""
    rates = make_rates()
    ours, theirs = trio.testing.memory_stream_pair()
    channel: Channel[ToWorker] = Channel(ours, ToWorker)
    supervisor: Channel[ToSupervisor] = Channel(theirs, ToSupervisor)
    settings = Settings.of(port=0, workers=2, data="memory")
    begin = BeginWork(1, 2, 8787, pack_settings(settings))
    made = worker(channel, begin, Streams(), rates)
    heard: list[Any] = []
    with capture_logs() as logs:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(channel.write)
            nursery.start_soon(supervisor.write)

            async def hear() -> None:
                while (message := await supervisor.receive()) is not None:
                    heard.append(message)

            async def work() -> None:
                await made.run()
                nursery.cancel_scope.cancel()

            nursery.start_soon(hear)
            nursery.start_soon(work)
            await trio.testing.wait_all_tasks_blocked()
            assert WorkerUp() in heard
            supervisor.send(AliveProbe())
            await trio.testing.wait_all_tasks_blocked()
            assert heard[-1] == AliveReply()
            act: dict[str, Callable[[], object]] = {
                "drain": partial(supervisor.send, DrainRequest()),
                "stop": partial(supervisor.send, StopRequest()),
                "supervisor gone": supervisor._writing.cancel,
                "told by another": made.drain,
            }
            act[how]()
    if how != "supervisor gone":
        assert WorkerLeaving() in heard
        assert isinstance(heard[-1], WorkerReport)
        assert heard[-1].figures
    gone = [each["event"] for each in logs]
    assert ("supervisor is gone" in gone) is (how == "supervisor gone")
    os.close(rates)


async def test_a_worker_is_ready_for_all_when_its_supervisor_knows(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then connections go to the others: who has seen that all are ready finds them shared out evenly."""
    rates = make_rates()
    ours, theirs = trio.testing.memory_stream_pair()
    channel: Channel[ToWorker] = Channel(ours, ToWorker)
    supervisor: Channel[ToSupervisor] = Channel(theirs, ToSupervisor)
    made = worker(
        channel,
        BeginWork(1, 2, 8787, pack_settings(Settings.of(port=0, workers=2, data="memory"))),
        Streams(),
        rates,
    )
    settled = trio.Event()
    monkeypatch.setattr(made.server, "ready", settled.wait)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(channel.write)
        nursery.start_soon(supervisor.write)
        nursery.start_soon(made.run)
        assert await supervisor.receive() == WorkerUp()
        assert made.server.unready == ""
        supervisor.send(ReportRequest(5, False))
        assert await supervisor.receive() == WorkerReport(5, "The documents have just been read.", None)
        settled.set()
        assert await supervisor.receive() == WorkerReady()
        supervisor.send(ReportRequest(6, False))
        assert await supervisor.receive() == WorkerReport(6, "", None)
        nursery.cancel_scope.cancel()
    os.close(rates)


async def test_a_worker_that_cannot_start_tells_why(autojump_clock: trio.testing.MockClock) -> None:
    """In the words that the operator is to read."""
    rates = make_rates()
    ours, theirs = trio.testing.memory_stream_pair()
    channel: Channel[ToWorker] = Channel(ours, ToWorker)
    supervisor: Channel[ToSupervisor] = Channel(theirs, ToSupervisor)
    settings = Settings.of(
        port=0, workers=2, data="memory", action_webhook="http://127.0.0.1:1/", payloads="model"
    )
    made = worker(channel, BeginWork(1, 2, 8787, pack_settings(settings)), Streams(), rates)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(channel.write)
        supervisor.send(ReportRequest(5, False))
        nursery.start_soon(supervisor.write)
        with pytest.raises(BaseExceptionGroup) as caught:
            await made.run()
        assert caught.group_contains(UsageError)
        said = [await supervisor.receive() for _ in range(2)]
        nursery.cancel_scope.cancel()
    assert any(
        isinstance(each, StartFailed) and "payloads model needs a language model" in each.words
        for each in said
    )
    os.close(rates)


def test_settings_come_as_they_were_sent() -> None:
    """Paths, tuples and secrets among them."""
    settings = Settings.of(
        port=0,
        workers=3,
        token="x" * 20,
        kb=Path("kb"),
        trust_proxy=("10.0.0.1",),
        action_delay_ms=(1.0, 2.0),
    )
    assert unpack_settings(pack_settings(settings)) == settings
