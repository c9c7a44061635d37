"""Ranks sections and statements, and estimates how sure the first of them is, by weighted sums of their signals.

Strategy: sections are ranked in two passes: the index alone orders all candidates, and the first of them are examined
closely. Only the statements of the best sections are weighed one by one. `ranking_weights` has the weights and says how
they were fitted.
"""

from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import exp
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import msgspec

from agent.lang import LANGUAGES
from agent.lexical.searcher import RankedDocuments
from agent.lexical.stems import stem
from agent.lexical.subject import subject_stems
from agent.ports.search import Lang, Passage
from agent.text.words import split_words

from .base import IndexedSection
from .cross_language import CrossLanguageQuestion, find_names, read_cross_language
from .index import KnowledgeIndex
from .parsed_question import parse_question
from .ranking_weights import WITHOUT, SignalWeights
from .signals import IndexedQuestion, SectionSignals
from .vectors import NoVectors, SectionVectors

CANDIDATES = 50
"""Sections that each arm (stems, 4-grams, vectors) proposes."""

CLOSELY = 40
"""Sections of the candidates that are examined closely."""

ANSWERING = 12
"""Sections whose statements can become hits."""

COMPARED = 40
"""Statements, the likeliest by their other signals, whose vectors are compared with that of the question."""

FEW = 50
"""Sections up to which the heading that a question names tells more than the rarity of its words."""

_SPAN = 200  # sections of an arm over which its scores are spread to 0..1
_FILE_TOP = 3  # best sections of a file whose scores count for the file
_ROUNDING = 1e-9  # difference between sums of the same terms in another order


class RankedStatement(msgspec.Struct, frozen=True, gc=False):
    """A statement that may answer the question.

    `section`: the number of the statement's section. `place`: its index in the section. `score`: on any scale.
    """

    section: int
    place: int
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best sections for a question, by number, and the statements that may answer it, both best first.

    `sure`: how likely the first statements answer the question, 0..1.
    """

    sections: Sequence[int]
    statements: Sequence[RankedStatement]
    sure: float


class _Most(NamedTuple):
    """How many sections and statements a ranking returns."""

    sections: int
    statements: int


class _Candidates(NamedTuple):
    """The sections that may answer.

    `first`: the score of each section by the index alone. `grams`: the sections that the 4-grams find. `cosines`: by
    section number; {} without vectors.
    """

    first: dict[int, float]
    grams: RankedDocuments
    cosines: Mapping[int, float]


CompareStatements: TypeAlias = Callable[[Sequence[tuple[Passage, int]]], Sequence[float]]
"""Returns the cosine of the question with each statement, read with its headings and leading line.

