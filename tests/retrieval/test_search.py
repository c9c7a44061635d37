"""The search: the right section first, nothing for what is not there, and any text as a question."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ports.search import Lang, Query
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase

SURE = 0.5
"""A floor that a question in the documents' own words is above, and nothing else is."""


@pytest.mark.parametrize(
    ("question", "lang", "file"),
    [
        ("what does the standard plan cost", "en", "kb/pricing.md"),
        ("vad kostar paketen?", "sv", "kb/sv/pricing.md"),
        ("how long is the return period", "en", "kb/policies.md"),
        ("telefonnummer till kundtjänst", "sv", "kb/sv/contact.md"),
        ("stanard plan prices", "en", "kb/pricing.md"),
    ],
)
async def test_the_right_file_comes_first(
    kb: KnowledgeBase, kb_with_vectors: KnowledgeBase, question: str, lang: Lang, file: str
) -> None:
    """The best hit of a question is in the file that answers it, by words alone and with vectors."""
    for knowledge in (kb, kb_with_vectors):
        assert (await knowledge.search(Query(question, lang, 5)))[0].snippet.file == file


@pytest.mark.parametrize("lang", ["en", "sv"])
@pytest.mark.parametrize(
    "question",
    [
        "what is the capital of Mongolia",
        "xyz completely unrelated topic",
        "asdfghjkl qwertyuiop",
        "",
        "what is it and how do I",
        "vad är det och hur gör man",
        "?!\"'()[]{}^~*:\\/ AND OR NOT",
    ],
)
async def test_nothing_is_found_for_nothing_asked(
    kb: KnowledgeBase, kb_with_vectors: KnowledgeBase, question: str, lang: Lang
) -> None:
    """A question about nothing in the knowledge base, or of common words or marks alone, has no hit."""
    assert await kb.search(Query(question, lang, 5)) == ()
    assert await kb_with_vectors.search(Query(question, lang, 5)) == ()


async def test_hits_are_ordered_distinct_and_limited(kb: KnowledgeBase) -> None:
    """Best first, scores 0..1, each snippet once and with the passage it stands in, never more than asked for."""
    hits = await kb.search(Query("price of the standard plan", "en", 4))
    scores = [hit.score for hit in hits]
    assert len(hits) == 4
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert len({(hit.snippet.file, hit.snippet.first) for hit in hits}) == 4
    assert all(hit.snippet in hit.passage.snippets for hit in hits)
    assert await kb.search(Query("price", "en", 0)) == ()


async def test_the_statements_of_the_best_section_come_together(kb: KnowledgeBase) -> None:
    """The plan that was asked for is first, and other rows of its table follow."""
    hits = await kb.search(Query("what does the standard plan cost", "en", 10))
    assert "\n| Standard | 299 kr |" in hits[0].snippet.text
    assert len([hit for hit in hits if hit.passage is hits[0].passage]) > 2


def test_what_holds_the_kind_of_thing_that_is_asked_for_comes_first() -> None:
    """Of two statements with the same words, the one with a price answers what it costs."""
    text = "The zebra plan is new.\n\nThe zebra plan is 30 kr.\n\nThe zebra plan is 30 days."
    knowledge = KnowledgeBase.build([SourceFile.of("kb/a.md", text)])
    firsts = {
        question: knowledge.find_hits(question, "en", 1, 0)[0].snippet.first
        for question in ("what does the zebra plan cost", "how long is the zebra plan")
    }
    assert list(firsts.values()) == [3, 5]


@pytest.mark.parametrize(
    ("question", "lang"), [("Premium", "en"), ("Premium", "sv"), ("Stockholm", "sv"), ("Stockholm", "en")]
)
async def test_the_language_of_the_question_is_preferred(
    kb: KnowledgeBase, question: str, lang: Lang
) -> None:
    """A word that both languages have is answered from files in the question's language."""
    hits = await kb.search(Query(question, lang, 3))
    assert [hit.passage.lang for hit in hits] == [lang] * 3


