"""A turn as events (text/event-stream): the wire's frames as they come, then the answer.

The frames are handed over by who runs the turn, who never waits; one task writes what waits. The pieces of a text are
asked for at the server's pace, so that what a cancel takes back was not said. The head of the answer is
written with the first frame, so that a request that fails before its turn begins is answered with its status. A reader
that is behind is waited for: nothing is said while EVENTS_WAITING wait; one that takes nothing for WRITE_TIMEOUT
seconds is left, and so is one behind whom EVENTS_MOST wait.
"""

from collections import deque
from collections.abc import Callable
from math import inf

import msgspec
import trio

from ...config import EVENTS_MOST, EVENTS_STILL_HERE, EVENTS_WAITING
from ...ports.desk import Told
from ...ports.observe import Observer
from ...protocol.completions import STILL_HERE
from ..answers import EVENTS, Answer, chunk, opening
from ..exchange import Exchange


class _Frame(msgspec.Struct):
    type: str


_type = msgspec.json.Decoder(_Frame)


class Events:
    """The events of one answer (implements `agent.ports.desk.Listener`).

    pace: returns the seconds between two pieces of a text at that moment, 0
    for none. give_up: ends the request; must not block.
    """

    def __init__(
        self,
        exchange: Exchange,
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
        self._told: Told | None = None
        self._begun = False
        self._left = False
        self._last: Answer | None = None
        self._more = trio.Event()

    @property
    def room(self) -> int:
        """How many further events it takes now."""
        room = max(0, EVENTS_WAITING - len(self._waiting))
        if self._pace() and room:
            return int(trio.current_time() >= self._next)
        return room

    def hear(self, frame: bytes) -> None:
        """Take a frame of the wire, JSON."""
        if self._left or len(self._waiting) >= EVENTS_MOST:
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

    def when_room(self, told: Told) -> None:
        """Call `told` once, when there is room: not before this has returned."""
        self._told = told
        self._more.set()

    def end(self, answer: Answer) -> None:
        """Say the answer, and nothing after it."""
        self._last = answer
        self._more.set()

    async def run(self) -> None:
        """Write what is said, to the end. Raises WireClosed when the client does not take it."""
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
        """Wait until there is something to do; return whether nothing was for a while."""
        asked_for = self._next if self._told is not None and len(self._waiting) < EVENTS_WAITING else inf
        with trio.move_on_after(EVENTS_STILL_HERE) as silent, trio.move_on_at(asked_for):
            await self._more.wait()
        self._more = trio.Event()
        return silent.cancelled_caught

    async def _write(self, data: bytes, last: Answer | None) -> None:
        framed = chunk(data) if self._chunked else data
        if not self._begun:
            self._begun = True
            coding = {"Transfer-Encoding": "chunked"} if self._chunked else {}
            more = dict(last.headers) if last is not None else {}
            framed = opening({**EVENTS, **coding, **more}) + framed
        if last is not None and self._chunked:
            framed += chunk(b"")
        await self._exchange.write(framed)

    def _leave(self) -> None:
        if not self._left:
            self._left = True
            self._observer.count("aborts")
            self._give_up()

    def _go_on(self) -> None:
        told = self._told
        if told is not None and self.room:
            self._told = None
            told()


def _event(name: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)
