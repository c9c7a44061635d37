"""What speaks for a section and its statements: coverage by rarity, headings and leads, kinds, marks."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from agent.retrieval.index import KnowledgeIndex
from agent.retrieval.parsed_question import ParsedQuestion, parse_question
from agent.retrieval.ranking_weights import WITH_WORDS, WITHOUT
from agent.retrieval.signals import IndexedQuestion, StatementSignals

from . import sections

TEXT = """# Prices

## Zebra

The zebra costs 299 kr.

The zebra is striped. What does it cost?

Sizes:

- small
- of 3 metres

```
zebra = 5
```

## Okapi

The okapi is free.
"""


@pytest.fixture(scope="module")
def index() -> KnowledgeIndex:
    """Two sections."""
    return KnowledgeIndex(sections(TEXT))


class Whole(NamedTuple):
    """Of a section. coverage: by all its words. best: by its best statement, with those above. kind: the best one's."""

    coverage: float
    best: float
    kind: float


def look(index: KnowledgeIndex, question: str, number: int = 0) -> tuple[Whole, list[StatementSignals]]:
    """Return the signals of one section."""
    section = index.sections[number]
    assert section is not None
    read = IndexedQuestion(parse_question(question, "en"), index)
    signals = read.score_section(section)
    singles = [signals.of_statement(place) for place in range(len(section.marks))]
    best = max(each.all for each in singles)
    assert signals.best == best
    assert [read.kind_of(section, place) for place in range(len(singles))] == [each.kind for each in singles]
    return Whole(read.coverage([number])[number], best, read.kind_score(section)), singles


def test_what_says_all_of_it_covers_it(index: KnowledgeIndex) -> None:
    """By its own words, or together with those above it."""
    whole, singles = look(index, "striped zebra")
    assert whole.coverage == whole.best == pytest.approx(1)
    assert [round(each.own, 2) for each in singles][1] == 1
    assert singles[1].all == pytest.approx(1)
    assert 0 < singles[0].own < 1
    assert singles[3].own == 0 < singles[3].all


def test_what_is_above_counts_for_what_is_below(index: KnowledgeIndex) -> None:
    """Headings for every statement, a lead for those that hang under it."""
    _, singles = look(index, "zebra sizes")
    said = [
        snippet.plain_text for section in index.sections if section for snippet in section.passage.snippets
    ]
    small, free = said.index("small"), said.index("The zebra costs 299 kr.")
    assert singles[small].own == 0
    assert singles[small].all == pytest.approx(1)
    assert singles[free].all < 1


def test_statements_can_cover_together_what_none_does_alone(index: KnowledgeIndex) -> None:
    """Then the section covers more than the best of its statements."""
    whole, singles = look(index, "striped small metres")
    assert whole.coverage == pytest.approx(1)
    assert whole.best < 1
    assert {round(each.all, 2) for each in singles} > {round(whole.best, 2)}


def test_a_rare_word_tells_more_than_a_common_one(index: KnowledgeIndex) -> None:
    """The heading that all sections have says little."""
    rare, common = (look(index, "striped prices", number)[0].coverage for number in (0, 1))
    assert rare == pytest.approx(1)
    assert 0 < common < 0.5


class General:
    """What is known of words in general: that one is common."""

    def find_near(self, word: str, least: float) -> Sequence[tuple[int, float]]:
        """Return that no word is like it."""
        return []

    def weight_of(self, word: str) -> float:
        """Return that all others tell all they can."""
        return 0.1 if word == "monday" else 1.0


def test_a_common_word_that_is_missing_is_missed_less() -> None:
    """Where it is asked for, and something is known of words in general."""
    index = KnowledgeIndex(sections(TEXT))
    index.lexicon.likeness.learn({}, General())
    said = parse_question("zebra monday", "en")
    without, with_it = (
        IndexedQuestion(said, index),
        IndexedQuestion(said, index, WITHOUT._replace(general=300)),
    )
    assert without.unknown > 0.5
    assert with_it.unknown < 0.2
    assert with_it.coverage([0])[0] > 0.8 > without.coverage([0])[0]


def test_a_word_that_nothing_stands_for_is_missing(index: KnowledgeIndex) -> None:
    """It covers nothing, and the question is unknown by as much as it tells."""
    known, partly, none = (
        IndexedQuestion(parse_question(question, "en"), index)
        for question in ("zebra", "zebra volcano", "volcano")
    )
    assert known.unknown == 0
    assert 0.5 < partly.unknown < 1
    assert none.unknown == pytest.approx(1)
    assert look(index, "zebra volcano")[0].coverage == pytest.approx(1 - partly.unknown)


