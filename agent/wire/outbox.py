"""The queue of frames for one client, and their only writer.

Everything that goes to the socket passes through here, in order: the answer to the upgrade, the library's pongs and
close frames (as the library hands them to our stream), the session's control frames, and the deltas of a verified text.
A delta carries its turn's number; other frames carry none, and only deltas are ever removed. The queue is our own, not
a channel, because a cancel must be able to purge it.

Audio of a speech travels in the same queue, with a bound of its own and a negative number, so that it takes no room of
the deltas. It can be removed alone, for a pause, and goes with the deltas at a cancel. Its frames are counted by a look
at the queue, which costs a connection without voice nothing.

`put` never blocks and writes nothing. `flush` writes as much as the stream takes at once, in one call for all waiting
frames, and never blocks either. So between two steps of the loop no frame waits unless the socket is full. Then, and
only then, a task waits for the socket: whole frames, in order, each begun frame with a deadline that no progress
extends, so that a client that takes a byte a second is dropped. A begun frame cannot be taken back or overtaken: its
rest stays first in the queue, as a chunk that no cancel removes.

The attempt to write at once pays, since a socket's kernel takes nearly every frame at once: it costs one system call,
a task that waits for the socket ten times that, and a deadline of its own as much again.
"""

import os
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import msgspec
import trio

from ..config import OUTBOX_DELTAS, WRITE_TIMEOUT
from ..errors import WireClosed


@runtime_checkable
class EagerStream(Protocol):
    """A stream that can take bytes at once; a socket in memory is one."""

    def send_now(self, data: bytes) -> int:
        """Take as many bytes of `data` as fit, and return how many; raises `trio.BrokenResourceError`."""
        ...


EagerWrite: TypeAlias = Callable[[Any, bytes], int]


def find_eager_write(stream: trio.abc.SendStream) -> EagerWrite | None:
    """Return the function that writes bytes to `stream` at once and returns how many it took.

    Return `None` for a stream that can only be written to by waiting. The function raises `agent.errors.WireClosed`
    when the other end is gone, or when the stream was closed here.
    """
    if isinstance(stream, trio.SocketStream):
        return _write_to_socket
    return _write_to_stream if isinstance(stream, EagerStream) else None


def _write_to_socket(stream: trio.SocketStream, data: bytes) -> int:
    try:
        return os.write(stream.socket.fileno(), data)  # asked for each time: a closed socket has none
    except (BlockingIOError, InterruptedError):
        return 0
    except OSError:
        raise WireClosed from None


def _write_to_stream(stream: EagerStream, data: bytes) -> int:
    try:
        return stream.send_now(data)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        raise WireClosed from None


OUTBOX_FRAMES = 256  # control frames, waiting
OUTBOX_BYTES = 1024 * 1024
OUTBOX_AUDIO = 16  # frames of audio, waiting: twice those that are sent ahead of the ear
JOINED_BYTES = 64 * 1024  # of waiting frames that one write offers to the socket; one frame may be larger

WrittenCallback = Callable[[], None]


class OutboxChunk(msgspec.Struct, frozen=True):
    """Whole frames as bytes, or the rest of one.

    `turn`: the number of a delta's turn, less than 0 for audio, 0 for all other frames. `written`: called once, after
    the stream has taken the last byte.
    """

    data: bytes
    turn: int = 0
    written: WrittenCallback | None = None


