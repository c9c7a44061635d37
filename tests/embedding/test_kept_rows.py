"""Rows that are held by key, as many as there is room for."""

from collections.abc import Sequence

import numpy as np

from agent.embedding.kept_rows import KeptRows
from agent.ports.embed import Vectors


class Maker:
    """Makes a row of each number; remembers which."""

    def __init__(self, keys: Sequence[int]) -> None:
        self.keys = keys
        self.made: list[int] = []

    def __call__(self, new: Sequence[int]) -> Vectors:
        """Return the rows of some keys by their index."""
        self.made += [self.keys[at] for at in new]
        return np.array([[self.keys[at], 1] for at in new], np.float32)


def take(rows: KeptRows, *keys: int) -> tuple[list[float], list[int]]:
    """Return the first number of each row, and the keys whose rows were made."""
    maker = Maker(keys)
    return rows.take(keys, maker)[:, 0].tolist(), maker.made


def test_a_row_is_made_once() -> None:
    """In whatever order keys are asked for."""
    rows = KeptRows(4, 2)
    assert take(rows, 5, 3) == ([5, 3], [5, 3])
    assert take(rows, 3, 8, 5) == ([3, 8, 5], [8])
    assert take(rows, 8, 5, 3) == ([8, 5, 3], [])


def test_all_rows_are_made_anew_when_there_is_no_room_for_the_new_ones() -> None:
    """Of the keys that are asked for; none of them takes the place of another."""
    rows = KeptRows(4, 2)
    take(rows, 1, 2, 3)
    assert take(rows, 4, 2, 5) == ([4, 2, 5], [4, 2, 5])
    assert take(rows, 1, 4, 2, 5) == ([1, 4, 2, 5], [1])


def test_more_keys_than_there_is_room_for_are_made_each_time() -> None:
    """And none is held."""
    rows = KeptRows(2, 2)
    assert take(rows, 1, 2, 3) == ([1, 2, 3], [1, 2, 3])
    assert take(rows, 1, 2, 3) == ([1, 2, 3], [1, 2, 3])
    assert take(rows, 1) == ([1], [1])
