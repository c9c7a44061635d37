"""A client's connection in memory, for tests of a session without a server around it."""

import json
import math
from typing import Any

import trio

from ..errors import WireClosed
from ..wire.outbox import Outbox

PATIENCE = 120.0  # seconds that a test waits for a frame; longer than any deadline of a session


class MemoryWire:
    """A `Wire` whose client is the test itself.

    `frames` holds every frame whose write has begun, decoded, with the time it began; `blocked` makes writes wait, as
    a socket does whose client reads nothing. A text message is framed as its own bytes, a ping as b"PING" and a close
    as b"CLOSE <code>".
    """

    def __init__(self) -> None:
        self.outbox = Outbox(lambda over, waited: self.abort())
        self.frames: list[tuple[float, dict[str, Any]]] = []
        self.raw: list[bytes] = []  # pings and close frames
        self.aborted = False
        self.answers_close = True
        self.heard_at = trio.current_time()
        self._to_session, self._from_client = trio.open_memory_channel[str | bytes](math.inf)
        self._free = trio.Event()
        self._free.set()
        self._grown = trio.Event()
        self._closed = trio.Event()  # the close frame was written

    # --- the session's side

    def frame(self, text: bytes) -> bytes:
        """Return a text message as the bytes that `send` takes."""
        return text

    def ping(self) -> None:
        """Queue a ping."""
        self.outbox.put(b"PING")

    async def receive(self) -> str | bytes:
        """Return what the client sent next; raises WireClosed when it has left."""
        try:
            message = await self._from_client.receive()
        except (trio.EndOfChannel, trio.ClosedResourceError):
            raise WireClosed from None
        self.heard_at = trio.current_time()
        return message

    async def send(self, frames: bytes) -> None:
        """Take a frame at once, or wait while the wire is blocked."""
        if self.aborted:
            raise WireClosed
        if frames.startswith(b"{"):
            self.frames.append((trio.current_time(), json.loads(frames)))
        else:
            self.raw.append(frames)
            if frames.startswith(b"CLOSE"):
                self._closed.set()
        self._grown.set()
        await trio.lowlevel.checkpoint()
        await self._free.wait()
        if self.aborted:
            raise WireClosed

    async def close(self, code: int, reason: str) -> None:
        """Queue a close frame; the client answers it unless `answers_close` is False."""
        self.outbox.put(b"CLOSE %d" % code)
        self.outbox.close()
        if not self.answers_close:
            await trio.sleep_forever()
        await self._closed.wait()

    def abort(self) -> None:
        """Drop the connection."""
        self.aborted = True
        self.outbox.close()
        self._to_session.close()
        self._free.set()

    # --- the client's side

    def push(self, frame: dict[str, Any] | str | bytes) -> None:
        """Send a frame as the client."""
        self._to_session.send_nowait(json.dumps(frame) if isinstance(frame, dict) else frame)

    def leave(self) -> None:
        """Go away without a word."""
        self._to_session.close()

    def block(self) -> None:
        """Read nothing from now on: the write under way and every later one wait."""
        self._free = trio.Event()

    def unblock(self) -> None:
        """Read again."""
        self._free.set()

    def sent(self, *kinds: str) -> list[dict[str, Any]]:
        """Return the frames of these types whose write has begun; all when none is named."""
        return [frame for _, frame in self.frames if not kinds or frame["type"] in kinds]

    async def until(self, kind: str, count: int = 1) -> dict[str, Any]:
        """Wait until `count` frames of a type have begun; return the last of them.

        Raises AssertionError, with what came instead, after PATIENCE seconds: on virtual time a wait without an end
        would not sleep but spin.
        """
        with trio.move_on_after(PATIENCE):
            while len(self.sent(kind)) < count:
                self._grown = trio.Event()
                await self._grown.wait()
        came = self.sent(kind)
        assert len(came) >= count, f"{len(came)} of {count} {kind} came, in all {self.sent()}"
        return came[count - 1]
