"""The places of one worker, which the supervisor keeps for all workers.

Taking a place waits for the answer; every other message is sent and not answered. In the instant in which a client
speaks for the first time its place may have been given away already: then the client is sent away all the same, since
no two clients share a place.
"""

from collections.abc import Callable
from itertools import count
from math import inf

import msgspec
import trio

from ..server.capacity import NoPlaceReason, Place
from .messages import KeepPlace, LeavePlace, MayGiveWay, PlaceGranted, PlaceRefused, PlaceRequest


class _PlaceWaiter:
    """A request for a place, until its answer comes."""

    def __init__(self) -> None:
        self.answered = trio.Event()
        self.answer: PlaceGranted | PlaceRefused | None = None


class SharedPlaces:
    """Places at the supervisor (implements `agent.server.capacity.Places`). `send` sends a message and never blocks."""

    def __init__(self, send: Callable[[msgspec.Struct], None]) -> None:
        self._send = send
        self._numbers = count(1)
        self._taken: dict[Place, int] = {}
        self._by_number: dict[int, Place] = {}
        self._tell: dict[Place, Callable[[], None]] = {}  # called when a place has given way
        self._willing: dict[Place, float] = {}  # the time from which a place may give way; the oldest first
        self._waiting: dict[int, _PlaceWaiter] = {}
        self._over = False

    @property
    def used(self) -> int:
        """The number of places that this worker has."""
        return len(self._taken)

    async def take(self, address: str | None, now: float) -> Place | NoPlaceReason:
        """Ask for a place and wait for the answer. Cancelled, the place is given back."""
        number = next(self._numbers)
        if self._over:
            await trio.lowlevel.checkpoint()
            return "connections"
        waiting = self._waiting[number] = _PlaceWaiter()
        self._send(PlaceRequest(number, address))
        try:
            await waiting.answered.wait()
        except trio.Cancelled:
            self._send(LeavePlace(number))
            raise
        finally:
            del self._waiting[number]
        if not isinstance(waiting.answer, PlaceGranted):
            return "connections" if waiting.answer is None else waiting.answer.taken
        place = Place(address)
        self._taken[place] = number
        self._by_number[number] = place
        return place

    def may_give_way(self, place: Place, tell: Callable[[], None], at: float) -> None:
        """Allow a place to go to a newcomer of any worker, from the time `at` on."""
        if place in self._taken:
            self._tell[place] = tell
            self._willing[place] = at
            self._send(MayGiveWay(self._taken[place], max(0.0, at - trio.current_time())))

    def keep(self, place: Place) -> None:
        """Withdraw `may_give_way`. Idempotent."""
        if self._willing.pop(place, None) is not None:
            self._send(KeepPlace(self._taken[place]))

    def leave(self, place: Place) -> None:
        """Give a place back. Idempotent."""
        if place in self._taken:
            self._send(LeavePlace(self._taken[place]))
            self._forget(place)

    def make_way(self, now: float) -> bool:
        """Give up this worker's oldest place that may give way; return `False` if none may at `now`."""
        place, at = next(iter(self._willing.items()), (None, inf))
        if place is None or at > now:
            return False
        tell = self._tell[place]
        self.leave(place)
        tell()
        return True

    # --- answers of the supervisor

    def take_answer(self, answer: PlaceGranted | PlaceRefused) -> None:
        """Pass the supervisor's answer to the task that asked, if it still waits."""
        waiting = self._waiting.get(answer.place)
        if waiting is not None:
            waiting.answer = answer
            waiting.answered.set()

    def drop_place(self, number: int) -> None:
        """Drop a place that belongs to another client now; its client is told to go."""
        place = self._by_number.get(number)
        if place is None:  # it was given back meanwhile
            return
        tell = self._tell[place]
        self._forget(place)
        tell()

    def end(self) -> None:
        """Answer all waiting tasks with no place: the supervisor is gone."""
        self._over = True
        for waiting in self._waiting.values():
            waiting.answered.set()

    def _forget(self, place: Place) -> None:
        self._willing.pop(place, None)
        self._tell.pop(place, None)
        del self._by_number[self._taken.pop(place)]
