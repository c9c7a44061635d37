"""Random users over HTTP, with tools: each begins one talk after another until the scene ends.

Each user is one task with a generator of its own, like a user of a socket (`users`).
"""

from random import Random

import trio

from .book import OF_HTTP, Book
from .http_talk import Talk
from .scene import Scene
from .users import PATIENCE, POLITE

KEPT = 0.5  # the share of threads that stay undeleted in the soak's own server


class HttpUser:
    """One user over HTTP, which begins talks until the scene's `stop` or `drain` is set."""

    def __init__(self, number: int, seed: int, scene: Scene) -> None:
        self._name = f"caller {number}"
        self._rng = Random(f"{seed}/http/{number}")
        self._scene = scene
        self._talks = 0
        self._book = Book(self._name, OF_HTTP + number, scene.run, scene.tally, scene.note)

    async def run(self) -> None:
        """Use the server until `stop` is set, and then settle, or until the server goes down."""
        scene, think = self._scene, self._scene.target.think
        await self._pause(think)
        while not scene.over:
            self._talks += 1
            talk = Talk(self._name, f"{self._name}.{self._talks}", scene, self._rng, book=self._book)
            async with trio.open_nursery() as nursery:
                with trio.CancelScope() as staying:
                    nursery.start_soon(_cut_short, scene.stop, staying)
                    for _ in range(self._rng.randint(3, 15)):
                        if scene.drain.is_set():
                            break
                        await talk.do_something()
                        await trio.sleep(self._rng.expovariate(2 / think))
                with trio.move_on_after(2 * PATIENCE * scene.target.slower):
                    if scene.stop.is_set() or self._rng.random() < POLITE:
                        await talk.settle()
                    # On another operator's server no thread stays.
                    if scene.note is None or self._rng.random() >= KEPT:
                        await talk.delete()
                nursery.cancel_scope.cancel()

    async def _pause(self, mean: float) -> None:
        with trio.move_on_after(self._rng.expovariate(1 / mean)):
            await self._scene.stop.wait()


async def _cut_short(stop: trio.Event, scope: trio.CancelScope) -> None:
    await stop.wait()
    scope.cancel()