def test_a_word_that_is_like_another_counts_by_how_much() -> None:
    """A misspelling covers less than the word."""
    index = KnowledgeIndex(sections("# A\n\nThe subscription is here.\n\n# B\n\nNothing."))
    exact, near = (look(index, question)[0].coverage for question in ("subscription", "subscripton"))
    assert exact == pytest.approx(1)
    assert 0.5 < near < 1


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("what does the zebra cost", {"The zebra costs 299 kr.": 1.0, "of 3 metres": 0.3}),
        ("how many zebras", {"The zebra costs 299 kr.": 1.0, "of 3 metres": 1.0}),
        ("how long does a zebra live", {}),
        ("where is the zebra", {}),
    ],
)
def test_what_holds_the_kind_of_thing_asked_for(
    index: KnowledgeIndex, question: str, kinds: dict[str, float]
) -> None:
    """A bare number is money in part; where no kind is asked for, none is held."""
    whole, singles = look(index, question)
    section = index.sections[0]
    assert section is not None
    held = {
        snippet.plain_text: single.kind
        for snippet, single in zip(section.passage.snippets, singles, strict=True)
        if single.kind
    }
    assert held == kinds
    assert whole.kind == max(kinds.values(), default=0)


def test_marks_are_told(index: KnowledgeIndex) -> None:
    """Of what leads to something, asks, or is code."""
    _, singles = look(index, "zebra")
    assert [(each.leads, each.asks, each.code) for each in singles] == [
        (0, 0, 0), (0, 0, 0), (0, 1, 0), (1, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, 1),
    ]  # fmt: skip


def test_a_question_without_words_covers_nothing(index: KnowledgeIndex) -> None:
    """And breaks nothing."""
    question = IndexedQuestion(ParsedQuestion((), None), index)
    section = index.sections[0]
    assert section is not None
    assert (question.coverage([0, 1]), question.unknown) == ({0: 0, 1: 0}, 0)
    assert question.score_section(section).best == 0


def test_what_the_operator_explains_is_told(index: KnowledgeIndex) -> None:
    """The share that unknown words with synonyms have of a question; what the documents know themselves has none."""
    index.lexicon.likeness.learn({"horse": ("zebra",), "zebra": ("okapi",)}, None)
    assert IndexedQuestion(parse_question("horse", "en"), index).meant == 1
    assert 0 < IndexedQuestion(parse_question("striped horse", "en"), index).meant < 1
    assert IndexedQuestion(parse_question("striped zebra", "en"), index).meant == 0


@pytest.mark.parametrize(
    "question",
    [
        "striped zebra",
        "zebra sizes metres",
        "small prices of zebras and okapis free",
        "sizes of stripes",
        "what costs a tapir",
    ],
)
def test_coverage_is_that_of_the_surest_words(question: str) -> None:
    """Of each statement, by its own words and with those above it, whatever the order of words."""
    index = KnowledgeIndex(
        sections(f"{TEXT}\n## Zebra sizes\n\nThe size is told by zebrastripes, in metress:\n\n- smalll\n")
    )
    read = IndexedQuestion(parse_question(question, "en"), index, WITH_WORDS)
    likes = [index.lexicon.likeness.find_like(word) for word in read.parsed.words]
    weights = [index.lexicon.word_weight(word, WITH_WORDS.general) for word in read.parsed.words]
    for section in index.sections:
        assert section is not None
        signals, start = read.score_section(section), 0
        for place, (end, lead) in enumerate(zip(section.ends, section.leads, strict=True)):
            own = section.own[start:end]
            start = end
            found = signals.of_statement(place)
            for words, coverage in ((own, found.own), ([*own, *lead, *section.headings], found.all)):
                surest = [max((like.get(word, 0.0) for word in words), default=0.0) for like in likes]
                expected = sum(weight * sure for weight, sure in zip(weights, surest, strict=True))
                assert coverage == pytest.approx(expected / sum(weights))
            assert signals.scores[place] == pytest.approx(
                WITH_WORDS.single_own * found.own
                + WITH_WORDS.single_all * found.all
                + WITH_WORDS.single_kind * found.kind
                + WITH_WORDS.single_leads * found.leads
                + WITH_WORDS.single_asks * found.asks
                + WITH_WORDS.single_code * found.code
            )
        assert signals.best == max(signals.of_statement(place).all for place in range(len(section.marks)))


def test_a_name_is_missing_where_neither_the_statement_nor_what_is_above_holds_it(
    index: KnowledgeIndex,
) -> None:
    """By its share of the question's weight; a word that is no name is never missing."""
    section = index.sections[0]
    assert section is not None
    parsed = parse_question("zebra metres okapi", "en")

    def missing(names: set[str], place: int) -> float:
        question = IndexedQuestion(parsed, index, WITH_WORDS, names)
        return question.measure_missing_names(question.score_section(section).words, place)

    said = [snippet.plain_text for snippet in section.passage.snippets]
    sized = said.index("of 3 metres")
    assert missing(set(), 0) == 0
    assert missing({"zebra", "metres"}, sized) == 0
    assert missing({"zebra"}, 0) == 0
    assert 0 < missing({"metres"}, 0) < missing({"metres", "okapi"}, 0) < 1
