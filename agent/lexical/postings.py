"""Lists of numbers by key, such as the words that hold a run of letters: appended to one by one, or loaded whole.

Strategy: added numbers stand in one array for each key. Loaded numbers stay in one array for all keys, with one
offset for each key; so a table of a hundred thousand keys is loaded in milliseconds.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import accumulate

import msgspec

NUMBERS = "I"
"""Type code of an `array` of numbers: four bytes each."""


class PackedHolders(msgspec.Struct, frozen=True, array_like=True):
    """The lists of `Holders` as bytes.

    `counts`: how many numbers each key has, from key 0 on. `numbers`: all lists, one after the other. Both are arrays
    as bytes.
    """

    counts: bytes
    numbers: bytes


class Holders:
    """Lists of numbers by key, in the order in which they were added; keys are numbers from 0 on.

    `packed`: the lists to begin with; raises ValueError when they do not fit together.
    """

    def __init__(self, packed: PackedHolders | None = None) -> None:
        self._added: defaultdict[int, array[int]] = defaultdict(partial(array, NUMBERS))
        self._ends = array(NUMBERS)
        self._numbers = memoryview(array(NUMBERS))
        if packed is not None:
            self._adopt(array_of(packed.counts), array_of(packed.numbers))

    def _adopt(self, counts: "array[int]", numbers: "array[int]") -> None:
        """Replace the loaded lists by those of `counts` and `numbers`."""
        if sum(counts) != len(numbers):
            raise ValueError("numbers do not fit their keys")
        self._ends, self._numbers = array(NUMBERS, accumulate(counts)), memoryview(numbers)

    def compact(self) -> None:
        """Store all lists in one array. No other thread may read meanwhile."""
        if self._added:
            self._adopt(*self._merge_all())
            self._added.clear()

    def add(self, keys: Iterable[int], number: int) -> None:
        """Append `number` to the list of each of `keys`."""
        added = self._added
        for key in keys:
            added[key].append(number)

    def get(self, key: int) -> Sequence[int]:
        """Return the numbers of `key`."""
        added = self._added.get(key, ())
        if key >= len(self._ends):
            return added
        loaded = self._numbers[self._ends[key - 1] if key else 0 : self._ends[key]]
        return [*loaded, *added] if added else loaded

    def pack(self) -> PackedHolders:
        """Return all lists as bytes."""
        counts, numbers = self._merge_all()
        return PackedHolders(counts.tobytes(), numbers.tobytes())

    def _merge_all(self) -> "tuple[array[int], array[int]]":
        """Return how many numbers each key has, and all numbers in the order of their keys."""
        counts, numbers = array(NUMBERS), array(NUMBERS)
        for key in range(max(len(self._ends), max(self._added, default=-1) + 1)):
            of_key = self.get(key)
            counts.append(len(of_key))
            numbers.extend(of_key)
        return counts, numbers


class PackedPostings(msgspec.Struct, frozen=True, array_like=True):
    """The lists of `Postings` as bytes. `keys`: each once, in the order of their numbers in `held`."""

    keys: list[str]
    held: PackedHolders


class Postings:
    """Lists of numbers by key as in `Holders`, where keys are texts.

    `packed`: the lists to begin with; raises ValueError when they do not fit together.
    """

    def __init__(self, packed: PackedPostings | None = None) -> None:
        self._places: dict[str, int] = {}
        self._held = Holders()
        if packed is not None:
            self._places = dict(zip(packed.keys, range(len(packed.keys)), strict=True))
            self._held = Holders(packed.held)
            if not len(self._places) == len(packed.keys) == len(array_of(packed.held.counts)):
                raise ValueError("numbers do not fit their keys")

    def compact(self) -> None:
        """Store all lists in one array; see `Holders.compact`."""
        self._held.compact()

    def add(self, keys: Iterable[str], number: int) -> None:
        """Append `number` to the list of each of `keys`."""
        places = self._places
        self._held.add([places.setdefault(key, len(places)) for key in keys], number)

    def get(self, key: str) -> Sequence[int]:
        """Return the numbers of `key`."""
        place = self._places.get(key)
        return () if place is None else self._held.get(place)

    def pack(self) -> PackedPostings:
        """Return all keys and lists as bytes."""
        return PackedPostings(list(self._places), self._held.pack())


def array_of(content: bytes) -> "array[int]":
    """Return the numbers that `content` holds. Raises ValueError when its length is no multiple of a number's."""
    numbers = array(NUMBERS)
    numbers.frombytes(content)
    return numbers
