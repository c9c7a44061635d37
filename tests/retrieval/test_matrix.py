"""Vectors of sections: which are nearest, and how near, beside all the others and by file."""

import numpy as np
import pytest

from agent.retrieval import matrix as module
from agent.retrieval.matrix import Matrix, SectionMatrix
from agent.retrieval.vectors import Nearness


def row(*numbers: float) -> Matrix:
    """Return a vector of length 1, or of zeros."""
    vector = np.array(numbers, np.float32)
    length = np.linalg.norm(vector)
    return vector / length if length else vector


EAST, NORTH, NORTH_EAST, WEST = row(1, 0), row(0, 1), row(1, 1), row(-1, 0)


def test_the_nearest_sections_are_those_with_the_largest_cosine() -> None:
    """As many as are asked for; one that is gone has no direction."""
    sections = SectionMatrix([WEST, EAST, row(0, 0), NORTH_EAST, NORTH], [0, 0, 0, 1, 1])
    assert set(sections.find_near(EAST, [], 2).numbers) == {1, 3}
    assert sorted(sections.find_near(EAST, [], 9).numbers) == [0, 1, 2, 3, 4]


def test_others_are_told_of_before_the_nearest() -> None:
    """In their order, and each section once."""
    sections = SectionMatrix([WEST, EAST, row(0, 0), NORTH_EAST, NORTH], [0, 0, 0, 1, 1])
    near = sections.find_near(EAST, [4, 3, 0], 2)
    assert near.numbers == [4, 3, 0, 1]
    assert len(near.cosine) == len(near.near) == len(near.file) == 4


def test_of_sections_that_are_as_near_no_more_are_told() -> None:
    """The nearer ones are among them, whatever their numbers."""
    near = SectionMatrix([NORTH, NORTH, NORTH, NORTH_EAST, EAST], [0] * 5).find_near(EAST, [], 3)
    assert len(near.numbers) == 3
    assert {3, 4} < set(near.numbers)


def test_nearness_is_told_as_it_is_and_beside_the_others() -> None:
    """From 0, for the farthest, to 1, for the nearest, whichever sections are asked about."""
    sections = SectionMatrix([WEST, EAST, NORTH_EAST, NORTH], [0, 0, 1, 1])
    near = sections.find_near(EAST, [2, 1, 0], 0)
    assert near.cosine == pytest.approx([0.5**0.5, 1, -1])
    assert near.near == pytest.approx([(0.5**0.5 + 1) / 2, 1, 0])
    assert near.near[0] == pytest.approx(sections.find_near(EAST, [2], 0).near[0])


def test_a_file_is_where_its_sections_are_together() -> None:
    """The mean of them, whatever their number; opposite ones are nowhere."""
    sections = SectionMatrix([EAST, NORTH, NORTH, WEST, EAST], [0, 0, 1, 2, 2])
    near = sections.find_near(EAST, [0, 1, 2, 3], 0)
    assert near.file[0] == near.file[1] == pytest.approx(1)
    assert near.file[2] == near.file[3] == pytest.approx(0)


def test_nearness_is_spread_over_a_bounded_number_of_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a large knowledge base those after it are all as far."""
    monkeypatch.setattr(module, "SPAN", 2)
    near = SectionMatrix([EAST, NORTH_EAST, NORTH, WEST], [0, 1, 2, 3]).find_near(EAST, [0, 1, 2, 3], 0)
    assert near.near == pytest.approx([1, 0, 0, 0])


def test_nothing_is_near_where_there_is_nothing() -> None:
    """No sections at all, or a question without a direction."""
    none = SectionMatrix([], [])
    assert none.find_near(EAST, [], 5) == Nearness((), (), (), ())
    some = SectionMatrix([EAST, WEST], [0, 1])
    assert some.find_near(row(0, 0), [0, 1], 0).cosine == [0, 0]
    assert len(some.find_near(row(0, 0), [], 1).numbers) == 1
