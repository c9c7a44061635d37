"""Pools: a limited number of places for clients, and the rule by which a client gives way to a newcomer.

One address has at most its share. When no place is free, a client that may give way leaves: the oldest such client of
the address with the most such clients. So a crowd from one address competes with itself, and a newcomer gets a place as
long as one client in the pool has sent no message.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from .addresses import THIS_MACHINE


class Place:
    """One place in a pool. Made by `PlacePool.take_now`.

    `holder`: the address that the place counts for; without an address each place is its own holder.
    """

    __slots__ = ("holder",)

    def __init__(self, address: str | None) -> None:
        self.holder: object = self if address is None else address


@dataclass(frozen=True, slots=True)
class _WayGiver:
    """A client that may give way from `at` on; `give_way` makes it leave."""

    give_way: Callable[[], None]
    at: float


NoPlaceReason: TypeAlias = Literal["address", "connections"]
"""The reason that no place is free: the share of the `address` is taken, or all `connections` are."""


class Places(Protocol):
    """Places for clients: a `PlacePool` of this process, or one that several servers share."""

    @property
    def used(self) -> int:
        """The number of places that this server has taken."""
        ...

    async def take(self, address: str | None, now: float) -> Place | NoPlaceReason:
        """Take a place for `address` at `now`, in seconds, or return the reason for none. Cancelled, none is taken."""
        ...

    def may_give_way(self, place: Place, give_way: Callable[[], None], at: float) -> None:
        """Let a place go to a newcomer from `at` on, in seconds, by `give_way`, which must not block or raise."""
        ...

    def keep(self, place: Place) -> None:
        """Stop the place from giving way to newcomers. Idempotent."""
        ...

    def leave(self, place: Place) -> None:
        """Give a place back. Idempotent."""
        ...

    def make_way(self, now: float) -> bool:
        """Let one client give way; return False if none may at `now`."""
        ...


class PlacePool:
    """Places for `size` clients, of which one address has at most `share(address)`."""

    def __init__(self, size: int, share: Callable[[str], int]) -> None:
        self._size = size
        self._share = share
        self._taken: set[Place] = set()
        self._places_of: dict[object, int] = {}
        self._willing: dict[object, dict[Place, _WayGiver]] = {}  # each holder's oldest first

    @property
    def used(self) -> int:
        """The number of places that are taken."""
        return len(self._taken)

    def is_full_for(self, address: str | None) -> bool:
        """Return whether an address has taken its whole share, if that is less than all places."""
        share = self._size if address is None else self._share(address)
        return share < self._size and self._places_of.get(address, 0) >= share

    def take_now(self, address: str | None, now: float) -> Place | None:
        """Take a place for `address` at `now`, in seconds; return None if no client gives way.

        The `address` `None` stands for a client without an address of its own. A client that gives way has left the
        pool when this method returns, and its `give_way` was called.
        """
        if self.is_full_for(address):
            if not self._make_way(address, now):
                return None
        elif self.used >= self._size and not self.make_way(now):
            return None
        place = Place(address)
        self._taken.add(place)
        self._places_of[place.holder] = self._places_of.get(place.holder, 0) + 1
        return place

    async def take(self, address: str | None, now: float) -> Place | NoPlaceReason:
        """Take a place as `take_now` does, or return the reason for none. Never waits."""
        has_full_share = self.is_full_for(address)
        return self.take_now(address, now) or ("address" if has_full_share else "connections")

    def may_give_way(self, place: Place, give_way: Callable[[], None], at: float) -> None:
        """Let a place go to a newcomer from `at` on, in seconds, by `give_way`, which must not block or raise."""
        if place in self._taken:
            self._willing.setdefault(place.holder, {})[place] = _WayGiver(give_way, at)

    def keep(self, place: Place) -> None:
        """Stop the place from giving way to newcomers. Idempotent."""
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
        self._places_of[place.holder] -= 1
        if not self._places_of[place.holder]:
            del self._places_of[place.holder]

    def make_way(self, now: float) -> bool:
        """Let one client give way; return False if none may at `now`."""
        willing_holders = (holder for holder in self._willing if self._oldest(holder, now) is not None)
        greediest = max(willing_holders, key=lambda holder: len(self._willing[holder]), default=None)
        return self._make_way(greediest, now)

    def _make_way(self, holder: object, now: float) -> bool:
        place = self._oldest(holder, now)
        if place is None:
            return False
        give_way = self._willing[holder][place].give_way
        self.leave(place)
        give_way()
        return True

    def _oldest(self, holder: object, now: float) -> Place | None:
        """Return the place of `holder` that has been willing for longest, if it may give way at `now`."""
        place, willing = next(iter(self._willing.get(holder, {}).items()), (None, None))
        return place if willing is not None and willing.at <= now else None


def make_places(size: int, of_address: int | None) -> PlacePool:
    """Return a pool of `size` places, of which one address may have `of_address`; 0 is no limit.

    `None`: half of the places for any address, and all for this machine, since all clients may come from this machine
    through a proxy or a test.
    """

    def share(address: str) -> int:
        if of_address is None:
            return size if address == THIS_MACHINE else max(1, size // 2)
        return of_address or size

    return PlacePool(size, share)
