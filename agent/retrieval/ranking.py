"""How sections and statements are put in order, and how sure the first of them is: weighed sums of their signals.

Strategy: three sets of weights: without vectors, with means of word vectors, with those of a model of sentences. Each
was fitted to labelled questions on public sets of documents (four English and two Swedish; the last to the English
ones) at once, by maximum likelihood: that of the right section among the candidates, of the right statement among those
of the best sections, and of a right answer, where questions that the documents do not answer count too.
`python -m tests.bench.documents` prints what they are worth on each set. What an operator's synonyms are worth was set
by hand: 6 % of 268 off-topic questions find something in `kb/` with them, and 9 % without vectors.

On a small knowledge base hardly a word is seen twice, so what a word tells in any text counts beside how rare it is.
It was tried with word vectors only, on seven public sets, small parts of them and `kb/`: of a question that is answered
and one that is not, the first is surer in slightly more pairs (0.913 to 0.914), and 200 to 500 sections are alike. Most
of it shows on the few dozen sections of `kb/`: of 30 everyday questions in English 4 find nothing in place of 7.

Sections are ranked in two looks: what the index tells orders all candidates, and the first of them are looked at
closely. Only the statements of those that may answer are weighed one by one.
"""

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import exp
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from agent.lang import LANGUAGES
from agent.lexical.searcher import Found
from agent.lexical.stems import stem
from agent.lexical.subject import subject_stems
from agent.ports.search import Lang
from agent.text.words import words

from .abroad import Abroad, names_in, read_abroad
from .asked import asked
from .base import Section
from .index import Index
from .signals import Question, Single
from .vectors import NoVectors, SectionVectors

CANDIDATES = 50
"""Sections that each arm proposes."""

CLOSELY = 40
"""Of them, those that are looked at closely."""

ANSWERING = 6
"""Sections whose statements may answer."""

FEW = 50
"""Sections up to which the heading that a question names tells more than how rare its words are."""

_SPAN = 200  # sections of an arm over which its scores are spread to 0..1
_FILE_TOP = 3  # sections of a file whose scores count for the file
_ROUNDING = 1e-9  # of sums of the same terms in another order


class Weights(NamedTuple):
    """What each signal counts. sure_*: for being sure, on the scale of a logistic function.

    floor: how sure the best statement must be, 0..1; below it nothing was found. general: how many sections what a word
    tells in any text counts as; 0 where it was not tried.
    """

    floor: float
    general: int
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
    sure_meant: float
    sure_grams: float
    sure_words: float
    sure_bias: float


# fmt: off
WITH_WORDS = Weights(
    0.18, 300,
    1.98, 2.68, 1.30, 1.45, 1.87, 1.72, 2.03,
    0.81, 1.94, 2.10, 2.37, -0.67, -0.23, 0.02,
    1.02, 2.35, 2.55, -0.46, 1.0, 2.80, 3.94, -6.09,
)
WITH_SENTENCES = Weights(
    0.18, 0,
    1.36, 4.73, 0.62, 2.13, 1.47, 1.17, 1.70,
    1.24, 1.62, 1.22, 2.33, -0.83, -0.11, 0.08,
    -0.89, 3.70, 8.92, -0.17, 0.5, 0.32, 2.83, -7.11,
)
WITHOUT = Weights(
    0.13, 0,
    2.93, 0.0, 1.74, 0.0, 1.81, 1.75, 2.16,
    0.79, 2.07, 2.34, 2.38, -0.70, -0.26, -0.20,
    1.33, 1.07, 0.0, -1.03, 0.5, 4.38, 4.43, -5.33,
)
# fmt: on


class Statement(NamedTuple):
    """One statement that may answer. section: the number of its section. place: of it there. score: of any scale."""

    section: int
    place: int
    score: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """The best sections for a question, best first, by number, and the statements of those that may answer, best first.

    sure: how likely the first ones answer it, 0..1.
    """

    sections: Sequence[int]
    statements: Sequence[Statement]
    sure: float


class _Candidates(NamedTuple):
    """The sections that may answer. first: what the index alone says of each, by number. grams: what that arm found.

    cosines: by number; {} without vectors.
    """

    first: dict[int, float]
    grams: Found
    cosines: Mapping[int, float]


_Answering: TypeAlias = tuple[float, int, list[Single]]
"""A section's score, its number, and the signals of its statements."""


