"""Opens the documents that a server answers from, and keeps them current.

Strategy: `check_settings` reports an operator's mistake before the port opens. `Knowledge.read` reads the documents
while the server already listens: a question that arrives meanwhile waits, and can be cancelled.
"""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog
import trio

from ..config import MEMORY
from ..embedding.open import choose, open_meaning
from ..errors import UsageError
from ..heap import collect_rarely, freeze_so_far, trim_heap
from ..host import WorkerThreads
from ..ports.embed import Embedder
from ..ports.observe import Observer
from ..ports.search import Passage, Retriever
from ..ports.work import RunSync
from ..retrieval.cache import Cache
from ..retrieval.cached_retriever import CachedRetriever
from ..retrieval.foreign import ForeignFiles, open_foreign_files
from ..retrieval.live_knowledge import LiveKnowledge
from ..retrieval.meaning import KnowledgeEmbedder
from ..retrieval.search import KnowledgeBase
from ..retrieval.watch import Watch, watch_folder
from ..settings import Settings
from ..storage.open import cache_folder
from .adapters import Adapters

_log = structlog.get_logger("agent.app")

_FILES = 50  # files that are read between two calls of `freeze_so_far`


class Knowledge:
    """The documents of one server as they are now (implements `agent.ports.search.Library`).

    `snapshot`: replaces the folder of `settings`, and is never reloaded. `run_sync`: does the blocking work. `watch`:
    reports changes of the folder; `None` leaves changes unnoticed. `observer`: counts searches where hits are kept.
    `foreign`: see `agent.retrieval.folder.FolderReader`.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        run_sync: RunSync,
        snapshot: KnowledgeBase | None = None,
        watch: Watch | None = None,
        observer: Observer | None = None,
        foreign: ForeignFiles | None = None,
    ) -> None:
        self._kb = settings.documents.kb
        self._vectors = settings.vectors
        self._data = settings.storage.data
        self._fixed = snapshot
        self._run_sync = run_sync
        self._watch = watch
        self._observer = observer
        self._foreign = foreign
        self._keeps_hits = settings.documents.hit_cache
        self._live: LiveKnowledge | None = None
        self._meaning: KnowledgeEmbedder | None = None
        self._opened = trio.Event()  # `_meaning` is final
        self._read = trio.Event()  # all documents are read
        self._files = (0, 0)  # files read so far, and files in all
        self._embedded = (0, 0)  # sections that have vectors of a model of sentences, and sections in all

    @property
    def unread(self) -> str:
        """How far the reading is, as a sentence; "" once all documents are read."""
        if self._read.is_set():
            return ""
        done, total = self._files
        so_far = f": {done:,} of {total:,} files" if total else ""
        return f"The documents are being read{so_far}."

    @property
    def unembedded(self) -> str:
        """How far a model of sentences is with the sections, as a sentence; "" once all of them have vectors."""
        done, total = self._embedded
        if done == total:
            return ""
        instead = (
            "their words" if self._meaning is None or self._meaning.fallback is None else "static vectors"
        )
        return f"{done:,} of {total:,} sections are embedded; until all are, questions are searched by {instead}."

    def check_settings(self) -> None:
        """Raise `UsageError` for a mistake that shows before any document is read."""
        choose(self._vectors.vectors, self._vectors.vectors_url)
        if self._fixed is None and not self._kb.is_dir():
            raise UsageError(
                f"the knowledge base {self._kb} does not exist; point to a folder of documents with --kb"
            )

    async def read(self) -> None:
        """Read all documents. Raises `UsageError` when none can be read. Cancelled, it gives its reading thread up."""
        if self._fixed is None:
            meaning = await open_meaning(self._vectors.vectors, self._vectors.vectors_url, self._run_sync)
            self._meaning = meaning
            if meaning is not None:
                meaning.on_progress = self._note_embedded
            self._opened.set()
            with collect_rarely():
                self._live = await LiveKnowledge.open(
                    self._kb, self._run_sync, meaning, self._cache(), self._note_progress, self._foreign
                )
            await self._run_sync(trim_heap)
        for skipped in self._snapshot().skipped:
            _log.warning("file left out of the knowledge base", file=skipped.file, why=skipped.reason)
        self._opened.set()
        self._read.set()

    async def another_meaning(self) -> KnowledgeEmbedder | None:
        """Return the model that makes the vectors of a project's documents; `None` where no vectors are used.

        Waits until the model is opened. A model of sentences makes no vectors of projects, but its fallback does: see
        `KnowledgeEmbedder.for_another_base`.
        """
        await self._opened.wait()
        return None if self._meaning is None else self._meaning.for_another_base()

    async def wait_embedder(self) -> Embedder | None:
        """Wait until the model of the vectors is opened, and return it; `None` where no vectors are used."""
        await self._opened.wait()
        return None if self._meaning is None else self._meaning.embedder

    async def wait_read(self) -> None:
        """Wait until all documents are read."""
        await self._read.wait()

    async def load_snapshot(self) -> Retriever:
        """Wait until all documents are read, and return the present snapshot; later changes make another one."""
        await self._read.wait()
        present = self._snapshot()
        return CachedRetriever(present, self._observer) if self._keeps_hits else present

    def texts(self) -> Iterator[str]:
        """Yield the text of every statement, in microseconds each; no text before all documents are read."""
        if self._read.is_set():
            for passage in self._snapshot().passages:
                for snippet in passage.snippets:
                    yield snippet.text

    async def keep(self) -> None:
        """Take over changes of the folder until cancelled; return at once where no watch reports them."""
        if self._live is not None and self._watch is not None:
            await self._live.keep_current(self._watch)

    def sections(self, file: str) -> Sequence[Passage] | None:
        """Return the sections of `file` in their order: `()` for an unknown file, `None` until all are read."""
        return self._snapshot().of_file(file) if self._read.is_set() else None

    @property
    def present(self) -> KnowledgeBase | None:
        """The present snapshot; `None` until all documents are read."""
        return self._snapshot() if self._read.is_set() else None

    @property
    def digest(self) -> str:
        """A digest of the documents that are served now, the same on all machines that have the same; "" before."""
        return self._live.digest if self._live is not None and self._read.is_set() else ""

    def _snapshot(self) -> KnowledgeBase:
        present = self._live.now if self._live is not None else self._fixed
        assert present is not None
        return present

    def _cache(self) -> Cache | None:
        """Return the cache of documents that were read; `None` where the data folder is in memory."""
        return None if self._data == MEMORY else Cache(cache_folder(self._data), self._kb)

    def _note_embedded(self, done: int, total: int) -> None:
        """Record how far a model of sentences is; log the first call and the last. The reading thread calls it."""
        before, after = self._embedded, (done, total)
        self._embedded = after
        if self._observer is not None:
            self._observer.gauge("sections_unembedded", total - done - (before[1] - before[0]))
        if (before[0] == before[1]) != (done == total):
            _log.info(
                "sections are embedded" if done == total else "embedding sections", done=done, total=total
            )

    def _note_progress(self, done: int, total: int) -> None:
        """Record how far the reading is; the reading thread calls it."""
        self._files = (done, total)
        if done and done % _FILES == 0:
            freeze_so_far()


def make_knowledge(
    *, settings: Settings, adapters: Adapters, foreign: ForeignFiles, observer: Observer | None = None
) -> Knowledge:
    """Return the documents of a server, checked but not read yet.

    `foreign`: reads the documents that must not be read in this process. `observer`: counts searches. Raises
    `agent.errors.UsageError` as `Knowledge.check_settings` does.
    """
    # The system's watcher of the folder needs a thread of its own, which `run_sync` stands for.
    watch = adapters.watch or (None if adapters.run_sync else watch_folder)
    knowledge = Knowledge(
        settings=settings,
        run_sync=adapters.run_sync or WorkerThreads(),
        snapshot=adapters.knowledge,
        watch=watch,
        observer=observer,
        foreign=foreign,
    )
    knowledge.check_settings()
    return knowledge


@dataclass(frozen=True, kw_only=True, slots=True)
class Documents:
    """The opened documents of a server.

    `foreign`: reads uploads, and the files of the folder that must not be read in this process. `knowledge`: `None`
    where a brain of the adapters answers without the folder.
    """

    foreign: ForeignFiles
    knowledge: Knowledge | None


@asynccontextmanager
async def open_documents(
    *, settings: Settings, adapters: Adapters, observer: Observer
) -> AsyncGenerator[Documents, None]:
    """Open the documents for the time of a block; `Knowledge.read` reads them, and `Knowledge.keep` reloads them.

    `observer`: counts searches. Raises `agent.errors.UsageError` for a mistake that shows before any document is read.
    On exit, also when cancelled, the process that reads foreign files is killed, which takes a few milliseconds.
    """
    with open_foreign_files(adapters.isolate) as foreign:
        knowledge = None
        if adapters.brain is None:
            knowledge = make_knowledge(
                settings=settings, adapters=adapters, foreign=foreign, observer=observer
            )
        yield Documents(foreign=foreign, knowledge=knowledge)
