"""Draws the acts of a user, each as often as its weight says."""

from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import Any, ClassVar


class RandomActs:
    """Acts of one connection. `_ACTS`: each with its weight. `_LONG`: those that take long. `rng`: draws them."""

    _ACTS: ClassVar[Mapping[Callable[[Any], Awaitable[None]], int]]
    _LONG: ClassVar[Mapping[Callable[[Any], Awaitable[None]], int]] = {}

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    async def do_something(self) -> None:
        """Do one random act; raises `WireClosed`. Cancelled, a frame may have been sent."""
        acts, weights = zip(*self._ACTS.items(), *self._LONG.items(), strict=True)
        await self._rng.choices(acts, weights)[0](self)

    async def do_everything(self) -> None:
        """Do each act once, except those that take long; raises `WireClosed`."""
        for act in self._ACTS:
            await act(self)
