"""The signals for a section, and for a statement in it, as numbers that can be weighed.

Strategy: each signal is 0..1 and has one plain meaning, so that the weights (`ranking`) are few and carry from one
knowledge base to another. Coverage is the share of the question's word weights that a text's words stand for
(`agent.lexical.alike`); each word is weighed by its rarity, and by its general weight where that is known. A word
that the knowledge base does not know counts as missing, so a question about something else covers little. The
coverage of whole sections comes from the lists of sections that hold a word, without reading any section. Only the
statements of the best sections are read, and most of those hold no word of the question. So the words of a section are
kept in the form in which they are looked up (`SectionWords`): most questions look at the sections that others did.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from math import log1p
from operator import itemgetter, mul
from typing import NamedTuple

from agent.ports.search import Passage

from .base import IndexedSection
from .index import KnowledgeIndex
from .parsed_question import Kind, ParsedQuestion
from .ranking_weights import WITHOUT, SignalWeights
from .sections import PASSAGE_SNIPPETS
from .terms import ASKS, CODE, HOLDS, LEADS

_KNOWN = 0.7  # likeness from which a word of the question counts as known here
_HELD = 0.5  # likeness from which a statement holds a name of the question
_LEADS_BIT = LEADS.bit_length() - 1
_MARKED = [  # the values of leads, asks and code, by the marks from LEADS on
    tuple([1.0 if marks << _LEADS_BIT & mark else 0.0 for mark in (LEADS, ASKS, CODE)]) for marks in range(8)
]
_ALL_MARKS = range(8 << _LEADS_BIT)
_SECTIONS_KEPT = 512  # sections whose words are kept for look-ups, 2.0 to 2.5 KiB each
_ALONE = [(place,) for place in range(PASSAGE_SNIPPETS)]
_MONEY_IN_PART = 0.3  # the kind signal of a bare number, where money is asked for


def _kind_score(wanted: Kind, marks: int) -> float:
    """Return how far a statement with these marks holds the kind of thing that a question asks for, 0..1."""
    if marks & HOLDS[wanted]:
        return 1.0
    return _MONEY_IN_PART if wanted == "money" and marks & HOLDS["number"] else 0.0


_KINDS: Mapping[Kind | None, tuple[float, ...]] = {  # by the kind of the question, then by marks
    None: (0.0,) * len(_ALL_MARKS),
    **{wanted: tuple([_kind_score(wanted, marks) for marks in _ALL_MARKS]) for wanted in HOLDS},
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


@lru_cache(maxsize=_SECTIONS_KEPT)
def _join_marks(marks: bytes) -> int:
    """Return all marks of a section's statements; a kind signal of them is the best of its statements."""
    joined = 0
    for each in marks:
        joined |= each
    return joined


class SectionWords(NamedTuple):
    """The words of one section, in a form for look-ups by question.

    `statements`: each statement, as its section and its place there. `headings`: the words above it. `leads`: those of
    each leading line. `alike`: the different pairs of a leading line, by its place in `leads`, and marks.
    `of_statement`: for each statement, the place of its pair in `alike`.
    `places`: the statements that hold a word, by word. `lengths`: of each statement, the logarithm of 1 and the number
    of its different content words.
    """

    statements: list[tuple[Passage, int]]
    headings: frozenset[int]
    leads: list[frozenset[int]]
    alike: list[tuple[int, int]]
    of_statement: bytes
    places: dict[int, tuple[int, ...]]
    lengths: list[float]


@lru_cache(maxsize=_SECTIONS_KEPT)
def _words_of(section: IndexedSection) -> SectionWords:
    """Return the words of a section; the most recently used are cached."""
    leads: dict[int, int] = {}
    alike: dict[tuple[int, int], int] = {}
    of_statement = bytearray()
    for lead, marks in zip(section.leads, section.marks, strict=True):
        key = leads.setdefault(id(lead), len(leads)), marks
        of_statement.append(alike.setdefault(key, len(alike)))
    by_id = {id(lead): lead for lead in section.leads}
    places: dict[int, tuple[int, ...]] = {}
    lengths: list[float] = []
    own, start = section.own, 0
    for place, end in enumerate(section.ends):
        alone = _ALONE[place]  # a tuple that most words share
        for word in own[start:end]:
            places[word] = (*places[word], place) if word in places else alone
        lengths.append(log1p(end - start))
        start = end
    statements = [(section.passage, place) for place in range(len(section.marks))]
    return SectionWords(
        statements,
        frozenset(section.headings),
        [frozenset(by_id[each]) for each in leads],
        list(alike),
        bytes(of_statement),
        places,
        lengths,
    )