def rank(
    question: str,
    index: Index,
    lang: Lang,
    weights: Weights = WITHOUT,
    vectors: SectionVectors | None = None,
    vector: object = None,
    floor: float | None = None,
    most: int = ANSWERING,
) -> Ranked | None:
    """Return the sections and statements for a question; None when nothing matches at all.

    vector: the question's, where there are `vectors` of sections, of the kind that `weights` are for. floor: how sure
    one must be in the question's own language, 0..1, for no other language to be looked at; None looks at all of them
    alike. most: sections that are returned, at least ANSWERING and at most CLOSELY, where there are so many.
    """
    subject = asked(question, lang)
    found = _candidates(subject.words, index, lang, vectors or NoVectors(), vector, weights)
    read = Question(subject, index, weights.general)
    if floor is None:
        return _ranked(found.first, found, read, index, weights, most) if found.first else None
    ranked: Ranked | None = None
    own = [number for number in found.first if index.langs[number] == lang]
    if own:
        ranked = _ranked(own, found, read, index, weights, most)
        if ranked.sure < floor and index.live <= FEW and _is_headed(question, lang, ranked, read, index):
            ranked = Ranked(ranked.sections, ranked.statements, floor)
        if ranked.sure >= floor:
            return ranked
    if len(own) < len(found.first):
        ranked = _ranked(found.first, found, read, index, weights, most)
        if ranked.sure >= floor:
            return ranked
    return _abroad(question, index, lang, most) or ranked


def _is_headed(question: str, lang: Lang, ranked: Ranked, read: Question, index: Index) -> bool:
    """Return whether a question names the heading of the best section of few, and nothing says that it is not meant.

    In few sections each of their words is as common as can be, and hardly any other is known, so that rarity says
    nothing of "the main features that we need"; what it is about stands in the heading. A name or a number that no
    section holds, or an answer of another kind, says that something else is asked. Each section of `kb/` by itself
    answers the same 16 of 8,576 times something off-topic with this as without, and `kb/` as a whole 9 of 268 times.
    """
    best = ranked.statements[0]
    section = _section(index, best.section)
    heading = subject_stems(" ".join(section.passage.headings[-1:]), lang)
    if not heading or not heading.issubset([stem(lang, word) for word in read.asked.words]):
        return False
    if not all(index.holds(word, lang) for word in names_in(question)):
        return False
    return read.asked.kind is None or read.statements(section)[best.place].kind > 0


def _abroad(question: str, index: Index, lang: Lang, most: int) -> Ranked | None:
    """Return what the names and numbers of a question find in other languages, where the best statement may answer."""
    for other in [each for each in LANGUAGES if each != lang]:
        said = read_abroad(question, lang, other, index.holds)
        if said is None:
            continue
        found = _candidates(said.asked.words, index, other, NoVectors(), None, WITHOUT)
        numbers = [number for number in found.first if index.langs[number] == other]
        if numbers:
            read = Question(said.asked, index)
            ranked = _ranked(numbers, found, read, index, WITHOUT, most)
            if ranked.sure >= WITHOUT.floor and _may_answer(ranked.statements[0], said, read, index, other):
                return ranked
    return None


def _may_answer(best: Statement, said: Abroad, read: Question, index: Index, lang: Lang) -> bool:
    """Return whether the best statement of another language is about what is asked, and of its kind."""
    section = _section(index, best.section)
    if said.asked.kind is not None and not read.statements(section)[best.place].kind:
        return False
    above = {stem(lang, word) for word in words(" ".join(section.passage.headings))}
    return said.named or above.issuperset([stem(lang, word) for word in said.asked.words])


def _ranked(
    numbers: Iterable[int], found: _Candidates, read: Question, index: Index, weights: Weights, most: int
) -> Ranked:
    """Return some candidates, of which there is at least one, in order."""
    closely = sorted(numbers, key=found.first.__getitem__, reverse=True)[:CLOSELY]
    covered = read.coverage(closely)
    looked = _looked(closely, covered, found.first, read, index, weights, max(most, ANSWERING))
    answering = looked[:ANSWERING]
    statements = _statements(answering, weights)
    _, best, _ = answering[0]
    top = statements[0]
    first = next(singles for _, number, singles in answering if number == top.section)[top.place]
    told = (
        weights.sure_bias
        + weights.sure_all * first.all
        + weights.sure_coverage * covered[best]
        + weights.sure_cosine * found.cosines.get(best, 0.0)
        + weights.sure_unknown * read.unknown
        + weights.sure_meant * read.meant
        + weights.sure_grams
        * (found.grams.scores.get(best, 0.0) / found.grams.most if found.grams.most else 0.0)
        + weights.sure_words * len(read.asked.words) / 10
    )
    return Ranked([number for _, number, _ in looked], statements, 1 / (1 + exp(-told)))


