"""The signals for a section, and for a statement in it, as numbers that can be weighed.

Strategy: each signal is 0..1 and has one plain meaning, so that the weights (`ranking`) are few and carry from one
knowledge base to another. Coverage is the share of the question's word weights that a text's words stand for
(`agent.lexical.alike`); each word is weighed by its rarity, and by its general weight where that is known. A word
that the knowledge base does not know counts as missing, so a question about something else covers little. The
coverage of whole sections comes from the lists of sections that hold a word, without reading any section. Only the
statements of the best sections are read, and most of those hold no word of the question.
"""

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from itertools import compress
from operator import mul
from typing import NamedTuple

from .base import IndexedSection
from .index import KnowledgeIndex
from .parsed_question import Kind, ParsedQuestion
from .terms import ASKS, CODE, HOLDS, LEADS

_KNOWN = 0.7  # likeness from which a word of the question counts as known here
_LEADS_BIT = LEADS.bit_length() - 1
_MARKED = [  # the values of leads, asks and code, by the marks from LEADS on
    tuple([1.0 if marks << _LEADS_BIT & mark else 0.0 for mark in (LEADS, ASKS, CODE)]) for marks in range(8)
]
_ALL_MARKS = range(8 << _LEADS_BIT)
_MONEY_IN_PART = 0.3  # the kind signal of a bare number, where money is asked for


def _kind_score(wanted: Kind, marks: int) -> float:
    """Return how far a statement with these marks holds the kind of thing that a question asks for, 0..1."""
    if marks & HOLDS[wanted]:
        return 1.0
    return _MONEY_IN_PART if wanted == "money" and marks & HOLDS["number"] else 0.0


_KINDS: Mapping[Kind | None, Sequence[float]] = {  # by the kind of the question, then by marks
    None: [0.0 for _ in _ALL_MARKS],
    **{wanted: [_kind_score(wanted, marks) for marks in _ALL_MARKS] for wanted in HOLDS},
}


class StatementSignals(NamedTuple):
    """The signals of one statement, each 0..1.

    `own`: coverage by its own words. `all`: coverage also by the headings above it and the line leading into it.
    `kind`: it holds the kind of thing that the question asks for (a bare number counts in part where money is asked
    for). `leads`, `asks`, `code`: it ends in a colon, ends in a question mark, is code.
    """

    own: float
    all: float
    kind: float
    leads: float
    asks: float
    code: float


class IndexedQuestion:
    """A question against one index: its words, the words they may stand for, and the weight of each.

    `unknown`: the share of its words, by weight, that no word here stands for. `meant`: the share that the operator's
    synonyms explain. `general`: how many sections the weight of a word in any text counts as (`Lexicon.word_weight`).
    """

    __slots__ = ("_index", "_kinds", "_likes", "_stands", "_weights", "meant", "parsed", "unknown")

    def __init__(self, parsed: ParsedQuestion, index: KnowledgeIndex, general: int = 0) -> None:
        self.parsed = parsed
        self._index = index
        self._kinds = _KINDS[parsed.kind]
        self._likes = [index.lexicon.likeness.find_like(word) for word in parsed.words]
        weights = [index.lexicon.word_weight(word, general) for word in parsed.words]
        total = sum(weights) or 1.0
        self._weights = [weight / total for weight in weights]
        self._stands: dict[int, list[tuple[int, float]]] = {}  # filled when first needed
        self.unknown = self.meant = 0.0
        for word, like, weight in zip(parsed.words, self._likes, self._weights, strict=True):
            if next(iter(like.values()), 0.0) < _KNOWN:
                self.unknown += weight
            if index.lexicon.spelled_as(word) != word:
                self.meant += weight

    def coverage(self, sections: Collection[int]) -> dict[int, float]:
        """Return the coverage of living sections by all the words in them, by section number."""
        covered = dict.fromkeys(sections, 0.0)
        for like, weight in zip(self._likes, self._weights, strict=True):
            for number, sure in self._index.lexicon.find_surest(like, sections).items():
                covered[number] += sure * weight
        return covered

    def kind_score(self, section: IndexedSection) -> float:
        """Return the best kind signal of the statements of a section."""
        if self.parsed.kind is None:
            return 0.0
        return max(map(self._kinds.__getitem__, section.marks), default=0.0)

    def score_statements(self, section: IndexedSection) -> list[StatementSignals]:
        """Return the signals of a section's statements; statements with equal signals may share one object."""
        overs, held = self._cover_leads(section), self._cover_statements(section)
        kinds = self._kinds
        found: list[StatementSignals] = []
        same: dict[tuple[int, int], StatementSignals] = {}  # by `id` of the leading words, and marks
        for key in zip(map(id, section.leads), section.marks, strict=True):
            single = same.get(key)
            if single is None:
                at, marks = key
                single = same[key] = StatementSignals(
                    0.0, overs[at][1], kinds[marks], *_MARKED[marks >> _LEADS_BIT]
                )
            found.append(single)
        for place, sure in held.items():
            over, _ = overs[id(section.leads[place])]
            all = self._share(
                [by_own if by_own > by_lead else by_lead for by_own, by_lead in zip(sure, over, strict=True)]
            )
            found[place] = StatementSignals(self._share(sure), all, *found[place][2:])
        return found

    def _cover_leads(self, section: IndexedSection) -> dict[int, tuple[list[float], float]]:
        """Return, by `id` of the leading words, how surely they and the headings stand for each word, with coverage."""
        above = [0.0] * len(self._weights)
        self._add_coverage(section.headings, above)
        overs: dict[int, tuple[list[float], float]] = {}
        for lead in section.leads:
            if id(lead) not in overs:
                over = above
                if lead:
                    over = list(above)
                    self._add_coverage(lead, over)
                overs[id(lead)] = (over, self._share(over))
        return overs

    def _cover_statements(self, section: IndexedSection) -> dict[int, list[float]]:
        """Return, by place, how surely a statement's own words stand for each word, if they stand for any."""
        held: dict[int, list[float]] = {}
        stands, own, ends = self._words_stood_for(), section.own, section.ends
        for at in compress(range(len(own)), map(stands.__contains__, own)):
            place = bisect_right(ends, at)
            sure = held.get(place)
            if sure is None:
                sure = held[place] = [0.0] * len(self._weights)
            for word, confidence in stands[own[at]]:
                if confidence > sure[word]:
                    sure[word] = confidence
        return held

    def _add_coverage(self, words: Sequence[int], into: list[float]) -> None:
        """Raise `into`, by place in the question, to how surely `words` stand for each of its words."""
        get = self._words_stood_for().get
        for word in words:
            found = get(word)
            if found is not None:
                for place, sure in found:
                    if sure > into[place]:
                        into[place] = sure

    def _words_stood_for(self) -> Mapping[int, list[tuple[int, float]]]:
        """Return, by known word, the words of the question that it stands for: their places, and how surely."""
        stands = self._stands
        if not stands:
            for place, like in enumerate(self._likes):
                for number, sure in like.items():
                    stands.setdefault(number, []).append((place, sure))
        return stands

    def _share(self, sure: Sequence[float]) -> float:
        """Return the coverage: the weights of the question's words, each times how surely it is stood for."""
        total: float = sum(map(mul, self._weights, sure))
        return total
