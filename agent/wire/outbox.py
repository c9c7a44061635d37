"""What waits to be written to one client, and the only writer of it.

Everything that goes to the socket passes through here, in order: the answer to the upgrade, the library's pongs and
close frames (as it hands them to our stream), the session's control frames, and the deltas of a verified text. A delta
carries its turn's number; nothing else carries a stamp, and only deltas are ever removed. It is a queue of our own, not
a channel, because a cancel must be able to purge it.

Putting never blocks and writes nothing; `flush` writes what the stream takes at once, in one call for all that waits,
and never blocks either. So between two steps of the loop nothing waits unless the socket is full. Then, and only then,
a task waits for the socket: whole frames, in order, each begun one with a deadline that no progress extends, so that a
client that takes a byte a second is not kept. A frame that was begun cannot be taken back, nor can anything overtake
it: what is left of it stays first, as something that nothing removes.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
import trio

from ..config import JOINED_BYTES, OUTBOX_BYTES, OUTBOX_DELTAS, OUTBOX_FRAMES, WRITE_TIMEOUT
from ..errors import WireClosed
from .eager import eager_write

Told = Callable[[], None]


class Chunk(msgspec.Struct, frozen=True):
    """Whole frames as bytes, or what is left of one. `turn` is the turn a delta belongs to, 0 for everything else.

    `written` is called once, after the stream has taken the last byte.
    """

    data: bytes
    turn: int = 0
    written: Told | None = None


class Outbox:
    """The frames that wait for one client's socket, and what writes them.

    stream: whose `send_all` waits; a socket, and what has a `send_now`, is mostly written to without waiting.
    overflow: called once, with what was over its bound ("frames" or "bytes") and how many bytes waited, when more
    waits than is allowed. All of it is gone by then but a frame that was begun, and the last word may still be put.
    lost: called once when nothing more can be written: the client is gone (False), or stalls (True).
    room: how many further deltas may wait.
    """

    heard: Final = True  # by its client

    __slots__ = (
        "_begun",
        "_bytes",
        "_chunks",
        "_closed",
        "_empty",
        "_lost",
        "_overflow",
        "_room",
        "_start",
        "_stream",
        "_stuck",
        "_turn",
        "_write",
        "_writing",
        "room",
    )

    def __init__(
        self,
        stream: trio.abc.SendStream,
        overflow: Callable[[str, int], None],
        lost: Callable[[bool], None],
    ) -> None:
        # The waiting deltas, none of them begun, are all of the turn `_turn`.
        self.room = OUTBOX_DELTAS
        self._chunks: list[Chunk] = []
        self._bytes = 0
        self._turn = 0  # the turn whose deltas are accepted; 0 when none is
        self._begun = False  # the first chunk is what is left of a frame
        self._closed = False
        self._writing = False  # `flush` is under way, and what it calls has put more
        self._stuck = False  # a task waits for the stream
        self._stream = stream
        self._write = eager_write(stream)
        self._overflow = overflow
        self._lost = lost
        self._start: Callable[[Callable[[], Awaitable[None]]], object] | None = None
        self._room: Told | None = None
        self._empty: trio.Event | None = None

    def __len__(self) -> int:
        return len(self._chunks)

    @property
    def waiting_bytes(self) -> int:
        """How many bytes wait."""
        return self._bytes

    @property
    def torn(self) -> bool:
        """Whether a frame was begun and not finished: nothing but its rest may follow."""
        return self._begun

    def open(self, start: Callable[[Callable[[], Awaitable[None]]], object]) -> None:
        """Begin to write. start: starts the task that waits for the stream, where one is needed."""
        self._start = start
        self.flush()

    def open_turn(self, turn: int) -> None:
        """Accept deltas of `turn`, and of no other, from now on."""
        self._turn = turn

    def purge(self) -> None:
        """Remove every delta that was not begun, and accept no more until a turn is opened."""
        if self.room < OUTBOX_DELTAS:
            self._bytes -= sum(len(chunk.data) for chunk in self._chunks if chunk.turn)
            self._chunks = [chunk for chunk in self._chunks if not chunk.turn]
            self.room = OUTBOX_DELTAS
        self._turn = 0
        self._room = None

    def put(self, data: bytes, written: Told | None = None) -> None:
        """Queue whole frames that nothing removes. After `close` they are dropped."""
        if not self._closed:
            self._append(Chunk(data, 0, written))

    def put_delta(self, turn: int, data: bytes, written: Told | None = None) -> bool:
        """Queue a delta; False, and nothing queued, when its turn has ended (or the outbox is closed)."""
        if self._closed or turn != self._turn:
            return False
        self.room -= 1
        self._append(Chunk(data, turn, written))
        return True

    def when_room(self, told: Told) -> None:
        """Call `told` once, when deltas have left; never after the turn was purged."""
        self._room = told

    def close(self, last: bytes = b"") -> None:
        """Accept nothing more than `last`, a close frame, for which there is always room; what waits is still written.

        A second time nothing is accepted.
        """
        if last and not self._closed:
            self._chunks.append(Chunk(last))
            self._bytes += len(last)
        self._closed = True

    def drop(self) -> None:
        """Accept nothing more and write nothing more: the connection is gone. Idempotent."""
        self.close()
        self._chunks.clear()
        self._bytes, self.room = 0, OUTBOX_DELTAS
        self._lost = _ignored_loss
        if self._empty is not None:
            self._empty.set()

    def flush(self) -> None:
        """Write what the stream takes at once; what is left is written as soon as it takes more. Never blocks.

        `written` of each frame that was taken whole is called in here; what that puts is written too.
        """
        if self._writing or self._stuck or self._start is None:
            return
        self._writing = True
        try:
            while self._chunks:
                if self._write is not None and self._write_some() and not self._begun:
                    continue
                if self._chunks:
                    self._stuck = True
                    self._start(self._write_the_rest)
                    return
        finally:
            self._writing = False

    async def emptied(self) -> None:
        """Wait until nothing waits, or nothing can be written any more; the caller sets the deadline."""
        await trio.lowlevel.checkpoint()
        if self._chunks:
            self._empty = trio.Event()
            await self._empty.wait()

    def _write_some(self) -> bool:
        """Offer the stream what waits, once; return whether a frame ended with what it took."""
        assert self._write is not None
        chunks = self._chunks
        try:
            taken = self._write(self._stream, chunks[0].data if len(chunks) == 1 else self._joined())
        except WireClosed:
            self._give_up(False)
            return False
        return self._took(taken)

    async def _write_the_rest(self) -> None:
        """Write as the stream takes it, until nothing waits. Cancelled, half a frame may have been written."""
        due = trio.current_time() + WRITE_TIMEOUT
        try:
            while self._chunks:
                with trio.move_on_at(due) as late:
                    if await self._write_waiting():
                        due = trio.current_time() + WRITE_TIMEOUT
                if late.cancelled_caught:
                    self._give_up(True)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._give_up(False)
        finally:
            self._stuck = False

    async def _write_waiting(self) -> bool:
        """Wait until the stream takes something; return whether a frame ended with that."""
        if self._write is not None:
            await self._stream.wait_send_all_might_not_block()
            return self._write_some()
        first = self._chunks[0]
        self._begin(first.data, first)
        await self._stream.send_all(first.data)
        return self._took(len(first.data))

    def _joined(self) -> bytes:
        """Return what one write offers of several."""
        offered, size = [], 0
        for chunk in self._chunks:
            offered.append(chunk.data)
            size += len(chunk.data)
            if size > JOINED_BYTES:
                break
        return b"".join(offered)

    def _took(self, taken: int) -> bool:
        """Take note of so many bytes that the stream took; return whether a frame ended with them."""
        if taken == self._bytes:
            gone, self._chunks = self._chunks, []
            self._bytes = 0
            self.room = OUTBOX_DELTAS
            self._begun = False
        else:
            gone = self._gone(taken)
        for chunk in gone:
            if chunk.written is not None:
                chunk.written()
        if self._room is not None and self.room > 0:
            told, self._room = self._room, None
            told()
        if self._empty is not None and not self._chunks:
            self._empty.set()
        return bool(gone)

    def _gone(self, taken: int) -> list[Chunk]:
        """Let go of the first bytes of what waits; return the frames that ended with them."""
        if not self._chunks:  # dropped meanwhile
            return []
        self._bytes -= taken
        whole = 0
        for chunk in self._chunks:
            if len(chunk.data) > taken:
                break
            taken -= len(chunk.data)
            whole += 1
            self.room += chunk.turn > 0
        gone, self._chunks = self._chunks[:whole], self._chunks[whole:]
        if whole:
            self._begun = False
        if taken:
            self._begin(self._chunks[0].data[taken:], self._chunks[0])
        return gone

    def _begin(self, rest: bytes, chunk: Chunk) -> None:
        """Take note that the first chunk is begun: what is left of it is no delta any more."""
        self.room += chunk.turn > 0
        self._chunks[0] = Chunk(rest, 0, chunk.written)
        self._begun = True

    def _give_up(self, stalled: bool) -> None:
        lost = self._lost
        self.drop()
        lost(stalled)

    def _append(self, chunk: Chunk) -> None:
        self._chunks.append(chunk)
        self._bytes += len(chunk.data)
        if self._bytes > OUTBOX_BYTES or len(self._chunks) > OUTBOX_FRAMES:
            self._bound()

    def _bound(self) -> None:
        """Let nothing wait that is over the bounds but a frame that was begun, which counts as if it had left."""
        begun = len(self._chunks[0].data) if self._begun else 0
        waiting = self._bytes - begun
        deltas = OUTBOX_DELTAS - self.room
        over = "frames" if len(self._chunks) - self._begun - deltas > OUTBOX_FRAMES else "bytes"
        if over == "frames" or waiting > OUTBOX_BYTES:
            del self._chunks[self._begun :]
            self._bytes, self.room = begun, OUTBOX_DELTAS
            self._turn = 0
            self._overflow(over, waiting)
            self.close()


def _ignored_loss(stalled: bool) -> None:
    """Nothing is written any more, so nothing can fail."""
