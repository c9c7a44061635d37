"""The connected sessions, and the two timers that they share.

Every suggestion of a server lives equally long and every connection is pinged equally often, so each timer is a queue
in the order of its deadlines: arming, disarming and the earliest deadline cost O(1), and one task serves all sessions.
"""

from collections.abc import Iterator
from typing import Protocol, TypeVar

import trio

from ..config import CONFIRM_SECONDS, KEEPALIVE_EVERY
from .events import Event, SuggestionExpired

K = TypeVar("K")


class RegistryMember(Protocol):
    """A session, or a turn without one, as the registry sees it."""

    def post(self, event: Event) -> None:
        """Hand over an event; never blocks, never raises."""
        ...

    def keepalive(self) -> None:
        """Ping the client, or end the session when the last ping went unanswered."""
        ...


class Registry:
    """The sessions of one server, and its turns without a session.

    `confirm_time`: seconds in which a suggestion can be confirmed. `draining`: the server is going down.
    """

    def __init__(self, confirm_time: float = CONFIRM_SECONDS) -> None:
        self._confirm_time = confirm_time
        self.draining = False
        # Each member, with the suggestions whose expiry it has armed, or None before the first.
        self._members: dict[RegistryMember, set[str] | None] = {}
        self._expiries: dict[tuple[RegistryMember, str], float] = {}
        self._pings: dict[RegistryMember, float] = {}
        self._wake = trio.Event()
        self._empty = trio.Event()

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[RegistryMember]:
        return iter(tuple(self._members))

    @property
    def armed_count(self) -> int:
        """The number of suggestions that wait for their expiry."""
        return len(self._expiries)

    def add(self, member: RegistryMember) -> None:
        """Add a session; it is pinged from now on."""
        if not self._pings:  # else the timer already waits for an earlier ping
            self._wake.set()
        self._members[member] = None
        self._pings[member] = trio.current_time() + KEEPALIVE_EVERY

    def remove(self, member: RegistryMember) -> None:
        """Remove a session with its timers. Idempotent."""
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

    def arm_expiry(self, member: RegistryMember, suggestion_id: str) -> None:
        """Post `SuggestionExpired` to `member`, which must have been added, in `confirm_time` seconds."""
        armed = self._members[member] = self._members[member] or set()
        armed.add(suggestion_id)
        self._expiries[member, suggestion_id] = trio.current_time() + self._confirm_time
        self._wake.set()

    def disarm_expiry(self, member: RegistryMember, suggestion_id: str) -> None:
        """Cancel the expiry of a suggestion. Idempotent."""
        (self._members.get(member) or set()).discard(suggestion_id)
        self._expiries.pop((member, suggestion_id), None)

    def post_all(self, event: Event) -> None:
        """Post an event to every session."""
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
            self._fire_due(trio.current_time())

    def _fire_due(self, now: float) -> None:
        for member, suggestion_id in [key for key, due in _find_due(self._expiries, now)]:
            self.disarm_expiry(member, suggestion_id)
            member.post(SuggestionExpired(suggestion_id, now))
        for member in [member for member, due in _find_due(self._pings, now)]:
            del self._pings[member]
            self._pings[member] = now + KEEPALIVE_EVERY
            member.keepalive()


def _find_due(queue: dict[K, float], now: float) -> Iterator[tuple[K, float]]:
    for key, due in queue.items():
        if due > now:
            return
        yield key, due
