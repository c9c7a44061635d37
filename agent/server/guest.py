"""A client that was let in, as the server sees it: it must say something in time, and its address not too much.

Both are decided on whole messages, before the session reads them, and what a message is only a decoder can tell. So
what could be one is found by a look that has no false negatives (JSON can spell `message` only in letters or with a
backslash and a u), and only where one is over the limit is it decoded, to be answered here.
"""

from functools import partial
from math import inf

import trio

from ..config import CLOSE_TIMEOUT, FIRST_WORDS, FRAMES_PER_SECOND, TURNED_AWAY_BRIEFLY
from ..errors import BadFrame
from ..ports.observe import Observer
from ..ports.wire import Wire
from ..protocol.codec import decode, encode
from ..protocol.inbound import Message
from ..protocol.outbound import Error
from ..wire.bucket import Bucket
from .limits import Cap
from .places import Place
from .websocket import Connection

IDLE, GIVE_WAY, POLICY = 4408, 1013, 1008
_WAIT = "Too many messages from your address; wait a moment before you ask again."


class Guest:
    """One client in its place (implements `agent.server.hosts.Host`).

    address: whom it counts for; None is nobody in particular.
    """

    def __init__(self, cap: Cap, place: Place, address: str | None, observer: Observer) -> None:
        self.due = trio.current_time() + cap.idle_timeout if cap.idle_timeout else inf
        self._cap = cap
        self._place = place
        self._address = address
        self._observer = observer
        self._refused: Bucket | None = None
        self._leaves_at_leisure = False

    def sit_down(self, connection: Connection) -> None:
        """Let the client give way to others from now on, until it has sent a message."""

        give_way = partial(self._give_way, connection)
        self._cap.places.may_give_way(self._place, give_way, trio.current_time() + FIRST_WORDS)

    def get_up(self) -> None:
        """Give its place back: the connection has ended."""
        self._cap.places.leave(self._place)
        if self._leaves_at_leisure:
            self._cap.turned_away.release()

    def come_back_in(self) -> int:
        """Return in how many seconds this client should come back, when it is sent away."""
        return self._cap.come_back_in()

    def overdue(self, wire: Wire) -> None:
        """Close the connection: nothing was said in time."""
        self._end("idle", IDLE)
        wire.close(IDLE, f"no message in {self._cap.idle_timeout:g} s")

    def hear(self, wire: Wire, said: str | bytes) -> bool:
        """Take note of what the client said; False when it is answered here and the session need not know.

        What is refused is answered with `rate_limited`, and more than FRAMES_PER_SECOND of it close with 1008.
        """
        if not isinstance(said, str) or not ("message" in said or "\\u" in said):
            return True
        now = trio.current_time()
        if self._cap.messages.take(self._address, now):
            self.due = inf
            self._cap.places.keep(self._place)
            return True
        try:
            frame = decode(said)
        except BadFrame:
            return True
        if not isinstance(frame, Message):
            return True
        self._observer.count("limited", "messages")
        self._observer.count("errors", "rate_limited")
        refusal = Error(code="rate_limited", message=_WAIT, id=frame.id)
        wire.put(wire.frame(encode(refusal)))
        wire.flush()
        self._refused = self._refused or Bucket(FRAMES_PER_SECOND, FRAMES_PER_SECOND)
        if not self._refused.take(now):
            wire.close(POLICY, "too many messages per second")
        return False

    def _give_way(self, connection: Connection) -> None:
        self._end("silent", GIVE_WAY)
        self._leaves_at_leisure = self._cap.turned_away.acquire()
        linger = CLOSE_TIMEOUT if self._leaves_at_leisure else TURNED_AWAY_BRIEFLY
        connection.close(GIVE_WAY, "others are waiting and nothing was said here", linger)

    def _end(self, limit: str, code: int) -> None:
        self._observer.count("limited", limit)
        self._observer.count("rejections", str(code))
