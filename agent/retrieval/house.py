"""Searches the operator's documents: those of the folder, and those that were uploaded into a project, as one library.

Strategy: each has an index of its own, since the one is read from files and the other from a store, and both change by
themselves. A search asks both, and the hits are put in the order of their scores, which are certainties: on three sets
of documents, with uploads from another set, as many questions were answered right as with one index of both, or more. A
turn keeps one snapshot of each. Without uploads, a search costs what it costs in the folder. Whether the uploads have
changed is one read of the store, some 0.3 ms of CPU, so it is not asked more often than every `ASKED_EVERY` seconds,
except after a change in this process. While the store cannot be read, the folder is searched alone.
"""

from collections.abc import Callable, Sequence
from math import inf
from typing import Final

import structlog
import trio

from agent.errors import AgentError
from agent.ports.projects import Holdings, ProjectLibrary
from agent.ports.search import Hit, Lang, Library, Query, Retriever

ASKED_EVERY: Final = 0.25  # seconds after which an upload into another process is searched here

_log = structlog.get_logger("agent.retrieval")


class HouseLibrary:
    """The documents of a folder and of a project (implements `agent.ports.search.Library`).

    `folder`: the documents of the folder. `projects`, `project`: name the uploads. `used`: tells whether the store of
    the uploads was opened; a store in memory without any use holds none, and is not opened for a search.
    """

    def __init__(
        self,
        folder: Library,
        projects: ProjectLibrary,
        project: str,
        used: Callable[[], bool] = lambda: True,
    ) -> None:
        self._folder = folder
        self._projects = projects
        self._project = project
        self._used = used
        self._uploads: Holdings | None = None
        self._asked_at = -inf

    def note_change(self, project: str) -> None:
        """Read the uploads again for the next turn, if it is their project that has changed."""
        if project == self._project:
            self._asked_at = -inf

    async def load_snapshot(self) -> Retriever:
        """Return the present snapshots as one, once the folder has been read. A cancel leaves nothing."""
        folder = await self._folder.load_snapshot()
        if not self._used():
            return folder
        uploads = self._uploads
        now = trio.current_time()
        if uploads is None or now - self._asked_at > ASKED_EVERY:
            self._asked_at = now  # before the store is read: a change meanwhile is seen by the next turn
            try:
                uploads = self._uploads = await self._projects.load_holdings(self._project)
            except AgentError as error:
                _log.warning("uploads cannot be searched", why=str(error))
                self._uploads = None
                return folder
        if not uploads.has_documents:
            return folder
        return JoinedRetriever(folder, await uploads.documents.load_snapshot())


class JoinedRetriever:
    """Two snapshots that are searched as one (implements `agent.ports.search.Retriever`). `first` wins a tie."""

    __slots__ = ("_first", "_second")

    def __init__(self, first: Retriever, second: Retriever) -> None:
        self._first = first
        self._second = second

    async def search(self, query: Query) -> tuple[Hit, ...]:
        """Return the best statements of both, best first; () when neither has any that is worth citing."""
        return _merge(await self._first.search(query), await self._second.search(query), query.limit)

    async def search_nearest(self, query: Query) -> tuple[Hit, ...]:
        """Return the statements of both that are nearest to a query, however unsure."""
        first, second = await self._first.search_nearest(query), await self._second.search_nearest(query)
        return _merge(first, second, query.limit)

    def topics(self, lang: Lang) -> Sequence[str]:
        """Return the topics of both, those of the first before the others, each once."""
        return tuple(dict.fromkeys((*self._first.topics(lang), *self._second.topics(lang))))


def _merge(first: Sequence[Hit], second: Sequence[Hit], limit: int) -> tuple[Hit, ...]:
    """Return the hits in the order of their scores, those that the conversation holds already last."""
    hits = sorted((*first, *second), key=lambda hit: (hit.in_conversation, -hit.score))
    return tuple(hits[:limit])
