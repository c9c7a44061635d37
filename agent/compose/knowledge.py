"""What a server answers from: its documents, which are read while it listens already.

Strategy: what can be found wrong without reading them is found before the port opens. A question that comes while they
are read waits for that, and can be cancelled meanwhile.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import structlog
import trio

from ..config import MEMORY
from ..embedding.open import choose, open_meaning
from ..errors import UsageError
from ..grounding.openers import openers
from ..heap import give_back, set_aside_so_far
from ..lang import LANGUAGES, Lang
from ..ports.observe import Observer
from ..ports.search import Passage, Retriever
from ..ports.work import RunSync
from ..retrieval.again import Again
from ..retrieval.cache import Cache
from ..retrieval.foreign import ForeignFiles
from ..retrieval.live import LiveKnowledge
from ..retrieval.meaning import Meaning
from ..retrieval.search import KnowledgeBase
from ..retrieval.watch import Watch
from ..settings import Settings
from ..storage.open import ledger_folder

_log = structlog.get_logger("agent.app")

_FILES = 50  # that are read between two times that what was read is set aside


def _finds(knowledge: KnowledgeBase, lang: Lang, question: str) -> bool:
    return bool(knowledge.find(question, lang, 1))


class Knowledge:
    """The documents of one server, as they are now: implements `agent.ports.search.Library`.

    snapshot: one that is never reloaded, in place of the folder in `settings`. watch: tells of changes; None looks for
    none. observer: counts searches, where hits are kept. foreign: see `agent.retrieval.folder.Folder`.
    """

    def __init__(
        self,
        settings: Settings,
        snapshot: KnowledgeBase | None,
        run_sync: RunSync,
        watch: Watch | None,
        observer: Observer | None = None,
        foreign: ForeignFiles | None = None,
    ) -> None:
        self._kb = settings.documents.kb
        self._vectors = settings.vectors
        self._data = settings.storage.data
        self._given = snapshot
        self._run_sync = run_sync
        self._watch = watch
        self._observer = observer
        self._foreign = foreign
        self._keeps_hits = settings.documents.hit_cache
        self._openers_of: KnowledgeBase | None = None
        self._openers: dict[Lang, tuple[str, ...]] = {}
        self._live: LiveKnowledge | None = None
        self._meaning: Meaning | None = None
        self._opened = trio.Event()  # it is known whether there are vectors
        self._read = trio.Event()
        self._files = (0, 0)  # that were read so far, and that there are

    @property
    def unread(self) -> str:
        """What is still to be read, as a sentence; "" when nothing is."""
        if self._read.is_set():
            return ""
        done, total = self._files
        so_far = f": {done:,} of {total:,} files" if total else ""
        return f"The documents are being read{so_far}."

    def check(self) -> None:
        """Raise UsageError for what can be told before anything is read."""
        choose(self._vectors.vectors, self._vectors.vectors_url)
        if self._given is None and not self._kb.is_dir():
            raise UsageError(
                f"the knowledge base {self._kb} does not exist; point to a folder of documents with --kb"
            )

    async def read(self) -> None:
        """Read everything. Raises UsageError when nothing can be read; cancelled, the reader is given up."""
        if self._given is None:
            meaning = await open_meaning(self._vectors.vectors, self._vectors.vectors_url, self._run_sync)
            self._meaning = meaning
            self._opened.set()
            self._live = await LiveKnowledge.open(
                self._kb, self._run_sync, meaning, self._cache(), self._note, self._foreign
            )
            await self._run_sync(give_back)
        for skipped in self._snapshot().skipped:
            _log.warning("file left out of the knowledge base", file=skipped.file, why=skipped.reason)
        self._opened.set()
        self._read.set()

    async def another_meaning(self) -> Meaning | None:
        """Return what makes the vectors of other documents, once that is known; None where there are none.

        A model of sentences makes none: see `Meaning.another`.
        """
        await self._opened.wait()
        return None if self._meaning is None else self._meaning.another()

    async def wait_read(self) -> None:
        """Wait until everything is read."""
        await self._read.wait()

    async def present(self) -> Retriever:
        """Return the present snapshot, once everything is read; what changes later is in another one."""
        await self._read.wait()
        present = self._snapshot()
        return Again(present, self._observer) if self._keeps_hits else present

    def texts(self) -> Iterator[str]:
        """Yield the text of every statement; none before everything is read. Each takes some microseconds."""
        if self._read.is_set():
            for passage in self._snapshot().passages:
                for snippet in passage.snippets:
                    yield snippet.text

    async def keep(self) -> None:
        """Take over what changes in the folder, until cancelled."""
        if self._live is not None and self._watch is not None:
            await self._live.keep(self._watch)

    def sections(self, file: str) -> Sequence[Passage] | None:
        """Return what is held of a file, in its order: () for what is none, None until everything is read."""
        return self._snapshot().of_file(file) if self._read.is_set() else None

    def openers(self, lang: Lang) -> Sequence[str] | None:
        """Return questions to begin with, in a language or else in another; None until everything is read."""
        if not self._read.is_set():
            return None
        present = self._snapshot()
        if self._openers_of is not present:
            self._openers_of, self._openers = present, {}
        if lang not in self._openers:
            langs = (lang, *(each for each in LANGUAGES if each != lang))
            found = (
                openers(present.passages, present.topics(each), each, partial(_finds, present, each))
                for each in langs
            )
            self._openers[lang] = next(filter(None, found), ())
        return self._openers[lang]

    def _snapshot(self) -> KnowledgeBase:
        present = self._live.now if self._live is not None else self._given
        assert present is not None
        return present

    def _cache(self) -> Cache | None:
        """Return what keeps what was read; None where nothing is kept."""
        return None if self._data == MEMORY else Cache(ledger_folder(self._data), self._kb)

    def _note(self, done: int, total: int) -> None:
        """Be told by the reader's thread how far it is."""
        self._files = (done, total)
        if done and done % _FILES == 0:
            set_aside_so_far()
