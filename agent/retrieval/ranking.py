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
from .signals import IndexedQuestion, StatementSignals
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


class RankedStatement(NamedTuple):
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

_Answering: TypeAlias = tuple[float, int, list[StatementSignals]]
"""The score of a section, its number, and the signals of its statements."""


def rank_sections(
    question: str,
    index: KnowledgeIndex,
    lang: Lang,
    nearness: QuestionNearness = NO_NEARNESS,
    floor: float | None = None,
    most: int = ANSWERING,
) -> Ranking | None:
    """Return the sections and statements for a question, or `None` when nothing matches at all.

    `nearness`: the vectors to search with. `floor`: the confidence, 0..1, from which a statement in the question's own
    language stops the search of other languages; `None` ranks all languages alike. `most`: the number of sections to
    return, at least `ANSWERING` and at most `CLOSELY`, if there are so many.
    """
    subject = parse_question(question, lang)
    candidates = _find_candidates(subject.words, index, lang, nearness)
    indexed_question = IndexedQuestion(subject, index, nearness.weights.general)
    if floor is None:
        return (
            _rank_candidates(candidates.first, candidates, indexed_question, index, nearness, most)
            if candidates.first
            else None
        )
    ranked: Ranking | None = None
    own_numbers = [number for number in candidates.first if index.langs[number] == lang]
    if own_numbers:
        ranked = _rank_candidates(own_numbers, candidates, indexed_question, index, nearness, most)
        if (
            ranked.sure < floor
            and index.live <= FEW
            and _names_best_heading(question, lang, ranked, indexed_question, index)
        ):
            ranked = Ranking(ranked.sections, ranked.statements, floor)
        if ranked.sure >= floor:
            return ranked
    if len(own_numbers) < len(candidates.first):
        ranked = _rank_candidates(candidates.first, candidates, indexed_question, index, nearness, most)
        if ranked.sure >= floor:
            return ranked
    return _rank_other_languages(question, index, lang, most) or ranked


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
    return (
        indexed_question.parsed.kind is None
        or indexed_question.score_statements(section)[best.place].kind > 0
    )


def _rank_other_languages(question: str, index: KnowledgeIndex, lang: Lang, most: int) -> Ranking | None:
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
    if cross_language.parsed.kind is not None and not question.score_statements(section)[best.place].kind:
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
    most: int,
) -> Ranking:
    """Return the ranking of the sections `numbers`, at least one, which are among the `candidates`."""
    weights = nearness.weights
    closely = sorted(numbers, key=candidates.first.__getitem__, reverse=True)[:CLOSELY]
    covered = question.coverage(closely)
    best_sections = _examine_sections(
        closely, covered, candidates.first, question, index, weights, max(most, ANSWERING)
    )
    answering = best_sections[:ANSWERING]
    statements = _compare_statements(_rank_statements(answering, weights), index, nearness)
    _, best, _ = answering[0]
    top = statements[0]
    first = next(singles for _, number, singles in answering if number == top.section)[top.place]
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
    return Ranking(
        [number for _, number, _ in best_sections],
        statements,
        _revise_confidence(logit, statements, weights),
    )


