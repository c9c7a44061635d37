"""Searches that are not made again: a question that was asked before finds what it found then.

Strategy: the hits stand with the snapshot that they were found in (`hits`), so no other one can give them. Kept is what
the same search would find again: not what was found by words alone because a server gave no vector, and nothing of a
search that failed or was cancelled. The question before counts only where a question goes on from it, so that the same
one finds its hits in any conversation.
"""

from collections.abc import Sequence
from dataclasses import replace

from agent.ports.observe import Observer
from agent.ports.search import Hit, Lang, Query

from .follow import follows
from .search import KnowledgeBase


class Again:
    """A snapshot that searches for each question once: implements `agent.ports.search.Retriever`.

    It is to be asked on one event loop. observer: counts searches by where their hits came from.
    """

    __slots__ = ("_observer", "_of")

    def __init__(self, of: KnowledgeBase, observer: Observer | None = None) -> None:
        self._of = of
        self._observer = observer

    async def search(self, query: Query) -> tuple[Hit, ...]:
        """Return what the snapshot's own search does. A cancel leaves nothing."""
        if query.before and not follows(query.text, query.lang):
            query = replace(query, before="")
        hits = self._of.kept.get(query)
        if hits is not None:
            self._count("kept")
            return hits
        self._count("searched")
        found = await self._of.searched(query)
        if found.whole:
            self._of.kept.keep(query, found.hits)
        return found.hits

    async def nearest(self, query: Query) -> tuple[Hit, ...]:
        """Return what a search comes nearest to, however unsure; nothing of it is kept."""
        return await self._of.nearest(query)

    def topics(self, lang: Lang) -> Sequence[str]:
        """Return what the documents of a language are about, the largest topic first."""
        return self._of.topics(lang)

    def _count(self, hits: str) -> None:
        if self._observer is not None:
            self._observer.count("searches", hits)
