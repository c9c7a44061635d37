"""What speaks for a section, and for a statement in it, as numbers that can be weighed.

Strategy: each signal is 0..1 and has one plain meaning, so that the weights (`ranking`) are few and carry from one
knowledge base to another. Coverage is the share of what the question's words tell that a text's words stand for
(`alike`), each word weighed by how rare it is; a word that the knowledge base does not know counts as missing, so a
question about something else covers little.
"""

from bisect import bisect_right
from collections.abc import Sequence
from operator import mul
from typing import NamedTuple

from .asked import Asked, Kind
from .index import ASKS, CODE, HOLDS, LEADS, Index, Section

_KNOWN = 0.7  # how surely a word must be stood for, to be known here
_LEADS_BIT = LEADS.bit_length() - 1
_MARKED = [  # by the marks from LEADS on
    tuple([1.0 if marks << _LEADS_BIT & mark else 0.0 for mark in (LEADS, ASKS, CODE)]) for marks in range(8)
]
_MONEY_IN_PART = 0.3  # of a bare number, where money is asked for


class Whole(NamedTuple):
    """Of one section. coverage: by all its words. best: by its best statement, with what stands above and leads to it.

    kind: a statement holds the kind of thing that was asked for.
    """

    coverage: float
    best: float
    kind: float


class Single(NamedTuple):
    """Of one statement. own: coverage by its own words. all: and those above it and leading into it.

    kind: it holds the kind of thing that was asked for (a bare number counts in part where money is asked for).
    leads, asks, code: it ends in a colon, ends in a question mark, is code.
    """

    own: float
    all: float
    kind: float
    leads: float
    asks: float
    code: float


class Question:
    """A question against one index: its words, what they may stand for, and how much each tells.

    unknown: the share of what its words tell that nothing here stands for.
    """

    __slots__ = ("_like", "_weights", "asked", "unknown")

    def __init__(self, asked: Asked, index: Index) -> None:
        self.asked = asked
        likes = [index.alike.like(word) for word in asked.words]
        weights = [index.rarity(index.alike.number(word)) for word in asked.words]
        total = sum(weights) or 1.0
        self._weights = [weight / total for weight in weights]
        self._like: dict[int, list[tuple[int, float]]] = {}
        self.unknown = 0.0
        for place, (like, weight) in enumerate(zip(likes, self._weights, strict=True)):
            if max(like.values(), default=0.0) < _KNOWN:
                self.unknown += weight
            for number, sure in like.items():
                self._like.setdefault(number, []).append((place, sure))

    def look(self, section: Section) -> tuple[Whole, list[Single]]:
        """Return the signals of a section and of its statements. Most hold no word of the question: they cost least."""
        like, wanted = self._like, self.asked.kind
        above = [0.0] * len(self._weights)
        self._stand(section.headings, above)
        whole = list(above)
        overs: dict[
            int, tuple[list[float], float]
        ] = {}  # by what leads in: it and the headings, and their share
        for lead in section.leads:
            if id(lead) not in overs:
                over = list(above)
                self._stand(lead, over)
                overs[id(lead)] = (over, self._share(over))
                self._stand(lead, whole)
        held: dict[
            int, list[int]
        ] = {}  # by place: the words of a statement that stand for one of the question
        own = section.own
        for at in [at for at, word in enumerate(own) if word in like]:
            held.setdefault(bisect_right(section.ends, at), []).append(own[at])
        found: list[Single] = []
        best = most = 0.0
        for place, (lead, marks) in enumerate(zip(section.leads, section.marks, strict=True)):
            over, all = overs[id(lead)]
            alone = 0.0
            if place in held:
                sure = [0.0] * len(above)
                self._stand(held[place], sure)
                alone = self._share(sure)
                all = self._share(
                    [one if one > other else other for one, other in zip(sure, over, strict=True)]
                )
                self._stand(held[place], whole)
            kind = _held(wanted, marks)
            best = all if all > best else best
            most = kind if kind > most else most
            found.append(Single(alone, all, kind, *_MARKED[marks >> _LEADS_BIT]))
        return Whole(self._share(whole), best, most), found

    def _stand(self, words: Sequence[int], into: list[float]) -> None:
        """Note in `into`, by place in the question, how surely `words` stand for each of its words."""
        get = self._like.get
        for word in words:
            found = get(word)
            if found is not None:
                for place, sure in found:
                    if sure > into[place]:
                        into[place] = sure

    def _share(self, sure: Sequence[float]) -> float:
        """Return the share of what the question's words tell."""
        total: float = sum(map(mul, self._weights, sure))
        return total


def _held(wanted: Kind | None, marks: int) -> float:
    """Return how far a statement holds the kind of thing that was asked for."""
    if wanted is None:
        return 0.0
    if marks & HOLDS[wanted]:
        return 1.0
    return _MONEY_IN_PART if wanted == "money" and marks & HOLDS["number"] else 0.0
