"""A turn as events (text/event-stream): the wire's frames as they come, then the answer.

The turn hands its frames over without waiting; one task, `EventStream.run`, writes the queued ones. The pieces of a
text are asked for at the server's pace, so that a cancel can still take back the rest of the text. The head of the
answer is written with the first frame, so that a request that fails before its turn begins is answered with its status.
A slow reader is waited for: no piece is asked for while `EVENTS_WAITING` events are queued. A reader that takes nothing
for `WRITE_TIMEOUT` seconds is left, and so is one with `EVENTS_MOST` events queued.
"""

from collections import deque
from collections.abc import Callable
from math import inf

import msgspec
import trio

from ...ports.observe import Observer
from ...ports.thread_service import RoomCallback
from ...protocol.completion_answers import STILL_HERE
from ..http_exchange import HttpExchange
from ..responses import EVENTS, Answer, encode_chunk, render_head

EVENTS_WAITING = 64  # events that a reader of a stream may be behind ...
EVENTS_MOST = 4 * EVENTS_WAITING  # ... before its stream ends, for events of any kind
EVENTS_STILL_HERE = 15.0  # of silence, after which a comment says so


class _Frame(msgspec.Struct):
    type: str


_type = msgspec.json.Decoder(_Frame)


class EventStream:
    """The events of one answer (implements `agent.ports.thread_service.Listener`).

    `pace` returns the seconds between two pieces of a text at that moment, 0 for none. `give_up` ends the request; it
    must not block.
    """

    def __init__(
        self,
        exchange: HttpExchange,
        pace: Callable[[], float],
        observer: Observer,
        give_up: Callable[[], None],
    ) -> None:
        self._exchange = exchange
        self._chunked = exchange.head.version == b"1.1"
        self._pace = pace
        self._next = 0.0  # when the next piece of a text may be said
        self._observer = observer
        self._give_up = give_up
        self._waiting: deque[bytes] = deque()
        self._room_callback: RoomCallback | None = None
        self._begun = False
        self._abandoned = False
        self._last: Answer | None = None
        self._more = trio.Event()

    @property
    def room(self) -> int:
        """The number of further events that the turn may hand over now."""
        room = max(0, EVENTS_WAITING - len(self._waiting))
        if self._pace() and room:
            return int(trio.current_time() >= self._next)
        return room

    def take_frame(self, frame: bytes) -> None:
        """Queue a frame of the wire, which is JSON."""
        if self._abandoned or len(self._waiting) >= EVENTS_MOST:
            self._leave()
            return
        kind = _type.decode(frame).type
        if kind == "stream":
            now = trio.current_time()
            pace = self._pace()
            late = now - self._next >= pace
            self._next = (now if late else self._next) + pace
        self._waiting.append(_event(kind, frame))
        self._more.set()

    def call_when_room(self, callback: RoomCallback) -> None:
        """Call `callback` once when there is `room`, after this method has returned."""
        self._room_callback = callback
        self._more.set()

    def end(self, answer: Answer) -> None:
        """Queue the answer as the last event."""
        self._last = answer
        self._more.set()

    async def run(self) -> None:
        """Write the events, up to the answer. Raises `WireClosed` if the client does not take them."""
        while True:
            silent = await self._wait()
            last = self._last
            if last is not None and last.status >= 400 and not self._begun and not self._waiting:
                await self._exchange.answer(last)
                return
            pieces = [*self._waiting]
            if last is not None:
                pieces.append(_event("problem" if last.status >= 400 else "result", last.content))
            if pieces or silent:
                await self._write(b"".join(pieces) or STILL_HERE, last)
            for _ in range(len(pieces) - (last is not None)):
                self._waiting.popleft()
            if last is not None:
                return
            self._go_on()

    async def _wait(self) -> bool:
        """Wait for the next event or piece; return whether none came for `EVENTS_STILL_HERE` seconds."""
        asked_for = (
            self._next if self._room_callback is not None and len(self._waiting) < EVENTS_WAITING else inf
        )
        with trio.move_on_after(EVENTS_STILL_HERE) as silent, trio.move_on_at(asked_for):
            await self._more.wait()
        self._more = trio.Event()
        return silent.cancelled_caught

    async def _write(self, data: bytes, last: Answer | None) -> None:
        framed = encode_chunk(data) if self._chunked else data
        if not self._begun:
            self._begun = True
            coding = {"Transfer-Encoding": "chunked"} if self._chunked else {}
            more = dict(last.headers) if last is not None else {}
            framed = render_head({**EVENTS, **coding, **more}) + framed
        if last is not None and self._chunked:
            framed += encode_chunk(b"")
        await self._exchange.write(framed)

    def _leave(self) -> None:
        if not self._abandoned:
            self._abandoned = True
            self._observer.count("aborts")
            self._give_up()

    def _go_on(self) -> None:
        told = self._room_callback
        if told is not None and self.room:
            self._room_callback = None
            told()


def _event(name: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)