A statement is given by its section and its index there."""


@dataclass(frozen=True, slots=True)
class QuestionNearness:
    """The vectors with which one question is searched.

    `weights`: fitted to vectors of this kind. `sections`: the vectors of all sections. `vector`: the vector of the
    question, to compare with `sections`. `compare`: compares statements with the question.
    """

    weights: SignalWeights
    sections: SectionVectors
    vector: object
    compare: CompareStatements


NO_NEARNESS = QuestionNearness(WITHOUT, NoVectors(), None, lambda statements: [0.0] * len(statements))
"""A question that is searched by its words alone."""

_Answering: TypeAlias = tuple[float, int, SectionSignals]
"""The score of a section times -1, its number, and the signals of its statements; the best section is the least."""


def rank_sections(
    question: str,
    index: KnowledgeIndex,
    lang: Lang,
    nearness: QuestionNearness = NO_NEARNESS,
    floor: float | None = None,
    most: int = ANSWERING,
    statements: int = COMPARED,
) -> Ranking | None:
    """Return the sections and statements for a question, or `None` when nothing matches at all.

    `nearness`: the vectors to search with. `floor`: the confidence, 0..1, from which a statement in the question's own
    language stops the search of other languages; `None` ranks all languages alike. `most`: the number of sections to
    return, at least `ANSWERING` and at most `CLOSELY`, if there are so many. `statements`: the same for statements, at
    least `COMPARED`.
    """
    limits = _Most(most, statements)
    subject = parse_question(question, lang)
    candidates = _find_candidates(subject.words, index, lang, nearness)
    names = find_names(question) if nearness.weights.look_names else frozenset[str]()
    indexed_question = IndexedQuestion(subject, index, nearness.weights, names)
    if floor is None:
        return (
            _rank_candidates(candidates.first, candidates, indexed_question, index, nearness, limits)
            if candidates.first
            else None
        )
    ranked: Ranking | None = None
    own_numbers = [number for number in candidates.first if index.langs[number] == lang]
    if own_numbers:
        ranked = _rank_candidates(own_numbers, candidates, indexed_question, index, nearness, limits)
        if (
            ranked.sure < floor
            and index.live <= FEW
            and _names_best_heading(question, lang, ranked, indexed_question, index)
        ):
            ranked = Ranking(ranked.sections, ranked.statements, floor)
        if ranked.sure >= floor:
            return ranked
    if len(own_numbers) < len(candidates.first):
        ranked = _rank_candidates(candidates.first, candidates, indexed_question, index, nearness, limits)
        if ranked.sure >= floor:
            return ranked
    return _rank_other_languages(question, index, lang, limits) or ranked


def _names_best_heading(
    question: str, lang: Lang, ranked: Ranking, indexed_question: IndexedQuestion, index: KnowledgeIndex
) -> bool:
    """Tell whether a question names the heading of the best section, and nothing contradicts that.

    Used for knowledge bases of at most `FEW` sections. There each known word is as common as can be, and hardly any
    other word is known, so rarity says nothing about "the main features that we need"; the subject stands in the
    heading. A name or a number that no section holds, or an answer of another kind, shows that the question is about
    another subject. Each section of `kb/` by itself answers the same 16 of 8,576 off-topic questions with this rule as
    without it, and `kb/` as a whole 9 of 268.
    """
    best = ranked.statements[0]
    section = _living_section(index, best.section)
    heading = subject_stems(" ".join(section.passage.headings[-1:]), lang)
    if not heading or not heading.issubset([stem(lang, word) for word in indexed_question.parsed.words]):
        return False
    if not all(index.has_word(word, lang) for word in find_names(question)):
        return False
    return indexed_question.parsed.kind is None or indexed_question.kind_of(section, best.place) > 0


def _rank_other_languages(question: str, index: KnowledgeIndex, lang: Lang, most: _Most) -> Ranking | None:
    """Return the ranking for a question's names and numbers in other languages, if the best statement may answer."""
    for other_lang in [each for each in LANGUAGES if each != lang]:
        cross_language = read_cross_language(question, lang, other_lang, index.has_word)
        if cross_language is None:
            continue
        candidates = _find_candidates(cross_language.parsed.words, index, other_lang, NO_NEARNESS)
        numbers = [number for number in candidates.first if index.langs[number] == other_lang]
        if numbers:
            indexed_question = IndexedQuestion(cross_language.parsed, index)
            ranked = _rank_candidates(numbers, candidates, indexed_question, index, NO_NEARNESS, most)
            if ranked.sure >= WITHOUT.floor and _may_answer(
                ranked.statements[0], cross_language, indexed_question, index, other_lang
            ):
                return ranked
    return None


def _may_answer(
    best: RankedStatement,
    cross_language: CrossLanguageQuestion,
    question: IndexedQuestion,
    index: KnowledgeIndex,
    lang: Lang,
) -> bool:
    """Tell whether the best statement in another language has the subject and the kind of answer that is asked for."""
    section = _living_section(index, best.section)
    if cross_language.parsed.kind is not None and not question.kind_of(section, best.place):
        return False
    above = {stem(lang, word) for word in split_words(" ".join(section.passage.headings))}
    return cross_language.has_name or above.issuperset(
        [stem(lang, word) for word in cross_language.parsed.words]
    )


