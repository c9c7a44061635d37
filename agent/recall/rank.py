"""Ranks candidates, and sets how many each arm proposes.

Strategy: the scores of each arm are divided by its best and summed with weights. Other signs of a good candidate are
added: its speaker, a time if the question asks for one, a date that the question names. Ranks alone are never summed:
with one weak arm of two that is worse by nine points. The weights were set by hand on three dialogues of LoCoMo and on
BEAM's chats of 100K, one table for both; a signal that helps one of them and costs the other more than a point is left
out (a bonus for length, whole sittings). `python -m tests.bench.recall` prints the results.
"""

import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from .query import AnalyzedQuestion
from .rows import RecallRows

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


@cache
def _short_penalties(weights: RankWeights) -> tuple[float, ...]:
    """Return the penalties of turns without a question, by size below ASKING."""
    return tuple(turn_penalty(size, 0.0, weights) for size in range(ASKING))


def rank_rows(
    rows: RecallRows,
    scores: Mapping[int, float],
    question: AnalyzedQuestion,
    weights: RankWeights,
    bonus: Callable[[int], float] | None = None,
) -> list[tuple[float, int]]:
    """Return the candidates with their scores, best first; of equal scores the later row first.

    `scores`: of each row, by `sum_arms`. `bonus`: returns what is added to the score of a row.
    """
    by, off = rows.spoken_by(question.speakers), _short_penalties(weights)
    ranking: list[tuple[float, int]] = []
    sizes, asks, spoke = rows.sizes, rows.asks, rows.by
    timed, when, dated = rows.is_timed, question.asks_time, question.has_dates
    for row, score in scores.items():
        size = sizes[row]
        if size < ASKING:
            score -= turn_penalty(size, asks[row] / 255, weights) if asks[row] else off[size]
        if spoke[row] in by:
            score += weights.speaker
        if when and timed(row):
            score += weights.time
        if dated:
            score += weights.date * question.fit_time(rows.at[row])
        if bonus is not None:
            score += bonus(row)
        ranking.append((score, row))
    ranking.sort(reverse=True)
    return ranking


class NameFinder:
    """Names of several words, by the stem numbers of a row.

    `names`: the numbers of the stems of each name, in order.
    """

    def __init__(self, names: Iterable[tuple[int, ...]]) -> None:
        self._rest: dict[int, list[tuple[int, ...]]] = {}  # by the first stem
        for first, *rest in names:
            self._rest.setdefault(first, []).append(tuple(rest))

    def has_name(self, words: "array[int]") -> bool:
        """Tell whether a name stands in a row of these stem numbers, whole."""
        if self._rest.keys().isdisjoint(words):
            return False
        return any(
            tuple(words[at + 1 : at + 1 + len(rest)]) == rest
            for at, word in enumerate(words)
            for rest in self._rest.get(word, ())
        )


_SHORTNESS: Final = tuple(1 - math.log(1 + size) / math.log(SHORT) for size in range(SHORT - 1))
