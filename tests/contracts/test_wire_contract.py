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
from agent.server.request_head import Head, read_head
from agent.server.websocket import Connection, serve_websocket
from agent.testing.faults import pipe
from agent.testing.wires import Inbox, MemoryWire
from agent.voice.engines.tone import Tone
from agent.voice.hearing import Hearing
from agent.voice.mouth import Mouth
from agent.voice.voice_wire import VoiceWire
from agent.wire.frames import BINARY, build_frame
from agent.wire.pulse import Pulse
from tests.strikes.raw import RawClient
from tests.voice.ears import BreakableRecognizer, TakingWire, parts_of

ROOM = 1 << 14
TEXT = b'{"type":"stream","delta":"\xc3\xa5"}'


@dataclass
class Opened:
    """A wire, and its client. heard: what came to the client. stop, go_on: it reads nothing, or again."""

    wire: Wire
    say: Callable[[str], None]
    leave: Callable[[], None]
    stop: Callable[[], None]
    go_on: Callable[[], None]
    heard: Callable[[], list[dict[str, Any]]]


@asynccontextmanager
async def _memory() -> AsyncGenerator[Opened, None]:
    async with trio.open_nursery() as nursery:
        wire = MemoryWire(nursery)
        yield Opened(wire, wire.push, wire.leave, wire.block, wire.unblock, wire.sent)
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def _websocket() -> AsyncGenerator[Opened, None]:
    ours, theirs = pipe(ROOM)
    client = RawClient(ours)
    reading = trio.CancelScope()

    async def read() -> None:
        with reading:
            await client.read_all()

    def stop() -> None:
        reading.cancel()
        theirs.feed(build_frame(BINARY, bytes(ROOM)))  # as much as fits waits already

    def go_on() -> None:
        nursery.start_soon(client.read_all)

    head = await read_head(theirs)
    assert isinstance(head, Head)
    ready, over = trio.Event(), trio.Event()
    connections: list[Connection] = []

    async def handler(connection: Connection) -> None:
        connections.append(connection)
        ready.set()
        await over.wait()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        nursery.start_soon(serve_websocket, theirs, head, handler)
        await ready.wait()
        yield Opened(connections[0], client.send_text, client.vanish, stop, go_on, lambda: client.frames)
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def _voice() -> AsyncGenerator[Opened, None]:
    pulse = Pulse()
    async with trio.open_nursery() as nursery:
        client = TakingWire(nursery)
        mouth = Mouth(client, Tone(), pulse)
        hearing = Hearing(parts_of(BreakableRecognizer()), client, mouth)
        wire = VoiceWire(client, mouth, hearing)
        nursery.start_soon(pulse.run)
        yield Opened(wire, client.push, client.leave, client.block, client.unblock, client.sent)
        nursery.cancel_scope.cancel()


WIRES: dict[str, Callable[[], AbstractAsyncContextManager[Opened]]] = {
    "memory": _memory,
    "voice": _voice,
    "websocket": _websocket,
}


