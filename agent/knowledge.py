"""What a server answers from: its documents, which are read while it listens already, and the brain over them.

Strategy: what can be found wrong without reading them is found before the port opens. A question that comes while they
are read waits for that, and can be cancelled meanwhile. Each turn answers from the snapshot that is present when it
begins.
"""

from collections.abc import Callable, Sequence
from functools import partial

import structlog
import trio

from .answering.brain import GroundedBrain
from .answering.explain import Explainer
from .answering.present import PresentBrain
from .config import MEMORY, Settings
from .embedding.open import choose, open_meaning
from .errors import UsageError
from .grounding.openers import openers
from .heap import give_back, set_aside_so_far
from .lang import LANGUAGES, Lang
from .llm.open import open_model
from .ports.brain import Brain
from .ports.draft import Drafter
from .ports.search import Hit, Passage
from .ports.work import RunSync
from .retrieval.cache import Cache
from .retrieval.live import LiveKnowledge
from .retrieval.search import KnowledgeBase
from .retrieval.watch import Watch
from .storage.open import ledger_folder

_log = structlog.get_logger("agent.app")

_FILES = 50  # that are read between two times that what was read is set aside

Explain = Callable[[Sequence[str]], None]
"""Is given lines that say why an answer is what it is; they hold what users and models said."""


def log_why(lines: Sequence[str]) -> None:
    """Log why an answer is what it is; written at debug level only."""
    for line in lines:
        _log.debug("why", text=line)


def _finds(knowledge: KnowledgeBase, lang: Lang, question: str) -> bool:
    return bool(knowledge.find(question, lang, 1))


async def _nearest(knowledge: KnowledgeBase, query: str, lang: Lang, limit: int) -> tuple[Hit, ...]:
    """Return what a search comes nearest to, however unsure."""
    return knowledge.find(query, lang, limit, 0.0, await knowledge.vector(query, lang))


class Knowledge:
    """The documents of one server, as they are now.

    present: a snapshot that is never reloaded, in place of the folder in `settings`. model: in place of the setting's.
    watch: tells of changes; None looks for none. explain: is told why each answer is what it is.

    brain: answers from them, once they are read.
    """

    def __init__(
        self,
        settings: Settings,
        present: KnowledgeBase | None,
        model: Drafter | None,
        run_sync: RunSync,
        watch: Watch | None,
        explain: Explain | None = None,
    ) -> None:
        self.brain: Brain = PresentBrain(self._now)
        self._settings = settings
        self._present = present
        self._model = model
        self._run_sync = run_sync
        self._watch = watch
        self._explain = explain
        self._openers_of: KnowledgeBase | None = None
        self._openers: dict[Lang, tuple[str, ...]] = {}
        self._live: LiveKnowledge | None = None
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
        """Raise UsageError for what can be told before anything is read. Blocks while a script is read."""
        choose(self._settings.vectors, self._settings.vectors_url)
        if self._model is None:
            open_model(self._settings)
        if self._present is None and not self._settings.kb.is_dir():
            raise UsageError(
                f"the knowledge base {self._settings.kb} does not exist; point to a folder of documents with --kb"
            )

    async def read(self) -> None:
        """Read everything. Raises UsageError when nothing can be read; cancelled, the reader is given up."""
        settings = self._settings
        if self._present is None:
            meaning = await open_meaning(settings.vectors, settings.vectors_url, self._run_sync)
            self._live = await LiveKnowledge.open(
                settings.kb, self._run_sync, meaning, self._cache(), self._note
            )
            self._present = self._live.now
            await self._run_sync(give_back)
        for skipped in self._present.skipped:
            _log.warning("file left out of the knowledge base", file=skipped.file, why=skipped.reason)
        if self._model is None:
            texts: tuple[str, ...] = ()
            if settings.mock_hallucinate:
                texts = tuple(
                    [snippet.text for passage in self._present.passages for snippet in passage.snippets]
                )
            self._model = open_model(settings, texts)
        self._read.set()

    async def wait_read(self) -> None:
        """Wait until everything is read."""
        await self._read.wait()

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
        present = self._live.now if self._live is not None else self._present
        assert present is not None
        return present

    async def _now(self) -> Brain:
        await self._read.wait()
        present = self._snapshot()
        assert self._model is not None
        explainer = self._explain and Explainer(self._explain, partial(_nearest, present))
        return GroundedBrain(present, self._model, self._settings, present.topics, explainer)

    def _cache(self) -> Cache | None:
        """Return what keeps what was read; None where nothing is kept."""
        data = self._settings.data
        return None if data == MEMORY else Cache(ledger_folder(data), self._settings.kb)

    def _note(self, done: int, total: int) -> None:
        """Be told by the reader's thread how far it is."""
        self._files = (done, total)
        if done and done % _FILES == 0:
            set_aside_so_far()
