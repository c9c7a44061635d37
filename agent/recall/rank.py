"""In what order candidates are, and how many each arm gives.

Strategy: what each arm found is divided by its best one and summed with weights, and so is what else makes a candidate
likelier: who said it, a time where one is asked for, a date that is named. Ranks alone are never summed: of two arms of
which one is weak that is worse by nine points. The weights were set by hand on three dialogues of LoCoMo and on BEAM's
chats of 100K, one table for both; what helps one of them and costs the other more than a point is not in it (a bonus
for length, whole sittings). `python -m tests.bench.recall` prints what they give.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

ARM: Final = 100
"""Documents that the arm of stems gives, ..."""
PART_ARM: Final = 250
"""... where some are parts of long messages, several of one, ..."""
GRAM_ARM: Final = 100
"""... and rows that of 4-grams, which is weaker."""

SHORT: Final = 16
"""Words from which a turn is not too short to say much."""
ASKING: Final = 25
"""Words below which a question is one only."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What each signal counts. window: the words of a turn and around it. speaker: who is asked of said it.

    date: it was said when a named date was. time: it says when, where that is asked. grams: 4-grams. short: taken off
    the shortest turn. asks: taken off a short turn that only asks. own, around: vectors of the turn, and of it with
    the turns beside it.
    """

    window: float = 1.0
    speaker: float = 0.7
    date: float = 0.5
    time: float = 0.35
    grams: float = 0.2
    short: float = 0.35
    asks: float = 0.2
    own: float = 0.4
    around: float = 0.4


WEIGHTS: Final = Weights()


Arm = Mapping[int, float]
"""What one arm found: row -> score, which is above 0."""


def summed(arms: Sequence[tuple[float, Arm]]) -> dict[int, float]:
    """Return the weighted sums of what arms found, each arm divided by its best."""
    total: dict[int, float] = {}
    for weight, arm in arms:
        most = max(arm.values(), default=0.0)
        if most > 0:
            part = weight / most
            for row, score in arm.items():
                total[row] = total.get(row, 0.0) + part * score
    return total


def taken_off(size: int, asks: float, weights: Weights) -> float:
    """Return what a turn loses for what it is. size: words. asks: the share of questions in it, 0..1."""
    off = weights.asks * asks if asks and size < ASKING else 0.0
    return off + weights.short * _SHORTNESS[size] if size < len(_SHORTNESS) else off


def short_ones(weights: Weights) -> tuple[float, ...]:
    """Return what turns lose that ask nothing, by their words, of those below ASKING."""
    return tuple(taken_off(size, 0.0, weights) for size in range(ASKING))


_SHORTNESS: Final = tuple(1 - math.log(1 + size) / math.log(SHORT) for size in range(SHORT - 1))


def reciprocal(arms: Sequence[Arm], k: int = 60) -> list[int]:
    """Return rows by the sum of their reciprocal ranks in each arm: what the weighted sum stands beside in figures."""
    total: dict[int, float] = {}
    for arm in arms:
        for place, row in enumerate(sorted(arm, key=lambda each: (-arm[each], each)), 1):
            total[row] = total.get(row, 0.0) + 1 / (k + place)
    return sorted(total, key=lambda row: (-total[row], row))
