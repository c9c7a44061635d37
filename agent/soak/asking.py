"""One user's requests over HTTP: some are left before their answer, and each answer is one that may come."""

from random import Random
from typing import Any

import trio

from ..errors import WireClosed
from .exchange import GOINGS, LEFT, Answer, Request, Stayed, exchange
from .scene import Scene
from .wire import GaveUp

HASTE = 0.3  # the share of requests whose client may leave before their answer, within ...
HASTY = 0.6  # ... so many seconds
LATER = (1.0, 5.0)  # seconds until who has asked too often asks again
_GOING_DOWN = "shutting_down"


class Asking:
    """Sends what one user asks, counts what came, and notes what may not come.

    name: stands in what is said of it. gone: the threads that it has deleted. hasty: whether it ever leaves before
    its answer.
    """

    def __init__(self, name: str, scene: Scene, rng: Random, hasty: bool = True) -> None:
        self.gone: set[str] = set()
        self._name = name
        self._scene = scene
        self._rng = rng
        self._haste = HASTE if hasty else 0.0

    def hastily(
        self, method: str, path: str, body: dict[str, Any] | None = None, events: bool = False
    ) -> Request:
        """Return a request whose client may leave before its answer."""
        patience = self._rng.uniform(0, HASTY) if self._rng.random() < self._haste else None
        return Request(method, path, body, patience, events, self._rng.choice(GOINGS))

    async def ask(self, what: str, asked: Request, *expected: str) -> Answer:
        """Send a request; return its answer, or LEFT where there is none. Cancelled, its client has left.

        Who is told to come back later does, unless in haste.
        what: it is counted as. expected: codes of problems beyond those that any such request can have.
        """
        came = await self._once(what, asked, expected)
        while came.status == 429 and asked.patience is None and not self._scene.drain.is_set():
            await trio.sleep(self._rng.uniform(*LATER))
            came = await self._once(what, asked, expected)
        return came

    async def _once(self, what: str, asked: Request, expected: tuple[str, ...]) -> Answer:
        scene, target = self._scene, self._scene.target
        try:
            came = await exchange(asked, target.host, target.port, target.token, target.slower)
        except GaveUp:
            scene.tally.count("handshakes given up")
            return LEFT
        except Stayed:
            self._broken("I6", f"the server did not hang up on {what} after its client had left")
            return LEFT
        except WireClosed:
            if not scene.drain.is_set():
                self._broken("I7", f"{what} had no answer")
            return LEFT
        scene.tally.count(f"{what} {came.word if came is not LEFT else 'left'}")
        if not self._may_come(came, expected):
            self._broken("I7", f"{what} was answered {came.status} {came.word}")
        return came

    def _may_come(self, came: Answer, expected: tuple[str, ...]) -> bool:
        """Whether an answer is a good one, says that somebody else was first, or goes with what is going on."""
        if came.status < 400 or came.status in (409, 429) or came.word in expected:
            return True
        if came.word == "not_found":
            return bool(self.gone)
        return came.word == _GOING_DOWN and self._scene.drain.is_set()

    def _broken(self, promise: str, what: str) -> None:
        self._scene.tally.violation(promise, f"{self._name}: {what}")
