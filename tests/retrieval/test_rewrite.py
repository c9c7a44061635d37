"""From a question to a query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import QUERY_WORDS
from agent.ports.search import Lang
from agent.retrieval.rewrite import rewrite, subject_words
from agent.retrieval.search import KnowledgeBase
from agent.text.words import words


@pytest.mark.parametrize(
    ("question", "lang", "expected"),
    [
        ("What does the Standard plan cost?", "en", ["standard", "plan", "cost"]),
        ("Hur mycket är Premium?", "sv", ["premium", "pris"]),
        ("how much is premium", "en", ["premium", "price"]),
        ("När öppnar ni på lördag?", "sv", ["öppnar", "lördag"]),
        ("price price PRICE", "en", ["price"]),
    ],
)
def test_what_carries_the_subject_is_kept(question: str, lang: Lang, expected: list[str]) -> None:
    """Function words and empty words go, the rest stays in order, synonyms follow."""
    assert rewrite(question, lang).split()[: len(expected)] == expected


@pytest.mark.parametrize("question", ["", "?!", "what is it", "vad är det", "how do I", "x y"])
@pytest.mark.parametrize("lang", ["en", "sv"])
def test_a_question_without_a_subject_is_empty(question: str, lang: Lang) -> None:
    """Common words alone ask for nothing."""
    assert rewrite(question, lang) == ""


def test_synonyms_fill_the_room(kb: KnowledgeBase) -> None:
    """Only synonyms that the index knows are added, at most two for a word."""
    assert kb.rewrite("guarantee", "en").split() == ["guarantee", "warranty"]
    assert kb.rewrite("postage", "en").split() == ["postage", "shipping", "delivery"]


def test_a_misspelt_word_is_corrected(kb: KnowledgeBase) -> None:
    """A longer word that the index does not know becomes the near one that it does."""
    assert kb.rewrite("standrad prices", "en").split()[:2] == ["standard", "prices"]
    assert kb.rewrite("telefonnumer", "sv").split()[0] == "telefonnummer"


def test_of_a_long_message_the_known_words_are_kept(kb: KnowledgeBase) -> None:
    """The story around a question gives way to the words that the index knows."""
    story = "yesterday grandmother visited museum together neighbours bicycle sunshine orchestra elephants"
    query = kb.rewrite(f"{story} umbrella sandwich, what is the warranty on cameras", "en").split()
    assert len(query) == QUERY_WORDS
    assert {"warranty", "cameras"} <= set(query)


@given(st.text(max_size=300), st.sampled_from(["en", "sv"]))
def test_any_text_gives_a_short_plain_query(question: str, lang: Lang) -> None:
    """A query has at most twelve words, no marks, and rewriting it again keeps its words."""
    query = rewrite(question, lang)
    assert len(query.split()) <= QUERY_WORDS
    assert words(query) == query.split()
    assert set(subject_words(query.split(), lang)) == set(query.split())


def test_a_huge_message_is_read_in_part() -> None:
    """Eight thousand characters, or one word of them, make a bounded query."""
    assert rewrite("a" * 8000, "en") == "a" * 40
    assert len(rewrite(" ".join(f"wo{index}" for index in range(2000)), "en").split()) == QUERY_WORDS
