"""Limits the connections that are served at a time, in total and per address.

    at the door: heads being read, requests being answered, clients being refused      ConnectionLimits.door
    in a place:  WebSockets that have shown the token, questions in plain requests      ConnectionLimits.places

The two are apart so that no client without the token, and none that has not sent its request yet, takes a place. Both
are a `PlacePool` (`capacity.py`). At the door every connection may give way; in a place, a client that has not sent its
first message or its question, once it has had `FIRST_WORDS` seconds for it. The rates of an address are counted beside
them (`rates.py`).

When the file descriptors run out, some of the connections that may give way do, as if newcomers were at the door.

Of a crowd of WebSockets that leaves at once, a few connections end in each pass of the event loop (`departures`).
Meanwhile as few are accepted, since clients that come and go would else fill all places. When 1,000 ended together,
another PING took 0.4 to 0.7 s, and takes 0.04 s now (`python -m tests.bench.reconnect`); with 9,500 it took up to 5 s,
and takes 0.7 s now, in which the server hears of all of them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from math import inf

import trio

from ..config import ACCEPTED_AT_ONCE
from .addresses import THIS_MACHINE
from .capacity import PlacePool, Places, make_places
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
from .settings import VISITORS, ServerSettings

# Connections over the cap that get `CLOSE_TIMEOUT` to read their refusal; more get `TURNED_AWAY_BRIEFLY`.
TURNED_AWAY = 128
ACCEPTED_IN_A_FLOOD = 1  # while FLOOD or more connections have not sent a request yet
FLOOD = 4 * ACCEPTED_AT_ONCE  # a head that comes with its connection is read two rounds later
RELIEF = 16  # connections, of those that may give way, when no file descriptor is left
VISITORS_PER_ADDRESS = 256  # several rounds of ACCEPTED_AT_ONCE, so that a crowd of honest clients passes
LEAVE_AT_ONCE = 16  # connections whose end begins in two passes of the event loop: some ms of work
ACCEPTED_BESIDE_DEPARTURES = LEAVE_AT_ONCE // 2  # in one pass, while as many end
COME_BACK = 5  # seconds over which the returns of refused clients are spread


class Slots:
    """Counts the slots in use, up to `size`."""

    __slots__ = ("_size", "used")

    def __init__(self, size: int) -> None:
        self._size = size
        self.used = 0

    def acquire(self) -> bool:
        """Take a slot; return False, and take none, if all are in use."""
        if self.used >= self._size:
            return False
        self.used += 1
        return True

    def release(self) -> None:
        """Give a slot back."""
        assert self.used > 0, "released more than was acquired"
        self.used -= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLimits:
    """The limits that several servers share, so that they hold for all of them together.

    `servers`: their number; each server has its part of the door. `on_departure` is called when a connection of this
    server has ended.
    """

    servers: int
    places: Places
    messages: Rates
    wrong_tokens: Rates
    requests: Rates
    on_departure: Callable[[], None]


class ConnectionLimits:
    """The limits of one server, and the count of its connections.

    `size`: places for WebSockets and questions.
    `of_address`: the most places of one address; 0 is no limit. None: half, and no limit for this machine, as all
        clients may come from here through a proxy or a test.
    `message_rate` returns the messages per second of an address, 0 for no limit.
    `idle_timeout`: seconds that a WebSocket may stay without a first message, 0 for no limit.
    `shared`: the limits that replace this server's own if there are other servers.
    `request_rate` returns the requests to the HTTP API per second of a key or address, 0 for no limit.
    """

    def __init__(
        self,
        size: int,
        of_address: int | None = None,
        message_rate: Callable[[str], float] = lambda _: 0.0,
        idle_timeout: float = 0.0,
        shared: SharedLimits | None = None,
        request_rate: Callable[[str], float] = lambda _: 0.0,
    ) -> None:
        servers = shared.servers if shared is not None else 1

        def visitors(address: str) -> int:
            return max(1, (VISITORS if address == THIS_MACHINE else VISITORS_PER_ADDRESS) // servers)

        self.idle_timeout = idle_timeout
        self.door = PlacePool(max(1, VISITORS // servers), visitors)
        self.refusals = Slots(max(1, TURNED_AWAY // servers))
        self.places: Places = shared.places if shared is not None else make_places(size, of_address)
        self.messages: Rates = shared.messages if shared is not None else PerAddress(message_rate, BURST)
        self.wrong_tokens: Rates = (
            shared.wrong_tokens if shared is not None else PerAddress(wrong_token_rate, WRONG_TOKEN_BURST)
        )
        self.requests: Rates = (
            shared.requests if shared is not None else PerAddress(request_rate, REQUEST_BURST)
        )
        self.departures = trio.Semaphore(LEAVE_AT_ONCE)
        self._on_departure = shared.on_departure if shared is not None else None
        self._turns = cycle(range(1, COME_BACK + 1))
        self._connected = 0
        self._idle = 0
        self._unused = trio.Event()

    @classmethod
    def of(
        cls, settings: ServerSettings, rate_limit: float, shared: SharedLimits | None = None
    ) -> "ConnectionLimits":
        """Return the limits that `settings` ask for. `rate_limit`: messages per second of one session."""
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
        """The number of connections, at the door and in places."""
        return self._connected

    def arrive(self) -> None:
        """Count a connection in."""
        if not self._connected:
            self._unused = trio.Event()
        self._connected += 1

    def depart(self) -> None:
        """Count a connection out."""
        self._connected -= 1
        if self._on_departure is not None:
            self._on_departure()
        if not self._connected:
            self._unused.set()

    @contextmanager
    def count_idle(self) -> Iterator[None]:
        """Count the block's connection as idle: `batch_size` does not count it towards a flood."""
        self._idle += 1
        try:
            yield
        finally:
            self._idle -= 1

    async def wait_unused(self) -> None:
        """Wait until no connection is left; the caller sets the deadline. Always a checkpoint."""
        await trio.lowlevel.checkpoint()
        while self._connected:
            await self._unused.wait()

    def batch_size(self) -> int:
        """Return how many connections may be accepted in one turn."""
        if self.door.used - self._idle >= FLOOD:
            return ACCEPTED_IN_A_FLOOD
        return ACCEPTED_AT_ONCE if self.departures.value else ACCEPTED_BESIDE_DEPARTURES

    def relieve(self) -> None:
        """Let up to `RELIEF` connections give way, those at the door first."""
        for _ in range(RELIEF):
            if not self.door.make_way(inf) and not self.places.make_way(inf):
                return

    def pick_reconnect_delay(self) -> int:
        """Return the seconds after which the next client sent away should reconnect: 1 to `COME_BACK` in turn."""
        return next(self._turns)
