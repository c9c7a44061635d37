"""The places of one worker, which the supervisor keeps for all of them.

Taking one waits for its answer; everything else is said and not answered. In the instant in which a client speaks for
the first time its place may have been given away already: then it is sent away all the same, since a place is never
two clients'.
"""

from collections.abc import Callable
from itertools import count
from math import inf

import msgspec
import trio

from ..server.places import Place, Taken
from .messages import Enter, Granted, Keep, Leave, MayGiveWay, Refused


class _Waiting:
    """Somebody who waits for a place."""

    def __init__(self) -> None:
        self.answered = trio.Event()
        self.answer: Granted | Refused | None = None


class SharedPlaces:
    """Places at the supervisor (implements `agent.server.places.Places`). send: tells it something; never blocks."""

    def __init__(self, send: Callable[[msgspec.Struct], None]) -> None:
        self._send = send
        self._numbers = count(1)
        self._taken: dict[Place, int] = {}
        self._by_number: dict[int, Place] = {}
        self._tell: dict[Place, Callable[[], None]] = {}  # how one that has given way is told so
        self._willing: dict[Place, float] = {}  # from when on; the oldest first
        self._waiting: dict[int, _Waiting] = {}
        self._over = False

    @property
    def used(self) -> int:
        """How many places this worker has."""
        return len(self._taken)

    async def take(self, address: str | None, now: float) -> Place | Taken:
        """Ask for a place and wait for the answer. Cancelled, it is given back."""
        number = next(self._numbers)
        if self._over:
            await trio.lowlevel.checkpoint()
            return "connections"
        waiting = self._waiting[number] = _Waiting()
        self._send(Enter(number, address))
        try:
            await waiting.answered.wait()
        except trio.Cancelled:
            self._send(Leave(number))
            raise
        finally:
            del self._waiting[number]
        if not isinstance(waiting.answer, Granted):
            return "connections" if waiting.answer is None else waiting.answer.taken
        place = Place(address)
        self._taken[place] = number
        self._by_number[number] = place
        return place

    def may_give_way(self, place: Place, tell: Callable[[], None], at: float) -> None:
        """Let a place go to a newcomer, of whichever worker, from `at` on."""
        if place in self._taken:
            self._tell[place] = tell
            self._willing[place] = at
            self._send(MayGiveWay(self._taken[place], max(0.0, at - trio.current_time())))

    def keep(self, place: Place) -> None:
        """Let it not, after all. Idempotent."""
        if self._willing.pop(place, None) is not None:
            self._send(Keep(self._taken[place]))

    def leave(self, place: Place) -> None:
        """Give a place back. Idempotent."""
        if place in self._taken:
            self._send(Leave(self._taken[place]))
            self._forget(place)

    def make_way(self, now: float) -> bool:
        """Let the oldest of this worker's give way; False when there is none that may at `now`."""
        place, at = next(iter(self._willing.items()), (None, inf))
        if place is None or at > now:
            return False
        tell = self._tell[place]
        self.leave(place)
        tell()
        return True

    # --- what the supervisor says

    def answered(self, answer: Granted | Refused) -> None:
        """Hear the answer to a question; nobody may wait for it any more."""
        waiting = self._waiting.get(answer.place)
        if waiting is not None:
            waiting.answer = answer
            waiting.answered.set()

    def gave_way(self, number: int) -> None:
        """Hear that a place is another's now; its client is told to go."""
        place = self._by_number.get(number)
        if place is None:  # it was given back meanwhile
            return
        tell = self._tell[place]
        self._forget(place)
        tell()

    def end(self) -> None:
        """Hear that the supervisor is gone: there are no places any more."""
        self._over = True
        for waiting in self._waiting.values():
            waiting.answered.set()

    def _forget(self, place: Place) -> None:
        self._willing.pop(place, None)
        self._tell.pop(place, None)
        del self._by_number[self._taken.pop(place)]
