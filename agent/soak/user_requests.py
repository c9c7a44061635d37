"""One user's requests over HTTP: some clients leave before the answer, and each answer must be an allowed one."""

from random import Random
from typing import Any

import trio

from ..errors import WireClosed
from .exchange import GOINGS, LEFT, ClientAnswer, ClientRequest, Stayed, exchange
from .scene import Scene
from .wire import HandshakeAbandoned

HASTE = 0.3  # the share of requests whose client may leave before their answer, within ...
HASTY = 0.6  # ... so many seconds
LATER = (1.0, 5.0)  # seconds until a client that was rate-limited asks again
_GOING_DOWN = "shutting_down"


class UserRequests:
    """Sends one user's requests, counts the answers, and notes answers that break a promise.

    `name`: begins the text of each broken promise. `gone`: the threads that the user has deleted. `hasty`: whether a
    client may leave before its answer.
    """

    def __init__(self, name: str, scene: Scene, rng: Random, hasty: bool = True) -> None:
        self.gone: set[str] = set()
        self._name = name
        self._scene = scene
        self._rng = rng
        self._haste = HASTE if hasty else 0.0

    def make_hasty(
        self, method: str, path: str, body: dict[str, Any] | None = None, events: bool = False
    ) -> ClientRequest:
        """Return a request whose client may leave before its answer."""
        patience = self._rng.uniform(0, HASTY) if self._rng.random() < self._haste else None
        return ClientRequest(
            method=method,
            path=path,
            body=body,
            patience=patience,
            events=events,
            going=self._rng.choice(GOINGS),
        )

    async def ask(self, name: str, request: ClientRequest, *expected: str) -> ClientAnswer:
        """Send a request; return its answer, or `LEFT` when the client did not wait. Cancelled, the client has left.

        A request that is told to come back later is sent again, unless its client is in haste. `name`: the name it is
        counted under. `expected`: problem codes allowed beyond those that every such request may get.
        """
        answer = await self._send(name, request, expected)
        while answer.status == 429 and request.patience is None and not self._scene.drain.is_set():
            await trio.sleep(self._rng.uniform(*LATER))
            answer = await self._send(name, request, expected)
        return answer

    async def _send(self, name: str, request: ClientRequest, expected: tuple[str, ...]) -> ClientAnswer:
        scene, target = self._scene, self._scene.target
        try:
            answer = await exchange(request, target.host, target.port, target.token, target.slower)
        except HandshakeAbandoned:
            scene.tally.count("handshakes given up")
            return LEFT
        except Stayed:
            self._report("S6", f"the server did not hang up on {name} after its client had left")
            return LEFT
        except WireClosed:
            if not scene.drain.is_set():
                self._report("S7", f"{name} had no answer")
            return LEFT
        scene.tally.count(f"{name} {answer.word if answer is not LEFT else 'left'}")
        if not self._is_allowed(answer, expected):
            self._report("S7", f"{name} was answered {answer.status} {answer.word}")
        return answer

    def _is_allowed(self, answer: ClientAnswer, expected: tuple[str, ...]) -> bool:
        """Return whether an answer is a success, loses to another client, or fits the state of the server."""
        if answer.status < 400 or answer.status in (409, 429) or answer.word in expected:
            return True
        if answer.word == "not_found":
            return bool(self.gone)
        return answer.word == _GOING_DOWN and self._scene.drain.is_set()

    def _report(self, promise: str, text: str) -> None:
        self._scene.tally.violation(promise, f"{self._name}: {text}")
