"""How many connections are served at a time, and who gives way when there are more.

    at the door: heads being read, requests being answered, clients being told no      Cap.door
    in a place:  WebSockets that have shown the token, questions in plain requests      Cap.places

The two are apart so that nobody without the token, and nobody who has not yet said what it wants, takes a place. Both
are rooms of the same kind: one address has at most its share, and when none is free the oldest of those that may give
way does, of the address that has most of them. So a crowd from one address is its own worst enemy, and a newcomer gets
in as long as somebody in there has said nothing. At the door everybody may give way; in a place, who never sent a
message, or not yet its question, once it has had FIRST_WORDS seconds for it.

When there are no file descriptors for more, some of those that may give way do, as if newcomers were at the door.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from math import inf
from typing import Literal, Protocol, TypeAlias

import trio

from ..config import (
    ACCEPTED_AT_ONCE,
    ACCEPTED_IN_A_FLOOD,
    ADDRESS_SESSIONS,
    ADDRESSES_REMEMBERED,
    COME_BACK,
    FLOOD,
    RELIEF,
    TURNED_AWAY,
    VISITORS,
    VISITORS_PER_ADDRESS,
    WRONG_TOKENS,
)
from ..wire.bucket import Bucket
from .addresses import THIS_MACHINE
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


class Place:
    """One place in a room. Made by `Room.enter`."""

    __slots__ = ("holder",)

    def __init__(self, address: str | None) -> None:
        self.holder: object = self if address is None else address  # nobody in particular is alone


@dataclass(frozen=True, slots=True)
class _Willing:
    """How one that may give way is told so, and from when on it may."""

    tell: Callable[[], None]
    at: float


Taken: TypeAlias = Literal["address", "connections"]
"""Whose places are all taken: an address's share, or everybody's."""


class Places(Protocol):
    """Places for clients, wherever they are kept. `Room` says what its methods mean."""

    @property
    def used(self) -> int:
        """How many places this server has taken."""
        ...

    async def take(self, address: str | None, now: float) -> Place | Taken:
        """Take a place for `address` at `now`, in seconds, or say why there is none. Cancelled, none is taken."""
        ...

    def may_give_way(self, place: Place, tell: Callable[[], None], at: float) -> None:
        """Let a place go to a newcomer from `at` on, in seconds; `tell` is called then, and must not block or raise."""
        ...

    def keep(self, place: Place) -> None:
        """Let it not, after all. Idempotent."""
        ...

    def leave(self, place: Place) -> None:
        """Give a place back. Idempotent."""
        ...

    def make_way(self, now: float) -> bool:
        """Let one give way; False when there is none that may at `now`."""
        ...


class Rates(Protocol):
    """A rate for each address, wherever they are counted."""

    def take(self, address: str | None, now: float) -> bool:
        """Take a token of an address at `now` (seconds), if there is one; nobody in particular has no limit."""
        ...


@dataclass(frozen=True, slots=True)
class Shared:
    """What the limits of several servers have in common, which are then limits of all of them together.

    servers: how many there are; each has that part of the door. left: called when a connection of this one has ended.
    """

    servers: int
    places: Places
    messages: Rates
    wrong_tokens: Rates
    left: Callable[[], None]


class Room:
    """Places for `size` clients, of which one address has at most `share(address)`."""

    def __init__(self, size: int, share: Callable[[str], int]) -> None:
        self._size = size
        self._share = share
        self._taken: set[Place] = set()
        self._held: dict[object, int] = {}
        self._willing: dict[object, dict[Place, _Willing]] = {}  # each holder's oldest first

    @property
    def used(self) -> int:
        """How many places are taken."""
        return len(self._taken)

    def full_for(self, address: str | None) -> bool:
        """Whether an address has all of its share, where that is less than all there is."""
        share = self._size if address is None else self._share(address)
        return share < self._size and self._held.get(address, 0) >= share

    def enter(self, address: str | None, now: float) -> Place | None:
        """Take a place for `address` (None is nobody in particular) at `now`, in seconds; None when nobody gives way.

        Who gives way has left when this returns, and is told by the callable it gave.
        """
        if self.full_for(address):
            if not self._make_way(address, now):
                return None
        elif self.used >= self._size and not self.make_way(now):
            return None
        place = Place(address)
        self._taken.add(place)
        self._held[place.holder] = self._held.get(place.holder, 0) + 1
        return place

    async def take(self, address: str | None, now: float) -> Place | Taken:
        """Enter, or say why not. Never waits."""
        greedy = self.full_for(address)
        return self.enter(address, now) or ("address" if greedy else "connections")

    def may_give_way(self, place: Place, tell: Callable[[], None], at: float) -> None:
        """Let a place go to a newcomer from `at` on, in seconds; `tell` is called then, and must not block or raise."""
        if place in self._taken:
            self._willing.setdefault(place.holder, {})[place] = _Willing(tell, at)

    def keep(self, place: Place) -> None:
        """Let it not, after all. Idempotent."""
        willing = self._willing.get(place.holder, {})
        willing.pop(place, None)
        if not willing:
            self._willing.pop(place.holder, None)

    def leave(self, place: Place) -> None:
        """Give a place back. Idempotent."""
        if place not in self._taken:
            return
        self.keep(place)
        self._taken.discard(place)
        self._held[place.holder] -= 1
        if not self._held[place.holder]:
            del self._held[place.holder]

    def make_way(self, now: float) -> bool:
        """Let one give way; False when there is none that may at `now`."""
        ready = (holder for holder in self._willing if self._oldest(holder, now) is not None)
        greediest = max(ready, key=lambda holder: len(self._willing[holder]), default=None)
        return self._make_way(greediest, now)

    def _make_way(self, holder: object, now: float) -> bool:
        place = self._oldest(holder, now)
        if place is None:
            return False
        tell = self._willing[holder][place].tell
        self.leave(place)
        tell()
        return True

    def _oldest(self, holder: object, now: float) -> Place | None:
        """Return the place of a holder's that has been willing for longest, if it may give way at `now`."""
        place, willing = next(iter(self._willing.get(holder, {}).items()), (None, None))
        return place if willing is not None and willing.at <= now else None


