"""How many connections are served at a time, and what one address may have of that.

    at the door: heads being read, requests being answered, clients being told no      Cap.door
    in a place:  WebSockets that have shown the token, questions in plain requests      Cap.places

The two are apart so that nobody without the token, and nobody who has not yet said what it wants, takes a place. Both
are rooms of the same kind (`places`). At the door everybody may give way; in a place, who never sent a message, or not
yet its question, once it has had FIRST_WORDS seconds for it. How often an address may do something is counted beside
them (`rates`).

When there are no file descriptors for more, some of those that may give way do, as if newcomers were at the door.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from math import inf

import trio

from ..config import (
    ACCEPTED_AT_ONCE,
    ACCEPTED_IN_A_FLOOD,
    COME_BACK,
    FLOOD,
    RELIEF,
    TURNED_AWAY,
    VISITORS,
    VISITORS_PER_ADDRESS,
)
from .addresses import THIS_MACHINE
from .places import Places, Room, places
from .rates import (
    BURST,
    REQUEST_BURST,
    WRONG_TOKEN_BURST,
    PerAddress,
    Rates,
    message_rate,
    request_rate,
    wrong_token_rate,
)
from .settings import ServerSettings


class Slots:
    """Counts what is in use, up to `size`."""

    __slots__ = ("_size", "used")

    def __init__(self, size: int) -> None:
        self._size = size
        self.used = 0

    def acquire(self) -> bool:
        """Take one; False, and nothing taken, when all are."""
        if self.used >= self._size:
            return False
        self.used += 1
        return True

    def release(self) -> None:
        """Give one back."""
        assert self.used > 0, "released more than was acquired"
        self.used -= 1


@dataclass(frozen=True, slots=True)
class Shared:
    """What the limits of several servers have in common, which are then limits of all of them together.

    servers: how many there are; each has that part of the door. left: called when a connection of this one has ended.
    """

    servers: int
    places: Places
    messages: Rates
    wrong_tokens: Rates
    requests: Rates
    left: Callable[[], None]


class Cap:
    """The limits of one server, and everybody who is connected to it.

    size: places for WebSockets and questions.
    of_address: how many of them one address may have; 0 is no limit. None: half, and no limit for this machine, from
        where a proxy or a test may bring everybody.
    message_rate: messages per second of one address (a function of it), 0 for no limit.
    idle_timeout: seconds that a WebSocket may stay without a first message, 0 for no limit.
    shared: what stands in for limits of its own where there are other servers.
    request_rate: requests to the HTTP API per second of one key or address (a function of it), 0 for no limit.
    """

    def __init__(
        self,
        size: int,
        of_address: int | None = None,
        message_rate: Callable[[str], float] = lambda _: 0.0,
        idle_timeout: float = 0.0,
        shared: Shared | None = None,
        request_rate: Callable[[str], float] = lambda _: 0.0,
    ) -> None:
        servers = shared.servers if shared is not None else 1

        def visitors(address: str) -> int:
            return max(1, (VISITORS if address == THIS_MACHINE else VISITORS_PER_ADDRESS) // servers)

        self.idle_timeout = idle_timeout
        self.door = Room(max(1, VISITORS // servers), visitors)
        self.turned_away = Slots(max(1, TURNED_AWAY // servers))
        self.places: Places = shared.places if shared is not None else places(size, of_address)
        self.messages: Rates = shared.messages if shared is not None else PerAddress(message_rate, BURST)
        self.wrong_tokens: Rates = (
            shared.wrong_tokens if shared is not None else PerAddress(wrong_token_rate, WRONG_TOKEN_BURST)
        )
        self.requests: Rates = (
            shared.requests if shared is not None else PerAddress(request_rate, REQUEST_BURST)
        )
        self._left = shared.left if shared is not None else None
        self._turns = cycle(range(1, COME_BACK + 1))
        self._connected = 0
        self._idle = 0
        self._unused = trio.Event()

    @classmethod
    def of(cls, settings: ServerSettings, rate_limit: float, shared: Shared | None = None) -> "Cap":
        """Return the limits that `settings` ask for. rate_limit: messages per second of one session."""
        rate = message_rate(settings, rate_limit)
        return cls(
            settings.max_connections,
            settings.max_per_address,
            rate,
            settings.idle_timeout,
            shared,
            request_rate(settings),
        )

    @property
    def used(self) -> int:
        """How many connections there are, wherever they are."""
        return self._connected

    def arrive(self) -> None:
        """Count a connection in."""
        if not self._connected:
            self._unused = trio.Event()
        self._connected += 1

    def depart(self) -> None:
        """Count it out."""
        self._connected -= 1
        if self._left is not None:
            self._left()
        if not self._connected:
            self._unused.set()

    @contextmanager
    def idling(self) -> Iterator[None]:
        """Count a connection that waits at the door for its next request, for the time of a block."""
        self._idle += 1
        try:
            yield
        finally:
            self._idle -= 1

    async def wait_unused(self) -> None:
        """Wait until nobody is connected; the caller sets the deadline. Always a checkpoint."""
        await trio.lowlevel.checkpoint()
        while self._connected:
            await self._unused.wait()

    def at_once(self) -> int:
        """Return how many connections may be accepted in one turn."""
        return ACCEPTED_AT_ONCE if self.door.used - self._idle < FLOOD else ACCEPTED_IN_A_FLOOD

    def relieve(self) -> None:
        """Let some give way, of those at the door while there are any."""
        for _ in range(RELIEF):
            if not self.door.make_way(inf) and not self.places.make_way(inf):
                return

    def come_back_in(self) -> int:
        """Return in how many seconds the next client that is sent away should come back: 1 to COME_BACK in turn."""
        return next(self._turns)
