"""Ranking: what is read of the sections, and that reading less of them changes nothing."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from agent.ports.search import Lang, Passage
from agent.retrieval.base import IndexedSection
from agent.retrieval.index import KnowledgeIndex
from agent.retrieval.parsed_question import parse_question
from agent.retrieval.ranking import ANSWERING, CLOSELY, COMPARED, NO_NEARNESS, rank_sections
from agent.retrieval.ranking_weights import WITH_WORDS
from agent.retrieval.signals import IndexedQuestion, SectionSignals

from ..examples import sample
from . import sections

WORDS = (
    *("zebra", "okapi", "tapir", "bongo", "dikdik", "gnu", "kudu", "oryx", "eland", "impala"),
    *("price", "month", "week", "standard", "basic", "plan"),
)
COMMON = "animal keeper"


@pytest.fixture(scope="module")
def index() -> KnowledgeIndex:
    """Sixty sections of several statements, with headings, lists and numbers; two words are in nearly all of them."""
    draw = random.Random(7)
    texts = []
    for number in range(60):
        said = [" ".join(draw.choices(WORDS, k=draw.randint(1, 5))) for _ in range(4)]
        texts.append(
            f"## {draw.choice(WORDS)} {number}\n\n{COMMON if number % 9 else ''} {said[0]}. "
            f"It is {said[1]} of {number} kr.\n\n"
            f"{said[2]}:\n\n- {said[3]}\n- {draw.choice(WORDS)} {number} months\n"
        )
    return KnowledgeIndex(
        [*sections("# All\n\n" + "\n".join(texts)), *sections("Zebran är här.", "kb/sv/a.md")]
    )


QUESTIONS = [
    *[" ".join(random.Random(seed).choices([*WORDS, *COMMON.split(), "volcano", "zebras"], k=4)) for seed in range(20)],
    "how many months is the zebra", "what does an okapi cost", "tapir", "animal", "volcano",
]  # fmt: skip


@pytest.mark.parametrize("lang", ["en", "sv"])
@pytest.mark.parametrize("floor", sample([None, 0.0, 1.0], 3))
def test_to_read_only_what_may_be_best_changes_nothing(
    index: KnowledgeIndex, lang: Lang, floor: float | None
) -> None:
    """The best sections, all statements and how sure they are, are those of reading all of the candidates."""
    for question in QUESTIONS:
        read = rank_sections(question, index, lang, floor=floor, most=CLOSELY)
        less = rank_sections(question, index, lang, floor=floor)
        assert (read is None) == (less is None)
        if read is not None and less is not None:
            assert less.sections == read.sections[:ANSWERING]
            assert (less.statements, less.sure) == (read.statements, read.sure)


def test_what_cannot_be_among_the_best_is_not_read(
    index: KnowledgeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many sections hold a common word, and few the rest of the question."""
    read: list[IndexedSection] = []
    statements = IndexedQuestion.score_section

    def noted(question: IndexedQuestion, section: IndexedSection) -> SectionSignals:
        read.append(section)
        return statements(question, section)

    monkeypatch.setattr(IndexedQuestion, "score_section", noted)
    ranked = rank_sections("zebra okapi tapir", index, "en")
    assert ranked is not None
    assert len(ranked.sections) == ANSWERING <= len(read) < CLOSELY / 2


def test_of_statements_with_the_same_words_the_nearest_is_first() -> None:
    """The vectors of statements are compared with the question, for the likeliest of them only."""
    told = "\n".join(f"- A zebra eats grass {name}." for name in "abcdefgh")
    index = KnowledgeIndex(sections(f"# Zebra\n\n{told}\n"))
    seen: list[tuple[Passage, int]] = []

    def compare(statements: Sequence[tuple[Passage, int]]) -> list[float]:
        seen.extend(statements)
        return [float(" f." in passage.snippets[place].plain_text) for passage, place in statements]

    ranked = rank_sections(
        "zebra grass", index, "en", replace(NO_NEARNESS, weights=WITH_WORDS, compare=compare)
    )
    assert ranked is not None
    first = index.sections[ranked.statements[0].section]
    assert first is not None
    assert first.passage.snippets[ranked.statements[0].place].plain_text == "A zebra eats grass f."
    assert len(seen) == min(COMPARED, 8)
    assert [each.score for each in ranked.statements] == sorted(
        [each.score for each in ranked.statements], reverse=True
    )


