"""One WebSocket: the library reads and answers frames that are not plain, the outbox keeps the order and writes.

We answer the upgrade ourselves: its head was read and checked (`request_head.py`), and the library would parse it
again. So it gets a connection that is open already (wsproto's own, which has all that the library uses of a
`WSConnection`). Neither that nor `_reader_task`, which the library's functions start, is documented API, so its minor
version is pinned.

The library's frames go to the outbox too, and plain text frames bypass it (`library_stream.py`).

Close frames of our own also go straight to the outbox. The library's `aclose` would put its state machine where an
incoming PING raises out of its reader (it answers in a state that allows no answer). This way it stays open until the
client's close arrives, and the outbox, which has its last frame, drops any further answer of the library.

Order of the end, as in the table of `agent/wire/life.py`: the handler returns; the queued frames are written; the
client gets a moment to answer our close frame; the library's task ends; the client gets a moment to read the rest; the
socket is closed. Each step has its deadline.
"""

import socket
import struct
from base64 import b64encode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha1
from typing import Any, Final, TypeAlias, cast

import structlog
import trio
from trio_websocket import ConnectionClosed, WebSocketConnection
from wsproto import WSConnection
from wsproto.connection import SERVER
from wsproto.connection import Connection as OpenConnection

from ..config import CLOSE_TIMEOUT, FLUSH_TIMEOUT, MAX_FRAME
from ..errors import WireClosed
from ..fsm import Engine
from ..protocol.kinds import choose_kind
from ..wire.frames import CLOSE, PING, build_frame, build_message
from ..wire.life import TABLE, ConnectionDeed, ConnectionGuard, ConnectionState, ConnectionTrigger
from ..wire.meter import POLICY, TOO_BIG
from ..wire.outbox import Outbox, WrittenCallback
from .client_policy import ClientPolicy, NoClientPolicy
from .library_stream import LibraryStream
from .request_head import Head, hang_up
from .service import ShownKey

_KEY_SUFFIX = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3


def accept_upgrade(head: Head, subprotocol: str) -> bytes:
    """Return the answer that accepts the upgrade `head` (RFC 6455, section 4.2.2).

    `subprotocol`: the one to confirm, "" for none.
    """
    (key,) = head.values(b"sec-websocket-key")
    proof = b64encode(sha1(key + _KEY_SUFFIX, usedforsecurity=False).digest())
    protocol = f"Sec-WebSocket-Protocol: {subprotocol}\r\n".encode() if subprotocol else b""
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + proof + b"\r\n" + protocol + b"\r\n"
    )


_log = structlog.get_logger("agent.server")

GOING_DOWN, TRY_AGAIN = 1012, 1013  # the close reason tells the client when to reconnect
ABNORMAL, PROTOCOL_ERROR, INVALID_TEXT, INTERNAL = 1006, 1002, 1007, 1011
_REASON_MAX = 123  # bytes of a close frame's reason: a control frame's 125 less the code
_FAULTS = {PROTOCOL_ERROR: "protocol error", INVALID_TEXT: "invalid UTF-8"}
_TOO_MUCH = "too much waits to be sent: read faster, or ask for less at a time"
# SO_LINGER on, 0 seconds: closing resets the connection and frees the kernel's buffer.
_RESET = struct.pack("ii", 1, 0)


MessageHandler: TypeAlias = Callable[[str | bytes], None]


@dataclass(frozen=True, slots=True)
class _CloseFrame:
    """The `code` and `reason` of a close frame, and the most seconds to wait for the client's answer (`linger`)."""

    code: int
    reason: str
    linger: float


