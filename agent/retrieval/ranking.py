"""How sections and statements are put in order, and how sure the first of them is: weighed sums of their signals.

Strategy: three sets of weights: without vectors, with means of word vectors, with those of a model of sentences. Each
was fitted to labelled questions on public sets of documents (four English and two Swedish; the last to the English
ones) at once, by maximum likelihood: that of the right section among the candidates, of the right statement among those
of the best sections, and of a right answer, where questions that the documents do not answer count too.
`python -m tests.bench.documents` prints what they are worth on each set.

Sections are ranked in two looks: what the index tells orders all candidates, and the first of them are looked at
closely. Only the statements of those that may answer are weighed one by one.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import exp
from typing import NamedTuple, TypeAlias

from agent.ports.search import Lang

from .asked import asked
from .index import Found, Index, Section
from .signals import Question, Single, Whole
from .vectors import NoVectors, SectionVectors

CANDIDATES = 50
"""Sections that each arm proposes."""

CLOSELY = 40
"""Of them, those that are looked at closely."""

ANSWERING = 6
"""Sections whose statements may answer."""

_SPAN = 200  # sections of an arm over which its scores are spread to 0..1
_FILE_TOP = 3  # sections of a file whose scores count for the file


class Weights(NamedTuple):
    """What each signal counts. sure_*: for being sure, on the scale of a logistic function.

    floor: how sure the best statement must be, 0..1; below it nothing was found.
    """

    floor: float
    grams: float
    near: float
    file_grams: float
    file_near: float
    coverage: float
    best: float
    kind: float
    single_section: float
    single_own: float
    single_all: float
    single_kind: float
    single_leads: float
    single_asks: float
    single_code: float
    sure_all: float
    sure_coverage: float
    sure_cosine: float
    sure_unknown: float
    sure_grams: float
    sure_words: float
    sure_bias: float


# fmt: off
WITH_WORDS = Weights(
    0.18,
    1.98, 2.68, 1.30, 1.45, 1.87, 1.72, 2.03,
    0.81, 1.94, 2.10, 2.37, -0.67, -0.23, 0.02,
    1.02, 2.35, 2.55, -0.46, 2.80, 3.94, -6.09,
)
WITH_SENTENCES = Weights(
    0.18,
    1.36, 4.73, 0.62, 2.13, 1.47, 1.17, 1.70,
    1.24, 1.62, 1.22, 2.33, -0.83, -0.11, 0.08,
    -0.89, 3.70, 8.92, -0.17, 0.32, 2.83, -7.11,
)
WITHOUT = Weights(
    0.13,
    2.93, 0.0, 1.74, 0.0, 1.81, 1.75, 2.16,
    0.79, 2.07, 2.34, 2.38, -0.70, -0.26, -0.20,
    1.33, 1.07, 0.0, -1.03, 4.38, 4.43, -5.33,
)
# fmt: on


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement that may answer. section: the number of its section. place: of it there. score: of any scale."""

    section: int
    place: int
    score: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """The sections for a question, best first, by number, and their statements, best first.

    sure: how likely the first ones answer it, 0..1.
    """

    sections: Sequence[int]
    statements: Sequence[Statement]
    sure: float


@dataclass(frozen=True, slots=True)
class _Candidate:
    number: int
    section: Section
    first: float  # what the index alone says
    grams: float  # its share of the most that there could be
    cosine: float


_Looked: TypeAlias = tuple[float, _Candidate, Whole]
_Answering: TypeAlias = tuple[float, _Candidate, list[Single]]


def rank(
    question: str,
    index: Index,
    lang: Lang,
    weights: Weights = WITHOUT,
    vectors: SectionVectors | None = None,
    vector: object = None,
    floor: float | None = None,
) -> Ranked | None:
    """Return the sections and statements for a question; None when nothing matches at all.

    vector: the question's, where there are `vectors` of sections, of the kind that `weights` are for. floor: how sure
    one must be in the question's own language, 0..1, for no other language to be looked at; None looks at all of them
    alike.
    """
    subject = asked(question, lang)
    found = _candidates(subject.words, index, lang, vectors or NoVectors(), vector, weights)
    read = Question(subject, index)
    own = [each for each in found if each.section.passage.lang == lang]
    if floor is not None and own:
        ranked = _ranked(own, read, weights)
        if ranked.sure >= floor or len(own) == len(found):
            return ranked
    return _ranked(found, read, weights) if found else None


