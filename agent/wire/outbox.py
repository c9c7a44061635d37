"""What waits to be written to one client: a deque, not a channel, because a cancel must be able to purge it.

Everything that goes to the socket passes through here, in order: the library's handshake answer, pongs and close
frames (as it hands them to our stream), the session's control frames, and the deltas of a verified text. A delta
carries its turn's number; nothing else carries a stamp, and only deltas are ever removed.

Putting never blocks. Who wants to put deltas waits for `room`; who writes waits for `take`. One writer only.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import trio

from ..config import OUTBOX_BYTES, OUTBOX_DELTAS, OUTBOX_FRAMES


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole frames as bytes. `turn` is the turn a delta belongs to, 0 for everything else.

    `written` is called once, after the stream has taken the last byte.
    """

    data: bytes
    turn: int = 0
    written: Callable[[], None] | None = None


class Outbox:
    """The frames that wait for one client's socket.

    overflow: called once, with what was over its bound ("frames" or "bytes") and how many bytes waited, when more
    waits than is allowed. All of it is gone by then, and the last word may still be put: the owner closes.
    """

    __slots__ = ("_bytes", "_chunks", "_closed", "_deltas", "_overflow", "_room", "_turn", "_wake")

    def __init__(self, overflow: Callable[[str, int], None]) -> None:
        self._chunks: deque[Chunk] = deque()
        self._bytes = 0
        self._deltas = 0  # waiting deltas; they are all of the turn `_turn`
        self._turn = 0  # the turn whose deltas are accepted; 0 when none is
        self._closed = False
        self._overflow = overflow
        self._wake = trio.Event()
        self._room = trio.Event()

    def __len__(self) -> int:
        return len(self._chunks)

    @property
    def waiting_bytes(self) -> int:
        """How many bytes wait."""
        return self._bytes

    def open_turn(self, turn: int) -> None:
        """Accept deltas of `turn`, and of no other, from now on."""
        self._turn = turn

    def purge(self) -> None:
        """Remove every delta that waits, and accept no more until a turn is opened."""
        if self._deltas:
            self._bytes -= sum(len(chunk.data) for chunk in self._chunks if chunk.turn)
            self._chunks = deque(chunk for chunk in self._chunks if not chunk.turn)
            self._deltas = 0
        self._turn = 0
        self._room.set()

    def put(self, data: bytes, written: Callable[[], None] | None = None) -> None:
        """Queue whole frames that nothing removes. After `close` they are dropped."""
        if not self._closed:
            self._append(Chunk(data, 0, written))

    def put_delta(self, turn: int, data: bytes, written: Callable[[], None] | None = None) -> bool:
        """Queue a delta; False, and nothing queued, when its turn has ended (or the outbox is closed)."""
        if self._closed or turn != self._turn:
            return False
        self._deltas += 1
        self._append(Chunk(data, turn, written))
        return True

    async def room(self) -> None:
        """Wait until fewer than OUTBOX_DELTAS deltas wait. Always a checkpoint; cancelled, nothing happened."""
        await trio.lowlevel.checkpoint()
        while self._deltas >= OUTBOX_DELTAS:
            self._room = trio.Event()
            await self._room.wait()

    async def take(self) -> Chunk | None:
        """Wait for the next chunk and remove it; None when the outbox is closed and empty.

        Cancelled, nothing was removed.
        """
        while not self._chunks:
            if self._closed:
                return None
            self._wake = trio.Event()
            await self._wake.wait()
        chunk = self._chunks.popleft()
        self._bytes -= len(chunk.data)
        if chunk.turn:
            self._deltas -= 1
            self._room.set()
        return chunk

    def close(self) -> None:
        """Accept nothing more (a close frame was the last); what waits is still written."""
        self._closed = True
        self._turn = 0
        self._overflow = (
            _ignored  # lets go of the owner too, so that both are freed without a garbage collection
        )
        self._wake.set()
        self._room.set()

    def _append(self, chunk: Chunk) -> None:
        self._chunks.append(chunk)
        self._bytes += len(chunk.data)
        self._wake.set()
        over = "frames" if len(self._chunks) - self._deltas > OUTBOX_FRAMES else "bytes"
        if over == "frames" or self._bytes > OUTBOX_BYTES:
            waited, self._bytes = self._bytes, 0
            self._chunks.clear()
            self._deltas = self._turn = 0
            self._overflow(over, waited)
            self.close()


def _ignored(over: str, waited: int) -> None:
    """Nothing is put any more, so nothing can be too much."""
