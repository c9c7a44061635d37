"""Mixing the two arms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.retrieval.fuse import STEM_WEIGHT, fuse, normalise

FOUND = st.lists(
    st.tuples(st.integers(0, 20), st.floats(0.001, 1000)), max_size=10, unique_by=lambda found: found[0]
)


@given(FOUND)
def test_scores_are_brought_to_one(found: list[tuple[int, float]]) -> None:
    """The best is 1, none is 0 or below, and the order stays."""
    scores = normalise(found)
    assert len(scores) == len(found)
    assert all(0 < score <= 1 for score in scores.values())
    assert not found or max(scores.values()) == 1
    ordered = sorted(found, key=lambda one: one[1])
    assert [scores[key] for key, _ in ordered] == sorted(scores.values())


@given(FOUND, FOUND)
def test_the_mix_is_a_weighted_sum(stems: list[tuple[int, float]], grams: list[tuple[int, float]]) -> None:
    """What both arms put first has 1, what one arm found keeps that arm's share."""
    mixed = fuse(stems, grams, "en")
    assert set(mixed) == {key for key, _ in stems} | {key for key, _ in grams}
    assert all(0 < score <= 1 + 1e-9 for score in mixed.values())


def test_the_arms_weigh_by_language() -> None:
    """On English the stems' first wins, on Swedish the 4-grams' first."""
    assert {
        lang: max(mixed, key=mixed.__getitem__)
        for lang in STEM_WEIGHT
        if (mixed := fuse([(1, 5)], [(2, 9)], lang))
    } == {
        "en": 1,
        "sv": 2,
    }


@pytest.mark.parametrize("found", [[], [(1, 0.0)], [(1, 0.0), (2, 0.0)]])
def test_nothing_and_zeros(found: list[tuple[int, float]]) -> None:
    """No scores, or scores of nought, are no division by zero."""
    assert normalise(found) == {key: 1.0 for key, _ in found}
