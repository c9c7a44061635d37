"""One WebSocket over memory streams: frames, limits, close codes, and what a slow or hostile client can do."""

import gc
import struct
import weakref
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeAlias

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs
from trio_websocket import ConnectionClosed, WebSocketConnection, wrap_client_stream
from wsproto.frame_protocol import FrameProtocol

from agent.config import CLOSE_TIMEOUT, FLUSH_TIMEOUT, WRITE_TIMEOUT
from agent.errors import WireClosed
from agent.ports.wire import Wire
from agent.server.request_head import Head, read_head
from agent.server.websocket import Connection, accept_upgrade, serve_websocket
from agent.testing.faults import pipe
from agent.testing.wires import Inbox
from agent.wire.outbox import OUTBOX_FRAMES
from tests.server.echo import echo

HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
MemoryStream: TypeAlias = (
    "trio.StapledStream[trio.testing.MemorySendStream, trio.testing.MemoryReceiveStream]"
)
Serve: TypeAlias = Callable[[Connection], Awaitable[None]]


async def serve_one(stream: trio.abc.Stream, handler: Serve) -> None:
    """Sniff one connection and serve its WebSocket."""
    head = await read_head(stream)
    assert isinstance(head, Head)
    await serve_websocket(stream, head, handler)


def masked(first: int, payload: bytes) -> bytes:
    """Build a client's frame; its mask is zero."""
    size = len(payload)
    if size < 126:
        return bytes((first, 0x80 | size)) + bytes(4) + payload
    if size < 65536:
        return struct.pack("!BBH", first, 0xFE, size) + bytes(4) + payload
    return struct.pack("!BBQ", first, 0xFF, size) + bytes(4) + payload


async def read_until_eof(stream: trio.abc.ReceiveStream) -> bytes:
    """Read everything that still comes."""
    received = bytearray()
    while data := await stream.receive_some():
        received += data
    return bytes(received)


async def converse(data: bytes, handler: Serve = echo, *, eof: bool = False) -> bytes:
    """Send raw bytes after (or as) an upgrade, and return all that the server says after its 101."""
    client, server = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_one, server, handler)
        await client.send_all(data)
        if eof:
            await client.send_eof()
        with trio.move_on_after(60) as late:
            answer = await read_until_eof(client)
        assert not late.cancelled_caught, "the server does not close the connection"
        await client.aclose()
    handshake, _, frames = answer.partition(b"\r\n\r\n")
    assert handshake.startswith(b"HTTP/1.1 101 ")
    return frames


def close_code(frames: bytes) -> int:
    """Return the code of the close frame that is at the end."""
    start = frames.rindex(b"\x88")
    assert frames[start + 1] == len(frames) - start - 2
    return int.from_bytes(frames[start + 2 : start + 4], "big")


async def connected(
    nursery: trio.Nursery, handler: Serve, protocols: tuple[str, ...] = ()
) -> WebSocketConnection:
    """Connect the library's own client to `handler`."""
    pair: Any = trio.testing.memory_stream_pair()
    client, server = pair
    nursery.start_soon(serve_one, server, handler)
    return await wrap_client_stream(nursery, client, "localhost", "/ws", subprotocols=protocols)


class SlowWriter(trio.abc.HalfCloseableStream):
    """The server's end of a connection whose client does not read: sends block until it is allowed."""

    def __init__(self, inner: MemoryStream) -> None:
        self.inner = inner
        self.reads = trio.Event()
        self.closed = False

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Wait for the client, then send."""
        await self.reads.wait()
        if self.closed:
            raise trio.ClosedResourceError
        await self.inner.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        """Wait for the client."""
        await self.reads.wait()

    async def send_eof(self) -> None:
        """Send the end."""
        await self.inner.send_eof()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        """Receive without hindrance."""
        return await self.inner.receive_some(max_bytes)

    async def aclose(self) -> None:
        """Close, waking whoever sends."""
        self.closed = True
        self.reads.set()
        await self.inner.aclose()


@pytest.mark.parametrize("size", [1, 125, 126, 65535, 65536])
async def test_text_and_binary_come_back_at_every_header_size(size: int) -> None:
    """A frame's header is 2, 4 or 10 bytes long."""
    async with trio.open_nursery() as nursery:
        ws = await connected(nursery, echo)
        await ws.send_message("x" * size)
        assert await ws.get_message() == "x" * size
        await ws.send_message(b"y" * size)
        assert await ws.get_message() == b"y" * size
        await ws.aclose()


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        ((), None),
        (("agent.v1",), "agent.v1"),
        (("agent.v1", "bearer.t"), "agent.v1"),
        (("bearer.t", "x"), None),
    ],
)
async def test_only_our_subprotocol_is_echoed(offered: tuple[str, ...], chosen: str | None) -> None:
    """A token that was offered as a subprotocol never comes back."""
    seen: list[bool] = []

    async def handler(connection: Connection) -> None:
        seen.append(connection.agent_v1)

    async with trio.open_nursery() as nursery:
        ws = await connected(nursery, handler, offered)
        assert ws.subprotocol == chosen
        with pytest.raises(ConnectionClosed):
            await ws.get_message()
        await ws.aclose()
    assert seen == [chosen is not None]


