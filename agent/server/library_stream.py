"""The stream that stands between the WebSocket library and the client's socket.

trio-websocket writes its pongs and close frames under a lock that its reader waits for too, so behind a slow socket it
would stop reading, and a cancel behind a PING would go unseen. So the library gets a `LibraryStream`, whose `send_all`
appends whole frames to the outbox and returns.

The library reads only frames that are not plain. Nearly all messages of clients are one whole text frame in one piece;
`LibraryStream` parses these itself, which saves a parser, two events and a channel between two tasks. Order is kept: a
plain frame is handed on only while no frame or message is open, and every message that went to the library has come
out.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

import trio

from ..wire.frames import CLOSE, parse_plain_text
from ..wire.meter import POLICY, TOO_BIG, FrameMeter

_EXCESS = {POLICY: "too many frames per second", TOO_BIG: "message in too many pieces"}


class LibraryConnection(Protocol):
    """The connection that a `LibraryStream` belongs to."""

    @property
    def plain(self) -> bool:
        """Whether a plain frame may bypass the library now."""
        ...

    def take_message(self, message: str | bytes) -> None:
        """Take a whole message that has bypassed the library."""
        ...

    def put_library(self, data: bytes) -> None:
        """Queue frames of the library."""
        ...

    def close(self, code: int, reason: str = "") -> None:
        """Queue a close frame, the last frame of the connection."""
        ...


class LibraryStream(trio.abc.Stream):
    """The library's stream: it reads from `raw`, but writes to the outbox and never waits for a socket.

    `rest`: the bytes that came with the upgrade. `wait_to_leave`: see `ClientPolicy.wait_to_leave`. `received_at`: when
    bytes last came, in seconds on the loop's clock.
    """

    def __init__(
        self,
        connection: LibraryConnection,
        raw: trio.abc.Stream,
        rest: bytes,
        wait_to_leave: Callable[[], Awaitable[None]],
    ) -> None:
        self.received_at = trio.current_time()
        self._connection = connection
        self._raw = raw
        self._wait_to_leave = wait_to_leave
        self._rest = rest  # came with the upgrade
        self._meter = FrameMeter()
        self._closed = False

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        """Return the bytes that came with the upgrade, then those of the socket, until `FrameMeter` finds an excess."""
        if self._closed:
            await trio.lowlevel.checkpoint()
            raise trio.ClosedResourceError
        while True:
            received = await self._receive(max_bytes)
            if received:
                self.received_at = trio.current_time()
                received = self._after_plain(received)
                if not received:
                    continue
            excess = self._meter.find_excess(received, self.received_at)
            if excess is None:
                return received
            self._connection.close(excess, _EXCESS[excess])
            while await self._receive(max_bytes):
                pass  # the session is leaving; further bytes are dropped here
            return b""

    @property
    def messages(self) -> int:
        """The number of whole messages that went to the library."""
        return self._meter.messages

    async def _receive(self, max_bytes: int | None) -> bytes | bytearray:
        """Return the next bytes; at the end of the stream, once the connection may end."""
        if self._rest:
            await trio.lowlevel.checkpoint()
            received, self._rest = self._rest[:max_bytes], self._rest[len(self._rest[:max_bytes]) :]
            return received
        try:
            if data := await self._raw.receive_some(max_bytes):
                return data
        except trio.BrokenResourceError:
            await self._wait_to_leave()
            raise
        await self._wait_to_leave()
        return b""

    def _after_plain(self, received: bytes | bytearray) -> bytes | bytearray:
        """Hand on the plain frames at the start of `received`; return the rest."""
        at = 0
        while at < len(received) and self._meter.at_rest and self._connection.plain:
            found = parse_plain_text(received, at)
            if found is None:
                break
            text, at = found
            self._connection.take_message(text)
        return received[at:]

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Queue whole frames. Cancelled, they are queued all the same.

        Raises `trio.BrokenResourceError` after a close frame, so that the library reads no further. Otherwise it would
        go through the rest of its buffer, and a PING behind an oversized message would raise out of its reader.
        """
        self._connection.put_library(bytes(data))
        if data[0] == CLOSE:
            self._closed = True
            raise trio.BrokenResourceError
        await trio.lowlevel.checkpoint()

    async def wait_send_all_might_not_block(self) -> None:
        """Return at once: `send_all` never blocks."""
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """End the library's reads. The socket stays open for the frames in the outbox."""
        self._closed = True
        await trio.lowlevel.cancel_shielded_checkpoint()
