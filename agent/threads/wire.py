"""A thread's wire (implements `agent.ports.wire.Wire`): it stores a session's frames, and tells them only then.

Deltas are told at once, or not at all without a listener: the session then puts a text as one delta. Every other frame
waits, in order, until its meaning is stored. All frames of one step of the session are stored together, so that an
answer is never stored without its suggestions. A frame without a stored meaning passes as soon as those before it have.

When something cannot be stored, nothing more is told: waiting tasks get the reason, and the session ends as if its
client had left.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import msgspec
import trio

from ..errors import AgentError, WireClosed
from ..ports.thread_service import Listener
from ..protocol.outbound import Outbound

Keep = Callable[[Sequence[Outbound]], Awaitable[None]]
Written = Callable[[], None]


class _WaitingFrame(msgspec.Struct, frozen=True):
    """A frame that waits. `turn` is the turn of a delta, 0 for any other frame."""

    data: bytes
    written: Written | None
    turn: int = 0


class ThreadWire:
    """The wire of one thread.

    `keep` stores the meaning of some frames; it raises `StorageFailed`, and `NotFound` for a deleted thread. `failed`
    gets that error, once.
    """

    def __init__(self, keep: Keep, failed: Callable[[AgentError], None], nursery: trio.Nursery) -> None:
        self.listener: Listener | None = None
        self._keep = keep
        self._failed = failed
        self._nursery = nursery
        self._waiting: deque[_WaitingFrame] = deque()
        self._turn = 0
        self._wants_room: Written | None = None  # of the open turn
        self._closed = trio.Event()
        self._news = trio.Event()
        self._quiet = trio.Event()  # nothing waits
        self._quiet.set()
        self._keeping = False
        self._passing = False
        self._broken = False

    # --- for the session

    speaker: Final = None  # over HTTP a client reads
    note_frame: Final = None

    @property
    def received_at(self) -> float:
        """The current time: a client over HTTP that is silent has not left."""
        return trio.current_time()

    @property
    def deltas(self) -> "ThreadWire":
        """The queue of the deltas of the open turn."""
        return self

    @property
    def room(self) -> int:
        """How many further deltas may wait: as many as the listener takes."""
        if self.listener is None:
            return 1
        return self.listener.room - sum(1 for each in self._waiting if each.turn)

    @property
    def has_listener(self) -> bool:
        """Whether a listener is set."""
        return self.listener is not None

    def call_when_room(self, callback: Written) -> None:
        """Call `callback` once there is room, unless its turn was purged before, or its listener has left."""
        turn = self._turn

        def go_on() -> None:
            if self._turn == turn:
                callback()

        self._wants_room = go_on
        self.flush()

    async def deliver_messages(self, take: Callable[[str | bytes], None]) -> None:
        """Wait until the wire is closed, then raise `WireClosed`: requests are posted to the session directly."""
        await self._closed.wait()
        raise WireClosed

    def start_task(self, run: Callable[..., Awaitable[object]], *args: Any) -> None:
        """Run a task that ends with the thread's session."""
        self._nursery.start_soon(run, *args)

    def make_frame(self, text: bytes) -> bytes:
        """Return a message unchanged."""
        return text

    def put_frames(self, frames: bytes, written: Written | None = None) -> None:
        """Queue a frame that `purge` does not remove."""
        self._queue(_WaitingFrame(frames, written))

    def put_delta(self, turn: int, data: bytes, written: Written | None = None) -> bool:
        """Queue a delta; return `False` if `turn` is not the open turn."""
        if turn != self._turn:
            return False
        self._queue(_WaitingFrame(data, written, turn))
        return True

    def send_delta(self, turn: int, data: bytes) -> bool:
        """Put a delta and flush; return what `put_delta` returns."""
        taken = self.put_delta(turn, data)
        self.flush()
        return taken

    def open_turn(self, turn: int) -> None:
        """Accept deltas of `turn`, and of no other, from now on."""
        self._turn = turn

    def purge_deltas(self) -> None:
        """Remove every delta that was not told, and accept no more until `open_turn`."""
        self._turn = 0
        self._wants_room = None
        self._waiting = deque(each for each in self._waiting if not each.turn)

    def flush(self) -> None:
        """Tell the deltas at the head of the queue, and wake `run` for the frames that must be stored."""
        if self._passing or self._keeping:
            return
        self._passing = True
        try:
            while self._waiting and self._waiting[0].turn:
                self._tell(self._waiting.popleft())
        finally:
            self._passing = False
        self._ask_for_room()
        if self._waiting:
            self._news.set()
        else:
            self._quiet.set()

    def close(self, code: int, reason: str) -> None:
        """Let the session end; waiting frames are still stored and told."""
        self._closed.set()

    def ping(self) -> None:
        """Do nothing: the task that streams to a client sends its own signs of life."""

    def abort(self) -> None:
        """Let the session end, and drop waiting frames."""
        self._broken = True
        self._waiting.clear()
        self._closed.set()
        self._quiet.set()

    # --- for the thread

    async def wait_until_stored(self) -> None:
        """Wait until no frame waits to be stored."""
        await self._quiet.wait()

    @property
    def is_quiet(self) -> bool:
        """Whether no frame waits to be stored."""
        return self._quiet.is_set()

    async def run(self) -> None:
        """Store frames and tell them then, until cancelled. Cancelled, a group that is being stored is stored whole."""
        while True:
            self._news = trio.Event()
            self.flush()
            if not self._waiting:
                await self._news.wait()
                continue
            group = self._next_group()
            self._keeping = True
            try:
                await self._keep([_decode_frame(each.data) for each in group])
            except AgentError as why:  # storage fails just now, or the thread is deleted
                self.abort()
                self._failed(why)
                return
            finally:
                self._keeping = False
            for each in group:
                self._tell(each)

    def _ask_for_room(self) -> None:
        """Pass the turn's wish for room to the listener once its deltas were told: until then they take up the room."""
        wants = self._wants_room
        if wants is not None and self.listener is not None and not any(each.turn for each in self._waiting):
            self._wants_room = None
            self.listener.call_when_room(wants)

    def _next_group(self) -> list[_WaitingFrame]:
        group = []
        while self._waiting and not self._waiting[0].turn:
            group.append(self._waiting.popleft())
        return group

    def _queue(self, waiting: _WaitingFrame) -> None:
        if not self._broken:
            self._quiet = trio.Event() if self._quiet.is_set() else self._quiet
            self._waiting.append(waiting)

    def _tell(self, waiting: _WaitingFrame) -> None:
        if self.listener is not None:
            self.listener.take_frame(waiting.data)
        if waiting.written is not None:
            waiting.written()


_DECODER: msgspec.json.Decoder[Outbound] = msgspec.json.Decoder(Outbound)


def _decode_frame(data: bytes) -> Outbound:
    return _DECODER.decode(data)