async def test_frames_glued_to_the_upgrade_are_not_lost() -> None:
    """A client may send before it has seen the 101."""
    hello = masked(0x81, b"hello" * 2000)
    frames = await converse(HANDSHAKE + hello + masked(0x88, b"\x03\xe8"))
    assert frames == b"\x81\x7e" + struct.pack("!H", 10000) + b"hello" * 2000 + b"\x88\x02\x03\xe8"


async def test_a_70_kb_frame_closes_with_1009() -> None:
    """The limit is 64 KiB, and the client is told."""
    assert close_code(await converse(HANDSHAKE + masked(0x81, b"x" * 70_000))) == 1009


async def test_the_limit_counts_bytes_not_characters(autojump_clock: trio.testing.MockClock) -> None:
    """40,000 characters of three bytes are too many."""
    frames = await converse(HANDSHAKE + masked(0x81, "€".encode() * 40_000))
    assert close_code(frames) == 1009


async def test_ten_thousand_fragments_over_the_limit_close_with_1009(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Fragments are counted together."""
    fragments = masked(0x01, b"x") + masked(0x00, b"x" * 8) * 10_000
    assert close_code(await converse(HANDSHAKE + fragments)) == 1009


async def test_a_ping_after_1009_harms_nobody() -> None:
    """The library's reader cannot answer it; the close frame still arrives and nothing is raised."""
    frames = await converse(HANDSHAKE + masked(0x81, b"x" * 65_537) + masked(0x89, b"p") * 3)
    assert close_code(frames) == 1009


@pytest.mark.parametrize("together", [True, False])
async def test_plain_frames_overtake_nothing(together: bool, autojump_clock: trio.testing.MockClock) -> None:
    """Messages in pieces, long ones and plain ones are handed on in their order, however they arrive."""
    long = b"L" * 5000
    pieces = [
        masked(0x81, b"a"),
        masked(0x01, b"b"),
        masked(0x89, b"ping"),
        masked(0x80, b"c"),
        masked(0x81, b"d"),
        masked(0x81, long),
        masked(0x81, b"e"),
        masked(0x82, b"f"),
        masked(0x81, b"g"),
    ]
    heard: list[str | bytes] = []

    async def handler(connection: Connection) -> None:
        with suppress(WireClosed):
            await connection.deliver_messages(heard.append)

    client, server = pipe()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_one, server, handler)
        client.feed(HANDSHAKE)
        for piece in [b"".join(pieces)] if together else pieces:
            client.feed(piece)
            if not together:
                await trio.testing.wait_all_tasks_blocked()
        client.feed(masked(0x88, b"\x03\xe8"))
    assert heard == ["a", "bc", "d", long.decode(), "e", b"f", "g"]
    assert b"\x8a\x04ping" in client.take()


