"""Numbers by key, such as the words that hold a run of letters: added to one by one, or taken over whole.

Strategy: what is added stands in one array a key. What was taken over stays one array for all keys, with one number a
key that says where its part begins; so a table of a hundred thousand keys is there again in milliseconds.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import accumulate

import msgspec

NUMBERS = "I"
"""The kind of array that numbers are in: four bytes each."""


class PackedHolders(msgspec.Struct, frozen=True, array_like=True):
    """counts, numbers: arrays as bytes: how many numbers each key has, from 0 on, and these, one after the other."""

    counts: bytes
    numbers: bytes


class Holders:
    """Numbers by key, in the order in which they were added; keys are numbers from 0 on.

    packed: what is taken over; raises ValueError.
    """

    def __init__(self, packed: PackedHolders | None = None) -> None:
        self._added: defaultdict[int, array[int]] = defaultdict(partial(array, NUMBERS))
        self._ends = array(NUMBERS)
        self._numbers = memoryview(array(NUMBERS))
        if packed is not None:
            self._take(array_of(packed.counts), array_of(packed.numbers))

    def _take(self, counts: "array[int]", numbers: "array[int]") -> None:
        if sum(counts) != len(numbers):
            raise ValueError("numbers do not fit their keys")
        self._ends, self._numbers = array(NUMBERS, accumulate(counts)), memoryview(numbers)

    def settle(self) -> None:
        """Hold everything in one array. Only for whoever has added all of it: nobody else may look meanwhile."""
        if self._added:
            self._take(*self._all())
            self._added.clear()

    def add(self, keys: Iterable[int], number: int) -> None:
        """Add a number to each of some keys."""
        added = self._added
        for key in keys:
            added[key].append(number)

    def get(self, key: int) -> Sequence[int]:
        """Return the numbers of a key."""
        added = self._added.get(key, ())
        if key >= len(self._ends):
            return added
        taken = self._numbers[self._ends[key - 1] if key else 0 : self._ends[key]]
        return [*taken, *added] if added else taken

    def packed(self) -> PackedHolders:
        """Return all of it as it can be kept."""
        counts, numbers = self._all()
        return PackedHolders(counts.tobytes(), numbers.tobytes())

    def _all(self) -> "tuple[array[int], array[int]]":
        """Return how many numbers each key has, and these."""
        counts, numbers = array(NUMBERS), array(NUMBERS)
        for key in range(max(len(self._ends), max(self._added, default=-1) + 1)):
            its = self.get(key)
            counts.append(len(its))
            numbers.extend(its)
        return counts, numbers


class PackedPostings(msgspec.Struct, frozen=True, array_like=True):
    """keys: each once, in the order of their numbers in `held`."""

    keys: list[str]
    held: PackedHolders


class Postings:
    """Numbers by key as in `Holders`, where keys are texts. packed: what is taken over; raises ValueError."""

    def __init__(self, packed: PackedPostings | None = None) -> None:
        self._places: dict[str, int] = {}
        self._held = Holders()
        if packed is not None:
            self._places = dict(zip(packed.keys, range(len(packed.keys)), strict=True))
            self._held = Holders(packed.held)
            if not len(self._places) == len(packed.keys) == len(array_of(packed.held.counts)):
                raise ValueError("numbers do not fit their keys")

    def settle(self) -> None:
        """As of `Holders`."""
        self._held.settle()

    def add(self, keys: Iterable[str], number: int) -> None:
        """Add a number to each of some keys."""
        places = self._places
        self._held.add([places.setdefault(key, len(places)) for key in keys], number)

    def get(self, key: str) -> Sequence[int]:
        """Return the numbers of a key."""
        place = self._places.get(key)
        return () if place is None else self._held.get(place)

    def packed(self) -> PackedPostings:
        """Return all of it as it can be kept."""
        return PackedPostings(list(self._places), self._held.packed())


def array_of(content: bytes) -> "array[int]":
    """Return the numbers that were bytes. Raises ValueError when these are none."""
    numbers = array(NUMBERS)
    numbers.frombytes(content)
    return numbers