def _revise_confidence(logit: float, statements: Sequence[RankedStatement], weights: SignalWeights) -> float:
    """Return the confidence, 0..1, that the first statements answer, from the first look and from the statements.

    `logit`: the confidence of the first look, before the logistic function. A statement that answers has a high score,
    since it holds the question's words and kind of thing, and a high share, since few other statements are as likely.
    """
    first_sure = 1 / (1 + exp(-logit))
    best = statements[0].score
    share = 1 / sum([exp(each.score - best) for each in statements[:COMPARED]])
    second_logit = (
        weights.look_bias + weights.look_sure * logit + weights.look_best * best + weights.look_share * share
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
    for number in closely:
        kind = weights.kind * question.kind_score(_living_section(index, number))
        without = first[number] + weights.coverage * covered[number] + kind
        bounds.append((without + weights.best * covered[number], without, number))
    bounds.sort(key=itemgetter(0), reverse=True)
    best_sections: list[_Answering] = []
    for bound, without, number in bounds:
        if len(best_sections) >= most and bound < best_sections[most - 1][0] - _ROUNDING:
            break
        signals = question.score_statements(_living_section(index, number))
        best = max([single.all for single in signals])
        insort(best_sections, (without + weights.best * best, number, signals), key=_best_first)
    return best_sections[:most]


def _best_first(section: _Answering) -> tuple[float, int]:
    """Return the key that sorts sections by score, then by number."""
    return -section[0], section[1]


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
    weights = nearness.weights
    words = [index.lexicon.spelled_as(word) for word in words]
    grams = index.search_grams(words, _SPAN)
    stems = index.search_stems(words, lang, CANDIDATES)
    proposed = dict.fromkeys(islice(grams.scores, CANDIDATES))
    proposed |= dict.fromkeys(stems.scores)
    near = nearness.sections.find_near(nearness.vector, proposed, CANDIDATES)
    numbers: Iterable[int] = proposed if near is None else near.numbers
    files = {number: index.file_of[number] for number in numbers if index.langs[number] is not None}
    from_grams = _normalize_scores(grams.scores, files)
    from_file = _normalize_scores(_sum_by_file(grams, index), files.values())
    index_scores = {
        number: weights.grams * from_grams[number] + weights.file_grams * from_file[file]
        for number, file in files.items()
    }
    if near is None:
        return _Candidates(index_scores, grams, {})
    for number, of_section, of_file in zip(near.numbers, near.near, near.file, strict=True):
        if number in index_scores:
            index_scores[number] += weights.near * of_section + weights.file_near * of_file
    return _Candidates(index_scores, grams, dict(zip(near.numbers, near.cosine, strict=True)))


def _rank_statements(answering: Sequence[_Answering], weights: SignalWeights) -> list[RankedStatement]:
    """Return the statements of the best sections, best first."""
    best = answering[0][0]
    statements: list[RankedStatement] = []
    for score, number, signals in answering:
        section = weights.single_section * (score - best)
        scores = {id(single): section + _weigh_statement(single, weights) for single in signals}
        statements += [
            RankedStatement(number, place, scores[id(single)]) for place, single in enumerate(signals)
        ]
    statements.sort(key=itemgetter(2), reverse=True)
    return statements


def _compare_statements(
    ranked: list[RankedStatement], index: KnowledgeIndex, nearness: QuestionNearness
) -> list[RankedStatement]:
    """Return the first `COMPARED` statements ranked by their vectors too, and after them the others in their order."""
    compared = ranked[:COMPARED]
    places = [(_living_section(index, each.section).passage, each.place) for each in compared]
    rescored = [
        each._replace(score=each.score + nearness.weights.single_near * cosine)
        for each, cosine in zip(compared, nearness.compare(places), strict=True)
    ]
    rescored.sort(key=itemgetter(2), reverse=True)
    least = rescored[-1].score
    return rescored + [each._replace(score=min(each.score, least)) for each in ranked[COMPARED:]]


def _weigh_statement(single: StatementSignals, weights: SignalWeights) -> float:
    """Return the weighted sum of a statement's signals."""
    return (
        weights.single_own * single.own
        + weights.single_all * single.all
        + weights.single_kind * single.kind
        + weights.single_leads * single.leads
        + weights.single_asks * single.asks
        + weights.single_code * single.code
    )


def _normalize_scores(scores: Mapping[int, float], wanted: Iterable[int]) -> dict[int, float]:
    """Return the scores of the `wanted` keys as 0..1, where the best has 1, and an absent key 0.

    The score with 0 is the lowest of `_SPAN` sections, or 0 where there are fewer.
    """
    best = max(scores.values(), default=0.0)
    least = min(scores.values()) if len(scores) >= _SPAN else 0.0
    span = best - least
    return {
        key: 0.0 if key not in scores else (scores[key] - least) / span if span > 0 else 1.0 for key in wanted
    }


def _sum_by_file(sections: RankedDocuments, index: KnowledgeIndex) -> dict[int, float]:
    """Return, by file, the sum of the scores of its `_FILE_TOP` best sections."""
    sums: dict[int, float] = {}
    counted: dict[int, int] = {}  # for files with more than one section
    langs, file_of = index.langs, index.file_of
    for number, score in sections.scores.items():
        if langs[number] is None:
            continue
        file = file_of[number]
        if file not in sums:
            sums[file] = score
        elif (count := counted.get(file, 1)) < _FILE_TOP:
            sums[file] += score
            counted[file] = count + 1
    return sums
