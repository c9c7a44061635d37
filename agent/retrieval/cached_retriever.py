"""Answers a repeated question with the hits that the same snapshot gave before.

Strategy: the hits are stored with the snapshot they were found in (`search.HitCache`), so no other snapshot can
return them. Only results that the same search would find again are stored: not those found by words alone because a
server gave no vector, and nothing of a search that failed or was cancelled. The question before counts only where
`follow_up.follows` says that this one goes on from it, so the same question finds its hits in any conversation.
"""

from collections.abc import Sequence
from dataclasses import replace

from agent.ports.observe import Observer
from agent.ports.search import Hit, Lang, Query

from .follow_up import follows
from .search import KnowledgeBase


class CachedRetriever:
    """A snapshot that searches once for each question: implements `agent.ports.search.Retriever`.

    For one event loop. `of`: the snapshot. `observer`: counts searches by the origin of their hits.
    """

    __slots__ = ("_observer", "_of")

    def __init__(self, of: KnowledgeBase, observer: Observer | None = None) -> None:
        self._of = of
        self._observer = observer

    async def search(self, query: Query) -> tuple[Hit, ...]:
        """Return the hits of `KnowledgeBase.search`. A cancel leaves nothing behind."""
        if query.before and not follows(query.text, query.lang):
            query = replace(query, before="")
        hits = self._of.hits.get(query)
        if hits is not None:
            self._count("kept")
            return hits
        self._count("searched")
        found = await self._of.run_search(query)
        if found.whole:
            self._of.hits.add(query, found.hits)
        return found.hits

    async def search_nearest(self, query: Query) -> tuple[Hit, ...]:
        """Return the best hits however unsure they are; they are not stored."""
        return await self._of.search_nearest(query)

    def topics(self, lang: Lang) -> Sequence[str]:
        """Return the subjects of the documents in `lang`, the largest first."""
        return self._of.topics(lang)

    def _count(self, hits: str) -> None:
        if self._observer is not None:
            self._observer.count("searches", hits)
