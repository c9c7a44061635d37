"""What speaks for a section, and for a statement in it, as numbers that can be weighed.

Strategy: each signal is 0..1 and has one plain meaning, so that the weights (`ranking`) are few and carry from one
knowledge base to another. Coverage is the share of what the question's words tell that a text's words stand for
(`agent.lexical.alike`), each word weighed by how rare it is, and by how common it is in any text where that is known; a
word that the knowledge base does not know counts as missing, so a question about something else covers little. How much
whole sections cover is told by the lists of which sections hold a word, without a look at any; only statements that may
answer are read, and most hold no word of the question.
"""

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from itertools import compress
from operator import mul
from typing import NamedTuple

from .asked import Asked, Kind
from .base import Section
from .index import Index
from .terms import ASKS, CODE, HOLDS, LEADS

_KNOWN = 0.7  # how surely a word must be stood for, to be known here
_LEADS_BIT = LEADS.bit_length() - 1
_MARKED = [  # by the marks from LEADS on
    tuple([1.0 if marks << _LEADS_BIT & mark else 0.0 for mark in (LEADS, ASKS, CODE)]) for marks in range(8)
]
_ALL_MARKS = range(8 << _LEADS_BIT)
_MONEY_IN_PART = 0.3  # of a bare number, where money is asked for


def _kind(wanted: Kind, marks: int) -> float:
    """Return how far a statement holds the kind of thing that was asked for."""
    if marks & HOLDS[wanted]:
        return 1.0
    return _MONEY_IN_PART if wanted == "money" and marks & HOLDS["number"] else 0.0


_KINDS: Mapping[Kind | None, Sequence[float]] = {  # by what is asked for, then by marks
    None: [0.0 for _ in _ALL_MARKS],
    **{wanted: [_kind(wanted, marks) for marks in _ALL_MARKS] for wanted in HOLDS},
}


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

    unknown: the share of what its words tell that nothing here stands for. meant: the share of those words that the
    operator's synonyms explain. general: how many sections what a word tells in any text counts as (`Lexicon.telling`).
    """

    __slots__ = ("_index", "_kinds", "_likes", "_stands", "_weights", "asked", "meant", "unknown")

    def __init__(self, asked: Asked, index: Index, general: int = 0) -> None:
        self.asked = asked
        self._index = index
        self._kinds = _KINDS[asked.kind]
        self._likes = [index.lexicon.alike.like(word) for word in asked.words]
        weights = [index.lexicon.telling(word, general) for word in asked.words]
        total = sum(weights) or 1.0
        self._weights = [weight / total for weight in weights]
        self._stands: dict[int, list[tuple[int, float]]] = {}  # filled when first needed
        self.unknown = self.meant = 0.0
        for word, like, weight in zip(asked.words, self._likes, self._weights, strict=True):
            if next(iter(like.values()), 0.0) < _KNOWN:
                self.unknown += weight
            if index.lexicon.spelled_as(word) != word:
                self.meant += weight

    def coverage(self, sections: Collection[int]) -> dict[int, float]:
        """Return the coverage of sections by all words in them, by number. They must be living ones."""
        covered = dict.fromkeys(sections, 0.0)
        for like, weight in zip(self._likes, self._weights, strict=True):
            for number, sure in self._index.lexicon.surest(like, sections).items():
                covered[number] += sure * weight
        return covered

    def kind(self, section: Section) -> float:
        """Return how far a statement of a section holds the kind of thing that was asked for."""
        if self.asked.kind is None:
            return 0.0
        return max(map(self._kinds.__getitem__, section.marks), default=0.0)

    def statements(self, section: Section) -> list[Single]:
        """Return the signals of a section's statements; those that have the same may share one object."""
        overs, held = self._overs(section), self._held(section)
        kinds = self._kinds
        found: list[Single] = []
        same: dict[tuple[int, int], Single] = {}  # by what leads in and marks
        for key in zip(map(id, section.leads), section.marks, strict=True):
            single = same.get(key)
            if single is None:
                at, marks = key
                single = same[key] = Single(0.0, overs[at][1], kinds[marks], *_MARKED[marks >> _LEADS_BIT])
            found.append(single)
        for place, sure in held.items():
            over, _ = overs[id(section.leads[place])]
            all = self._share([mine if mine > its else its for mine, its in zip(sure, over, strict=True)])
            found[place] = Single(self._share(sure), all, *found[place][2:])
        return found

    def _overs(self, section: Section) -> dict[int, tuple[list[float], float]]:
        """Return, by what leads in, how surely it and the headings stand for each word, and their share."""
        above = [0.0] * len(self._weights)
        self._stand(section.headings, above)
        overs: dict[int, tuple[list[float], float]] = {}
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
        stands, own, ends = self._stood_for(), section.own, section.ends
        for at in compress(range(len(own)), map(stands.__contains__, own)):
            place = bisect_right(ends, at)
            sure = held.get(place)
            if sure is None:
                sure = held[place] = [0.0] * len(self._weights)
            for which, how in stands[own[at]]:
                if how > sure[which]:
                    sure[which] = how
        return held

    def _stand(self, words: Sequence[int], into: list[float]) -> None:
        """Note in `into`, by place in the question, how surely `words` stand for each of its words."""
        get = self._stood_for().get
        for word in words:
            found = get(word)
            if found is not None:
                for place, sure in found:
                    if sure > into[place]:
                        into[place] = sure

    def _stood_for(self) -> Mapping[int, list[tuple[int, float]]]:
        """Return, by known word, which words of the question it stands for, by place, and how surely."""
        stands = self._stands
        if not stands:
            for place, like in enumerate(self._likes):
                for number, sure in like.items():
                    stands.setdefault(number, []).append((place, sure))
        return stands

    def _share(self, sure: Sequence[float]) -> float:
        """Return the share of what the question's words tell."""
        total: float = sum(map(mul, self._weights, sure))
        return total