class PerAddress:
    """A token bucket for each address. The least recently used are forgotten, which have most likely filled up."""

    def __init__(self, rate: Callable[[str], float], burst: float) -> None:
        """rate: tokens per second of an address, 0 for no limit. burst: seconds' worth of them that one may save."""
        self._rate = rate
        self._burst = burst
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, address: str | None, now: float) -> bool:
        """Take a token of an address at `now` (seconds), if there is one; nobody in particular has no limit."""
        if address is None or not (rate := self._rate(address)):
            return True
        bucket = self._buckets.get(address)
        if bucket is None:
            bucket = self._buckets[address] = Bucket(rate, rate * self._burst)
            if len(self._buckets) > ADDRESSES_REMEMBERED:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(address)
        return bucket.take(now)


def places(size: int, of_address: int | None) -> Room:
    """Return the room of all places; the arguments are those of `Cap`."""

    def share(address: str) -> int:
        if of_address is None:
            return size if address == THIS_MACHINE else max(1, size // 2)
        return of_address or size

    return Room(size, share)


def message_rate(settings: ServerSettings, rate_limit: float) -> Callable[[str], float]:
    """Return what tells the messages per second of an address. rate_limit: those of one session."""
    chosen, usual = settings.address_rate, ADDRESS_SESSIONS * rate_limit

    def rate(address: str) -> float:
        if chosen is None:
            return 0.0 if address == THIS_MACHINE else usual
        return chosen

    return rate


def wrong_token_rate(_: str) -> float:
    """Return the wrong tokens per second of an address that are told so at leisure."""
    return WRONG_TOKENS / 60


BURST, WRONG_TOKEN_BURST = 2.0, 60.0  # seconds' worth that an address may save: of messages, of wrong tokens


class Cap:
    """The limits of one server, and everybody who is connected to it.

    size: places for WebSockets and questions.
    of_address: how many of them one address may have; 0 is no limit. None: half, and no limit for this machine, from
        where a proxy or a test may bring everybody.
    message_rate: messages per second of one address (a function of it), 0 for no limit.
    idle_timeout: seconds that a WebSocket may stay without a first message, 0 for no limit.
    shared: what stands in for limits of its own where there are other servers.
    """

    def __init__(
        self,
        size: int,
        of_address: int | None = None,
        message_rate: Callable[[str], float] = lambda _: 0.0,
        idle_timeout: float = 0.0,
        shared: Shared | None = None,
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
        self._left = shared.left if shared is not None else None
        self._turns = cycle(range(1, COME_BACK + 1))
        self._connected = 0
        self._unused = trio.Event()

    @classmethod
    def of(cls, settings: ServerSettings, rate_limit: float, shared: Shared | None = None) -> "Cap":
        """Return the limits that `settings` ask for. rate_limit: messages per second of one session."""
        rate = message_rate(settings, rate_limit)
        return cls(settings.max_connections, settings.max_per_address, rate, settings.idle_timeout, shared)

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

    async def wait_unused(self) -> None:
        """Wait until nobody is connected; the caller sets the deadline. Always a checkpoint."""
        await trio.lowlevel.checkpoint()
        while self._connected:
            await self._unused.wait()

    def at_once(self) -> int:
        """Return how many connections may be accepted in one turn."""
        return ACCEPTED_AT_ONCE if self.door.used < FLOOD else ACCEPTED_IN_A_FLOOD

    def relieve(self) -> None:
        """Let some give way, of those at the door while there are any."""
        for _ in range(RELIEF):
            if not self.door.make_way(inf) and not self.places.make_way(inf):
                return

    def come_back_in(self) -> int:
        """Return in how many seconds the next client that is sent away should come back: 1 to COME_BACK in turn."""
        return next(self._turns)
