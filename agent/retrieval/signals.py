"""What speaks for a section, and for a statement in it, as numbers that can be weighed.

Strategy: each signal is 0..1 and has one plain meaning, so that the weights (`ranking`) are few and carry from one
knowledge base to another. Coverage is the share of what the question's words tell that a text's words stand for
(`alike`), each word weighed by how rare it is; a word that the knowledge base does not know counts as missing, so a
question about something else covers little.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import compress
from operator import mul
from typing import NamedTuple

from .asked import Asked, Kind
from .index import ASKS, CODE, HOLDS, LEADS, Index, Section

_KNOWN = 0.7  # how surely a word must be stood for, to be known here
_LEADS_BIT = LEADS.bit_length() - 1
_MARKED = [  # by the marks from LEADS on
    tuple([1.0 if marks << _LEADS_BIT & mark else 0.0 for mark in (LEADS, ASKS, CODE)]) for marks in range(8)
]
_ABOVE = -1  # no object's id
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

    def look(self, section: Section) -> Whole:
        """Return the signals of a section. Most statements hold no word of the question: they cost nothing."""
        overs = self._overs(section)
        above = overs[_ABOVE][0]
        whole = list(above)
        best = 0.0
        for over, all in overs.values():
            if over is not above:
                _raise(whole, over)
            best = all if all > best else best
        for place, sure in self._held(section).items():
            _raise(whole, sure)
            all = self._share(_higher(sure, overs[id(section.leads[place])][0]))
            best = all if all > best else best
        kind = max([_kind(self.asked.kind, marks) for marks in set(section.marks)], default=0.0)
        return Whole(self._share(whole), best, kind)

    def statements(self, section: Section) -> list[Single]:
        """Return the signals of a section's statements."""
        overs, held = self._overs(section), self._held(section)
        found: list[Single] = []
        for place, (lead, marks) in enumerate(zip(section.leads, section.marks, strict=True)):
            over, all = overs[id(lead)]
            own = 0.0
            if place in held:
                own = self._share(held[place])
                all = self._share(_higher(held[place], over))
            found.append(Single(own, all, _kind(self.asked.kind, marks), *_MARKED[marks >> _LEADS_BIT]))
        return found

    def _overs(self, section: Section) -> dict[int, tuple[list[float], float]]:
        """Return, by what leads in, how surely it and the headings stand for each word, and their share.

        _ABOVE is that of the headings alone, without their share: no statement is.
        """
        above = [0.0] * len(self._weights)
        self._stand(section.headings, above)
        overs = {_ABOVE: (above, 0.0)}
        for lead in section.leads:
            if id(lead) not in overs:
                over = above
                if lead:
                    over = list(above)
                    self._stand(lead, over)
                overs[id(lead)] = (over, self._share(over))
        return overs

    def _held(self, section: Section) -> dict[int, list[float]]:
        """Return, by place, how surely a statement's own words stand for each word, of those that hold one."""
        held: dict[int, list[float]] = {}
        like, own, ends = self._like, section.own, section.ends
        for at in compress(range(len(own)), map(like.__contains__, own)):
            place = bisect_right(ends, at)
            sure = held.get(place)
            if sure is None:
                sure = held[place] = [0.0] * len(self._weights)
            for which, how in like[own[at]]:
                if how > sure[which]:
                    sure[which] = how
        return held

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


def _higher(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """Return the higher ones of two rows."""
    return [mine if mine > its else its for mine, its in zip(one, other, strict=True)]


def _raise(into: list[float], to: Sequence[float]) -> None:
    """Bring each of a row up to that of another."""
    into[:] = _higher(into, to)


def _kind(wanted: Kind | None, marks: int) -> float:
    """Return how far a statement holds the kind of thing that was asked for."""
    if wanted is None:
        return 0.0
    if marks & HOLDS[wanted]:
        return 1.0
    return _MONEY_IN_PART if wanted == "money" and marks & HOLDS["number"] else 0.0
