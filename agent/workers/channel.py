"""Messages between supervisor and worker over a stream: four bytes of length, then MessagePack.

`send` never blocks and never raises: a task, `write`, does the writing. When the other process has not read
`WORKER_WAITING` bytes it is taken to hang, and the channel ends, as it does when the other end is closed or sends
malformed data. `receive` returns `None` for each of these ends, so one place in each process decides how to go on.
"""

from typing import Any, Generic, TypeVar

import msgspec
import structlog
import trio

WORKER_MESSAGE = 1024 * 1024  # of one message between supervisor and worker; figures take some 20 KiB
WORKER_WAITING = 4 * WORKER_MESSAGE  # of unread messages after which a process is taken to hang

_log = structlog.get_logger("agent.workers")
_LENGTH = 4
_READ = 64 * 1024
_ENCODER = msgspec.msgpack.Encoder()
Got = TypeVar("Got")


class Channel(Generic[Got]):
    """One end of a channel. `got` is the type of incoming messages.

    Run `write` beside it; the stream is closed when `write` has ended.
    """

    def __init__(self, stream: trio.abc.Stream, got: Any) -> None:
        self._stream = stream
        self._decoder: msgspec.msgpack.Decoder[Got] = msgspec.msgpack.Decoder(got)
        self._waiting = bytearray()
        self._received = bytearray()
        self._wanted = trio.Event()
        self._written = trio.Event()
        self._written.set()
        self._writing = trio.CancelScope()

    def send(self, message: msgspec.Struct) -> None:
        """Queue a message; a channel that has ended ignores it."""
        data = _ENCODER.encode(message)
        if len(data) > WORKER_MESSAGE or len(self._waiting) + len(data) > WORKER_WAITING:
            if not self._writing.cancel_called:
                _log.error("channel ended", why="the other process does not read", bytes=len(self._waiting))
            self._writing.cancel()
        if not self._writing.cancel_called:
            self._waiting += len(data).to_bytes(_LENGTH, "big") + data
            self._written = trio.Event() if self._written.is_set() else self._written
            self._wanted.set()

    async def receive(self) -> Got | None:
        """Return the next message, `None` when no more come. Cancelled, no message is lost."""
        while True:
            size = int.from_bytes(self._received[:_LENGTH], "big") if len(self._received) >= _LENGTH else None
            if size is not None and size > WORKER_MESSAGE:
                self._end_broken()
                return None
            if size is not None and len(self._received) >= _LENGTH + size:
                data = bytes(self._received[_LENGTH : _LENGTH + size])
                del self._received[: _LENGTH + size]
                try:
                    return self._decoder.decode(data)
                except msgspec.DecodeError:
                    self._end_broken()
                    return None
            try:
                received = await self._stream.receive_some(_READ)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return None
            if not received:
                return None
            self._received += received

    async def write(self) -> None:
        """Write queued messages until the other end closes or hangs, or until cancelled; then close the stream."""
        try:
            with self._writing:
                while True:
                    await self._wanted.wait()
                    self._wanted = trio.Event()
                    while self._waiting:
                        data, self._waiting = bytes(self._waiting), bytearray()
                        await self._stream.send_all(data)
                    self._written.set()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # `receive` finds out, too
        finally:
            self._writing.cancel()  # from now on `send` drops messages
            self._written.set()
            await trio.aclose_forcefully(self._stream)

    async def wait_written(self) -> None:
        """Wait until all that was sent is written, or never will be; the caller sets the deadline."""
        await self._written.wait()

    def _end_broken(self) -> None:
        _log.error("channel ended", why="what came is no message")
        self._writing.cancel()