async def test_a_plain_frame_waits_for_what_went_to_the_library(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A message that lies in the library when the delivery begins comes before the frame that comes just then.

    Many times, because trio draws lots which of two tasks goes first.
    """

    async def handler(connection: Connection) -> None:
        await trio.testing.wait_all_tasks_blocked()
        client.feed(masked(0x81, b"second") + masked(0x88, b"\x03\xe8"))
        heard: list[str | bytes] = []
        with suppress(WireClosed):
            await connection.deliver_messages(heard.append)
        assert heard == ["first", "second"]

    for _ in range(20):
        client, server = pipe()
        client.feed(HANDSHAKE + masked(0x81, b"first"))
        await serve_one(server, handler)


@pytest.mark.parametrize("together", [True, False])
async def test_a_text_frame_within_an_open_message_is_refused(together: bool) -> None:
    """It is no message of its own: the message that is open has not ended."""
    heard: list[str | bytes] = []

    async def handler(connection: Connection) -> None:
        with suppress(WireClosed):
            await connection.deliver_messages(heard.append)

    client, server = pipe()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_one, server, handler)
        client.feed(HANDSHAKE + masked(0x01, b"open"))
        if not together:
            await trio.testing.wait_all_tasks_blocked()
        client.feed(masked(0x81, b"another"))
        await trio.testing.wait_all_tasks_blocked()
        frames = client.take().partition(b"\r\n\r\n")[2]
        client.close()
    assert heard == []
    assert close_code(frames) == 1002


@pytest.mark.parametrize(
    ("hostile", "code"),
    [
        (masked(0x81, b"\xff\xfe"), 1007),
        (masked(0x81, b"\xed\xa0\x80"), 1007),
        (b"\x81\x01a", 1002),
        (masked(0xC1, b"a"), 1002),
        (masked(0x83, b"a"), 1002),
        (masked(0x80, b"a"), 1002),
        (masked(0x09, b"a"), 1002),
        (masked(0x88, b"\x03"), 1002),
    ],
    ids=[
        "utf8",
        "surrogate",
        "unmasked",
        "reserved-bit",
        "opcode",
        "continuation",
        "fragmented-ping",
        "close",
    ],
)
async def test_a_client_that_breaks_the_protocol_is_told(hostile: bytes, code: int) -> None:
    """What was right before it is still answered, then the close frame says what was wrong."""
    frames = await converse(HANDSHAKE + masked(0x81, b"ok") + hostile)
    assert frames.startswith(b"\x81\x02ok\x88")
    assert close_code(frames) == code


async def test_the_clients_close_is_echoed_and_ends_the_session() -> None:
    """Its code reaches the reader."""
    codes: list[int] = []

    async def handler(connection: Connection) -> None:
        with pytest.raises(WireClosed) as caught:
            await Inbox(connection).receive()
        codes.append(caught.value.code)

    frames = await converse(HANDSHAKE + masked(0x88, struct.pack("!H", 4000)), handler)
    assert frames == b"\x88\x02" + struct.pack("!H", 4000)
    assert codes == [4000]


async def test_a_client_that_leaves_without_a_word_is_1006(autojump_clock: trio.testing.MockClock) -> None:
    """The reader learns that there was no close frame."""
    codes: list[int] = []

    async def handler(connection: Connection) -> None:
        with pytest.raises(WireClosed) as caught:
            await Inbox(connection).receive()
        codes.append(caught.value.code)

    await converse(HANDSHAKE, handler, eof=True)
    assert codes == [1006]


async def test_closing_wakes_the_reader_and_waits_for_the_client() -> None:
    """Pings and messages that still come are harmless, and nothing follows the close frame."""
    codes: list[int] = []

    async def handler(connection: Connection) -> None:
        async def reader() -> None:
            for _ in range(2):
                with pytest.raises(WireClosed) as caught:
                    await Inbox(connection).receive()
                codes.append(caught.value.code)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(reader)
            await trio.testing.wait_all_tasks_blocked()
            connection.close(1012, "back soon")
            connection.close(1000, "never")
            connection.put_frames(connection.make_frame(b"never"))
            connection.flush()

    client, server = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_one, server, handler)
        await client.send_all(HANDSHAKE)
        while not codes:
            await trio.testing.wait_all_tasks_blocked()
        assert codes == [1012, 1012]
        late = masked(0x89, b"p") + masked(0x81, b"late") * 5 + masked(0x88, struct.pack("!H", 1012))
        await client.send_all(late)
        frames = (await read_until_eof(client)).partition(b"\r\n\r\n")[2]
        await client.aclose()
    assert frames == b"\x88\x0b\x03\xf4back soon"
    assert codes == [1012, 1012]


async def test_a_long_reason_is_cut_at_a_character(autojump_clock: trio.testing.MockClock) -> None:
    """A control frame holds 125 bytes."""

    async def handler(connection: Connection) -> None:
        connection.close(1008, "å" * 100)

    frames = await converse(HANDSHAKE, handler)
    assert frames[:2] == bytes((0x88, 2 + 122))
    assert frames[4:].decode() == "å" * 61


async def test_a_handler_that_just_returns_closes_with_1000(autojump_clock: trio.testing.MockClock) -> None:
    """What it left in the outbox is written first, less its deltas."""

    async def handler(connection: Connection) -> None:
        connection.open_turn(1)
        connection.deltas.put_delta(1, connection.make_frame(b"stale"))
        connection.put_frames(connection.make_frame(b"last"))

    assert await converse(HANDSHAKE, handler) == b"\x81\x04last\x88\x02\x03\xe8"


async def test_a_client_that_never_closes_is_left_after_a_moment(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The end of a connection is bounded by deadlines."""
    client, server = trio.testing.memory_stream_pair()
    started = trio.current_time()
    ended: list[Connection] = []

    async def handler(connection: Connection) -> None:
        connection.close(1012, "")
        ended.append(connection)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_one, server, handler)
        await client.send_all(HANDSHAKE)
    assert trio.current_time() - started <= CLOSE_TIMEOUT + FLUSH_TIMEOUT
    assert not ended[0].aborted  # it was told all
    with pytest.raises(trio.BrokenResourceError):
        await client.send_all(b"x")


