"""What every wire must do for a session. A new one joins by a line in WIRES.

Each is opened with a client's end that a test can make speak, listen no more, and leave.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from agent.errors import WireClosed
from agent.ports.wire import Wire
from agent.server.sniff import Head, read_head
from agent.server.websocket import Connection, serve_websocket
from agent.testing.faults import pipe
from agent.testing.raw import RawClient
from agent.testing.wires import MemoryWire
from agent.wire.outbox import Outbox
from agent.wire.writer import write_all

TEXT = b'{"type":"stream","delta":"\xc3\xa5"}'


@dataclass
class Opened:
    """A wire, and its client. heard: what came to the client. close_comes: whether it answers a close frame."""

    wire: Wire
    outbox: Outbox
    say: Callable[[str], None]
    leave: Callable[[], None]
    deafen: Callable[[], None]
    heard: Callable[[], list[dict[str, Any]]]


@asynccontextmanager
async def _memory() -> AsyncGenerator[Opened, None]:
    wire = MemoryWire()

    def deafen() -> None:
        wire.answers_close = False

    yield Opened(wire, wire.outbox, wire.push, wire.leave, deafen, wire.sent)


@asynccontextmanager
async def _websocket() -> AsyncGenerator[Opened, None]:
    ours, theirs = pipe(1 << 20)
    client = RawClient(ours)
    head = await read_head(theirs)
    assert isinstance(head, Head)
    ready, over = trio.Event(), trio.Event()
    connections: list[Connection] = []

    async def handler(connection: Connection) -> None:
        connections.append(connection)
        ready.set()
        await over.wait()

    def deafen() -> None:
        client._answers = False

    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.read_all)
        nursery.start_soon(serve_websocket, theirs, head, handler)
        await ready.wait()
        yield Opened(
            connections[0],
            connections[0].outbox,
            client.send_text,
            client.vanish,
            deafen,
            lambda: client.frames,
        )
        nursery.cancel_scope.cancel()


WIRES: dict[str, Callable[[], AbstractAsyncContextManager[Opened]]] = {
    "memory": _memory,
    "websocket": _websocket,
}


@pytest.fixture(params=sorted(WIRES))
def opened(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[Opened]:
    return WIRES[request.param]()


Wires = AbstractAsyncContextManager[Opened]


async def written(it: Opened) -> None:
    """Write what waits, until nothing does."""
    with trio.move_on_after(1):
        await write_all(it.outbox, it.wire)


async def test_messages_come_whole_and_in_order(opened: Wires, autojump_clock: MockClock) -> None:
    """Each as it was sent; hearing one shows in `heard_at`."""
    async with opened as it:
        await trio.sleep(5)
        for text in ("a", "å" * 1000, "{}"):
            it.say(text)
        assert [await it.wire.receive() for _ in range(3)] == ["a", "å" * 1000, "{}"]
        assert it.wire.heard_at == trio.current_time() == 5


async def test_a_client_that_leaves_is_told_as_closed(opened: Wires, autojump_clock: MockClock) -> None:
    """What it sent before comes first."""
    async with opened as it:
        it.say("last")
        it.leave()
        assert await it.wire.receive() == "last"
        with pytest.raises(WireClosed):
            await it.wire.receive()


async def test_what_is_sent_comes_to_the_client(opened: Wires, autojump_clock: MockClock) -> None:
    """A frame is a whole message."""
    async with opened as it:
        it.outbox.put(it.wire.frame(TEXT))
        await written(it)
        assert it.heard() == [{"type": "stream", "delta": "å"}]


async def test_after_an_abort_nothing_is_sent_or_received(opened: Wires, autojump_clock: MockClock) -> None:
    """It is idempotent, never blocks, and wakes who waits for a message."""
    async with opened as it:
        woken = trio.Event()

        async def wait() -> None:
            with pytest.raises(WireClosed):
                await it.wire.receive()
            woken.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await trio.testing.wait_all_tasks_blocked()
            it.wire.abort()
            it.wire.abort()
            with trio.fail_after(1):
                await woken.wait()
        with pytest.raises(WireClosed):
            await it.wire.send(it.wire.frame(TEXT))
        assert it.heard() == []


async def test_a_close_waits_for_the_clients(opened: Wires, autojump_clock: MockClock) -> None:
    """With one that answers it returns; one that does not is waited for as long as the caller wants."""
    async with opened as it, trio.open_nursery() as nursery:
        nursery.start_soon(write_all, it.outbox, it.wire)
        with trio.fail_after(1):
            await it.wire.close(1000, "")


async def test_a_close_that_is_not_answered_can_be_cancelled(
    opened: Wires, autojump_clock: MockClock
) -> None:
    """At once, in the caller's time."""
    async with opened as it, trio.open_nursery() as nursery:
        it.deafen()
        nursery.start_soon(write_all, it.outbox, it.wire)
        with trio.move_on_after(3) as tired:
            await it.wire.close(1012, "going down")
        assert tired.cancelled_caught
        assert trio.current_time() == 3
        nursery.cancel_scope.cancel()


async def test_a_ping_goes_out_with_the_rest(opened: Wires, autojump_clock: MockClock) -> None:
    """Queued, never waiting."""
    async with opened as it:
        before = trio.current_time()
        it.wire.ping()
        assert trio.current_time() == before
        it.outbox.put(it.wire.frame(TEXT))
        await written(it)
        assert it.heard() == [{"type": "stream", "delta": "å"}]
