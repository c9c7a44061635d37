"""A client's connection in memory, for tests of a session without a server around it."""

import json
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import trio

from ..errors import WireClosed
from ..ports.wire import Wire
from ..wire.outbox import Outbox, WrittenCallback

PATIENCE = 120.0  # seconds that a test waits for a frame; longer than any deadline of a session

_BINARY = b"BINARY "


class _Socket(trio.abc.SendStream):
    """Takes all bytes at once, or, while `free` is not set, only the first byte of a frame.

    `begun`: called with each frame, a line, when the first byte of the frame is taken.
    """

    def __init__(self, begun: Callable[[bytes], None]) -> None:
        self.free = trio.Event()
        self.free.set()
        self._begun = begun
        self._left = 0  # bytes of the frame whose first one was taken
        self._cut = False

    def send_now(self, data: bytes) -> int:
        """Take as many bytes as the socket takes now; return their number."""
        if self._cut:
            raise trio.BrokenResourceError
        taken = len(data) if self.free.is_set() else int(not self._left)
        at = 0
        while at < taken:
            if not self._left:
                line = data[at : data.index(b"\n", at) + 1]
                self._left = len(line)
                self._begun(line)
            step = min(self._left, taken - at)
            self._left -= step
            at += step
        return taken

    async def wait_send_all_might_not_block(self) -> None:
        """Wait while the socket takes nothing."""
        await trio.lowlevel.checkpoint()
        await self.free.wait()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Hand over all of `data`."""
        rest = bytes(data)
        while rest:
            await self.wait_send_all_might_not_block()
            rest = rest[self.send_now(rest) :]

    async def aclose(self) -> None:
        """Take no more bytes."""
        self.cut()
        await trio.lowlevel.checkpoint()

    def cut(self) -> None:
        """Take no more bytes, and wake the waiting sender."""
        self._cut = True
        self.free.set()


class MemoryWire:
    """A `Wire` whose client is the test; the queue and the writing are those of the server.

    `frames`: every frame whose write has begun, decoded, with the time at which the write began. `block` makes writes
    wait, like a socket whose client reads nothing: it has taken one byte of the next frame. A frame is a line: a text
    message is its bytes, a ping is `b"PING"` and a close is `b"CLOSE <code>"`. `nursery`: runs the writes that wait for
    a blocked wire. `audio`: the binary frames, likewise.
    """

    def __init__(self, nursery: trio.Nursery) -> None:
        self.frames: list[tuple[float, dict[str, Any]]] = []
        self.raw: list[bytes] = []  # pings and close frames
        self.audio: list[tuple[float, bytes]] = []
        self.aborted = False
        self.received_at = trio.current_time()
        self._socket = _Socket(self._note)
        self.outbox = Outbox(self._socket, lambda over, waited: self.close(1008, over), self._lost)
        self.outbox.open(nursery.start_soon)
        self._nursery = nursery
        self._over = False
        self._take: Callable[[str | bytes], None] | None = None
        self._said, self._waiting = trio.open_memory_channel[str | bytes](math.inf)
        self._grown = trio.Event()

    # --- the session's side

    speaker: Final = None
    note_frame: Final = None

    @property
    def deltas(self) -> Outbox:
        """The outbox of the deltas of the open turn."""
        return self.outbox

    def start_task(self, run: Callable[..., Awaitable[object]], *args: Any) -> None:
        """Run a task in the nursery."""
        self._nursery.start_soon(run, *args)

    def make_frame(self, text: bytes, *, binary: bool = False) -> bytes:
        """Return a message as a line, a binary one in hex."""
        return b"%s%s\n" % (_BINARY, text.hex().encode()) if binary else text + b"\n"

    def put_frames(self, frames: bytes, written: WrittenCallback | None = None) -> None:
        """Queue frames."""
        self.outbox.put(frames, written)

    def open_turn(self, turn: int) -> None:
        """Accept deltas of this turn."""
        self.outbox.open_turn(turn)

    def purge_deltas(self) -> None:
        """Remove the deltas of which the write has not begun."""
        self.outbox.purge()

    def flush(self) -> None:
        """Write as much of the queue as the wire takes."""
        self.outbox.flush()

    def ping(self) -> None:
        """Send a ping."""
        self.outbox.put(self.make_frame(b"PING"))
        self.outbox.flush()

    async def deliver_messages(self, take: Callable[[str | bytes], None]) -> None:
        """Pass the client's messages to `take`; raises `WireClosed` when the client has left or the wire was closed."""
        with suppress(trio.EndOfChannel, trio.ClosedResourceError):
            while True:
                message = await self._waiting.receive()
                self.received_at = trio.current_time()
                take(message)
        if not self._over:
            self.outbox.drop()
            self._socket.cut()
        raise WireClosed

    def close(self, code: int, reason: str) -> None:
        """Queue a close frame, the last of all."""
        self.outbox.close(self.make_frame(b"CLOSE %d" % code))
        self.outbox.flush()
        self._end()

    def abort(self) -> None:
        """Drop the connection."""
        self.aborted = True
        self.outbox.drop()
        self._socket.cut()
        self._end()

    def _lost(self, stalled: bool) -> None:
        self.abort()

    def _end(self) -> None:
        self._over = True
        self._waiting.close()

    def _note(self, frame: bytes) -> None:
        if frame.startswith(_BINARY):
            self.audio.append((trio.current_time(), bytes.fromhex(frame[len(_BINARY) :].decode())))
        elif frame.startswith(b"{"):
            self.frames.append((trio.current_time(), json.loads(frame)))
        else:
            self.raw.append(frame.strip())
        self._grown.set()

    # --- the client's side

    def push(self, frame: dict[str, Any] | str | bytes) -> None:
        """Send a frame as the client; after the close of the wire it is dropped."""
        with suppress(trio.BrokenResourceError):
            self._said.send_nowait(json.dumps(frame) if isinstance(frame, dict) else frame)

    def leave(self) -> None:
        """End the connection as the client, without a close frame."""
        self._said.close()

    def block(self) -> None:
        """Read nothing from now on: the write under way and every later one wait."""
        self._socket.free = trio.Event()

    def unblock(self) -> None:
        """Read again."""
        self._socket.free.set()

    def sent(self, *kinds: str) -> list[dict[str, Any]]:
        """Return the frames of the types `kinds`, or of all types, of which the write has begun."""
        return [frame for _, frame in self.frames if not kinds or frame["type"] in kinds]

    async def until(self, kind: str, count: int = 1) -> dict[str, Any]:
        """Wait until `count` frames of the type `kind` have begun; return the last of them.

        Raises `AssertionError`, with the frames that came instead, after `PATIENCE` seconds: on virtual time a wait
        without an end would not sleep but spin.
        """
        with trio.move_on_after(PATIENCE):
            while len(self.sent(kind)) < count:
                self._grown = trio.Event()
                await self._grown.wait()
        came = self.sent(kind)
        assert len(came) >= count, f"{len(came)} of {count} {kind} came, in all {self.sent()}"
        return came[count - 1]


class Inbox:
    """Receives the messages of a wire one by one."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._came: list[str | bytes] = []

    async def receive(self) -> str | bytes:
        """Return the next message; raises `WireClosed` after the last one."""
        with trio.CancelScope() as scope:

            def take(message: str | bytes) -> None:
                self._came.append(message)
                scope.cancel()

            if not self._came:
                await self._wire.deliver_messages(take)
        return self._came.pop(0)
