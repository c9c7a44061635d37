"""One WebSocket: the library answers and reads what is not plain, the outbox keeps the order and writes.

The upgrade is answered by us: its head was read and checked (sniff.py), and the library, which would parse it again,
is handed a connection that is open (wsproto's own, which has all that the library uses of a WSConnection). Neither that
nor `_reader_task`, which the library's functions start, is documented API, so its minor version is pinned.

What the library writes goes to the outbox too, and plain text frames pass it by (carrier.py).

Close frames of our own also go straight to the outbox. The library's `aclose` would put its state machine where an
incoming PING raises out of its reader (it answers in a state that allows no answer); this way it stays open until the
client's close arrives, and whatever it still answers is dropped by an outbox that has its last frame.

Order of the end, which a table has (agent/wire/life.py): the handler returns; what waits is written; the client gets a
moment to answer our close frame; the library's task ends; the client gets a moment to read what was written; the
socket is closed. Each step has its deadline.
"""

import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import structlog
import trio
from trio_websocket import ConnectionClosed, WebSocketConnection
from wsproto import WSConnection
from wsproto.connection import SERVER
from wsproto.connection import Connection as OpenConnection

from ..config import CLOSE_TIMEOUT, FLUSH_TIMEOUT, MAX_FRAME
from ..errors import WireClosed
from ..fsm import Engine
from ..wire.frames import BINARY, CLOSE, PING, TEXT, frame
from ..wire.life import TABLE, Deed, Guard, Happening, Life
from ..wire.meter import POLICY, TOO_BIG
from ..wire.outbox import Outbox, Told
from .admission import SUBPROTOCOL
from .carrier import Carrier
from .handshake import accepted
from .hosts import AnyHost, Host
from .sniff import Head, hang_up

_log = structlog.get_logger("agent.server")

GOING_DOWN, TRY_AGAIN = 1012, 1013  # with these a client is told when to come back
ABNORMAL, PROTOCOL_ERROR, INVALID_TEXT, INTERNAL = 1006, 1002, 1007, 1011
_REASON_MAX = 123  # bytes of a close frame's reason: a control frame's 125 less the code
_FAULTS = {PROTOCOL_ERROR: "protocol error", INVALID_TEXT: "invalid UTF-8"}
_TOO_MUCH = "too much waits to be sent: read faster, or ask for less at a time"
_RESET = struct.pack(
    "ii", 1, 0
)  # SO_LINGER on, 0 seconds: closing resets and frees what the kernel still holds


Take: TypeAlias = Callable[[str | bytes], None]


@dataclass(frozen=True, slots=True)
class _Goodbye:
    """What a close frame says, and for how many seconds its answer is waited for at most."""

    code: int
    reason: str
    linger: float


