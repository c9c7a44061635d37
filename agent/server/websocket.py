"""One WebSocket: the library frames and answers, the outbox keeps the order, the session's writer alone writes.

The upgrade is answered here: its head was read and checked (sniff.py), and the library, which would parse it again,
is handed a connection that is open. That is not documented API (a WSConnection with its `connection` set, and
`_reader_task`, which its own functions start), so it stays in this file and the library's minor version is pinned.

trio-websocket writes its pongs and close frames under a lock that its reader waits for too, so behind a slow socket
it would stop reading, and a cancel behind a PING would go unseen. It is therefore given a stream of ours whose
`send_all` appends whole frames to the outbox and returns. Data frames are built here; a server's frame is not masked,
so it is a header of 2, 4 or 10 bytes and the payload (RFC 6455, section 5.2).

Close frames of our own also go straight to the outbox. The library's `aclose` would put its state machine where an
incoming PING raises out of its reader (it answers in a state that allows no answer); this way it stays open until the
client's close arrives, and whatever it still answers is dropped by an outbox that has its last frame.

Order of the end: the handler returns; the library's tasks end; what waits is written; the client gets a moment to
read it; the socket is closed. Each step has its deadline.
"""

import socket
import struct
from base64 import b64encode
from collections.abc import Awaitable, Callable
from hashlib import sha1
from typing import TypeAlias

import trio
from trio_websocket import ConnectionClosed, WebSocketConnection
from wsproto import ConnectionType, WSConnection
from wsproto.connection import Connection as OpenConnection

from ..config import CLOSE_TIMEOUT, FLUSH_TIMEOUT, MAX_FRAME
from ..errors import WireClosed
from ..session.outbox import Outbox
from .admission import SUBPROTOCOL
from .frames import POLICY, TOO_BIG, FrameMeter
from .sniff import Head, hang_up

TEXT, BINARY, CLOSE, PING = 0x81, 0x82, 0x88, 0x89  # first byte of an unfragmented frame
ABNORMAL, PROTOCOL_ERROR, INVALID_TEXT = 1006, 1002, 1007
_REASON_MAX = 123  # bytes of a close frame's reason: a control frame's 125 less the code
_FAULTS = {PROTOCOL_ERROR: "protocol error", INVALID_TEXT: "invalid UTF-8"}
_EXCESS = {POLICY: "too many frames per second", TOO_BIG: "message in too many pieces"}
_KEY_SUFFIX = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3
_RESET = struct.pack(
    "ii", 1, 0
)  # SO_LINGER on, 0 seconds: closing resets and frees what the kernel still holds