def _looked(
    closely: Iterable[int],
    covered: Mapping[int, float],
    first: Mapping[int, float],
    read: Question,
    index: Index,
    weights: Weights,
    most: int,
) -> list[_Answering]:
    """Return the `most` best of some sections, best first.

    No statement covers more than its section does, so what is not read yet cannot be better than if one covered as
    much: when that is below the `most` best, none of the rest is read.
    """
    bounds = []
    for number in closely:
        kind = weights.kind * read.kind(_section(index, number))
        without = first[number] + weights.coverage * covered[number] + kind
        bounds.append((without + weights.best * covered[number], without, number))
    bounds.sort(key=itemgetter(0), reverse=True)
    looked: list[_Answering] = []
    for bound, without, number in bounds:
        if len(looked) >= most and bound < looked[most - 1][0] - _ROUNDING:
            break
        singles = read.statements(_section(index, number))
        best = max([single.all for single in singles])
        insort(looked, (without + weights.best * best, number, singles), key=_best_first)
    return looked[:most]


def _best_first(looked: _Answering) -> tuple[float, int]:
    return -looked[0], looked[1]


def _section(index: Index, number: int) -> Section:
    """Return a section that a search found, which is thus a living one."""
    section = index.sections[number]
    assert section is not None
    return section


def _candidates(
    said: Sequence[str],
    index: Index,
    lang: Lang,
    vectors: SectionVectors,
    vector: object,
    weights: Weights,
) -> _Candidates:
    """Return the sections that may answer, with what the index tells of them."""
    said = [index.lexicon.spelled_as(word) for word in said]
    grams = index.by_grams(said, _SPAN)
    stems = index.by_stems(said, lang, CANDIDATES)
    proposed = dict.fromkeys(islice(grams.scores, CANDIDATES))
    proposed |= dict.fromkeys(stems.scores)
    near = vectors.near(vector, proposed, CANDIDATES)
    numbers: Iterable[int] = proposed if near is None else near.numbers
    files = {number: index.file_of[number] for number in numbers if index.langs[number] is not None}
    from_grams = _spread(grams.scores, files)
    from_file = _spread(_by_file(grams, index), files.values())
    first = {
        number: weights.grams * from_grams[number] + weights.file_grams * from_file[file]
        for number, file in files.items()
    }
    if near is None:
        return _Candidates(first, grams, {})
    for number, its, of_file in zip(near.numbers, near.near, near.file, strict=True):
        if number in first:
            first[number] += weights.near * its + weights.file_near * of_file
    return _Candidates(first, grams, dict(zip(near.numbers, near.cosine, strict=True)))


def _statements(answering: Sequence[_Answering], weights: Weights) -> list[Statement]:
    """Return the statements of the best sections, best first."""
    best = answering[0][0]
    found: list[Statement] = []
    for score, number, singles in answering:
        section = weights.single_section * (score - best)
        scores = {id(single): section + _weighed(single, weights) for single in singles}
        found += [Statement(number, place, scores[id(single)]) for place, single in enumerate(singles)]
    found.sort(key=itemgetter(2), reverse=True)
    return found


def _weighed(single: Single, weights: Weights) -> float:
    return (
        weights.single_own * single.own
        + weights.single_all * single.all
        + weights.single_kind * single.kind
        + weights.single_leads * single.leads
        + weights.single_asks * single.asks
        + weights.single_code * single.code
    )


def _spread(scores: Mapping[int, float], wanted: Iterable[int]) -> dict[int, float]:
    """Return the scores of what is wanted brought to 0..1, from that of the last that counts to the best; else 0."""
    best = max(scores.values(), default=0.0)
    least = min(scores.values()) if len(scores) >= _SPAN else 0.0
    span = best - least
    return {
        key: 0.0 if key not in scores else (scores[key] - least) / span if span > 0 else 1.0 for key in wanted
    }


def _by_file(found: Found, index: Index) -> dict[int, float]:
    """Return, by file, the sum of its best sections' scores."""
    sums: dict[int, float] = {}
    counted: dict[int, int] = {}  # of the files with more than one
    langs, file_of = index.langs, index.file_of
    for number, score in found.scores.items():
        if langs[number] is None:
            continue
        file = file_of[number]
        if file not in sums:
            sums[file] = score
        elif (count := counted.get(file, 1)) < _FILE_TOP:
            sums[file] += score
            counted[file] = count + 1
    return sums
