"""A question that is asked again finds what it found, without a search, and never what it would not find now."""

from dataclasses import replace
from typing import Any

import pytest
import trio
import trio.testing

from agent.errors import EmbeddingFailed
from agent.lexical.meanings import VocabularyMeanings
from agent.ports.conversation import Scope
from agent.ports.search import Query
from agent.retrieval.cached_retriever import CachedRetriever
from agent.retrieval.load import SourceFile
from agent.retrieval.matrix import SectionMatrix
from agent.retrieval.meaning import KnowledgeEmbedder
from agent.retrieval.search import HITS_KEPT, HITS_KEPT_CHARACTERS, KnowledgeBase
from agent.testing.vectors import WordsEmbedder

TEXT = """\
# Plans

The Standard plan costs 299 kr a month. The Large plan costs 399 kr a month.

# Delivery

Delivery takes two days. A parcel is kept for a week.
"""
ASKED = Query("What does the Standard plan cost?", "en", 5)


class Counted:
    """An Observer that keeps what was counted, in order."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def count(self, metric: str, label: str = "") -> None:
        """Keep it."""
        self.seen.append((metric, label))

    def measure(self, metric: str, seconds: float) -> None:
        """Keep nothing."""

    def gauge(self, metric: str, change: int) -> None:
        """Keep nothing."""

    def take(self) -> list[str]:
        """Return where the hits of the searches since the last call came from."""
        seen, self.seen = self.seen, []
        assert {metric for metric, _ in seen} <= {"searches"}
        return [label for _, label in seen]


@pytest.fixture
def knowledge() -> KnowledgeBase:
    """A few statements, by words alone."""
    return KnowledgeBase.build([SourceFile.of("kb/a.md", TEXT)])


@pytest.fixture
def counted() -> Counted:
    """What is counted."""
    return Counted()


@pytest.fixture
def again(knowledge: KnowledgeBase, counted: Counted) -> CachedRetriever:
    """The statements, asked as a server does."""
    return CachedRetriever(knowledge, counted)


def embedded(embedder: WordsEmbedder) -> KnowledgeBase:
    """Return the statements with vectors, of which those of questions come from a server."""
    meaning = KnowledgeEmbedder(embedder, embedder.encode, None, SectionMatrix, VocabularyMeanings)
    return KnowledgeBase.build([SourceFile.of("kb/a.md", TEXT)], meaning=meaning)


async def test_the_same_question_is_searched_for_once(
    again: CachedRetriever, knowledge: KnowledgeBase, counted: Counted
) -> None:
    """It finds what the search found, also where that was nothing."""
    nothing = replace(ASKED, text="quantum chromodynamics")
    for query in (ASKED, nothing):
        first = await again.search(query)
        assert first == await knowledge.search(query)
        assert await again.search(query) is first
        assert await CachedRetriever(knowledge).search(query) is first  # another turn of the same snapshot
        assert counted.take() == ["searched", "kept"]
    assert first == ()


@pytest.mark.parametrize(
    "changed",
    [
        {"text": "What does the Large plan cost?"},
        {"text": "what does the Standard plan cost?"},
        {"lang": "sv"},
        {"limit": 1},
    ],
)
async def test_what_a_search_looks_at_makes_another_question(
    again: CachedRetriever, knowledge: KnowledgeBase, counted: Counted, changed: dict[str, Any]
) -> None:
    """Its words, to the letter, its language, how many statements it wants."""
    await again.search(ASKED)
    other = replace(ASKED, **changed)
    assert await again.search(other) == await knowledge.search(other)
    assert counted.take() == ["searched", "searched"]


async def test_whose_a_question_is_makes_no_difference(again: CachedRetriever, counted: Counted) -> None:
    """No search looks at that."""
    for thread in ("a", "b"):
        await again.search(replace(ASKED, scope=Scope("project", thread, "user")))
    assert counted.take() == ["searched", "kept"]


async def test_the_question_before_counts_where_one_goes_on_from_it(
    again: CachedRetriever, knowledge: KnowledgeBase, counted: Counted
) -> None:
    """What is asked alone is found in any conversation; what goes on is another question after each."""
    for before in ("", "How long does delivery take?", "Is there a Large plan?"):
        await again.search(replace(ASKED, before=before))
    assert counted.take() == ["searched", "kept", "kept"]
    going_on = replace(ASKED, text="and the large one?")
    found = []
    for before in ("", "What does the Standard plan cost?", "How long does delivery take?"):
        query = replace(going_on, before=before)
        found.append(await again.search(query))
        assert found[-1] == await knowledge.search(query)
        assert await again.search(query) is found[-1]
    assert counted.take() == ["searched", "kept"] * 3
    assert found[1] != found[2]


async def test_so_many_questions_are_kept(
    again: CachedRetriever, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that was asked longest ago gives way."""
    monkeypatch.setattr("agent.retrieval.search.HITS_KEPT", 3)
    queries = [replace(ASKED, limit=limit) for limit in (1, 2, 3, 4)]
    for query in (*queries[:3], queries[0], queries[3]):
        await again.search(query)
    assert counted.take() == ["searched", "searched", "searched", "kept", "searched"]
    for query in (queries[0], queries[2], queries[3], queries[1]):
        await again.search(query)
    assert counted.take() == ["kept", "kept", "kept", "searched"]
    assert HITS_KEPT == 256


