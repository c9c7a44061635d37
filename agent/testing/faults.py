"""A byte pipe with ends that can be slow, cut or reset on purpose, without a task of its own.

Unlike `trio.testing.memory_stream_pair` it can hold a sender back (as a socket does when its peer reads nothing), hand
over bytes in pieces, and be fed, closed and reset from synchronous code.
"""

from typing import TypeVar

import trio

from ..config import MAX_FRAME


class _Half:
    """The bytes in one direction. `room`: how many bytes may wait before a sender is held back."""

    __slots__ = ("data", "eof", "gone", "grown", "room", "shrunk")

    def __init__(self, room: int) -> None:
        self.data = bytearray()
        self.room = room
        self.eof = False
        self.gone = False
        self.grown = trio.Event()
        self.shrunk = trio.Event()

    def wake(self) -> None:
        self.grown.set()
        self.shrunk.set()
        self.grown = trio.Event()
        self.shrunk = trio.Event()


class PipeEnd(trio.abc.HalfCloseableStream):
    """One end of a pipe: a stream, and the synchronous handles of a test."""

    def __init__(self, incoming: _Half, outgoing: _Half) -> None:
        self._in = incoming
        self._out = outgoing
        self._closed = False
        self._sending = False

    # --- a stream

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return up to `max_bytes` received bytes; `b""` at the end. Raises `BrokenResourceError` after a reset."""
        await trio.lowlevel.checkpoint()
        while True:
            if self._closed:
                raise trio.ClosedResourceError
            if self._in.gone:
                raise trio.BrokenResourceError
            if self._in.data:
                taken = bytes(self._in.data[: max_bytes or MAX_FRAME])
                del self._in.data[: len(taken)]
                self._in.wake()
                return taken
            if self._in.eof:
                return b""
            await self._in.grown.wait()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Hand over every byte of `data`, waiting for room. Cancelled, a part may have gone, as with a socket."""
        if self._sending:
            raise trio.BusyResourceError
        self._sending = True
        try:
            await trio.lowlevel.checkpoint()
            rest = bytes(data)
            while rest:
                if self._closed:
                    raise trio.ClosedResourceError
                if self._out.gone or self._out.eof:
                    raise trio.BrokenResourceError
                fits = self._out.room - len(self._out.data)
                if fits <= 0:
                    await self._out.shrunk.wait()
                    continue
                self._out.data += rest[:fits]
                rest = rest[fits:]
                self._out.wake()
        finally:
            self._sending = False

    def send_now(self, data: bytes) -> int:
        """Hand over as many bytes as there is room for, without waiting; return their number."""
        if self._closed:
            raise trio.ClosedResourceError
        if self._out.gone or self._out.eof:
            raise trio.BrokenResourceError
        fits = max(0, min(len(data), self._out.room - len(self._out.data)))
        if fits:
            self._out.data += data[:fits]
            self._out.wake()
        return fits

    async def wait_send_all_might_not_block(self) -> None:
        """Wait until there is room."""
        await trio.lowlevel.checkpoint()
        while self._out.room <= len(self._out.data) and not self._closed and not self._out.gone:
            await self._out.shrunk.wait()

    async def send_eof(self) -> None:
        """End the sending direction."""
        await trio.lowlevel.checkpoint()
        self.eof()

    async def aclose(self) -> None:
        """Close this end: the other reads the sent bytes and then the end."""
        self.close()
        await trio.lowlevel.checkpoint()

    # --- the same without waiting

    @property
    def is_closed(self) -> bool:
        """Whether this end was closed."""
        return self._closed

    def feed(self, data: bytes) -> None:
        """Send `data` at once, beyond `room` too."""
        self._out.data += data
        self._out.wake()

    def take(self, size: int | None = None) -> bytes:
        """Receive all waiting bytes, or at most `size` of them, at once."""
        taken = bytes(self._in.data[:size])
        del self._in.data[: len(taken)]
        self._in.wake()
        return taken

    def eof(self) -> None:
        """End the sending direction, as `send_eof` does."""
        self._out.eof = True
        self._out.wake()

    def close(self) -> None:
        """Close this end, as `aclose` does."""
        self._closed = True
        self._out.eof = True
        self._in.gone = True
        self._in.wake()
        self._out.wake()

    def reset(self) -> None:
        """Break the connection in both directions; waiting bytes are lost."""
        for half in (self._in, self._out):
            half.data.clear()
            half.gone = True
            half.wake()


End = TypeVar("End", bound=PipeEnd)


def pipe(room: int = 1 << 30) -> tuple[PipeEnd, PipeEnd]:
    """Return the two ends of a pipe that holds `room` bytes in each direction."""
    return pipe_to(PipeEnd, room)


def pipe_to(other: type[End], room: int = 1 << 30) -> tuple[PipeEnd, End]:
    """Return the two ends of a pipe, with the second of the class `other`."""
    there, back = _Half(room), _Half(room)
    return PipeEnd(there, back), other(back, there)