@pytest.mark.parametrize("offered", [(), ("agent.v1",), ("other", "agent.v1"), ("other",)])
async def test_the_librarys_client_accepts_the_answer_to_its_upgrade(offered: tuple[str, ...]) -> None:
    """The proof of its key is right, and no subprotocol is chosen that it did not offer."""
    async with trio.open_nursery() as nursery:
        client = await connected(nursery, echo, offered)
        assert client.subprotocol == ("agent.v1" if "agent.v1" in offered else None)
        await client.send_message("hello")
        assert await client.get_message() == "hello"
        await client.aclose()


def test_the_answer_to_an_upgrade_is_that_of_the_standard() -> None:
    """The key and its proof are RFC 6455's own example."""
    key = (b"sec-websocket-key", b"dGhlIHNhbXBsZSBub25jZQ==")
    answer = accept_upgrade(
        Head(method=b"GET", target=b"/ws", version=b"1.1", headers=(key,), raw=b"", rest=b""), ""
    )
    assert answer == (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
    )


async def test_a_cancel_behind_a_ping_is_seen_while_the_socket_blocks(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A client that pauses reading can still be heard."""
    client, inner = trio.testing.memory_stream_pair()
    server = SlowWriter(inner)
    seen: list[str | bytes] = []
    heard = trio.Event()

    async def handler(connection: Connection) -> None:
        for _ in range(50):
            connection.put_frames(connection.make_frame(b"delta"))
        connection.flush()
        seen.append(await Inbox(connection).receive())
        heard.set()
        server.reads.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_one, server, handler)
        await client.send_all(HANDSHAKE + masked(0x89, b"are you there") + masked(0x81, b"cancel"))
        with trio.move_on_after(1):
            await heard.wait()
        nursery.cancel_scope.cancel()
    assert seen == ["cancel"]


async def test_a_ping_is_answered_at_once(autojump_clock: trio.testing.MockClock) -> None:
    """Though the server has nothing else to say."""

    async def handler(connection: Connection) -> None:
        with suppress(WireClosed):
            await Inbox(connection).receive()

    client, server = pipe()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_one, server, handler)
        client.feed(HANDSHAKE + masked(0x89, b"p"))
        await trio.testing.wait_all_tasks_blocked()
        assert client.take().endswith(b"\x8a\x01p")
        client.close()


async def test_what_is_heard_is_stamped(autojump_clock: trio.testing.MockClock) -> None:
    """Any byte counts as a sign of life, a PONG too; our own PING is an empty one."""
    client, server = trio.testing.memory_stream_pair()
    stamps: list[float] = []

    async def handler(connection: Connection) -> None:
        stamps.append(connection.received_at)
        await trio.sleep(5)
        connection.ping()
        await trio.sleep(1)
        stamps.append(connection.received_at)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_one, server, handler)
        await client.send_all(HANDSHAKE)
        received = bytearray()
        while not received.endswith(b"\x89\x00"):
            received += await client.receive_some()
        await client.send_all(masked(0x8A, b""))
        await client.aclose()
    assert stamps[1] - stamps[0] == pytest.approx(5)


@pytest.mark.parametrize("reads", [True, False])
async def test_an_outbox_that_overflows_closes_the_connection(
    reads: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """The log says what was over its bound; a client that reads is told too, one that does not is dropped in time."""
    client, inner = trio.testing.memory_stream_pair()
    server = SlowWriter(inner)
    if reads:
        server.reads.set()
    ended: list[Connection] = []

    async def handler(connection: Connection) -> None:
        inbox = Inbox(connection)
        await inbox.receive()
        for _ in range(OUTBOX_FRAMES + 1):
            connection.put_frames(connection.make_frame(b"answer"))
        with pytest.raises(WireClosed) as closed:
            await inbox.receive()
        assert closed.value.code == 1008
        ended.append(connection)

    with capture_logs() as lines:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_one, server, handler)
            await client.send_all(HANDSHAKE + masked(0x81, b"ask"))
            if reads:
                received = bytearray()
                while b"read faster" not in received:
                    received += await client.receive_some()
                close = received.partition(b"\r\n\r\n")[2]
                assert (close[0], bytes(close[2:4])) == (0x88, b"\x03\xf0")
                await client.send_all(masked(0x88, b"\x03\xf0"))
    assert [connection.aborted for connection in ended] == [not reads]
    assert server.closed
    assert [(line["event"], line["over"], line["bytes"]) for line in lines] == [
        ("connection closed, too much waits for its client", "frames", 8 * (OUTBOX_FRAMES + 1))
    ]


@pytest.mark.parametrize("eager", [False, True])
async def test_abort_ends_a_blocked_write_and_read_at_once(
    eager: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """It is synchronous, may be repeated, and nothing is written later."""
    client: trio.abc.HalfCloseableStream
    server: trio.abc.Stream
    if eager:
        client, server = pipe(500)
    else:
        client, inner = trio.testing.memory_stream_pair()
        server = SlowWriter(inner)
    ended: list[str] = []

    async def handler(connection: Connection) -> None:
        async def reader() -> None:
            with pytest.raises(WireClosed):
                await Inbox(connection).receive()
            ended.append("reader")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(reader)
            connection.put_frames(connection.make_frame(bytes(1000)), lambda: ended.append("written"))
            connection.flush()
            await trio.testing.wait_all_tasks_blocked()
            connection.abort()
            connection.abort()
        connection.put_frames(connection.make_frame(b"later"), lambda: ended.append("written"))
        connection.flush()
        assert len(connection.outbox) == 0
        assert connection.aborted

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_one, server, handler)
        await client.send_all(HANDSHAKE)
    assert trio.current_time() == 0
    assert ended == ["reader"]


async def test_nothing_follows_half_a_frame(autojump_clock: trio.testing.MockClock) -> None:
    """A frame that was begun and never taken whole leaves the stream unusable: not even a close frame follows."""
    client, server = pipe(room=500)
    ended: list[bool] = []

    async def handler(connection: Connection) -> None:
        connection.put_frames(connection.make_frame(b"x" * 1000))
        connection.put_frames(connection.make_frame(b"more"))
        connection.flush()
        with pytest.raises(WireClosed):
            await Inbox(connection).receive()
        ended.append(connection.aborted)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_one, server, handler)
        client.feed(HANDSHAKE)
    assert trio.current_time() == WRITE_TIMEOUT
    assert ended == [True]
    frames = client.take().partition(b"\r\n\r\n")[2]
    assert frames.startswith(b"\x81\x7e\x03\xe8xxx")
    assert set(frames[4:]) == {ord("x")}


async def test_a_client_that_takes_a_byte_a_second_is_dropped(autojump_clock: trio.testing.MockClock) -> None:
    """Progress does not extend the deadline of a frame."""
    client, server = pipe(room=500)

    async def handler(connection: Connection) -> None:
        connection.put_frames(connection.make_frame(b"x" * 1000))
        connection.flush()
        with pytest.raises(WireClosed):
            await Inbox(connection).receive()
        assert connection.aborted

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_one, server, handler)
        client.feed(HANDSHAKE)
        await trio.testing.wait_all_tasks_blocked()
        with suppress(trio.BrokenResourceError):
            while not server.is_closed:
                await trio.sleep(1)
                await client.receive_some(1)
    assert WRITE_TIMEOUT <= trio.current_time() <= WRITE_TIMEOUT + 1


async def test_a_handler_that_raises_closes_the_connection_and_is_heard_of() -> None:
    """The caller decides what a fault means."""

    async def handler(connection: Connection) -> None:
        raise ZeroDivisionError

    client, server = trio.testing.memory_stream_pair()
    await client.send_all(HANDSHAKE)
    with pytest.RaisesGroup(ZeroDivisionError):
        await serve_one(server, handler)
    assert await read_until_eof(client) == b""


async def test_a_connection_that_is_cancelled_is_closed_at_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Nobody waits for the client then."""
    client, server = trio.testing.memory_stream_pair()
    started = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_one, server, echo)
        await client.send_all(HANDSHAKE)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert trio.current_time() == started
    assert (await read_until_eof(client)).startswith(b"HTTP/1.1 101")