class Connection:
    """An accepted WebSocket (implements `agent.ports.wire.Wire`).

    host: what the server decides about this client.
    outbox: everything that waits to be written; overflowing it closes the connection with 1008.
    agent_v1: whether the client offered the subprotocol `agent.v1`. user: by the token that it has shown, "" where
    that names none. state: where in its life it is.
    aborted: whether the connection was dropped before all was written, its close frame too.
    """

    def __init__(self, stream: trio.abc.Stream, head: Head, host: Host | None = None, user: str = "") -> None:
        self.state = TABLE.initial
        self.outbox = Outbox(stream, self._overflowed, self._lost)
        self.agent_v1 = SUBPROTOCOL in head.subprotocols
        self.user = user
        self.aborted = False
        self._host = host or AnyHost()
        self._raw = stream
        self._carrier = Carrier(self, stream, head.rest)
        opened = cast(WSConnection, OpenConnection(SERVER))
        self._ws = WebSocketConnection(self._carrier, opened, max_message_size=MAX_FRAME)
        self._nursery: trio.Nursery | None = None  # while the library runs
        self._take: Take | None = None  # while messages are delivered
        self._delivering: trio.CancelScope | None = None
        self._taken = 0  # messages that came by way of the library
        self._code = ABNORMAL  # of the close frame that ended it, ours or the client's
        self._linger = CLOSE_TIMEOUT
        self.outbox.put(accepted(head, self.agent_v1))

    # --- what a session needs

    @property
    def heard_at(self) -> float:
        """When bytes last came from the client, in seconds on the loop's clock."""
        return self._carrier.heard_at

    @property
    def deltas(self) -> Outbox:
        """What takes the deltas of the open turn."""
        return self.outbox

    def frame(self, text: bytes, *, binary: bool = False) -> bytes:
        """Return one whole message (UTF-8 `text`, or any bytes with `binary`) as the bytes that `put` takes."""
        return frame(BINARY if binary else TEXT, text)

    def put(self, frames: bytes, written: Told | None = None) -> None:
        """Queue whole frames that nothing removes. written: called once the stream has taken the last byte."""
        self.outbox.put(frames, written)

    def open_turn(self, turn: int) -> None:
        """Accept deltas of `turn`, and of no other, from now on."""
        self.outbox.open_turn(turn)

    def purge(self) -> None:
        """Remove every delta that was not begun, and accept no more until a turn is opened."""
        self.outbox.purge()

    def flush(self) -> None:
        """Write what waits, as far as the stream takes it at once, and the rest as soon as it takes that."""
        self.outbox.flush()

    def ping(self) -> None:
        """Send a PING. Its answer shows in `heard_at` like anything else that comes."""
        self.outbox.put(frame(PING, b""))
        self.outbox.flush()

    async def deliver(self, take: Take) -> None:
        """Hand each whole message that the host lets pass to `take`, in order.

        Raises WireClosed with the close code, 1006 for none, once nothing more comes or `close` was called. A text of
        more than MAX_FRAME UTF-8 bytes closes with 1009 (the library counts characters). `take` is called in the
        library's task too, and never blocks.
        """
        if self.state in (Life.HANDSHAKING, Life.OPEN):
            self._take = take
            try:
                with trio.CancelScope(deadline=self._host.due) as self._delivering:
                    while True:
                        message = await self._ws.get_message()
                        self._taken += 1
                        if isinstance(message, str) and len(message.encode()) > MAX_FRAME:
                            self.close(TOO_BIG, "message too big")
                            break
                        self.heard(message)
            except ConnectionClosed as error:
                self._code = int(error.reason.code) if error.reason else ABNORMAL
                self._explain(self._code)
                raise WireClosed(self._code) from None
            finally:
                self._take = self._delivering = None
            if self.state in (Life.HANDSHAKING, Life.OPEN):
                self._host.overdue(self)
        else:
            await trio.lowlevel.checkpoint()
        raise WireClosed(self._code)

    def close(self, code: int, reason: str = "", linger: float = CLOSE_TIMEOUT) -> None:
        """Queue a close frame, after which the outbox takes nothing; a second one changes nothing. Never blocks.

        One that sends the client away for a while says when to come back, to each another time.
        linger: seconds that the client's answer is waited for at most.
        """
        self._happens(Happening.GOODBYE, _Goodbye(code, reason, linger))

    def abort(self) -> None:
        """Drop the connection at once, without a close frame. Idempotent, never blocks.

        Every task that waits on the socket gets its error in its next step. What the kernel still holds is dropped
        with it when a frame was begun: its rest can never follow.
        """
        self._happens(Happening.ABORT)

    def start(self, run: Callable[..., Awaitable[object]], *args: Any) -> None:
        """Run a task that ends with the connection; only while its handler runs."""
        assert self._nursery is not None
        self._nursery.start_soon(run, *args)

    # --- what the library's stream needs

    @property
    def plain(self) -> bool:
        """Whether a frame may pass the library by: somebody takes it, and all that went there has come back."""
        return self._take is not None and self.state is Life.OPEN and self._carrier.messages == self._taken

    def heard(self, message: str | bytes) -> None:
        """Hand a whole message on, if the host lets it pass. A fault in what takes it ends the connection."""
        try:
            if self._host.hear(self, message) and self._take is not None:
                self._take(message)
        except Exception:
            self.close(INTERNAL, "internal error")
            raise
        if self._delivering is not None and self._delivering.deadline != self._host.due:
            self._delivering.deadline = self._host.due

    def put_library(self, data: bytes) -> None:
        """Write what the library would write; nothing follows a close frame."""
        self.outbox.put(data)
        if data[0] == CLOSE:
            self._happens(Happening.PARTED)
        self.outbox.flush()

    # --- its life

    async def serve(self, handler: "Handler") -> bool:
        """Run `handler`, say goodbye, close. See `serve_websocket`."""
        try:
            try:
                async with trio.open_nursery() as self._nursery:
                    self._happens(Happening.ACCEPT)
                    await handler(self)
                    await self._leave()
                    self._nursery.cancel_scope.cancel()
            finally:
                self._nursery = None
            self.aborted = self.aborted or len(self.outbox) > 0
            if self._happens(Happening.WRITTEN):
                if self.outbox.torn or self._shook_hands():
                    self._drop_stream()
                else:
                    await hang_up(self._raw)
            return not self.aborted
        finally:
            stream = self._raw
            self.abort()
            self._come_apart()
            await trio.aclose_forcefully(stream)

    async def _leave(self) -> None:
        """Say goodbye if nobody has, write what waits, and give the client a moment to answer."""
        if self._closed_as() == ABNORMAL:
            self._happens(Happening.LEFT)
        self.close(1000)
        self.outbox.purge()  # deltas belong to a session that has left
        with trio.move_on_after(FLUSH_TIMEOUT):
            await self.outbox.emptied()
        if self.state is Life.CLOSING:
            with trio.move_on_after(self._linger) as waiting:
                await self._read_out()
            self._happens(Happening.IN_VAIN if waiting.cancelled_caught else Happening.PARTED)

    async def _read_out(self) -> None:
        """Read until the client's close frame has come, or it has left; what it still says is dropped."""
        try:
            while True:
                await self._ws.get_message()
        except ConnectionClosed:
            pass

    def _come_apart(self) -> None:
        """Let go of the stream and of the library, which know this connection in turn; nothing may be called after.

        What has ended is then freed at once and leaves next to nothing for a garbage collection, which stops the
        loop for as long as everything takes that is alive.
        """
        self.outbox.drop()
        del self._ws, self._carrier, self._raw, self._host, self.outbox

    def _happens(self, what: Happening, subject: object = None) -> bool:
        return _ENGINE.react(self, self, what, subject)

    def _lost(self, stalled: bool) -> None:
        """Nothing more can be written: a client that takes nothing is dropped, one that is gone has left."""
        self._happens(Happening.ABORT if stalled else Happening.LEFT)

    # --- what the rows of its table do

    def begin(self) -> None:
        """Write the answer to the upgrade, and let the library read."""
        assert self._nursery is not None
        self.outbox.open(self._nursery.start_soon)
        self._nursery.start_soon(self._ws._reader_task)  # noqa: SLF001 - its own way in shakes hands itself

    def say_goodbye(self, goodbye: "_Goodbye") -> None:
        """Write a close frame, the last of all."""
        self._code = goodbye.code
        self._linger = goodbye.linger
        seconds = self._host.come_back_in() if goodbye.code in (GOING_DOWN, TRY_AGAIN) else 0
        reason = f"{goodbye.reason}; come back in {seconds} s" if seconds else goodbye.reason
        text = reason.encode()[:_REASON_MAX].decode(errors="ignore").encode()
        self.outbox.close(frame(CLOSE, struct.pack("!H", goodbye.code) + text))
        self.outbox.flush()

    def take_no_more(self) -> None:
        """Let nothing follow the close frame that was put."""
        self.outbox.close()

    def deliver_no_more(self) -> None:
        """End the delivery of messages, if there is one."""
        if self._delivering is not None:
            self._delivering.cancel()

    def drop(self) -> None:
        """Drop what waits, and the stream under it."""
        self.aborted = True
        self._drop_stream()

    def let_go(self) -> None:
        """Close the stream on a client that was waited for long enough."""
        self.aborted = len(self.outbox) > 0
        self._drop_stream()

    def _drop_stream(self) -> None:
        torn = self.outbox.torn
        self.outbox.drop()
        if isinstance(self._raw, trio.SocketStream):
            if torn:
                self._raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._raw.socket.close()
        elif self._nursery is not None:
            self._nursery.start_soon(trio.aclose_forcefully, self._raw)

    def _overflowed(self, over: str, waited: int) -> None:
        """More waits than is allowed: nothing of it is sent, and the client is told why if its socket takes that."""
        _log.warning("connection closed, too much waits for its client", over=over, bytes=waited)
        self.close(POLICY, _TOO_MUCH)

    def _explain(self, code: int) -> None:
        """Say why, where the library has closed for a fault of the client's and said nothing."""
        if code in _FAULTS:
            self.close(code, _FAULTS[code])

    def _closed_as(self) -> int | None:
        """Return the code that the library's connection ended with; None while it has not."""
        closed = self._ws.closed
        return None if closed is None else int(closed.code)

    def _shook_hands(self) -> bool:
        """Whether the client's close frame has come, so that nothing more can."""
        return self._closed_as() not in (None, ABNORMAL, TOO_BIG, *_FAULTS)


