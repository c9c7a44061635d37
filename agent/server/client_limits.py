"""A client in its place: it must send a message in time, and its address must not send too many.

Both rules count the frames that ask (`message`, of most kinds of connections), before the session reads them, and only
a decoder can tell such a frame for certain. So a search without false negatives finds the candidates (JSON can spell a
type only in letters or with a backslash and a u). Only a candidate over the limit is decoded, and answered here.
"""

from functools import partial
from math import inf

import trio

from ..config import CLOSE_TIMEOUT, FRAMES_PER_SECOND
from ..errors import BadFrame
from ..ports.observe import Observer
from ..ports.wire import Wire
from ..protocol.codec import decode, encode
from ..protocol.kinds import CONVERSATION, ConnectionKind
from ..protocol.outbound import Error
from ..wire.bucket import Bucket
from .capacity import Place
from .limits import ConnectionLimits
from .settings import FIRST_WORDS, TURNED_AWAY_BRIEFLY
from .websocket import Connection

IDLE, GIVE_WAY, POLICY = 4408, 1013, 1008
_WAIT = "Too many messages from your address; wait a moment before you ask again."


class ClientLimits:
    """One client in its `place` (implements `agent.server.client_policy.ClientPolicy`).

    `address`: the address that the client counts for; None for a client behind trusted proxies only. `kind`: of its
    connection; the frames of its type `asks` count. `due`: the deadline of its first message on the loop's clock;
    `inf` once it has sent one.
    """

    def __init__(
        self,
        limits: ConnectionLimits,
        place: Place,
        address: str | None,
        observer: Observer,
        kind: ConnectionKind = CONVERSATION,
    ) -> None:
        self.due = trio.current_time() + limits.idle_timeout if limits.idle_timeout else inf
        self._limits = limits
        self._place = place
        self._address = address
        self._observer = observer
        self._kind = kind
        self._refused: Bucket | None = None
        self._has_refusal_slot = False

    def start_giving_way(self, connection: Connection) -> None:
        """Let the client give way to newcomers after `FIRST_WORDS` seconds, until it has sent a message."""

        give_way = partial(self._give_way, connection)
        self._limits.places.may_give_way(self._place, give_way, trio.current_time() + FIRST_WORDS)

    def release(self) -> None:
        """Give the place back after the connection has ended."""
        self._limits.places.leave(self._place)
        if self._has_refusal_slot:
            self._limits.refusals.release()

    def pick_reconnect_delay(self) -> int:
        """Return the seconds after which this client should reconnect when it is sent away."""
        return self._limits.pick_reconnect_delay()

    async def wait_to_leave(self) -> None:
        """Wait until the connection may end, after those of the clients that left before."""
        async with self._limits.departures:
            await trio.lowlevel.checkpoint()

    def close_idle(self, wire: Wire) -> None:
        """Close the connection with 4408: its first message did not come within `idle_timeout`."""
        self._end("idle", IDLE)
        wire.close(IDLE, f"no message in {self._limits.idle_timeout:g} s")

    def admit_message(self, wire: Wire, message: str | bytes) -> bool:
        """Count a frame of the client; return False if it was refused here and must not reach the session.

        A frame that asks, over the rate of its address, is answered with `rate_limited`. More than `FRAMES_PER_SECOND`
        of these close the connection with 1008.
        """
        if not isinstance(message, str) or not (self._kind.asks in message or "\\u" in message):
            return True
        now = trio.current_time()
        if self._limits.messages.take(self._address, now):
            self.due = inf
            self._limits.places.keep(self._place)
            return True
        try:
            frame = decode(message, self._kind)
        except BadFrame:
            return True
        if frame.__struct_config__.tag != self._kind.asks:
            return True
        self._observer.count("limited", "messages")
        self._observer.count("errors", "rate_limited")
        refusal = Error(code="rate_limited", message=_WAIT, id=getattr(frame, "id", None))
        wire.put_frames(wire.make_frame(encode(refusal)))
        wire.flush()
        self._refused = self._refused or Bucket(FRAMES_PER_SECOND, FRAMES_PER_SECOND)
        if not self._refused.take_token(now):
            wire.close(POLICY, "too many messages per second")
        return False

    def _give_way(self, connection: Connection) -> None:
        self._end("silent", GIVE_WAY)
        self._has_refusal_slot = self._limits.refusals.acquire()
        linger = CLOSE_TIMEOUT if self._has_refusal_slot else TURNED_AWAY_BRIEFLY
        connection.close(GIVE_WAY, "others are waiting and nothing was said here", linger)

    def _end(self, limit: str, code: int) -> None:
        self._observer.count("limited", limit)
        self._observer.count("rejections", str(code))