class Connection:
    """An accepted WebSocket (implements `agent.ports.wire.Wire`).

    `policy`: the server's decisions about this client. `outbox`: the frames that wait to be written; overflowing it
    closes the connection with 1008. `kind`: by the path of the upgrade and, where the server `has_voice`, by the
    subprotocols that the client offered. `agent_v1`: whether one of them was confirmed, so that the client is greeted.
    `user`: the name of the user whose token the client has shown, or "". `key`: the project's key that it has shown, or
    None. `state`: its state in `agent.wire.life.TABLE`. `aborted`: whether the connection was
    dropped before all frames were written, its close frame too.
    """

    def __init__(
        self,
        stream: trio.abc.Stream,
        head: Head,
        policy: ClientPolicy | None = None,
        user: str = "",
        key: ShownKey | None = None,
        has_voice: bool = False,
    ) -> None:
        self.state = TABLE.initial
        self.outbox = Outbox(stream, self._close_overflowing, self._stop_writing)
        self.kind = choose_kind(head.path, head.subprotocols, has_voice)
        self.agent_v1 = self.kind.subprotocol in head.subprotocols
        self.user = user
        self.key = key
        self.aborted = False
        self._policy = policy or NoClientPolicy()
        self._raw = stream
        self._library_stream = LibraryStream(self, stream, head.rest, self._policy.wait_to_leave)
        self._opened = OpenConnection(SERVER)
        self._ws = WebSocketConnection(
            self._library_stream, cast(WSConnection, self._opened), max_message_size=MAX_FRAME
        )
        self._nursery: trio.Nursery | None = None  # while the library runs
        self._handle_message: MessageHandler | None = None  # while messages are delivered
        self._delivering: trio.CancelScope | None = None
        self._library_messages = 0  # messages that came by way of the library
        self._code = ABNORMAL  # of the close frame that ended it, ours or the client's
        self._linger = CLOSE_TIMEOUT
        self.outbox.put(accept_upgrade(head, self.kind.subprotocol if self.agent_v1 else ""))

    # --- the interface of a session: `agent.ports.wire.Wire`

    speaker: Final = None  # `agent.voice.voice_wire.VoiceWire` has both
    note_frame: Final = None

    @property
    def received_at(self) -> float:
        """When bytes last came from the client, in seconds on the loop's clock."""
        return self._library_stream.received_at

    @property
    def deltas(self) -> Outbox:
        """The outbox, which takes the deltas of the open turn."""
        return self.outbox

    make_frame = staticmethod(build_message)

    def put_frames(self, frames: bytes, written: WrittenCallback | None = None) -> None:
        """Queue whole frames, which no purge removes. `written` is called once the stream has taken the last byte."""
        self.outbox.put(frames, written)

    def open_turn(self, turn: int) -> None:
        """Accept deltas of `turn`, and of no other, from now on."""
        self.outbox.open_turn(turn)

    def purge_deltas(self) -> None:
        """Remove every delta whose first byte was not written, and accept none until `open_turn`."""
        self.outbox.purge()

    def flush(self) -> None:
        """Write the queued frames, as far as the stream takes them at once, and the rest as soon as it can."""
        self.outbox.flush()

    def ping(self) -> None:
        """Send a PING. Its answer shows in `received_at`, as all bytes of the client do."""
        self.outbox.put(build_frame(PING, b""))
        self.outbox.flush()

    async def deliver_messages(self, handle: MessageHandler) -> None:
        """Hand each whole message that the policy lets pass to `handle`, in order.

        Raises `WireClosed` with the close code, 1006 for none, once the client has closed or `close` was called. A text
        of more than `MAX_FRAME` UTF-8 bytes closes with 1009 (the library counts characters). `handle` is called in the
        library's task too, and must not block.
        """
        if self.state in (ConnectionState.HANDSHAKING, ConnectionState.OPEN):
            self._handle_message = handle
            try:
                with trio.CancelScope(deadline=self._policy.due) as self._delivering:
                    while True:
                        message = await self._ws.get_message()
                        self._library_messages += 1
                        if isinstance(message, str) and len(message.encode()) > MAX_FRAME:
                            self.close(TOO_BIG, "message too big")
                            break
                        self.take_message(message)
            except ConnectionClosed as error:
                self._code = int(error.reason.code) if error.reason else ABNORMAL
                self._explain(self._code)
                raise WireClosed(self._code) from None
            finally:
                self._handle_message = self._delivering = None
            if self.state in (ConnectionState.HANDSHAKING, ConnectionState.OPEN):
                self._policy.close_idle(self)
        else:
            await trio.lowlevel.checkpoint()
        raise WireClosed(self._code)

    def close(self, code: int, reason: str = "", linger: float = CLOSE_TIMEOUT) -> None:
        """Queue a close frame, after which the outbox takes no frame. A second call changes nothing. Never blocks.

        A close with `GOING_DOWN` or `TRY_AGAIN` tells the client when to reconnect, each client another time.
        `linger`: the most seconds to wait for the client's answer.
        """
        self._react(ConnectionTrigger.GOODBYE, _CloseFrame(code, reason, linger))

    def abort(self) -> None:
        """Drop the connection at once, without a close frame. Idempotent, never blocks.

        Every task that waits on the socket gets its error in its next step. If a frame was written in part, the
        kernel's buffer is dropped too: the rest of the frame can never follow.
        """
        self._react(ConnectionTrigger.ABORT)

    def start_task(self, run: Callable[..., Awaitable[object]], *args: Any) -> None:
        """Start a task that ends with the connection. Call it only while the handler runs."""
        assert self._nursery is not None
        self._nursery.start_soon(run, *args)

    # --- the interface of the library's stream: `library_stream.LibraryConnection`

    @property
    def plain(self) -> bool:
        """Whether a plain frame may bypass the library: messages are delivered, and none is still in the library."""
        return (
            self._handle_message is not None
            and self.state is ConnectionState.OPEN
            and self._library_stream.messages == self._library_messages
        )

    def take_message(self, message: str | bytes) -> None:
        """Hand on a whole message if `ClientPolicy.admit_message` allows it. The handler's exception closes."""
        try:
            if self._policy.admit_message(self, message) and self._handle_message is not None:
                self._handle_message(message)
        except Exception:
            self.close(INTERNAL, "internal error")
            raise
        if self._delivering is not None and self._delivering.deadline != self._policy.due:
            self._delivering.deadline = self._policy.due

    def put_library(self, data: bytes) -> None:
        """Queue and write frames of the library; no frame follows a close frame."""
        self.outbox.put(data)
        if data[0] == CLOSE:
            self._react(ConnectionTrigger.PARTED)
        self.outbox.flush()

    # --- its life

    async def serve(self, handler: "Handler") -> bool:
        """Run `handler`, send a close frame, and close. See `serve_websocket`."""
        try:
            try:
                async with trio.open_nursery() as self._nursery:
                    self._react(ConnectionTrigger.ACCEPT)
                    await handler(self)
                    await self._leave()
                    self._nursery.cancel_scope.cancel()
            finally:
                self._nursery = None
            self.aborted = self.aborted or len(self.outbox) > 0
            if self._react(ConnectionTrigger.WRITTEN):
                if self.outbox.torn or self._shook_hands():
                    self._release_stream()
                else:
                    await hang_up(self._raw)
            return not self.aborted
        finally:
            stream = self._raw
            self.abort()
            self._delete_references()
            await trio.aclose_forcefully(stream)

    async def _leave(self) -> None:
        """Queue a close frame if there was none, write the queued frames, and give the client a moment to answer."""
        if self._closed_as() == ABNORMAL:
            self._react(ConnectionTrigger.LEFT)
        self.close(1000)
        self.outbox.purge()  # deltas belong to a session that has left
        with trio.move_on_after(FLUSH_TIMEOUT):
            await self.outbox.wait_empty()
        if self.state is ConnectionState.CLOSING:
            with trio.move_on_after(self._linger) as waiting:
                await self._read_out()
            self._react(ConnectionTrigger.IN_VAIN if waiting.cancelled_caught else ConnectionTrigger.PARTED)

    async def _read_out(self) -> None:
        """Read and drop messages until the client's close frame has come, or it has left."""
        try:
            while True:
                await self._ws.get_message()
        except ConnectionClosed:
            pass

    def _delete_references(self) -> None:
        """Delete the references to the stream and the library, which refer back to this connection.

        No method may be called after. Without cycles an ended connection is freed at once and leaves next to no work
        for a garbage collection, which stops the loop for as long as it takes to visit all live objects.
        """
        self.outbox.drop()
        # The generator of wsproto's parser refers to the parser until it ends, which takes a close frame of the client.
        self._opened._proto._parse_more.close()  # noqa: SLF001 - no public method ends it
        del self._ws, self._opened, self._library_stream, self._raw, self._policy, self.outbox

    def _react(self, trigger: ConnectionTrigger, subject: object = None) -> bool:
        return _ENGINE.react(self, self, trigger, subject)

    def _stop_writing(self, stalled: bool) -> None:
        """React to the end of writing: drop a client that is `stalled`, and note that any other client has left."""
        self._react(ConnectionTrigger.ABORT if stalled else ConnectionTrigger.LEFT)

    # --- the deeds of its table

    def start_io(self) -> None:
        """Write the answer to the upgrade, and let the library read."""
        assert self._nursery is not None
        self.outbox.open(self._nursery.start_soon)
        self._nursery.start_soon(self._ws._reader_task)  # noqa: SLF001 - the public entry does the handshake itself

    def send_close_frame(self, goodbye: "_CloseFrame") -> None:
        """Write a close frame, the last frame of the connection."""
        self._code = goodbye.code
        self._linger = goodbye.linger
        seconds = self._policy.pick_reconnect_delay() if goodbye.code in (GOING_DOWN, TRY_AGAIN) else 0
        reason = f"{goodbye.reason}; come back in {seconds} s" if seconds else goodbye.reason
        text = reason.encode()[:_REASON_MAX].decode(errors="ignore").encode()
        self.outbox.close(build_frame(CLOSE, struct.pack("!H", goodbye.code) + text))
        self.outbox.flush()

    def close_outbox(self) -> None:
        """Close the outbox: no frame follows the close frame that was queued."""
        self.outbox.close()

    def stop_delivery(self) -> None:
        """End the delivery of messages, if there is one."""
        if self._delivering is not None:
            self._delivering.cancel()

    def drop_stream(self) -> None:
        """Drop the queued frames, and the stream under them."""
        self.aborted = True
        self._release_stream()

    def close_stream(self) -> None:
        """Close the stream: the client has not answered the close frame in time."""
        self.aborted = len(self.outbox) > 0
        self._release_stream()

    def _release_stream(self) -> None:
        torn = self.outbox.torn
        self.outbox.drop()
        if isinstance(self._raw, trio.SocketStream):
            if torn:
                self._raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._raw.socket.close()
        elif self._nursery is not None:
            self._nursery.start_soon(trio.aclose_forcefully, self._raw)

    def _close_overflowing(self, over: str, waited: int) -> None:
        """Close with 1008: more is queued than allowed. It is not sent; the client reads why if its socket takes it."""
        _log.warning("connection closed, too much waits for its client", over=over, bytes=waited)
        self.close(POLICY, _TOO_MUCH)

    def _explain(self, code: int) -> None:
        """Send a close frame with a reason, if the library has closed for a fault of the client without a reason."""
        if code in _FAULTS:
            self.close(code, _FAULTS[code])

    def _closed_as(self) -> int | None:
        """Return the code that the library's connection ended with; None while it is open."""
        closed = self._ws.closed
        return None if closed is None else int(closed.code)

    def _shook_hands(self) -> bool:
        """Return whether the client's close frame has come, so that no further byte follows."""
        return self._closed_as() not in (None, ABNORMAL, TOO_BIG, *_FAULTS)