async def test_another_language_is_better_than_nothing() -> None:
    """What stands only in the other language is found by the words both have."""
    only = KnowledgeBase.build([SourceFile.of("kb/sv/a.md", "# Frakt\n\nExpress till Norge kostar 189 kr.")])
    assert [hit.passage.lang for hit in await only.search(Query("express", "en", 5))] == ["sv"]


async def test_another_language_is_looked_at_only_when_its_own_has_nothing() -> None:
    """However well the other one matches."""
    own, other = (
        SourceFile.of("kb/en/a.md", "Express is fast."),
        SourceFile.of("kb/sv/a.md", "Express Express kostar 189 kr."),
    )
    both = KnowledgeBase.build([own, other])
    assert {hit.passage.lang for hit in both.find_hits("express", "en", 9)} == {"en"}
    assert {hit.passage.lang for hit in both.find_hits("express", "sv", 9)} == {"sv"}


async def test_common_words_of_the_index_are_no_hit() -> None:
    """A question that shares only a word standing everywhere is about something else."""
    text = "\n\n".join(f"# {number}\n\nRule {number} of the company." for number in range(30))
    company = KnowledgeBase.build([SourceFile.of("kb/a.md", text)])
    assert await company.search(Query("mongolian company throat singing", "en", 5)) == ()


def test_how_sure_a_hit_is_tells_a_question_from_another(kb: KnowledgeBase) -> None:
    """In the documents' own words it is surer than with words that nothing knows, and those than with only them."""
    own, mixed, none = (
        kb.find_hits(question, "en", 1, 0)[0].score
        for question in ("price of the standard plan", "price of the volcano plan", "weight of a blue whale")
    )
    assert own > SURE > mixed > none


async def test_an_empty_knowledge_base_finds_nothing() -> None:
    """Without documents nothing is found, and nothing breaks."""
    empty = KnowledgeBase.build([])
    assert await empty.search(Query("price", "en", 5)) == ()
    assert (empty.statement_count, empty.passages) == (0, ())


def test_without_a_floor_whatever_matches_is_ranked(kb: KnowledgeBase) -> None:
    """A floor of nought ranks hits that a search would not show; a high one shows what is sure."""
    assert kb.find_hits("weight of a blue whale", "en", 5) == ()
    assert kb.find_hits("weight of a blue whale", "en", 5, floor=0)[0].snippet.file == "kb/shipping.md"
    assert kb.find_hits("price of the standard plan", "en", 5, floor=SURE)
    assert kb.find_hits("price of the standard plan", "en", 5, floor=1) == ()


@given(st.text(max_size=200), st.sampled_from(["en", "sv"]))
def test_any_text_is_a_valid_query(question: str, lang: Lang) -> None:
    """No character is an operator."""
    assert len(small().find_hits(question, lang, 3, 0)) <= 3


@pytest.mark.parametrize(
    "question",
    ["a" * 8000, "price " * 1300, "+price -cost AND (plan OR", 'en:"x"~2 [a TO b] *', "\x00 pris \ud800"],
)
def test_hostile_text_is_a_valid_query(question: str) -> None:
    """Huge words, repetitions, operators and broken characters are words or nothing."""
    assert len(small().find_hits(question, "en", 3, 0)) <= 3


@cache
def small() -> KnowledgeBase:
    """A knowledge base of one line in each language."""
    return KnowledgeBase.build(
        [
            SourceFile.of("kb/a.md", "The plan costs 299 kr."),
            SourceFile.of("kb/sv/a.md", "Paketet kostar 299 kr."),
        ]
    )


def test_topics_are_the_top_headings_of_a_language(kb: KnowledgeBase) -> None:
    """Those with the most statements first, and the same each time."""
    assert kb.topics("en")[:2] == ("Frequently asked questions", "Shipping and delivery")
    assert len(kb.topics("sv")) == 6
    assert kb.topics("sv") is kb.topics("sv")