def _rank_candidates(
    numbers: Iterable[int],
    candidates: _Candidates,
    question: IndexedQuestion,
    index: KnowledgeIndex,
    nearness: QuestionNearness,
    most: _Most,
) -> Ranking:
    """Return the ranking of the sections `numbers`, at least one, which are among the `candidates`."""
    weights = nearness.weights
    closely = sorted(numbers, key=candidates.first.__getitem__, reverse=True)[:CLOSELY]
    covered = question.coverage(closely)
    best_sections = _examine_sections(
        closely, covered, candidates.first, question, index, weights, max(most.sections, ANSWERING)
    )
    answering = best_sections[:ANSWERING]
    statements = _rank_statements(answering, nearness, max(most.statements, COMPARED))
    best, top = answering[0][1], statements[0]
    of_top = next(signals for _, number, signals in answering if number == top.section)
    first = of_top.of_statement(top.place)
    logit = (
        weights.sure_bias
        + weights.sure_all * first.all
        + weights.sure_coverage * covered[best]
        + weights.sure_cosine * candidates.cosines.get(best, 0.0)
        + weights.sure_unknown * question.unknown
        + weights.sure_meant * question.meant
        + weights.sure_grams
        * (candidates.grams.scores.get(best, 0.0) / candidates.grams.most if candidates.grams.most else 0.0)
        + weights.sure_words * len(question.parsed.words) / 10
    )
    missing = question.measure_missing_names(of_top.words, top.place) if weights.look_names else 0.0
    return Ranking(
        [number for _, number, _ in best_sections],
        statements,
        _revise_confidence(logit, statements, weights, missing),
    )


def _revise_confidence(
    logit: float, statements: Sequence[RankedStatement], weights: SignalWeights, missing: float
) -> float:
    """Return the confidence, 0..1, that the first statements answer, from the first look and from the statements.

    `logit`: the confidence of the first look, before the logistic function. `missing`: the share of the question that
    is names which the best statement does not hold. A statement that answers has a high score, since it holds the
    question's words and kind of thing, and a high share, since few other statements are as likely.
    """
    first_sure = 1 / (1 + exp(-logit))
    best = statements[0].score
    share = 1 / sum([exp(each.score - best) for each in statements[:COMPARED]])
    second_logit = (
        weights.look_bias
        + weights.look_sure * logit
        + weights.look_best * best
        + weights.look_share * share
        + weights.look_names * missing
    )
    sure = 1 / (1 + exp(-second_logit))
    return sure if first_sure >= weights.first_floor else min(first_sure, sure)


def _examine_sections(
    closely: Iterable[int],
    covered: Mapping[int, float],
    first: Mapping[int, float],
    question: IndexedQuestion,
    index: KnowledgeIndex,
    weights: SignalWeights,
    most: int,
) -> list[_Answering]:
    """Return the `most` best of the sections `closely`, best first, by all their signals.

    No statement covers more than its section does, so a section scores at most as if one statement covered as much as
    the whole section. Once this bound is below the `most` best scores, none of the remaining sections is read.
    """
    bounds = []
    asks_kind = question.parsed.kind is not None
    by_kind, by_coverage, by_best = weights.kind, weights.coverage, weights.best
    sections = index.sections
    for number in closely:
        section, coverage = sections[number], covered[number]
        assert section is not None, "a search finds no section that is removed"
        without = first[number] + by_coverage * coverage
        if asks_kind:
            without += by_kind * question.kind_score(section)
        bounds.append((without + by_best * coverage, without, number, section))
    bounds.sort(key=itemgetter(0), reverse=True)
    best_sections: list[_Answering] = []
    for bound, without, number, section in bounds:
        if len(best_sections) >= most and bound < -best_sections[most - 1][0] - _ROUNDING:
            break
        signals = question.score_section(section)
        insort(best_sections, (-(without + by_best * signals.best), number, signals))
    return best_sections[:most]


def _living_section(index: KnowledgeIndex, number: int) -> IndexedSection:
    """Return the section with the number `number`, which a search found and which is therefore not removed."""
    section = index.sections[number]
    assert section is not None
    return section


