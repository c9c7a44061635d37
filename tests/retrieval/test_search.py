"""The search over kb/: the right file first, nothing for what is not there, and how long it may take to be ready."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ports.search import Lang
from agent.retrieval.load import Document
from agent.retrieval.search import KnowledgeBase


@pytest.mark.parametrize(
    ("question", "lang", "file"),
    [
        ("what does the standard plan cost", "en", "kb/pricing.md"),
        ("vad kostar paketen?", "sv", "kb/sv/pricing.md"),
        ("how long is the return period", "en", "kb/policies.md"),
        ("telefonnummer till kundtjänst", "sv", "kb/sv/contact.md"),
        ("standrd prise", "en", "kb/pricing.md"),
    ],
)
async def test_the_right_file_comes_first(kb: KnowledgeBase, question: str, lang: Lang, file: str) -> None:
    """The best hit of a question, rewritten or raw, is in the file that answers it."""
    raw = await kb.search(question, lang, 5)
    rewritten = await kb.search(kb.rewrite(question, lang), lang, 5)
    assert [hits[0].snippet.file for hits in (raw, rewritten)] == [file, file]


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
async def test_nothing_is_found_for_nothing_asked(kb: KnowledgeBase, question: str, lang: Lang) -> None:
    """A question about nothing in the knowledge base, or of common words or marks alone, has no hit."""
    assert await kb.search(question, lang, 5) == ()


def rows(name: str) -> list[dict[str, Any]]:
    """Return a table of questions beside this module."""
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("lang", ["en", "sv"])
async def test_paraphrases_find_the_right_file(kb: KnowledgeBase, lang: Lang) -> None:
    """Of questions in other words, with typos and inflections, 95 % find their file, nearly all of them first."""
    asked = [row for row in rows("on_topic.jsonl") if row["lang"] == lang]
    found = [await kb.search(kb.rewrite(row["question"], lang), lang, 5) for row in asked]
    files = [[hit.snippet.file for hit in hits] for hits in found]
    lost = [row["question"] for row, of in zip(asked, files, strict=True) if not set(of) & set(row["files"])]
    late = [
        row["question"] for row, of in zip(asked, files, strict=True) if not set(of[:1]) & set(row["files"])
    ]
    assert len(asked) >= 60
    assert len(lost) <= 0.05 * len(asked), lost
    assert len(late) <= 0.07 * len(asked), late


@pytest.mark.parametrize("rewritten", [True, False])
async def test_off_topic_questions_find_nothing(kb: KnowledgeBase, rewritten: bool) -> None:
    """At least 95 % of questions about something else have no source."""
    asked = rows("off_topic.jsonl")
    found = []
    for row in asked:
        query = kb.rewrite(row["question"], row["lang"]) if rewritten else row["question"]
        if await kb.search(query, row["lang"], 5):
            found.append(row["question"])
    assert len(asked) >= 100
    assert len(found) <= 0.05 * len(asked), found


async def test_hits_are_ordered_distinct_and_limited(kb: KnowledgeBase) -> None:
    """Best first, scores 0..1, each snippet once and with the passage it stands in, never more than asked for."""
    hits = await kb.search("price of the standard plan", "en", 4)
    scores = [hit.score for hit in hits]
    assert len(hits) == 4
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert len({(hit.snippet.file, hit.snippet.first) for hit in hits}) == 4
    assert all(hit.snippet in hit.passage.snippets for hit in hits)
    assert await kb.search("price", "en", 0) == ()


async def test_a_row_comes_with_its_neighbours(kb: KnowledgeBase) -> None:
    """The plan that was asked for is first, and other rows of its table may follow."""
    hits = await kb.search("what does the standard plan cost", "en", 10)
    assert hits[0].snippet.text.startswith("| Standard | 299 kr |")


@pytest.mark.parametrize(
    ("question", "lang", "start"),
    [
        ("Premium", "en", "kb/pricing.md"),
        ("Premium", "sv", "kb/sv/pricing.md"),
        ("Stockholm", "sv", "kb/sv/"),
    ],
)
async def test_the_language_of_the_question_is_preferred(
    kb: KnowledgeBase, question: str, lang: Lang, start: str
) -> None:
    """A word that both languages have is answered from files in the question's language."""
    hits = await kb.search(question, lang, 3)
    assert hits[0].snippet.file.startswith(start)
    assert hits[0].passage.lang == lang


async def test_another_language_is_better_than_nothing() -> None:
    """What stands only in the other language is found by the words both have."""
    only = KnowledgeBase.build([Document("kb/sv/a.md", "# Frakt\n\nExpress till Norge kostar 189 kr.")])
    assert [hit.passage.lang for hit in await only.search("express", "en", 5)] == ["sv"]


async def test_common_words_of_the_index_are_no_hit() -> None:
    """A question that shares only a word standing everywhere is about something else."""
    text = "\n\n".join(f"Rule {number} of the company." for number in range(30))
    company = KnowledgeBase.build([Document("kb/a.md", text)])
    assert await company.search("mongolian company throat singing", "en", 5) == ()


async def test_words_of_any_subject_do_not_hide_a_question(kb: KnowledgeBase) -> None:
    """Unknown words that go with any subject weigh little against what is asked, other unknown words do not."""
    assert await kb.search("suitable warranty", "en", 5)
    assert await kb.search("volcano warranty", "en", 5) == ()


async def test_an_empty_knowledge_base_finds_nothing() -> None:
    """Without documents nothing is found, and nothing breaks."""
    empty = KnowledgeBase.build([])
    assert await empty.search("price", "en", 5) == ()
    assert (empty.snippets, empty.passages) == (0, ())


def test_without_a_floor_whatever_matches_is_ranked(kb: KnowledgeBase) -> None:
    """A floor of nought ranks hits that a search would not show."""
    assert kb.find("weight of a blue whale", "en", 5) == ()
    assert kb.find("weight of a blue whale", "en", 5, floor=0)[0].snippet.file == "kb/shipping.md"


@given(st.text(max_size=200), st.sampled_from(["en", "sv"]))
def test_any_text_is_a_valid_query(question: str, lang: Lang) -> None:
    """No character is an operator, whether the question is rewritten or not."""
    knowledge = small()
    assert isinstance(knowledge.find(question, lang, 3), tuple)
    assert isinstance(knowledge.find(knowledge.rewrite(question, lang), lang, 3), tuple)


@pytest.mark.parametrize(
    "question",
    ["a" * 8000, "price " * 1300, "+price -cost AND (plan OR", 'en:"x"~2 [a TO b] *', "\x00 pris \ud800"],
)
def test_hostile_text_is_a_valid_query(question: str) -> None:
    """Huge words, repetitions, operators and broken characters are words or nothing."""
    assert isinstance(small().find(question, "en", 3), tuple)


@cache
def small() -> KnowledgeBase:
    """A knowledge base of one line in each language."""
    return KnowledgeBase.build(
        [Document("kb/a.md", "The plan costs 299 kr."), Document("kb/sv/a.md", "Paketet kostar 299 kr.")]
    )


@pytest.mark.parametrize(
    ("question", "found"), [("Tell me about discounts, 4321?", True), ("How much is 12345", False)]
)
async def test_an_unknown_number_hides_no_subject_and_is_none(
    kb: KnowledgeBase, question: str, found: bool
) -> None:
    """A number that is nowhere weighs little against the words that it stands beside, and finds nothing alone."""
    hits = await kb.search(kb.rewrite(question, "en"), "en", 5)
    assert bool(hits) is found