class Connection:
    """An accepted WebSocket (implements `agent.ports.wire.Wire`).

    outbox: everything that waits to be written; overflowing it aborts the connection.
    agent_v1: whether the client offered the subprotocol `agent.v1`.
    aborted: whether the connection was dropped without a close frame.
    """

    def __init__(self, stream: trio.abc.Stream, head: Head) -> None:
        self.outbox = Outbox(self.abort)
        self.agent_v1 = SUBPROTOCOL in head.subprotocols
        self.aborted = False
        self._raw = stream
        self._carrier = _Carrier(self, stream, head.rest)
        self._ws = WebSocketConnection(self._carrier, _opened(), max_message_size=MAX_FRAME)
        self._nursery: trio.Nursery | None = None  # while the library runs
        self._receiving = trio.CancelScope()
        self._closed_with: int | None = None  # the code of the close frame that we put first
        self._said_goodbye = False  # a close frame is in the outbox, ours or the library's
        self._gave_up = False  # the client has left, or was waited for in vain
        self._torn = False  # a frame was begun and not finished: nothing may follow it
        self.outbox.put(_accepted(head, self.agent_v1))

    @property
    def heard_at(self) -> float:
        """When bytes last came from the client, in seconds on the loop's clock."""
        return self._carrier.heard_at

    def frame(self, text: bytes, *, binary: bool = False) -> bytes:
        """Return one whole message (UTF-8 `text`, or any bytes with `binary`) as the bytes that `send` takes."""
        return _frame(BINARY if binary else TEXT, text)

    def ping(self) -> None:
        """Queue a PING. Its answer shows in `heard_at` like anything else that comes."""
        self.outbox.put(_frame(PING, b""))

    async def receive(self) -> str | bytes:
        """Return the next whole message; raises WireClosed with the close code, 1006 when there was none.

        A text of more than MAX_FRAME UTF-8 bytes closes with 1009 (the library counts characters).
        After `close` has begun it raises at once, in a task that already waits here too.
        """
        if self._closed_with is not None:
            await trio.lowlevel.checkpoint()
            raise WireClosed(self._closed_with)
        with trio.CancelScope() as self._receiving:
            try:
                message: str | bytes = await self._ws.get_message()
            except ConnectionClosed as error:
                code = int(error.reason.code) if error.reason else ABNORMAL
                self._explain(code)
                raise WireClosed(code) from None
            if isinstance(message, str) and len(message.encode()) > MAX_FRAME:
                self.put_close(TOO_BIG, "message too big")
                raise WireClosed(TOO_BIG)
            return message
        raise WireClosed(ABNORMAL if self._closed_with is None else self._closed_with)

    async def send(self, frames: bytes) -> None:
        """Hand whole frames to the stream; raises WireClosed. Cancelled or failed, nothing more is ever written."""
        if self.aborted or self._torn:
            await trio.lowlevel.checkpoint()
            raise WireClosed
        self._torn = True
        try:
            await self._raw.send_all(frames)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise WireClosed from None
        self._torn = False

    def put_close(self, code: int, reason: str = "") -> None:
        """Queue a close frame, after which the outbox takes nothing; a second one changes nothing."""
        if self._closed_with is None:
            self._closed_with = code
            text = reason.encode()[:_REASON_MAX].decode(errors="ignore").encode()
            self.put(_frame(CLOSE, struct.pack("!H", code) + text))
            self._receiving.cancel()

    async def close(self, code: int, reason: str) -> None:
        """Queue a close frame and wait for the client's, or for it to leave; the caller sets the deadline.

        What the client still sends is read and dropped. Cancelled, the close frame stays queued.
        """
        self.put_close(code, reason)
        self._gave_up = True
        try:
            while True:
                await self._ws.get_message()
        except ConnectionClosed:
            self._gave_up = False

    def abort(self) -> None:
        """Drop the connection at once, without a close frame. Idempotent, never blocks.

        Every task that waits on the socket gets its error in its next step.
        """
        if self.aborted:
            return
        self.aborted = True
        self.outbox.close()
        if isinstance(self._raw, trio.SocketStream):
            if self._torn:
                self._raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._raw.socket.close()
        elif self._nursery is not None:
            self._nursery.start_soon(trio.aclose_forcefully, self._raw)

    def put(self, data: bytes) -> None:
        """Queue what the library or we would write; nothing follows a close frame."""
        self.outbox.put(data)
        if data[0] == CLOSE:
            self._said_goodbye = True
            self.outbox.close()

    def library_closed(self) -> None:
        """Take note that the library has closed its stream.

        It drops a client that breaks the protocol without a word; the word is put here.
        """
        if self._ws.closed is not None:
            self._explain(int(self._ws.closed.code))

    def _explain(self, code: int) -> None:
        """Say why, where the library has closed for a fault of the client's and said nothing."""
        if not self._said_goodbye and code in _FAULTS:
            self.put_close(code, _FAULTS[code])

    async def run(self, handler: "Handler") -> None:
        """Run `handler`, say goodbye, end the library's task. See `serve_websocket`."""
        try:
            async with trio.open_nursery() as self._nursery:
                self._nursery.start_soon(self._ws._reader_task)
                await handler(self)
                await self._leave()
                self._nursery.cancel_scope.cancel()
        finally:
            self._nursery = None
        if self._gave_up or self.aborted:
            return
        await self._flush()
        if not self._shook_hands():
            await hang_up(self._raw)

    def _closed_as(self) -> int | None:
        """Return the code that the library's connection ended with; None while it has not."""
        closed = self._ws.closed
        return None if closed is None else int(closed.code)

    def _shook_hands(self) -> bool:
        """Whether the client's close frame has come, so that nothing more can."""
        return self._closed_as() not in (None, ABNORMAL, TOO_BIG, *_FAULTS)

    async def _leave(self) -> None:
        """Say goodbye if the handler has not, and wait a moment for the client's answer if nobody has."""
        left = self._closed_as() == ABNORMAL
        if not left:
            self.put_close(1000)
        await self._flush()
        self._gave_up = self._gave_up or left
        if not self._gave_up:
            with trio.move_on_after(CLOSE_TIMEOUT):
                await self.close(1000, "")

    async def _flush(self) -> None:
        """Write what still waits, less the deltas, which belong to a session that has left."""
        self.outbox.purge()
        self.outbox.close()
        with trio.move_on_after(FLUSH_TIMEOUT):
            try:
                while (chunk := await self.outbox.take()) is not None:
                    await self.send(chunk.data)
                    if chunk.written is not None:
                        chunk.written()
            except WireClosed:
                self._gave_up = True