def _find_candidates(
    words: Sequence[str],
    index: KnowledgeIndex,
    lang: Lang,
    nearness: QuestionNearness,
) -> _Candidates:
    """Return the sections that may answer, with their scores by the index alone."""
    weights, langs, file_of = nearness.weights, index.langs, index.file_of
    words = [index.lexicon.spelled_as(word) for word in words]
    grams = index.search_grams(words, _SPAN)
    stems = index.search_stems(words, lang, CANDIDATES)
    proposed = dict.fromkeys(islice(grams.scores, CANDIDATES))
    proposed |= dict.fromkeys(stems.scores)
    near = nearness.sections.find_near(nearness.vector, proposed, CANDIDATES)
    near_numbers = proposed if near is None else near.numbers
    of_grams = _spread(grams.scores, weights.grams, near_numbers)
    by_file_number = _sum_by_file(grams, index)
    of_files = _spread(by_file_number, weights.file_grams, by_file_number)
    grams_of, file_grams_of = of_grams.get, of_files.get
    if near is None:
        scores = {
            number: grams_of(number, 0.0) + file_grams_of(file_of[number], 0.0)
            for number in proposed
            if langs[number] is not None
        }
        return _Candidates(scores, grams, {})
    by_near, by_file = weights.near, weights.file_near
    scores = {
        number: grams_of(number, 0.0)
        + file_grams_of(file_of[number], 0.0)
        + (by_near * near_section + by_file * near_file)
        for number, near_section, near_file in zip(near.numbers, near.near, near.file, strict=True)
        if langs[number] is not None
    }
    return _Candidates(scores, grams, dict(zip(near.numbers, near.cosine, strict=True)))


def _rank_statements(
    answering: Sequence[_Answering], nearness: QuestionNearness, most: int
) -> list[RankedStatement]:
    """Return the `most` best statements of the best sections, best first.

    The first `COMPARED` are ranked by their vectors too; after them come the others in their order.
    """
    weights, best = nearness.weights, -answering[0][0]
    scores: list[float] = []
    statements: list[tuple[Passage, int]] = []
    numbers: list[int] = []
    lengths: list[float] = []
    for score, number, signals in answering:
        of_section = weights.single_section * (-score - best)
        scores += [of_section + each for each in signals.scores]
        statements += signals.words.statements
        numbers += [number] * len(signals.scores)
        if weights.single_length:
            lengths += signals.words.lengths
    ranked = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)[:most]
    if weights.single_near:
        compared = ranked[:COMPARED]
        cosines = nearness.compare(list(map(statements.__getitem__, compared)))
        for at, cosine in zip(compared, cosines, strict=True):
            scores[at] += weights.single_near * cosine
            if weights.single_length:
                scores[at] += weights.single_length * lengths[at]
        compared.sort(key=scores.__getitem__, reverse=True)
        least = scores[compared[-1]]
        for at in ranked[COMPARED:]:
            scores[at] = min(scores[at], least)
        ranked[:COMPARED] = compared
    places = map(itemgetter(1), map(statements.__getitem__, ranked))
    return list(
        map(RankedStatement, map(numbers.__getitem__, ranked), places, map(scores.__getitem__, ranked))
    )


def _spread(scores: Mapping[int, float], weight: float, keys: Iterable[int]) -> dict[int, float]:
    """Return the scores of `keys` spread from 0 to `weight`, which the best of all has; an absent key counts as 0.

    The score that becomes 0 is the lowest of `_SPAN` sections, or 0 where there are fewer.
    """
    if not scores:
        return {}
    best = max(scores.values())
    least = min(scores.values()) if len(scores) >= _SPAN else 0.0
    span = best - least
    if span <= 0:
        return dict.fromkeys(scores, weight)
    return {key: weight * ((scores[key] - least) / span) for key in keys if key in scores}


def _sum_by_file(sections: RankedDocuments, index: KnowledgeIndex) -> dict[int, float]:
    """Return, by file, the sum of the scores of its `_FILE_TOP` best sections."""
    sums: dict[int, float] = {}
    counted: dict[int, int] = {}
    langs, file_of = index.langs, index.file_of
    for number, score in sections.scores.items():
        if langs[number] is not None:
            file = file_of[number]
            if file not in sums:
                sums[file] = score
                counted[file] = 1
            elif counted[file] < _FILE_TOP:
                sums[file] += score
                counted[file] += 1
    return sums
