"""Estimates how surely anything answers a question: 0..1.

Strategy: the score of the best candidate is no measure (it is higher for questions about the other speaker's words).
The measures are: how much of the question one document of the right speaker holds, rare words counting more; how much
less the documents of other speakers hold; and whether anyone in the scope ever used its words, which means less where
few messages exist. A logistic function weighs them. Its round weights were fitted on three dialogues of LoCoMo,
against questions about the other speaker, which count twice, and about other dialogues. `python -m tests.bench.recall`
prints its accuracy on all of them.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

FLOOR: Final = 0.12
"""Below it nothing is found: refuses some 2 in 100 of the answered questions, most of which had found nothing."""
LOOKED_AT: Final = 12
"""Candidates of each side to compare, the best first."""
FEW: Final = 60
"""With this many documents, a word that none holds counts half as much as with very many."""
UNOPPOSED: Final = 0.75
"""The share of `QuestionCoverage.own` to assume for `QuestionCoverage.others` if a question names no speaker."""

_KNOWN, _OWN, _AROUND, _OTHERS, _BIAS = 2.1, 4.8, 1.1, -3.75, -3.1


@dataclass(frozen=True, slots=True)
class QuestionCoverage:
    """The share of a question that documents hold, rare words counting more, 0..1.

    `known`: held by any document. `own`: by the best turn of the speaker in question. `around`: by that speaker's best
    turn with its neighbours. `others`: by the best turn of other speakers, None if the question names no speaker.
    """

    known: float
    own: float
    around: float
    others: float | None


def word_rarity(documents: int, frequency: int) -> float:
    """Return the weight of a word that stands in `frequency` of `documents`, which may be 0."""
    return math.log(1 + (1 + documents) / (1 + frequency))


class QuestionMass:
    """The words of a question with their weights.

    `weighted_stems`: pairs of a stem number, None for a stem that no document holds, and its weight. `documents`:
    how many there are. `known`: the share of the weight that some document holds.
    """

    def __init__(self, weighted_stems: Iterable[tuple[int | None, float]], documents: int) -> None:
        self._weights: dict[int, float] = {}
        total = 0.0
        for number, telling in weighted_stems:
            if number is None:
                total += telling * documents / (documents + FEW)
            else:
                total += telling
                self._weights[number] = telling
        self._total = total or 1.0
        self.known = sum(self._weights.values()) / self._total

    def share(self, words: Iterable[int]) -> float:
        """Return the share of the question that these stem numbers hold, 0..1."""
        weights = self._weights
        return sum([weights[each] for each in weights.keys() & words]) / self._total

    def largest_share(self, documents: Iterable[Sequence[Sequence[int]]]) -> float:
        """Return the largest share of the question that one of `documents` holds, 0..1.

        `documents`: the stem numbers of each, in any number of parts.
        """
        best = 0.0
        for parts in documents:
            best = max(best, self.share(chain.from_iterable(parts)))
            if best >= self.known:  # no document holds more
                break
        return best


def estimate_sureness(coverage: QuestionCoverage) -> float:
    """Return how surely anything fits, 0..1."""
    others = UNOPPOSED * coverage.own if coverage.others is None else coverage.others
    return 1 / (
        1
        + math.exp(
            -(
                _KNOWN * coverage.known
                + _OWN * coverage.own
                + _AROUND * coverage.around
                + _OTHERS * others
                + _BIAS
            )
        )
    )