def test_a_statement_among_many_as_likely_is_less_sure() -> None:
    """The second look: the same best statement answers less surely where others say as much."""
    alone = KnowledgeIndex(sections("# Zebra\n\n- A zebra eats grass.\n- The keeper sleeps.\n- It rains.\n"))
    among = KnowledgeIndex(
        sections("# Zebra\n\n- A zebra eats grass.\n- No zebra eats grass.\n- Each zebra eats grass.\n")
    )
    sure, unsure = [rank_sections("zebra eats grass", index, "en") for index in (alone, among)]
    assert sure is not None
    assert unsure is not None
    assert sure.sure > unsure.sure


def test_of_two_statements_as_near_the_shorter_is_first() -> None:
    """Only where statements are compared by their vectors: a long statement holds more words without saying more."""
    index = KnowledgeIndex(
        sections(
            "# Zebra\n\n- A zebra eats grass, as okapi, tapir, bongo and kudu do.\n- A zebra eats grass.\n"
        )
    )
    nearness = replace(NO_NEARNESS, weights=WITH_WORDS, compare=lambda statements: [0.5] * len(statements))
    ranked = rank_sections("zebra grass", index, "en", nearness)
    assert ranked is not None
    assert [each.place for each in ranked.statements] == [1, 0]
    longest = replace(nearness, weights=WITH_WORDS._replace(single_length=0.0))
    either = rank_sections("zebra grass", index, "en", longest)
    assert either is not None
    assert either.statements[0].score == either.statements[1].score


def test_a_name_that_the_best_statement_does_not_hold_makes_it_less_sure() -> None:
    """The second look: a missing name tells more than a missing word that is none."""
    index = KnowledgeIndex(sections("# Zebra\n\n- A zebra eats grass.\n- The keeper sleeps.\n- It rains.\n"))
    looked = WITH_WORDS._replace(first_floor=0.0)
    nearness = replace(NO_NEARNESS, weights=looked, compare=lambda statements: [0.5] * len(statements))
    word, name, held = [
        rank_sections(f"what grass has the {said} eaten", index, "en", nearness)
        for said in ("okapi zebra", "Okapi zebra", "okapi Zebra")
    ]
    assert word is not None
    assert name is not None
    assert held is not None
    assert name.sure < word.sure == held.sure


def by_reading(question: IndexedQuestion, index: KnowledgeIndex, number: int) -> float:
    """Return the coverage of a section by reading all of its words, one for one."""
    section = index.sections[number]
    assert section is not None
    held: Sequence[int] = [
        *section.headings,
        *section.own,
        *[word for lead in section.leads for word in lead],
    ]
    words = question.parsed.words
    weights = [index.lexicon.rarity(index.lexicon.vocabulary.number_of(word)) for word in words]
    sure = [max([index.lexicon.likeness.find_like(word).get(each, 0.0) for each in held]) for word in words]
    return sum(weight * how for weight, how in zip(weights, sure, strict=True)) / (sum(weights) or 1.0)


def test_coverage_is_that_of_all_words_of_a_section(index: KnowledgeIndex) -> None:
    """Whether a word is in a few sections or in nearly all, and however many are asked about."""
    for text in QUESTIONS:
        question = IndexedQuestion(parse_question(text, "en"), index)
        for numbers in ([3], [0, 17, 42], range(60)):
            found = question.coverage(numbers)
            assert [found[each] for each in numbers] == pytest.approx(
                [by_reading(question, index, each) for each in numbers]
            )


def test_as_many_statements_are_ranked_as_are_asked_for() -> None:
    """At least those that are compared; those after them come later, and score no more."""
    told = "\n".join(f"- A zebra eats grass {'often ' * (number % 3)}{number}." for number in range(90))
    index = KnowledgeIndex(sections(f"# Zebra\n\n{told}\n"))
    nearness = replace(NO_NEARNESS, weights=WITH_WORDS, compare=lambda statements: [-0.5] * len(statements))
    few, many = [rank_sections("zebra often", index, "en", nearness, statements=most) for most in (5, 70)]
    assert few is not None
    assert many is not None
    assert (len(few.statements), len(many.statements)) == (COMPARED, 70)
    assert few.statements == many.statements[:COMPARED]
    scores = [each.score for each in many.statements]
    assert scores == sorted(scores, reverse=True)
    assert len({(each.section, each.place) for each in many.statements}) == 70