@pytest.mark.parametrize("held", ["text", "before", "hits"])
async def test_what_is_long_is_not_kept(held: str, counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words, the question before it and what its statements say, together."""
    sentence = "The plan costs 299 kr a month. "
    knowledge = KnowledgeBase.build([SourceFile.of("kb/a.md", f"# Plans\n\n{sentence}\n")])
    again = CachedRetriever(knowledge, counted)
    long = " what" * (HITS_KEPT_CHARACTERS // 5)
    query = Query("and that plan?", "en", 5, before="What does the plan cost?")
    if held == "text":
        query = replace(query, text="and that plan?" + long, before="")
    elif held == "before":
        query = replace(query, before=query.before + long)
    else:
        monkeypatch.setattr("agent.retrieval.search.HITS_KEPT_CHARACTERS", 60)
    for _ in range(2):
        assert await again.search(query)
    assert counted.take() == ["searched", "searched"]


async def test_what_was_found_without_its_vector_is_not_kept(
    autojump_clock: trio.testing.MockClock, counted: Counted
) -> None:
    """A server that failed may give one the next time, and the hits are others then."""
    embedder = WordsEmbedder()
    again = CachedRetriever(embedded(embedder), counted)
    for query in (ASKED, replace(ASKED, text="and the large one?", before=ASKED.text)):
        embedder.fails = EmbeddingFailed("busy", "later")
        by_words = await again.search(query)
        assert by_words
        embedder.fails = None
        with_vector = await again.search(query)
        assert [hit.score for hit in with_vector] != [hit.score for hit in by_words]
        assert await again.search(query) is with_vector
        assert counted.take() == ["searched", "searched", "kept"]


async def test_a_vector_that_came_for_one_of_two_searches_is_not_enough(
    autojump_clock: trio.testing.MockClock, counted: Counted
) -> None:
    """A question that goes on is looked for twice where both together find nothing of its own."""
    embedder = WordsEmbedder(delay=1)
    again = CachedRetriever(embedded(embedder), counted)
    query = replace(ASKED, text="and the parrot?", before=ASKED.text)
    embedder.fails = EmbeddingFailed("busy", "later")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(again.search, query)
        await trio.sleep(1.5)
        embedder.fails = None
    assert trio.current_time() == 2
    await again.search(query)
    assert counted.take() == ["searched", "searched"]


async def test_a_language_that_the_model_does_not_know_needs_no_vector(
    autojump_clock: trio.testing.MockClock, counted: Counted
) -> None:
    """What is found by words is all that will be found."""
    again = CachedRetriever(embedded(WordsEmbedder(langs=frozenset({"sv"}))), counted)
    for _ in range(2):
        assert await again.search(ASKED)
    assert counted.take() == ["searched", "kept"]


async def test_a_search_that_is_cancelled_leaves_nothing(
    autojump_clock: trio.testing.MockClock, counted: Counted
) -> None:
    """The next one is made, and is kept."""
    embedder = WordsEmbedder(delay=1)
    again = CachedRetriever(embedded(embedder), counted)
    with trio.move_on_after(0.5) as scope:
        await again.search(ASKED)
    assert scope.cancelled_caught
    first = await again.search(ASKED)
    assert await again.search(ASKED) is first
    assert counted.take() == ["searched", "searched", "kept"]


async def test_a_search_that_fails_leaves_nothing(
    again: CachedRetriever, knowledge: KnowledgeBase, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one is made."""

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr(knowledge, "find_hits", fail)
        with pytest.raises(MemoryError):
            await again.search(ASKED)
    assert await again.search(ASKED)
    assert counted.take() == ["searched", "searched"]


async def test_a_snapshots_own_searches_are_made(again: CachedRetriever, knowledge: KnowledgeBase) -> None:
    """What is kept is for who asks for it, and it is gone with the snapshot."""
    kept = await again.search(ASKED)
    assert await knowledge.search(ASKED) is not kept
    assert await CachedRetriever(KnowledgeBase.build(())).search(ASKED) == ()
