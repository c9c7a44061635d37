"""The choice of citations: the smallest set, then the best hits."""

from hypothesis import given
from hypothesis import strategies as st

from agent.grounding.citations import EXACT, choose


def test_smallest_set_wins_over_rank() -> None:
    """One snippet that supports both numbers is chosen before two better hits that support one each."""
    assert choose([0b01, 0b10, 0b11], fill=0) == (2,)


def test_better_hit_wins_among_equals() -> None:
    """Of two snippets that support the same, the better hit is cited."""
    assert choose([0, 0b1, 0b1], fill=0) == (1,)


def test_fills_up_with_the_best() -> None:
    """The best hits fill up while there are fewer than three citations, and none is cited twice."""
    assert choose([0, 0, 0, 0b1, 0]) == (0, 1, 3)


def test_as_many_as_it_takes() -> None:
    """More than three numbers in as many snippets are all cited."""
    assert choose([1 << i for i in range(7)]) == tuple(range(7))


def test_nothing_to_cite() -> None:
    """Without snippets nothing is cited; without numbers the best three are."""
    assert (choose([]), choose([0, 0, 0, 0])) == ((), (0, 1, 2))


def test_greedy_beyond_the_exact_size() -> None:
    """With very many useful snippets the choice still covers everything."""
    masks = [1 << i | 1 << (i + 1) % 20 for i in range(20)]
    chosen = choose(masks, fill=0)
    covered = 0
    for index in chosen:
        covered |= masks[index]
    assert len(masks) > EXACT
    assert covered == (1 << 20) - 1
    assert len(chosen) <= 14


@given(st.lists(st.integers(0, 63), max_size=6))
def test_no_smaller_set_covers(masks: list[int]) -> None:
    """The chosen set covers what can be covered, and no smaller one does."""
    chosen = choose(masks, fill=0)
    needed = 0
    for mask in masks:
        needed |= mask
    sizes = []
    for pick in range(1 << len(masks)):
        covered = 0
        for index, mask in enumerate(masks):
            covered |= mask if pick >> index & 1 else 0
        if covered == needed:
            sizes.append(pick.bit_count())
    assert len(chosen) == min(sizes)