@pytest.fixture(params=sorted(WIRES))
def opened(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[Opened]:
    return WIRES[request.param]()


Wires = AbstractAsyncContextManager[Opened]


async def settle() -> None:
    await trio.testing.wait_all_tasks_blocked()


@asynccontextmanager
async def woken_as_closed(wire: Wire) -> AsyncGenerator[None, None]:
    """Wait for a message beside a block, by whose end the waiting is to have ended as closed."""
    woken = trio.Event()

    async def wait() -> None:
        with pytest.raises(WireClosed):
            await wire.deliver_messages(lambda message: None)
        woken.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await settle()
        yield
        with trio.fail_after(1):
            await woken.wait()


async def test_messages_come_whole_and_in_order(opened: Wires, autojump_clock: MockClock) -> None:
    """Each as it was sent; hearing one shows in `received_at`."""
    async with opened as it:
        await trio.sleep(5)
        for text in ("a", "å" * 1000, "{}"):
            it.say(text)
        inbox = Inbox(it.wire)
        assert [await inbox.receive() for _ in range(3)] == ["a", "å" * 1000, "{}"]
        assert it.wire.received_at == trio.current_time() == 5


async def test_a_client_that_leaves_is_told_as_closed(opened: Wires, autojump_clock: MockClock) -> None:
    """What it sent before comes first."""
    async with opened as it:
        it.say("last")
        it.leave()
        inbox = Inbox(it.wire)
        assert await inbox.receive() == "last"
        with pytest.raises(WireClosed):
            await inbox.receive()


async def test_what_is_put_comes_to_the_client_when_it_is_flushed(
    opened: Wires, autojump_clock: MockClock
) -> None:
    """In that step, as whole messages, and `written` is told in it."""
    async with opened as it:
        told: list[float] = []
        for _ in range(2):
            it.wire.put_frames(it.wire.make_frame(TEXT), lambda: told.append(trio.current_time()))
        await settle()
        assert (it.heard(), told) == ([], [])
        it.wire.flush()
        assert told == [trio.current_time()] * 2
        await settle()
        assert it.heard() == [{"type": "stream", "delta": "å"}] * 2


async def test_what_waits_comes_when_the_client_reads_again(opened: Wires, autojump_clock: MockClock) -> None:
    """Less the deltas that a purge took back; room is told once there is some."""
    async with opened as it:
        it.wire.open_turn(1)
        it.stop()
        await settle()
        full, put = it.wire.deltas.room, 0
        while it.wire.deltas.room:
            put += it.wire.deltas.put_delta(1, it.wire.make_frame(TEXT))
            it.wire.flush()
        await settle()
        assert put >= full
        told: list[int] = []
        it.wire.deltas.call_when_room(lambda: told.append(it.wire.deltas.room))
        it.go_on()
        await settle()
        assert (len(told), it.wire.deltas.room, len(it.heard())) == (1, full, put)


async def test_a_purge_takes_back_what_was_not_begun(opened: Wires, autojump_clock: MockClock) -> None:
    """And nothing of that turn is taken any more."""
    async with opened as it:
        it.wire.open_turn(1)
        it.stop()
        await settle()
        for _ in range(5):
            assert it.wire.deltas.put_delta(1, it.wire.make_frame(TEXT))
            it.wire.flush()
        it.wire.purge_deltas()
        assert not it.wire.deltas.put_delta(1, it.wire.make_frame(TEXT))
        it.wire.put_frames(it.wire.make_frame(b'{"type":"stream_end"}'))
        it.wire.flush()
        it.go_on()
        await settle()
        assert len(it.heard()) <= 2
        assert it.heard()[-1] == {"type": "stream_end"}


async def test_after_an_abort_nothing_is_sent_or_received(opened: Wires, autojump_clock: MockClock) -> None:
    """It is idempotent, never blocks, and wakes who waits for a message."""
    async with opened as it:
        async with woken_as_closed(it.wire):
            it.wire.abort()
            it.wire.abort()
        it.wire.put_frames(it.wire.make_frame(TEXT))
        it.wire.flush()
        with pytest.raises(WireClosed):
            await it.wire.deliver_messages(lambda message: None)
        assert it.heard() == []


async def test_a_close_ends_the_delivery_and_is_the_last_that_is_taken(
    opened: Wires, autojump_clock: MockClock
) -> None:
    """What was put before it comes, nothing after it, and a second one changes nothing."""
    async with opened as it:
        async with woken_as_closed(it.wire):
            it.wire.put_frames(it.wire.make_frame(TEXT))
            it.wire.close(1012, "going down")
            it.wire.close(1000, "")
            it.wire.put_frames(it.wire.make_frame(TEXT))
            it.wire.flush()
        assert it.heard() == [{"type": "stream", "delta": "å"}]


async def test_a_ping_goes_out_with_the_rest(opened: Wires, autojump_clock: MockClock) -> None:
    """Queued, never waiting."""
    async with opened as it:
        it.wire.put_frames(it.wire.make_frame(TEXT))
        it.wire.ping()
        await settle()
        assert it.heard() == [{"type": "stream", "delta": "å"}]