_GUARDS: dict[Guard, Callable[[Connection], bool]] = {}
_DEEDS: dict[Deed, Callable[[Connection, Any], None]] = {
    Deed.BEGIN: lambda connection, _: connection.begin(),
    Deed.SAY_GOODBYE: lambda connection, goodbye: connection.say_goodbye(goodbye),
    Deed.TAKE_NO_MORE: lambda connection, _: connection.take_no_more(),
    Deed.DELIVER_NO_MORE: lambda connection, _: connection.deliver_no_more(),
    Deed.LET_GO: lambda connection, _: connection.let_go(),
    Deed.DROP: lambda connection, _: connection.drop(),
}
_ENGINE = Engine(TABLE, _GUARDS, _DEEDS)
Handler: TypeAlias = Callable[[Connection], Awaitable[None]]


async def serve_websocket(
    stream: trio.abc.Stream, head: Head, handler: Handler, host: Host | None = None
) -> bool:
    """Serve one WebSocket whose upgrade `head` was checked: run `handler`, close.

    The handler has messages delivered, puts frames and flushes them; the answer to the upgrade goes out before. It
    returns when the session is over; whatever it left in the outbox is written then, a close frame 1000 too if it put
    none. Returns whether all was written. Its exceptions come out in an ExceptionGroup. The stream is closed and no
    task is left however this ends; cancelled, at once and without a close frame.
    """
    return await Connection(stream, head, host).serve(handler)
