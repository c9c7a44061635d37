"""Ranks candidates, and sets how many each arm proposes.

Strategy: the scores of each arm are divided by its best and summed with weights. Other signs of a good candidate are
added: its speaker, a time if the question asks for one, a date that the question names. Ranks alone are never summed:
with one weak arm of two that is worse by nine points. The weights were set by hand on three dialogues of LoCoMo and on
BEAM's chats of 100K, one table for both; a signal that helps one of them and costs the other more than a point is left
out (a bonus for length, whole sittings). `python -m tests.bench.recall` prints the results.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

ARM: Final = 100
"""Documents that the arm of stems proposes, ..."""
PART_ARM: Final = 250
"""... if some are parts of long messages, several of one message, ..."""
GRAM_ARM: Final = 100
"""... and rows that the arm of 4-grams proposes, which is weaker."""

SHORT: Final = 16
"""Words from which a turn is not penalised as short."""
ASKING: Final = 25
"""Words below which a question is treated as nothing but a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankWeights:
    """The weight of each signal.

    `window`: the words of a turn and around it. `speaker`: it is by the speaker in question. `date`: it was said at a
    named date. `time`: it gives a time, if the question asks for one. `grams`: 4-grams. `short`: the penalty of the
    shortest turn. `asks`: the penalty of a short turn that only asks. `own`, `around`: the vector of the turn, and of
    it with its neighbours.
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


WEIGHTS: Final = RankWeights()


Arm = Mapping[int, float]
"""The candidates of one arm: row -> score above 0."""


def sum_arms(arms: Sequence[tuple[float, Arm]]) -> dict[int, float]:
    """Return the weighted sum of the scores of `arms`, each arm divided by its best."""
    total: dict[int, float] = {}
    for weight, arm in arms:
        most = max(arm.values(), default=0.0)
        if most > 0:
            part = weight / most
            for row, score in arm.items():
                total[row] = total.get(row, 0.0) + part * score
    return total


def turn_penalty(size: int, asks: float, weights: RankWeights) -> float:
    """Return the penalty of a turn. `size`: words. `asks`: the share of questions in it, 0..1."""
    off = weights.asks * asks if asks and size < ASKING else 0.0
    return off + weights.short * _SHORTNESS[size] if size < len(_SHORTNESS) else off


def short_penalties(weights: RankWeights) -> tuple[float, ...]:
    """Return the penalties of turns without a question, by size below ASKING."""
    return tuple(turn_penalty(size, 0.0, weights) for size in range(ASKING))


_SHORTNESS: Final = tuple(1 - math.log(1 + size) / math.log(SHORT) for size in range(SHORT - 1))
