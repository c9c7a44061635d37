"""The stream that the WebSocket library is given in place of the client's.

trio-websocket writes its pongs and close frames under a lock that its reader waits for too, so behind a slow socket
it would stop reading, and a cancel behind a PING would go unseen. So it is given a stream whose `send_all` appends
whole frames to the outbox and returns.

Reading, it sees only what is not plain. A whole text frame in one piece is what a client nearly always sends; read
here, it is spared a parser, two events and a channel between two tasks. It is handed on in the order of all that came:
never while a frame or a message is open, and never before every message that went to the library has come out of it.
"""

from typing import Protocol

import trio

from ..wire.frames import CLOSE, plain_text
from ..wire.meter import POLICY, TOO_BIG, FrameMeter

_EXCESS = {POLICY: "too many frames per second", TOO_BIG: "message in too many pieces"}


class Carried(Protocol):
    """The connection that a stream is for."""

    @property
    def plain(self) -> bool:
        """Whether a frame may pass the library by."""
        ...

    def heard(self, message: str | bytes) -> None:
        """Take a whole message that did."""
        ...

    def put_library(self, data: bytes) -> None:
        """Write what the library would write."""
        ...

    def close(self, code: int, reason: str = "") -> None:
        """Queue a close frame, the last of all."""
        ...


class Carrier(trio.abc.Stream):
    """The stream that the library sees: reads the client, but writes to the outbox and never waits for a socket."""

    def __init__(self, connection: Carried, raw: trio.abc.Stream, held: bytes) -> None:
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
        while True:
            received = await self._receive(max_bytes)
            if received:
                self.heard_at = trio.current_time()
                received = self._after_plain(received)
                if not received:
                    continue
            excess = self._meter.excess(received, self.heard_at)
            if excess is None:
                return received
            self._connection.close(excess, _EXCESS[excess])
            while await self._raw.receive_some(max_bytes):
                pass  # the session is leaving; what still comes is dropped here
            return b""

    @property
    def messages(self) -> int:
        """How many whole messages went to the library."""
        return self._meter.messages

    async def _receive(self, max_bytes: int | None) -> bytes | bytearray:
        if not self._held:
            return await self._raw.receive_some(max_bytes)
        await trio.lowlevel.checkpoint()
        received, self._held = self._held[:max_bytes], self._held[len(self._held[:max_bytes]) :]
        return received

    def _after_plain(self, received: bytes | bytearray) -> bytes | bytearray:
        """Hand on the plain frames that these bytes begin with; return what is left."""
        at = 0
        while at < len(received) and self._meter.at_rest and self._connection.plain:
            found = plain_text(received, at)
            if found is None:
                break
            text, at = found
            self._connection.heard(text)
        return received[at:]

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Queue whole frames; cancelled, they are queued all the same.

        Raises BrokenResourceError after a close frame: the library then reads no further. Left alone it would go
        on through what it has read, and a PING behind an oversized message would raise out of its reader.
        """
        self._connection.put_library(bytes(data))
        if data[0] == CLOSE:
            self._closed = True
            raise trio.BrokenResourceError
        await trio.lowlevel.checkpoint()

    async def wait_send_all_might_not_block(self) -> None:
        """Return: nothing here blocks."""
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Let the library go. The socket stays open for what waits in the outbox."""
        self._closed = True
        await trio.lowlevel.cancel_shielded_checkpoint()