async def test_nothing_of_a_connection_remains() -> None:
    """Not an object, once the client has left, and no garbage collection is needed for it."""
    kept: list[weakref.ref[Connection]] = []

    async def handler(connection: Connection) -> None:
        wire: Wire = connection
        kept.append(weakref.ref(connection))
        with pytest.raises(WireClosed):
            await Inbox(wire).receive()

    gc.disable()
    try:
        await converse(HANDSHAKE + masked(0x88, b"\x03\xe8"), handler)
        assert [ref() for ref in kept] == [None]
    finally:
        gc.enable()


@pytest.mark.parametrize("last", [b"", masked(0x88, b"\x03\xe8"), masked(0x81, b"half of it")[:-3]])
async def test_no_garbage_of_a_connection_remains(last: bytes) -> None:
    """Not in the library that reads its frames either: a crowd that leaves takes its memory with it."""

    async def handler(connection: Connection) -> None:
        with pytest.raises(WireClosed):
            await Inbox(connection).receive()

    gc.collect()  # of tests before
    gc.disable()
    try:
        await converse(HANDSHAKE + last, handler, eof=True)
        assert not [each for each in gc.get_objects() if isinstance(each, FrameProtocol)]
    finally:
        gc.enable()


@pytest.mark.parametrize("blocked", [False, True])
async def test_abort_over_a_real_socket_resets_what_is_stuck(blocked: bool) -> None:
    """A blocked write ends at once, and the kernel keeps nothing for a client that does not read."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    over = trio.Event()

    async def handler(connection: Connection) -> None:
        while blocked and len(connection.outbox) == 0:
            connection.put_frames(connection.make_frame(bytes(1 << 19)))
            connection.flush()
        await trio.sleep(0.05)
        assert (len(connection.outbox) > 0) is blocked
        connection.abort()
        with pytest.raises(WireClosed):
            await Inbox(connection).receive()
        over.set()

    async def serve(stream: trio.SocketStream) -> None:
        await serve_one(stream, handler)

    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, serve, listeners)
        address = listeners[0].socket.getsockname()
        async with await trio.open_tcp_stream(*address) as client:
            await client.send_all(HANDSHAKE)
            with trio.fail_after(30):
                await over.wait()
                if blocked:
                    with pytest.raises(trio.BrokenResourceError):
                        await read_until_eof(client)
        nursery.cancel_scope.cancel()


async def test_a_close_that_nobody_answers_behind_half_a_frame_resets(
    mock_clock: trio.testing.MockClock,
) -> None:
    """The kernel keeps nothing for a client that does not read, and the client does not take it for a clean end."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    blocked, over = trio.Event(), trio.Event()
    ended: list[Connection] = []

    async def handler(connection: Connection) -> None:
        ended.append(connection)
        while not connection.outbox.torn:
            connection.put_frames(connection.make_frame(bytes(1 << 19)))
            connection.flush()
        connection.close(1012)
        blocked.set()

    async def serve(stream: trio.SocketStream) -> None:
        await serve_one(stream, handler)
        over.set()

    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, serve, listeners)
        address = listeners[0].socket.getsockname()
        async with await trio.open_tcp_stream(*address) as client:
            await client.send_all(HANDSHAKE)
            await blocked.wait()
            while not over.is_set():
                mock_clock.jump(0.5)
                await trio.testing.wait_all_tasks_blocked()
            assert FLUSH_TIMEOUT + CLOSE_TIMEOUT <= trio.current_time() < WRITE_TIMEOUT
            assert ended[0].aborted
            with pytest.raises(trio.BrokenResourceError):
                await read_until_eof(client)
        nursery.cancel_scope.cancel()


async def test_a_close_behind_all_that_may_wait_is_still_told(autojump_clock: trio.testing.MockClock) -> None:
    """A client that reads again in time learns why, whatever else it has to read before."""
    client, server = pipe(room=200)

    async def handler(connection: Connection) -> None:
        connection.put_frames(connection.make_frame(b"x" * 100))
        connection.flush()
        for _ in range(OUTBOX_FRAMES):
            connection.put_frames(connection.make_frame(b"answer"))
        connection.close(1012, "going down")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_one, server, handler)
        client.feed(HANDSHAKE)
        await trio.sleep(FLUSH_TIMEOUT / 2)
        received = bytearray()
        while b"going down" not in received:
            data = await client.receive_some()
            assert data, "it was not told"
            received += data
        client.feed(masked(0x88, struct.pack("!H", 1012)))
    assert received.count(b"answer") == OUTBOX_FRAMES
