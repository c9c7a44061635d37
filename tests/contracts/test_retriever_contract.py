"""What every library of documents and its retriever must do. A new one joins by a line in LIBRARIES.

Each holds "The Standard plan costs 299 kr a month." and some more.
"""

from collections.abc import Callable

import pytest

from agent.lexical.meanings import VocabularyMeanings
from agent.ports.search import Hit, Library, Query
from agent.retrieval.cached_retriever import CachedRetriever
from agent.retrieval.load import SourceFile
from agent.retrieval.matrix import SectionMatrix
from agent.retrieval.meaning import KnowledgeEmbedder
from agent.retrieval.search import KnowledgeBase
from agent.testing.fakes import FixedRetriever
from agent.testing.vectors import WordsEmbedder
from tests.examples import sample

TEXT = """\
# Plans

The Standard plan costs 299 kr a month. The notice period is 14 days.

# Delivery

Delivery takes two days. A parcel is kept for a week.
"""


def _plain() -> Library:
    return KnowledgeBase.build([SourceFile.of("kb/a.md", TEXT)])


class _Again:
    """Documents whose hits are kept."""

    def __init__(self) -> None:
        self._of = KnowledgeBase.build([SourceFile.of("kb/a.md", TEXT)])

    async def load_snapshot(self) -> CachedRetriever:
        return CachedRetriever(self._of)


def _with_vectors() -> Library:
    embedder = WordsEmbedder()
    meaning = KnowledgeEmbedder(embedder, embedder.encode, None, SectionMatrix, VocabularyMeanings)
    return KnowledgeBase.build([SourceFile.of("kb/a.md", TEXT)], meaning=meaning)


LIBRARIES: dict[str, Callable[[], Library]] = {
    "words": _plain,
    "words and vectors": _with_vectors,
    "hits that are kept": _Again,
    "the fake": FixedRetriever,
}


@pytest.fixture(params=sorted(LIBRARIES), scope="module")
def library(request: pytest.FixtureRequest) -> Library:
    return LIBRARIES[request.param]()


def check(hits: tuple[Hit, ...], limit: int) -> None:
    """Assert what holds of the result of any search."""
    assert len(hits) <= limit
    snippets = [hit.snippet for hit in hits]
    assert len(set(snippets)) == len(snippets)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert all(hit.snippet in hit.passage.snippets for hit in hits)


@pytest.mark.parametrize("limit", [0, 1, 40])
async def test_what_is_found_is_best_first_and_each_once(library: Library, limit: int) -> None:
    """At most as many as wanted, each a statement of its passage."""
    retriever = await library.load_snapshot()
    query = Query("What does the Standard plan cost a month?", "en", limit)
    hits = await retriever.search(query)
    check(hits, limit)
    assert bool(hits) is bool(limit)
    if hits:
        assert "299 kr" in hits[0].snippet.text
    check(await retriever.search_nearest(query), limit)


@pytest.mark.parametrize(
    "text",
    sample(["", " ", "?", "\0", "\ud800", "a" * 8000, "plan " * 1600, "AND OR (", '"', "\u202e۲۹۹", "🙂"], 3),
)
async def test_any_text_is_a_query(library: Library, text: str) -> None:
    """With what was asked before it, too."""
    retriever = await library.load_snapshot()
    check(await retriever.search(Query(text, "sv", 5)), 5)
    check(await retriever.search(Query("plan?", "en", 5, before=text)), 5)
    check(await retriever.search(Query(text, "en", 5, before="What does the Standard plan cost?")), 5)


async def test_the_same_query_finds_the_same(library: Library) -> None:
    """In one snapshot, as often as it is asked."""
    retriever = await library.load_snapshot()
    query = Query("What does the Standard plan cost a month?", "en", 5)
    assert await retriever.search(query) == await retriever.search(query)


async def test_what_nothing_holds_is_not_found(library: Library) -> None:
    """An empty result, and no error."""
    assert (
        await (await library.load_snapshot()).search(Query("nothing of quantum chromodynamics", "en", 5))
        == ()
    )


async def test_topics_are_told_for_every_language(library: Library) -> None:
    """None, where nothing is in it."""
    retriever = await library.load_snapshot()
    for lang in ("en", "sv"):
        assert all(isinstance(topic, str) and topic for topic in retriever.topics(lang))