def _ranked(candidates: Sequence[_Candidate], read: Question, weights: Weights) -> Ranked:
    """Return some candidates, of which there is at least one, in order."""
    looked: list[_Looked] = []
    for candidate in heapq.nlargest(CLOSELY, candidates, key=lambda each: each.first):
        whole = read.look(candidate.section)
        score = (
            candidate.first
            + weights.coverage * whole.coverage
            + weights.best * whole.best
            + weights.kind * whole.kind
        )
        looked.append((score, candidate, whole))
    looked.sort(key=lambda each: (-each[0], each[1].number))
    answering = [(score, each, read.statements(each.section)) for score, each, _ in looked[:ANSWERING]]
    statements = _statements(answering, weights)
    _, first, whole = looked[0]
    top = statements[0]
    best = next(singles for _, each, singles in answering if each.number == top.section)[top.place]
    told = (
        weights.sure_bias
        + weights.sure_all * best.all
        + weights.sure_coverage * whole.coverage
        + weights.sure_cosine * first.cosine
        + weights.sure_unknown * read.unknown
        + weights.sure_grams * first.grams
        + weights.sure_words * len(read.asked.words) / 10
    )
    return Ranked([each.number for _, each, _ in looked], statements, 1 / (1 + exp(-told)))


def _candidates(
    said: Sequence[str],
    index: Index,
    lang: Lang,
    vectors: SectionVectors,
    vector: object,
    weights: Weights,
) -> list[_Candidate]:
    """Return the sections that may answer, with what the index tells of them."""
    said = [index.alike.spelled_as(word) for word in said]
    grams = index.by_grams(said, _SPAN)
    stems = index.by_stems(said, lang, CANDIDATES)
    numbers = dict.fromkeys(islice(grams.scores, CANDIDATES))
    numbers |= dict.fromkeys(stems.scores)
    numbers |= dict.fromkeys(vectors.nearest(vector, CANDIDATES))
    sections = [(number, index.sections[number]) for number in numbers]
    living = [(number, section) for number, section in sections if section is not None]
    near = vectors.near(vector, [number for number, _ in living])
    from_grams, from_file = _spread(grams.scores), _spread(_by_file(grams, index))
    found = []
    for place, (number, section) in enumerate(living):
        first = weights.grams * from_grams.get(number, 0.0) + weights.file_grams * from_file.get(
            section.file, 0.0
        )
        cosine = 0.0
        if near is not None:
            first += weights.near * near.near[place] + weights.file_near * near.file[place]
            cosine = near.cosine[place]
        share = grams.scores.get(number, 0.0) / grams.most if grams.most else 0.0
        found.append(_Candidate(number, section, first, share, cosine))
    return found


def _statements(answering: Sequence[_Answering], weights: Weights) -> list[Statement]:
    """Return the statements of the best sections, best first."""
    best = answering[0][0]
    found = [
        Statement(
            candidate.number,
            place,
            weights.single_section * (score - best)
            + weights.single_own * single.own
            + weights.single_all * single.all
            + weights.single_kind * single.kind
            + weights.single_leads * single.leads
            + weights.single_asks * single.asks
            + weights.single_code * single.code,
        )
        for score, candidate, singles in answering
        for place, single in enumerate(singles)
    ]
    found.sort(key=lambda each: -each.score)
    return found


def _spread(scores: Mapping[int, float]) -> dict[int, float]:
    """Return scores brought to 0..1, from that of the last that counts to the best."""
    if not scores:
        return {}
    ordered = heapq.nlargest(_SPAN, scores.values())
    best, least = ordered[0], ordered[-1] if len(ordered) >= _SPAN else 0.0
    span = best - least
    return {key: max(0.0, (score - least) / span) if span > 0 else 1.0 for key, score in scores.items()}


def _by_file(found: Found, index: Index) -> dict[int, float]:
    """Return, by file, the sum of its best sections' scores."""
    by_file: dict[int, list[float]] = {}
    for number, score in found.scores.items():
        section = index.sections[number]
        if section is not None:
            by_file.setdefault(section.file, []).append(score)
    return {file: sum(each[:_FILE_TOP]) for file, each in by_file.items()}
