"""A thread's wire (implements `agent.ports.wire.Wire`): what a session says is kept, and only then told.

Deltas are told at once, or not at all when nobody listens: a text is then put as one of them. Every other frame waits,
in order, until what it says is kept: all that one step of the session has put is kept together, in one go, so that an
answer is never kept without what it suggests. A frame that says nothing to keep passes as soon as those before it have.

When something cannot be kept, nothing more is told: whoever waits is told why, and the session ends as if its client
had left.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
import trio

from ..errors import AgentError, WireClosed
from ..ports.desk import Listener
from ..protocol.outbound import Outbound

Keep = Callable[[Sequence[Outbound]], Awaitable[None]]
Written = Callable[[], None]


class _Waiting(msgspec.Struct, frozen=True):
    """A frame that waits. turn: whose delta it is, 0 for any other."""

    data: bytes
    written: Written | None
    turn: int = 0


class ThreadWire:
    """One thread's wire.

    keep: keeps what some frames say; raises StorageFailed, and NotFound for a thread that is gone. failed: is told why,
    once.
    """

    def __init__(self, keep: Keep, failed: Callable[[AgentError], None], nursery: trio.Nursery) -> None:
        self.listener: Listener | None = None
        self._keep = keep
        self._failed = failed
        self._nursery = nursery
        self._waiting: deque[_Waiting] = deque()
        self._turn = 0
        self._wants_room: Written | None = None  # of the open turn
        self._closed = trio.Event()
        self._news = trio.Event()
        self._quiet = trio.Event()  # nothing waits
        self._quiet.set()
        self._keeping = False
        self._passing = False
        self._broken = False

    # --- what a session needs

    @property
    def heard_at(self) -> float:
        """Now: who is silent over HTTP has not left."""
        return trio.current_time()

    @property
    def deltas(self) -> "ThreadWire":
        """What takes the deltas of the open turn."""
        return self

    @property
    def room(self) -> int:
        """How many further deltas may wait: as many as the listener takes."""
        if self.listener is None:
            return 1
        return self.listener.room - sum(1 for each in self._waiting if each.turn)

    @property
    def heard(self) -> bool:
        """Whether somebody listens."""
        return self.listener is not None

    def when_room(self, told: Written) -> None:
        """Call `told` once there is room, unless the turn was purged meanwhile, or nobody listens any more."""
        turn = self._turn

        def go_on() -> None:
            if self._turn == turn:
                told()

        self._wants_room = go_on
        self.flush()

    async def deliver(self, take: Callable[[str | bytes], None]) -> None:
        """Wait until the wire is closed; what a caller asks for is posted to the session itself. Raises WireClosed."""
        await self._closed.wait()
        raise WireClosed

    def start(self, run: Callable[..., Awaitable[object]], *args: Any) -> None:
        """Run a task that ends with the thread's session."""
        self._nursery.start_soon(run, *args)

    def frame(self, text: bytes) -> bytes:
        """Return a message as it is."""
        return text

    def put(self, frames: bytes, written: Written | None = None) -> None:
        """Queue a frame that nothing removes."""
        self._queue(_Waiting(frames, written))

    def put_delta(self, turn: int, data: bytes, written: Written | None = None) -> bool:
        """Queue a delta of the open turn; False where that is not it."""
        if turn != self._turn:
            return False
        self._queue(_Waiting(data, written, turn))
        return True

    def open_turn(self, turn: int) -> None:
        """Accept deltas of `turn`, and of no other, from now on."""
        self._turn = turn

    def purge(self) -> None:
        """Remove every delta that was not told, and accept no more until a turn is opened."""
        self._turn = 0
        self._wants_room = None
        self._waiting = deque(each for each in self._waiting if not each.turn)

    def flush(self) -> None:
        """Tell what need not be kept, as far as nothing before it must be; wake who keeps the rest."""
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
        """Let the session end; what waits is still kept and told."""
        self._closed.set()

    def ping(self) -> None:
        """Do nothing: whoever streams to a client says that the server is still there."""

    def abort(self) -> None:
        """Let the session end, and drop what waits."""
        self._broken = True
        self._waiting.clear()
        self._closed.set()
        self._quiet.set()

    # --- what a thread needs

    async def settled(self) -> None:
        """Wait until nothing waits to be kept."""
        await self._quiet.wait()

    @property
    def quiet(self) -> bool:
        """Whether nothing waits to be kept."""
        return self._quiet.is_set()

    async def run(self) -> None:
        """Keep what is to be kept, and tell it then, until cancelled. Cancelled, what was being kept is kept whole."""
        while True:
            self._news = trio.Event()
            self.flush()
            if not self._waiting:
                await self._news.wait()
                continue
            group = self._next_group()
            self._keeping = True
            try:
                await self._keep([_decoded(each.data) for each in group])
            except AgentError as why:  # nothing can be kept just now, or the thread is gone
                self.abort()
                self._failed(why)
                return
            finally:
                self._keeping = False
            for each in group:
                self._tell(each)

    def _ask_for_room(self) -> None:
        """Have a turn told of room, once what it has put was told: until then that takes up the room."""
        wants = self._wants_room
        if wants is not None and self.listener is not None and not any(each.turn for each in self._waiting):
            self._wants_room = None
            self.listener.when_room(wants)

    def _next_group(self) -> list[_Waiting]:
        group = []
        while self._waiting and not self._waiting[0].turn:
            group.append(self._waiting.popleft())
        return group

    def _queue(self, waiting: _Waiting) -> None:
        if not self._broken:
            self._quiet = trio.Event() if self._quiet.is_set() else self._quiet
            self._waiting.append(waiting)

    def _tell(self, waiting: _Waiting) -> None:
        if self.listener is not None:
            self.listener.hear(waiting.data)
        if waiting.written is not None:
            waiting.written()


_DECODER: msgspec.json.Decoder[Outbound] = msgspec.json.Decoder(Outbound)


def _decoded(data: bytes) -> Outbound:
    return _DECODER.decode(data)