class SectionSignals(NamedTuple):
    """The signals of a section's statements for one question.

    `kinds`: the kind signal by marks. `by_leads`: the coverage by the headings and each leading line of `words`.
    `covered`: the coverage of a statement by its own words, and by all, for statements whose own words stand for a word
    of the question. `best`: the best coverage of a statement by all. `scores`: the weighted sum of each statement's
    signals.
    """

    words: SectionWords
    kinds: Sequence[float]
    by_leads: list[float]
    covered: dict[int, tuple[float, float]]
    best: float
    scores: list[float]

    def of_statement(self, place: int) -> StatementSignals:
        """Return the signals of one statement."""
        lead, marks = self.words.alike[self.words.of_statement[place]]
        own, every = self.covered.get(place) or (0.0, self.by_leads[lead])
        return StatementSignals(own, every, self.kinds[marks], *_MARKED[marks >> _LEADS_BIT])


@lru_cache(maxsize=16)
def _weigh_marks(weights: SignalWeights, kind: Kind | None) -> Sequence[float]:
    """Return the weighted sum of the signals that a statement's marks give, by marks. `kind`: of the question."""
    found = []
    for marks, of_kind in enumerate(_KINDS[kind]):
        leads, asks, code = _MARKED[marks >> _LEADS_BIT]
        found.append(
            weights.single_kind * of_kind
            + weights.single_leads * leads
            + weights.single_asks * asks
            + weights.single_code * code
        )
    return found