class Outbox:
    """The frames that wait for one client's socket, and their writer.

    `stream`: written to without waiting where possible (a socket, or an `EagerStream`), else by `send_all`.
    `overflow`: called once when more waits than the bounds allow, with the bound that was exceeded ("frames" or
    "bytes") and the number of waiting bytes. By then all frames but a begun one are dropped, and a close frame may
    still be put. `lost`: called once when nothing more can be written: the client is gone (`False`), or stalls
    (`True`). `room`: the number of further deltas that may wait.
    """

    has_listener: Final = True  # the client receives each delta

    __slots__ = (
        "_begun",
        "_bytes",
        "_chunks",
        "_closed",
        "_empty",
        "_lost",
        "_overflow",
        "_room",
        "_speech",
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
        self._chunks: list[OutboxChunk] = []
        self._bytes = 0
        self._turn = 0  # the turn whose deltas are accepted; 0 when none is
        self._speech = 0  # the speech whose audio is accepted; 0 when none is
        self._begun = False  # the first chunk is the rest of a frame
        self._closed = False
        self._writing = False  # `flush` is under way; a `written` callback in it may put more
        self._stuck = False  # a task waits for the stream
        self._stream = stream
        self._write = find_eager_write(stream)
        self._overflow = overflow
        self._lost = lost
        self._start: Callable[[Callable[[], Awaitable[None]]], object] | None = None
        self._room: WrittenCallback | None = None
        self._empty: trio.Event | None = None

    def __len__(self) -> int:
        return len(self._chunks)

    @property
    def torn(self) -> bool:
        """Whether a frame is begun and unfinished: nothing but its rest may follow."""
        return self._begun

    def open(self, start: Callable[[Callable[[], Awaitable[None]]], object]) -> None:
        """Begin to write. `start`: starts the task that waits for the stream, when one is needed."""
        self._start = start
        self.flush()

    def open_turn(self, turn: int) -> None:
        """Accept deltas of `turn`, and of no other, from now on."""
        self._turn = turn

    def purge(self) -> None:
        """Remove all deltas and audio that are not begun, and accept no more until a turn or a speech is opened."""
        if self.room < OUTBOX_DELTAS or self._speech:
            self._bytes -= sum(len(chunk.data) for chunk in self._chunks if chunk.turn)
            self._chunks = [chunk for chunk in self._chunks if not chunk.turn]
            self.room = OUTBOX_DELTAS
        self._turn = 0
        self._speech = 0
        self._room = None

    @property
    def audio(self) -> int:
        """The number of audio frames that wait, none of them begun."""
        return sum(chunk.turn < 0 for chunk in self._chunks)

    def open_speech(self, speech: int) -> None:
        """Accept audio of `speech`, a number from 1, and of no other, from now on."""
        self._speech = speech

    def purge_audio(self) -> int:
        """Remove all audio that is not begun; return the number of its frames. More is accepted."""
        removed = [chunk for chunk in self._chunks if chunk.turn < 0]
        if removed:
            self._bytes -= sum(len(chunk.data) for chunk in removed)
            self._chunks = [chunk for chunk in self._chunks if chunk.turn >= 0]
        return len(removed)

    def put(self, data: bytes, written: WrittenCallback | None = None) -> None:
        """Queue whole frames that no cancel removes. After `close` they are dropped."""
        if not self._closed:
            self._append(OutboxChunk(data, 0, written))

    def put_delta(self, turn: int, data: bytes, written: WrittenCallback | None = None) -> bool:
        """Queue a delta; return `False` and queue nothing when its turn has ended or the outbox is closed."""
        if self._closed or turn != self._turn:
            return False
        self.room -= 1
        self._append(OutboxChunk(data, turn, written))
        return True

    def send_delta(self, turn: int, data: bytes) -> bool:
        """Put a delta and flush; return what `put_delta` returns. Where nothing waits, it never enters the queue."""
        write = self._write
        waits = self._chunks or self._stuck or self._writing or self._start is None or self._closed
        if waits or write is None or turn != self._turn:
            taken = self.put_delta(turn, data)
            self.flush()
            return taken
        try:
            written = write(self._stream, data)
        except WireClosed:
            self._give_up(False)
            return True
        if written != len(data):
            self.put_delta(turn, data)
            if written:
                self._note_written(written)
            self.flush()
        return True

    def put_audio(self, speech: int, data: bytes, written: WrittenCallback | None = None) -> bool:
        """Queue a frame of audio; return `False` and queue nothing when its speech is not open, or too much waits."""
        if self._closed or not 0 < speech == self._speech or self.audio >= OUTBOX_AUDIO:
            return False
        self._append(OutboxChunk(data, -speech, written))
        return True

    def call_when_room(self, callback: WrittenCallback) -> None:
        """Call `callback` once when deltas have left; never after the turn was purged."""
        self._room = callback

    def close(self, last: bytes = b"") -> None:
        """Accept `last`, a close frame, beyond the bounds too, and nothing after it; waiting frames are still written.

        A second call accepts nothing.
        """
        if last and not self._closed:
            self._chunks.append(OutboxChunk(last))
            self._bytes += len(last)
        self._closed = True

    def drop(self) -> None:
        """Accept and write nothing more: the connection is gone. Idempotent."""
        self.close()
        self._chunks.clear()
        self._bytes, self.room = 0, OUTBOX_DELTAS
        self._lost = _ignore_loss
        if self._empty is not None:
            self._empty.set()

    def flush(self) -> None:
        """Write as much as the stream takes at once, and the rest as soon as it takes more. Never blocks.

        `written` of each frame that was taken whole is called in here; frames that it puts are written too.
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

    async def wait_empty(self) -> None:
        """Wait until the queue is empty, or nothing can be written any more; the caller sets the deadline."""
        await trio.lowlevel.checkpoint()
        if self._chunks:
            self._empty = trio.Event()
            await self._empty.wait()

    def _write_some(self) -> bool:
        """Offer the waiting frames to the stream once; return whether a frame was finished."""
        assert self._write is not None
        chunks = self._chunks
        try:
            written = self._write(self._stream, chunks[0].data if len(chunks) == 1 else self._join_chunks())
        except WireClosed:
            self._give_up(False)
            return False
        return self._note_written(written)

    async def _write_the_rest(self) -> None:
        """Write until the queue is empty, waiting for the stream. Cancelled, half a frame may have been written."""
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
        """Wait until the stream takes some bytes; return whether a frame was finished."""
        if self._write is not None:
            await self._stream.wait_send_all_might_not_block()
            return self._write_some()
        first = self._chunks[0]
        self._mark_begun(first.data, first)
        await self._stream.send_all(first.data)
        return self._note_written(len(first.data))

    def _join_chunks(self) -> bytes:
        """Return the bytes of the first chunks, up to just over `JOINED_BYTES`, for one write."""
        offered, size = [], 0
        for chunk in self._chunks:
            offered.append(chunk.data)
            size += len(chunk.data)
            if size > JOINED_BYTES:
                break
        return b"".join(offered)

    def _note_written(self, written: int) -> bool:
        """Account for `written` bytes that the stream took; return whether a frame was finished."""
        if written == self._bytes:
            finished, self._chunks = self._chunks, []
            self._bytes = 0
            self.room = OUTBOX_DELTAS
            self._begun = False
        else:
            finished = self._remove_written(written)
        for chunk in finished:
            if chunk.written is not None:
                chunk.written()
        if self._room is not None and self.room > 0:
            callback, self._room = self._room, None
            callback()
        if self._empty is not None and not self._chunks:
            self._empty.set()
        return bool(finished)

    def _remove_written(self, written: int) -> list[OutboxChunk]:
        """Remove the first `written` bytes of the queue; return the chunks that were finished."""
        if not self._chunks:  # dropped meanwhile
            return []
        self._bytes -= written
        count = 0
        for chunk in self._chunks:
            if len(chunk.data) > written:
                break
            written -= len(chunk.data)
            count += 1
            self.room += chunk.turn > 0
        finished, self._chunks = self._chunks[:count], self._chunks[count:]
        if count:
            self._begun = False
        if written:
            self._mark_begun(self._chunks[0].data[written:], self._chunks[0])
        return finished

    def _mark_begun(self, rest: bytes, chunk: OutboxChunk) -> None:
        """Mark the first chunk as begun: its `rest` is no delta any more."""
        self.room += chunk.turn > 0
        self._chunks[0] = OutboxChunk(rest, 0, chunk.written)
        self._begun = True

    def _give_up(self, stalled: bool) -> None:
        lost = self._lost
        self.drop()
        lost(stalled)

    def _append(self, chunk: OutboxChunk) -> None:
        self._chunks.append(chunk)
        self._bytes += len(chunk.data)
        if self._bytes > OUTBOX_BYTES or len(self._chunks) > OUTBOX_FRAMES:
            self._enforce_bounds()

    def _enforce_bounds(self) -> None:
        """Drop all waiting frames when they exceed the bounds, except a begun frame, which counts as if it had left."""
        begun = len(self._chunks[0].data) if self._begun else 0
        audio = [len(chunk.data) for chunk in self._chunks if chunk.turn < 0]
        waiting = self._bytes - begun - sum(audio)
        unbound = OUTBOX_DELTAS - self.room + len(audio)
        over = "frames" if len(self._chunks) - self._begun - unbound > OUTBOX_FRAMES else "bytes"
        if over == "frames" or waiting > OUTBOX_BYTES:
            del self._chunks[self._begun :]
            self._bytes, self.room = begun, OUTBOX_DELTAS
            self._turn = 0
            self._speech = 0
            self._overflow(over, waiting)
            self.close()


def _ignore_loss(stalled: bool) -> None:
    """Ignore a loss after `drop`: nothing is written any more, so nothing can fail."""
