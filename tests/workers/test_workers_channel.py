"""Messages between two processes, over memory streams, and connections, over a pair of sockets."""

import gc
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from agent.workers.channel import WORKER_MESSAGE, WORKER_WAITING, Channel
from agent.workers.connection_passing import PassedConnections, give_connection, take_connection_back
from agent.workers.messages import (
    BeginWork,
    ConnectionsEnded,
    DrainRequest,
    ToSupervisor,
    ToWorker,
    WorkerReport,
    WorkerUp,
)


@asynccontextmanager
async def channels() -> AsyncIterator[tuple["Channel[ToWorker]", "Channel[ToSupervisor]"]]:
    """Yield the worker's and the supervisor's end of a channel."""
    here, there = trio.testing.memory_stream_pair()
    worker: Channel[ToWorker] = Channel(here, ToWorker)
    supervisor: Channel[ToSupervisor] = Channel(there, ToSupervisor)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(worker.write)
        nursery.start_soon(supervisor.write)
        yield worker, supervisor
        nursery.cancel_scope.cancel()


async def test_messages_come_whole_and_in_order() -> None:
    """However they are cut on the way, and both ways."""
    async with channels() as (worker, supervisor):
        sent = [
            WorkerUp(),
            *(ConnectionsEnded(count) for count in range(50)),
            WorkerReport(3, "Not yet.", []),
        ]
        for message in sent:
            worker.send(message)
        supervisor.send(BeginWork(2, 3, 8787, b"x" * 100_000))
        assert [await supervisor.receive() for _ in sent] == sent
        assert await worker.receive() == BeginWork(2, 3, 8787, b"x" * 100_000)
        await worker.wait_written()


async def test_a_message_in_bytes_is_one_message() -> None:
    """A stream gives what it has: here a byte at a time."""
    ours, theirs = trio.testing.lockstep_stream_pair()
    channel: Channel[ToWorker] = Channel(ours, ToWorker)
    found = []

    async def dribble() -> None:
        message = b"\x91\xacDrainRequest"
        data = len(message).to_bytes(4, "big") + message
        for at in range(len(data)):
            await theirs.send_all(data[at : at + 1])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(dribble)
        found.append(await channel.receive())
    assert found == [DrainRequest()]


@pytest.mark.parametrize("end", ["closed", "no message", "too long", "another type"])
async def test_every_end_is_read_as_one(end: str) -> None:
    """Nothing is raised, and what is sent after it goes nowhere."""
    ours, theirs = trio.testing.memory_stream_pair()
    channel: Channel[ToWorker] = Channel(ours, ToWorker)
    with capture_logs():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(channel.write)
            if end == "closed":
                await theirs.aclose()
            elif end == "no message":
                await theirs.send_all(b"\0\0\0\2{}")
            elif end == "too long":
                await theirs.send_all((WORKER_MESSAGE + 1).to_bytes(4, "big"))
            else:
                await theirs.send_all(b"\0\0\0\x0a\x91\xa8WorkerUp")
            assert await channel.receive() is None
            channel.send(WorkerUp())
            channel.send(WorkerUp())
            await channel.wait_written()
            nursery.cancel_scope.cancel()


