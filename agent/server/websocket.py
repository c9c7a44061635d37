"""One WebSocket: the library frames and answers, the outbox keeps the order, the session's writer alone writes.

The upgrade is answered here: its head was read and checked (sniff.py), and the library, which would parse it again,
is handed a connection that is open. That is not documented API (a WSConnection with its `connection` set, and
`_reader_task`, which its own functions start), so it stays in this file and the library's minor version is pinned.

What the library writes goes to the outbox too (carrier.py). Data frames are built here; a server's frame is not
masked, so it is a header of 2, 4 or 10 bytes and the payload (RFC 6455, section 5.2).

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
from math import inf
from typing import Protocol, TypeAlias

import structlog
import trio
from trio_websocket import ConnectionClosed, WebSocketConnection
from wsproto import ConnectionType, WSConnection
from wsproto.connection import Connection as OpenConnection

from ..config import CLOSE_TIMEOUT, FLUSH_TIMEOUT, MAX_FRAME
from ..errors import WireClosed
from ..wire.meter import POLICY, TOO_BIG
from ..wire.outbox import Outbox
from .admission import SUBPROTOCOL
from .carrier import CLOSE, Carrier
from .sniff import Head, hang_up

_log = structlog.get_logger("agent.server")

GOING_DOWN, TRY_AGAIN = 1012, 1013  # with these a client is told when to come back
TEXT, BINARY, PING = 0x81, 0x82, 0x89  # first byte of an unfragmented frame
ABNORMAL, PROTOCOL_ERROR, INVALID_TEXT = 1006, 1002, 1007
_REASON_MAX = 123  # bytes of a close frame's reason: a control frame's 125 less the code
_FAULTS = {PROTOCOL_ERROR: "protocol error", INVALID_TEXT: "invalid UTF-8"}
_TOO_MUCH = "too much waits to be sent: read faster, or ask for less at a time"
_KEY_SUFFIX = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3
_RESET = struct.pack(
    "ii", 1, 0
)  # SO_LINGER on, 0 seconds: closing resets and frees what the kernel still holds


class Host(Protocol):
    """What the server decides about one client beyond its frames."""

    due: float
    """When the client must have said something, in seconds on the loop's clock."""

    def overdue(self, connection: "Connection") -> None:
        """Close the connection of a client that has not."""
        ...

    def hear(self, connection: "Connection", said: str | bytes) -> bool:
        """Take note of a whole message; False when it goes no further. Never blocks."""
        ...

    def come_back_in(self) -> int:
        """Return in how many seconds the client should come back when it is sent away; 0 when that is all one."""
        ...


class AnyHost:
    """Lets a client say what it likes, when it likes (implements `Host`)."""

    due = inf

    def overdue(self, connection: "Connection") -> None:
        """Do nothing; it never is."""

    def hear(self, connection: "Connection", said: str | bytes) -> bool:
        """Let it pass."""
        return True

    def come_back_in(self) -> int:
        """Say nothing."""
        return 0


class Connection:
    """An accepted WebSocket (implements `agent.ports.wire.Wire`).

    host: what the server decides about this client.
    outbox: everything that waits to be written; overflowing it closes the connection with 1008.
    agent_v1: whether the client offered the subprotocol `agent.v1`.
    aborted: whether the connection was dropped without a close frame.
    """

    def __init__(self, stream: trio.abc.Stream, head: Head, host: Host | None = None) -> None:
        self.outbox = Outbox(self._overflowed)
        self.agent_v1 = SUBPROTOCOL in head.subprotocols
        self.aborted = False
        self._host = host or AnyHost()
        self._raw = stream
        self._carrier = Carrier(self, stream, head.rest)
        self._ws = WebSocketConnection(self._carrier, _opened(), max_message_size=MAX_FRAME)
        self._nursery: trio.Nursery | None = None  # while the library runs
        self._receiving = trio.CancelScope()
        self._closed_with: int | None = None  # the code of the close frame that we put first
        self._linger = CLOSE_TIMEOUT
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
        """Return the next whole message that the host lets pass; raises WireClosed with the close code, 1006 for none.

        A text of more than MAX_FRAME UTF-8 bytes closes with 1009 (the library counts characters).
        After `close` has begun it raises at once, in a task that already waits here too.
        """
        if self._closed_with is not None:
            await trio.lowlevel.checkpoint()
            raise WireClosed(self._closed_with)
        with trio.CancelScope(deadline=self._host.due) as self._receiving:
            while True:
                message = await self._next()
                if self._host.hear(self, message):
                    return message
        if self._closed_with is None:
            self._host.overdue(self)
        raise WireClosed(ABNORMAL if self._closed_with is None else self._closed_with)

    async def _next(self) -> str | bytes:
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

    def put_close(self, code: int, reason: str = "", linger: float = CLOSE_TIMEOUT) -> None:
        """Queue a close frame, after which the outbox takes nothing; a second one changes nothing.

        One that sends the client away for a while says when to come back, to each another time.
        linger: seconds that the client's answer is waited for at most.
        """
        if self._closed_with is None:
            self._closed_with = code
            self._linger = linger
            seconds = self._host.come_back_in() if code in (GOING_DOWN, TRY_AGAIN) else 0
            if seconds:
                reason = f"{reason}; come back in {seconds} s"
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

    def come_apart(self) -> None:
        """Let go of the stream and of the library, which know this connection in turn; nothing may be called after.

        What has ended is then freed at once and leaves next to nothing for a garbage collection, which stops the
        loop for as long as everything takes that is alive.
        """
        del self._ws, self._carrier, self._raw, self._host

    def _overflowed(self, over: str, waited: int) -> None:
        """More waits than is allowed: nothing of it is sent, and the client is told why if its socket takes that."""
        _log.warning("connection closed, too much waits for its client", over=over, bytes=waited)
        self.put_close(POLICY, _TOO_MUCH)

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
                self._nursery.start_soon(self._ws._reader_task)  # noqa: SLF001 - its own way in shakes hands itself
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
            with trio.move_on_after(self._linger):
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


async def serve_websocket(
    stream: trio.abc.Stream, head: Head, handler: Handler, host: Host | None = None
) -> None:
    """Serve one WebSocket whose upgrade `head` was checked: run `handler`, close.

    The handler reads with `receive` and alone writes, from `outbox` with `send`; the answer to the upgrade is the
    first that waits there. It returns when the session is over; whatever it left in the outbox is written then, a
    close frame 1000 too if it put none. Its exceptions come out in an ExceptionGroup. The stream is closed and no
    task is left however this ends; cancelled, at once and without a close frame.
    """
    connection = Connection(stream, head, host)
    try:
        await connection.run(handler)
    finally:
        connection.abort()
        connection.come_apart()
        await trio.aclose_forcefully(stream)


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
