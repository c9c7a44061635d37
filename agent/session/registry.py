"""Who is connected, and the two timers they share.

Every suggestion lives equally long and every connection is pinged equally often, so each timer is a queue in the
order of its deadlines: arming, disarming and the earliest deadline cost O(1), and one task serves all sessions.
"""

from collections.abc import Iterator
from typing import Protocol, TypeVar

import trio

from ..config import CONFIRM_SECONDS, KEEPALIVE_EVERY
from .events import Event, Expired

K = TypeVar("K")


class Member(Protocol):
    """What the registry needs of a session."""

    def post(self, event: Event) -> None:
        """Tell it that something happened; never blocks, never raises."""
        ...

    def keepalive(self) -> None:
        """Ping its client, or end it when the last ping went unanswered."""
        ...


class Registry:
    """The sessions of one server, and its turns without one. `draining` is set once the server is going down."""

    def __init__(self) -> None:
        self.draining = False
        self._members: dict[Member, set[str] | None] = {}  # with the suggestions it has armed, once it has
        self._expiries: dict[tuple[Member, str], float] = {}
        self._pings: dict[Member, float] = {}
        self._wake = trio.Event()
        self._empty = trio.Event()

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Member]:
        return iter(tuple(self._members))

    @property
    def armed(self) -> int:
        """How many suggestions wait for their expiry."""
        return len(self._expiries)

    def add(self, member: Member) -> None:
        """Let a session in; it is pinged from now on."""
        if not self._pings:  # else the timer already waits for one that is due before
            self._wake.set()
        self._members[member] = None
        self._pings[member] = trio.current_time() + KEEPALIVE_EVERY

    def remove(self, member: Member) -> None:
        """Let a session go, with its timers. Idempotent."""
        for suggestion_id in self._members.pop(member, None) or ():
            self._expiries.pop((member, suggestion_id), None)
        self._pings.pop(member, None)
        if not self._members:
            self._empty.set()
            self._empty = trio.Event()

    async def wait_empty(self) -> None:
        """Wait until no session is left; the caller sets the deadline."""
        await trio.lowlevel.checkpoint()
        while self._members:
            await self._empty.wait()

    def arm(self, member: Member, suggestion_id: str) -> None:
        """Post Expired in CONFIRM_SECONDS to a session that was let in."""
        armed = self._members[member] = self._members[member] or set()
        armed.add(suggestion_id)
        self._expiries[member, suggestion_id] = trio.current_time() + CONFIRM_SECONDS
        self._wake.set()

    def disarm(self, member: Member, suggestion_id: str) -> None:
        """Do not, after all. Idempotent."""
        (self._members.get(member) or set()).discard(suggestion_id)
        self._expiries.pop((member, suggestion_id), None)

    def post_all(self, event: Event) -> None:
        """Tell every session that something happened."""
        for member in self:
            member.post(event)

    async def keep_time(self) -> None:
        """Run both timers until cancelled; cancelled, nothing is left behind."""
        while True:
            self._wake = trio.Event()
            due = min(
                next(iter(self._expiries.values()), float("inf")),
                next(iter(self._pings.values()), float("inf")),
            )
            with trio.move_on_at(due):
                await self._wake.wait()
            self._ring(trio.current_time())

    def _ring(self, now: float) -> None:
        for member, suggestion_id in [key for key, due in _due(self._expiries, now)]:
            self.disarm(member, suggestion_id)
            member.post(Expired(suggestion_id, now))
        for member in [member for member, due in _due(self._pings, now)]:
            del self._pings[member]
            self._pings[member] = now + KEEPALIVE_EVERY
            member.keepalive()


def _due(queue: dict[K, float], now: float) -> Iterator[tuple[K, float]]:
    for key, due in queue.items():
        if due > now:
            return
        yield key, due