async def test_one_that_does_not_read_ends_the_channel() -> None:
    """It is taken to hang once too much waits for it; who sends neither waits nor fails, and keeps no more."""

    class Stuck(trio.abc.SendStream, trio.abc.ReceiveStream):
        async def send_all(self, data: bytes | bytearray | memoryview) -> None:
            await trio.sleep_forever()

        async def wait_send_all_might_not_block(self) -> None:
            await trio.sleep_forever()

        async def receive_some(self, max_bytes: int | None = None) -> bytes:
            await trio.sleep_forever()
            return b""

        async def aclose(self) -> None:
            await trio.lowlevel.checkpoint()

    channel: Channel[ToSupervisor] = Channel(Stuck(), ToSupervisor)  # type: ignore[arg-type]
    large = BeginWork(1, 1, 1, b"x" * (WORKER_MESSAGE - 100))
    with capture_logs() as logs:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(channel.write)  # ends by itself
            await trio.testing.wait_all_tasks_blocked()
            for _ in range(WORKER_WAITING // WORKER_MESSAGE + 3):
                channel.send(large)
            assert len(channel._waiting) <= WORKER_WAITING
    assert [each["event"] for each in logs] == ["channel ended"]


def pair() -> tuple[socket.socket, socket.socket]:
    """Return two sockets that are connected and do not block."""
    both = socket.socketpair()
    for each in both:
        each.setblocking(False)
    return both


async def test_connections_are_handed_on_and_work() -> None:
    """In order, a handful without a turn for others; the giver may close its own end at once."""
    to, source = pair()
    lost: list[int] = []
    listener = PassedConnections(source, partial(lost.append, 1), lambda: 2, lambda: None)
    clients = []
    for number in range(3):
        client, server = socket.socketpair()
        clients.append(client)
        assert give_connection(to, server)
        server.close()
        client.send(b"%d" % number)
    with trio.testing.assert_no_checkpoints():
        given = [await listener.accept(), await listener.accept()]
    with trio.testing.assert_checkpoints():
        given.append(await listener.accept())
    assert [await each.receive_some() for each in given] == [b"0", b"1", b"2"]
    assert not lost
    assert not any(each.socket.get_inheritable() for each in given)
    with trio.move_on_after(0) as waited:
        await listener.accept()
    assert waited.cancelled_caught
    for each in given:
        await each.aclose()
    await listener.aclose()
    to.close()
    for client in clients:
        client.close()


async def test_a_worker_that_takes_no_more_is_passed_over() -> None:
    """When its socket is full, and when it is dead; neither blocks."""
    to, source = pair()
    client, server = socket.socketpair()
    given = 0
    while give_connection(to, server):
        given += 1
        assert given < 5000
    assert given >= 8
    source.close()
    assert not give_connection(to, server)
    for each in (to, client, server):
        each.close()
    gc.collect()  # what was under way


async def test_what_a_worker_has_not_taken_can_be_taken_back() -> None:
    """Each connection comes once: to the worker, or back, also when its descriptor got lost on the way."""
    to, source = pair()
    theirs = source.dup()
    listener = PassedConnections(theirs, lambda: None, lambda: 9, lambda: None)
    ends = [socket.socketpair() for _ in range(3)]
    for number, (client, server) in enumerate(ends):
        assert give_connection(to, server)
        server.close()
        client.send(b"%d" % number)
        if number == 1:
            to.send(b"c")
    taken = await listener.accept()
    back = [take_connection_back(source), take_connection_back(source)]
    assert take_connection_back(source) is None
    assert [each.recv(1) for each in back if each is not None] == [b"1", b"2"]
    assert await taken.receive_some() == b"0"
    to.close()
    assert take_connection_back(source) is None
    await taken.aclose()
    await listener.aclose()
    for each in (source, *back, *(client for client, _ in ends)):
        assert each is not None
        each.close()


async def test_a_connection_without_a_descriptor_left_is_counted_as_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel drops it; those that can be spared are asked to go, and the next one is taken."""
    to, source = pair()
    lost: list[str] = []
    listener = PassedConnections(
        source, partial(lost.append, "lost"), lambda: 9, partial(lost.append, "relieve")
    )
    client, server = socket.socketpair()
    to.send(b"c")  # a byte, and no descriptor with it
    assert give_connection(to, server)
    with trio.fail_after(1):
        stream = await listener.accept()
    assert lost == ["lost", "relieve"]
    await stream.aclose()
    for each in (to, client, server):
        each.close()
    with trio.move_on_after(0.01) as waited:
        await listener.accept()
    assert waited.cancelled_caught, "without a supervisor there are none any more"
    await listener.aclose()
