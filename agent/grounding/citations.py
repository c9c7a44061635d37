"""Chooses what an answer cites: the smallest set of snippets that supports every number.

Each snippet is a bit mask of the numbers it supports. With at most `EXACT` useful snippets the choice is exact
(smaller sets first; among equals the better hits); beyond it is greedy: the snippet that supports most of what
is left, the better hit first. Best hits then fill up while there are fewer than `FILL`.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Final

FILL: Final = 3
"""Citations below which the best hits are added."""
EXACT: Final = 12
"""Snippets up to which every combination is tried: at most 4,095."""


def choose(masks: Sequence[int], fill: int = FILL) -> tuple[int, ...]:
    """Return the indexes of the snippets to cite, best hit first.

    masks: for each snippet, best hit first, the numbers it supports as bits. fill: cite at least so many, if
    there are so many. Numbers that no snippet supports do not count.
    """
    needed = 0
    for mask in masks:
        needed |= mask
    chosen = set(_cover(masks, needed))
    for index in range(len(masks)):
        if len(chosen) >= fill:
            break
        chosen.add(index)
    return tuple(sorted(chosen))


def _cover(masks: Sequence[int], needed: int) -> tuple[int, ...]:
    """Return the smallest set whose masks cover `needed`."""
    for index, mask in enumerate(masks):
        if mask == needed:  # also when nothing is needed
            return (index,) if needed else ()
    if not needed:
        return ()
    useful = [
        i for i, mask in enumerate(masks) if mask and not any(_better(masks, j, i) for j in range(len(masks)))
    ]
    if len(useful) > EXACT:
        return _greedy(masks, useful, needed)
    for size in range(1, len(useful) + 1):
        for group in combinations(useful, size):
            covered = 0
            for index in group:
                covered |= masks[index]
            if covered == needed:
                return group
    return tuple(useful)


def _better(masks: Sequence[int], one: int, other: int) -> bool:
    """Tell whether snippet `one` makes `other` idle: it supports as much and more, or as much and ranks higher."""
    return (
        one != other
        and masks[one] | masks[other] == masks[one]
        and (masks[one] != masks[other] or one < other)
    )


def _greedy(masks: Sequence[int], useful: Sequence[int], needed: int) -> tuple[int, ...]:
    chosen: list[int] = []
    while needed:
        best = max(useful, key=lambda index: ((masks[index] & needed).bit_count(), -index))
        chosen.append(best)
        needed &= ~masks[best]
    return tuple(chosen)
