"""How surely anything answers a question: 0..1.

Strategy: the score of the best candidate does not tell (of questions about what the other one said it is higher). What
tells is how much of the question one document holds, rare words counting more, if the one said it who is asked about,
and how much less the others' documents hold; and whether anybody here ever used its words, which says less where little
was said. These are weighed in a logistic, whose round weights were fitted on three dialogues of LoCoMo, against
questions about the other speaker, which count twice, and about other dialogues. `python -m tests.bench.recall` prints
how well it tells on all.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

FLOOR: Final = 0.12
"""Below it nothing is found: refuses some 2 in 100 of the questions that are answered, of which most found nothing."""
LOOKED_AT: Final = 12
"""Candidates of each side that are looked at, the best first."""
FEW: Final = 60
"""Documents of which a word that none of them holds tells half of what it does in many: little was said at all."""
UNOPPOSED: Final = 0.75
"""Of what the right documents hold, what others are taken to hold where a question is about nobody."""

_KNOWN, _OWN, _AROUND, _OTHERS, _BIAS = 2.1, 4.8, 1.1, -3.75, -3.1


@dataclass(frozen=True, slots=True)
class Held:
    """What share of a question is held, its rare words counting more, 0..1.

    known: by anything at all. own: by the best turn of who is asked about, itself. around: by the best one with its
    neighbours. others: by the best turn of the others, None where a question is about nobody.
    """

    known: float
    own: float
    around: float
    others: float | None


def rarity(documents: int, frequency: int) -> float:
    """Return how much a word tells that stands in `frequency` of some documents, of which there may be none yet."""
    return math.log(1 + (1 + documents) / (1 + frequency))


class Mass:
    """The words of a question. told: their numbers, None of one that nothing holds, and how much each tells.

    documents: among how many. known: what share of it anything holds.
    """

    def __init__(self, told: Iterable[tuple[int | None, float]], documents: int) -> None:
        self._told: dict[int, float] = {}
        total = 0.0
        for number, telling in told:
            if number is None:
                total += telling * documents / (documents + FEW)
            else:
                total += telling
                self._told[number] = telling
        self._total = total or 1.0
        self.known = sum(self._told.values()) / self._total

    def most(self, documents: Iterable[Sequence[Sequence[int]]]) -> float:
        """Return the largest share of the question that one of some documents holds, 0..1.

        documents: the words of each, in as many parts as they come.
        """
        best, told = 0.0, self._told
        for parts in documents:
            held = told.keys() & chain.from_iterable(parts)
            best = max(best, sum([told[each] for each in held]) / self._total)
            if best >= self.known:  # none holds more
                break
        return best


def sureness(held: Held) -> float:
    """Return how surely anything fits, 0..1."""
    others = UNOPPOSED * held.own if held.others is None else held.others
    return 1 / (
        1
        + math.exp(
            -(_KNOWN * held.known + _OWN * held.own + _AROUND * held.around + _OTHERS * others + _BIAS)
        )
    )