class IndexedQuestion:
    """A question against one index: its words, the words they may stand for, and the weight of each.

    `unknown`: the share of its words, by weight, that no word here stands for. `meant`: the share that the operator's
    synonyms explain. `by`: the weights of signals. `names`: its folded names and numbers. Coverages and signals of
    sections are kept, since a question may be ranked twice: in its own language, and in all.
    """

    __slots__ = (
        *("_by_all", "_by_own", "_covered", "_index", "_kinds", "_likes", "_names", "_of_marks", "_signals"),
        *("_stands", "_stood_for", "_uncovered", "_weights", "meant", "parsed", "unknown"),
    )

    def __init__(
        self,
        parsed: ParsedQuestion,
        index: KnowledgeIndex,
        by: SignalWeights = WITHOUT,
        names: Set[str] = frozenset(),
    ) -> None:
        lexicon = index.lexicon
        self.parsed = parsed
        self._by_all, self._by_own = by.single_all, by.single_own
        self._of_marks = _weigh_marks(by, parsed.kind)
        self._index = index
        self._names = names
        self._kinds = _KINDS[parsed.kind]
        self._covered: dict[int, float] = {}
        self._signals: dict[IndexedSection, SectionSignals] = {}
        self._likes = [lexicon.likeness.find_like(word) for word in parsed.words]
        weights = [lexicon.word_weight(word, by.general) for word in parsed.words]
        total = sum(weights) or 1.0
        self._weights = [weight / total for weight in weights]
        self._uncovered = (0.0,) * len(weights)
        self._stands = self._words_stood_for()
        self._stood_for = set(self._stands)  # not frozen: `&` with a dict's keys is quicker
        self.unknown = self.meant = 0.0
        for word, like, weight in zip(parsed.words, self._likes, self._weights, strict=True):
            if next(iter(like.values()), 0.0) < _KNOWN:
                self.unknown += weight
            if lexicon.spelled_as(word) != word:
                self.meant += weight

    def coverage(self, sections: Iterable[int]) -> Mapping[int, float]:
        """Return the coverage of living sections by all the words in them, by section number; also of earlier ones."""
        covered = self._covered
        new = dict.fromkeys(set(sections).difference(covered), 0.0)
        covered |= new
        for like, weight in zip(self._likes, self._weights, strict=True):
            for number, sure in self._index.lexicon.find_surest(like, new).items():
                covered[number] += sure * weight
        return covered

    def kind_of(self, section: IndexedSection, place: int) -> float:
        """Return the kind signal of one statement of a section."""
        return self._kinds[section.marks[place]]

    def kind_score(self, section: IndexedSection) -> float:
        """Return the best kind signal of the statements of a section."""
        return self._kinds[_join_marks(section.marks)]

    def measure_missing_names(self, words: SectionWords, place: int) -> float:
        """Return the share of the question, by weight, that is names which a statement does not stand for.

        The headings and the leading line of the statement count as its words. `words`: of its section.
        """
        names = [at for at, word in enumerate(self.parsed.words) if word in self._names]
        if not names:
            return 0.0
        lead, _ = words.alike[words.of_statement[place]]
        own = frozenset([word for word, at in words.places.items() if place in at])
        sure: Sequence[float] = self._uncovered
        for held in (words.headings, words.leads[lead], own):
            sure = self._cover_words(held, sure)
        return sum([self._weights[at] for at in names if sure[at] < _HELD])

    def score_section(self, section: IndexedSection) -> SectionSignals:
        """Return the signals of a section's statements."""
        signals = self._signals.get(section)
        if signals is None:
            signals = self._signals[section] = self._score_words(_words_of(section))
        return signals

    def _score_words(self, words: SectionWords) -> SectionSignals:
        """Return the signals of a section's statements, from its words."""
        weights, of_marks, by_all, by_own = self._weights, self._of_marks, self._by_all, self._by_own
        alike, of_statement = words.alike, words.of_statement
        above = self._cover_words(words.headings, self._uncovered)
        overs = [self._cover_words(lead, above) if lead else above for lead in words.leads]
        by_leads = [sum(map(mul, weights, over)) if any(over) else 0.0 for over in overs]
        best = max(by_leads)
        of_alike = [by_all * by_leads[lead] + of_marks[marks] for lead, marks in alike]
        scores = list(map(of_alike.__getitem__, of_statement))
        covered: dict[int, tuple[float, float]] = {}
        for place, held in self._find_held(words.places).items():
            lead, marks = alike[of_statement[place]]
            over, own, more = overs[lead], 0.0, 0.0
            for at, sure in held:
                own += weights[at] * sure
                if sure > over[at]:
                    more += weights[at] * (sure - over[at])
            every = by_leads[lead] + more
            covered[place] = own, every
            scores[place] = by_own * own + by_all * every + of_marks[marks]
            if every > best:
                best = every
        return SectionSignals(words, self._kinds, by_leads, covered, best, scores)

    def _find_held(self, places: Mapping[int, Sequence[int]]) -> Mapping[int, Sequence[tuple[int, float]]]:
        """Return, by place, the words of the question that a statement's own words stand for, and how surely.

        `places`: the statements that hold a word, by word. The words of the question are their places, in order: sums
        of three terms and more depend on their order, and equal statements have equal sums.
        """
        held: dict[int, Sequence[tuple[int, float]]] = {}
        stands = self._stands
        for word in places.keys() & self._stood_for:  # looks up those of the smaller one
            stood_for = stands[word]
            for place in places[word]:
                held[place] = _join_surest(held[place], stood_for) if place in held else stood_for
        return held

    def _cover_words(self, words: frozenset[int], above: Sequence[float]) -> Sequence[float]:
        """Return how surely `words` stand for each word of the question, by its place, or as `above` where surer."""
        known = self._stood_for & words
        if not known:  # true of most headings and leading lines
            return above
        stands, covered = self._stands, list(above)
        for word in known:
            for place, sure in stands[word]:
                if sure > covered[place]:
                    covered[place] = sure
        return covered

    def _words_stood_for(self) -> dict[int, list[tuple[int, float]]]:
        """Return, by known word, the words of the question that it stands for: their places, and how surely."""
        stands: dict[int, list[tuple[int, float]]] = {}
        for place, like in enumerate(self._likes):
            for number, sure in like.items():
                stood_for = stands.get(number)
                if stood_for is None:
                    stands[number] = [(place, sure)]
                else:
                    stood_for.append((place, sure))
        return stands


def _join_surest(
    one: Sequence[tuple[int, float]], other: Sequence[tuple[int, float]]
) -> Sequence[tuple[int, float]]:
    """Return the words of a question that either stands for, by place in order, each with the surer of both.

    Both are in the order of their places.
    """
    if one[-1][0] < other[0][0]:
        return [*one, *other]
    if other[-1][0] < one[0][0]:
        return [*other, *one]
    surest = dict(sorted([*one, *other], key=itemgetter(1)))  # the last of two with one place counts
    return sorted(surest.items())