Handler: TypeAlias = Callable[[Connection], Awaitable[None]]


async def serve_websocket(stream: trio.abc.Stream, head: Head, handler: Handler) -> None:
    """Serve one WebSocket whose upgrade `head` was checked: run `handler`, close.

    The handler reads with `receive` and alone writes, from `outbox` with `send`; the answer to the upgrade is the
    first that waits there. It returns when the session is over; whatever it left in the outbox is written then, a
    close frame 1000 too if it put none. Its exceptions come out in an ExceptionGroup. The stream is closed and no
    task is left however this ends; cancelled, at once and without a close frame.
    """
    connection = Connection(stream, head)
    try:
        await connection.run(handler)
    finally:
        connection.aborted = True
        await trio.aclose_forcefully(stream)


class _Carrier(trio.abc.Stream):
    """The stream that the library sees: reads the client, but writes to the outbox and never waits for a socket."""

    def __init__(self, connection: Connection, raw: trio.abc.Stream, held: bytes) -> None:
        self.heard_at = trio.current_time()
        self._connection = connection
        self._raw = raw
        self._held = held  # came with the upgrade
        self._meter = FrameMeter()
        self._closed = False

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        """Return what came with the upgrade, then what the socket brings, up to too many frames."""
        if self._closed:
            await trio.lowlevel.checkpoint()
            raise trio.ClosedResourceError
        received: bytes | bytearray
        if self._held:
            await trio.lowlevel.checkpoint()
            received, self._held = self._held[:max_bytes], self._held[len(self._held[:max_bytes]) :]
        else:
            received = await self._raw.receive_some(max_bytes)
        if received:
            self.heard_at = trio.current_time()
        excess = self._meter.excess(received, self.heard_at)
        if excess is None:
            return received
        self._connection.put_close(excess, _EXCESS[excess])
        while await self._raw.receive_some(max_bytes):
            pass  # the session is leaving; what still comes is dropped here
        return b""

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Queue whole frames; cancelled, they are queued all the same.

        Raises BrokenResourceError after a close frame: the library then reads no further. Left alone it would go
        on through what it has read, and a PING behind an oversized message would raise out of its reader.
        """
        self._connection.put(bytes(data))
        if data[0] == CLOSE:
            self._closed = True
            raise trio.BrokenResourceError
        await trio.lowlevel.checkpoint()

    async def wait_send_all_might_not_block(self) -> None:
        """Return: nothing here blocks."""
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Let the library go. The socket stays open for what waits in the outbox."""
        if not self._closed:
            self._closed = True
            self._connection.library_closed()
        await trio.lowlevel.cancel_shielded_checkpoint()


def _opened() -> WSConnection:
    """Return the library's view of a server's connection whose upgrade has been answered."""
    protocol = WSConnection(ConnectionType.SERVER)
    protocol.connection = OpenConnection(ConnectionType.SERVER)
    return protocol


def _accepted(head: Head, agent_v1: bool) -> bytes:
    """Return the answer to an upgrade (RFC 6455, section 4.2.2)."""
    (key,) = head.values(b"sec-websocket-key")
    proof = b64encode(sha1(key + _KEY_SUFFIX, usedforsecurity=False).digest())
    protocol = f"Sec-WebSocket-Protocol: {SUBPROTOCOL}\r\n".encode() if agent_v1 else b""
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + proof + b"\r\n" + protocol + b"\r\n"
    )


def _frame(first: int, payload: bytes) -> bytes:
    size = len(payload)
    if size < 126:
        return bytes((first, size)) + payload
    if size < 65536:
        return struct.pack("!BBH", first, 126, size) + payload
    return struct.pack("!BBQ", first, 127, size) + payload
