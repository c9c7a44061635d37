"""Holds the vectors of the texts that were compared last, by key.

Strategy: a question is compared with the likeliest statements, and most questions meet statements that earlier ones
met. One array has all rows, so that the rows of a question are taken with one call; it is filled from the beginning,
and emptied when it is full.
"""

from collections.abc import Callable, Hashable, Sequence
from threading import Lock

import numpy as np

from ..ports.embed import Vectors


class KeptRows:
    """The rows of up to `most` keys, of `dimension` numbers each; memory is taken as rows come. Thread-safe."""

    def __init__(self, most: int, dimension: int) -> None:
        self._most = most
        self._rows = np.empty((most, dimension), np.float32)
        self._places: dict[Hashable, int] = {}
        self._lock = Lock()

    def take(self, keys: Sequence[Hashable], make: Callable[[Sequence[int]], Vectors]) -> Vectors:
        """Return the rows of `keys`, which are different from each other, in their order.

        `make`: returns the rows of those keys that are not held, which are given by their index in `keys`.
        """
        with self._lock:
            places = self._places
            held = list(map(places.get, keys))
            if None in held:
                new = [at for at, place in enumerate(held) if place is None]
                if len(places) + len(new) > self._most:
                    places.clear()
                    new = list(range(len(keys)))
                made = make(new)
                if len(new) > self._most:
                    return made
                first = len(places)
                self._rows[first : first + len(new)] = made
                places.update(zip([keys[at] for at in new], range(first, first + len(new)), strict=True))
                held = list(map(places.get, keys))
            rows: Vectors = self._rows.take([place for place in held if place is not None], 0)
            return rows