_GUARDS: dict[ConnectionGuard, Callable[[Connection], bool]] = {}
_DEEDS: dict[ConnectionDeed, Callable[[Connection, Any], None]] = {
    ConnectionDeed.START_IO: lambda connection, _: connection.start_io(),
    ConnectionDeed.SEND_CLOSE_FRAME: lambda connection, goodbye: connection.send_close_frame(goodbye),
    ConnectionDeed.CLOSE_OUTBOX: lambda connection, _: connection.close_outbox(),
    ConnectionDeed.STOP_DELIVERY: lambda connection, _: connection.stop_delivery(),
    ConnectionDeed.CLOSE_STREAM: lambda connection, _: connection.close_stream(),
    ConnectionDeed.DROP_STREAM: lambda connection, _: connection.drop_stream(),
}
_ENGINE = Engine(TABLE, _GUARDS, _DEEDS)
Handler: TypeAlias = Callable[[Connection], Awaitable[None]]


async def serve_websocket(
    stream: trio.abc.Stream, head: Head, handler: Handler, policy: ClientPolicy | None = None
) -> bool:
    """Serve one WebSocket whose upgrade `head` was checked: run `handler`, then close.

    The answer to the upgrade goes out before any frame of the handler. When the handler returns, the rest of the outbox
    is written, and a close frame 1000 if there was none. Returns whether all frames were written. Exceptions of the
    handler come out in an `ExceptionGroup`. The stream is closed and no task is left in every case; cancelled, at once
    and without a close frame.
    """
    return await Connection(stream, head, policy).serve(handler)
