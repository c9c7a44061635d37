"""The documents of every project, each project with an index that is built from its stored texts on demand.

Strategy: no part of an index is on disk, so none can differ from the stored texts. Each turn asks for the project's
revision, one cheap read, and the held snapshot is used only if it is of that revision. Otherwise the first turn that
needs a new snapshot builds it in a worker thread; other turns that need it wait in line, and find it there. A turn
that is cancelled while it builds gives up its thread (`thread`), and the next in line builds. `INDEXES_KEPT`
snapshots are held; the one used least recently is dropped, and a turn that uses it keeps it. A new snapshot takes
over what has not changed since the one before it: the sections of a document, which take most of the time, and in a
large project the index, to which only new documents are added.

FACTS and STATE documents are searched. RULES documents are not: they stand whole in the project's charter, which is
no source.
"""

import hashlib
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import structlog
import trio

from agent.errors import NotFound
from agent.lexical.synonyms import Synonyms
from agent.ports.draft import Charter
from agent.ports.projects import DocumentText, Holdings, Project, ProjectStore
from agent.ports.search import Passage
from agent.ports.work import RunSync

from .effort import Effort
from .index import KnowledgeIndex
from .load import Skipped
from .meaning import KnowledgeEmbedder
from .packed_sections import shelve
from .reading_thread import run_in_thread
from .search import KnowledgeBase, make_snapshot
from .texts import cite_document, passages_of_text

INDEXES_KEPT = 64  # indexes of projects that are kept in memory, the last used

_log = structlog.get_logger("agent.retrieval")


ReadText: TypeAlias = Callable[[DocumentText, Effort], tuple[Passage, ...] | Skipped]
"""Returns the sections of a text, or why the text is left out; blocks."""

_TextSections: TypeAlias = tuple[bytes, tuple[Passage, ...] | Skipped]

_SMALL = 500  # sections up to which an index is built anew, for exact counts of words: some 0.4 s
_GONE_SHARE = 0.2  # share of an index that may be deleted before it is built anew


@dataclass(slots=True)
class _BuiltSnapshot:
    """A snapshot and its parts.

    `read`: by the citation of each document, the digest of its text and its sections, or why it is left out. `index`:
    None once another index is built on it, since only one can be.
    """

    knowledge: KnowledgeBase
    read: Mapping[str, _TextSections]
    index: KnowledgeIndex | None


@dataclass(frozen=True, slots=True)
class _HeldSnapshot:
    """The snapshot of a project.

    `revision`: of the project's documents. `rules`: names and texts of its RULES documents.
    """

    revision: int
    made: _BuiltSnapshot
    rules: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _BuildQueue:
    """The turns that wait for one project's new snapshot; it exists while there are any."""

    lock: trio.Lock = field(default_factory=trio.Lock)
    waiting: int = 0


async def _no_meaning() -> KnowledgeEmbedder | None:
    return None


class ProjectIndexes:
    """Holds the most recently used projects ready to be searched: implements `agent.ports.projects.ProjectLibrary`.

    `run_sync`: builds snapshots in a worker thread. `most`: how many snapshots are held. `meaning`: gives the maker
    of vectors for one more knowledge base; None gives no vectors. `read`: cuts a text into sections, in the worker
    thread. For one event loop.
    """

    def __init__(
        self,
        store: ProjectStore,
        run_sync: RunSync,
        most: int = INDEXES_KEPT,
        meaning: Callable[[], Awaitable[KnowledgeEmbedder | None]] = _no_meaning,
        read: ReadText = passages_of_text,
    ) -> None:
        self._store = store
        self._run_sync = run_sync
        self._most = most
        self._meaning = meaning
        self._read = read
        self._held: OrderedDict[str, _HeldSnapshot] = OrderedDict()
        self._queues: dict[str, _BuildQueue] = {}

    def __len__(self) -> int:
        """Return how many snapshots are held."""
        return len(self._held)

    async def load_holdings(self, project: str) -> Holdings:
        """Return the documents and the charter that a project answers from now.

        Raises `NotFound` and `StorageFailed` as the store does. A cancel while it builds gives the thread up; the
        next waiting turn builds.
        """
        stored, held = await self._load_held(project)
        knowledge = held.made.knowledge
        return Holdings(knowledge, Charter(stored.role, held.rules), bool(knowledge.passages))

    async def find_sections(self, project: str, file: str) -> Sequence[Passage]:
        """Return the sections of a project's document as it is now; () for an unknown one.

        Raises and is cancelled as `load_holdings`.
        """
        _, held = await self._load_held(project)
        return held.made.knowledge.of_file(file)

    async def _load_held(self, project: str) -> tuple[Project, _HeldSnapshot]:
        """Return a project and its snapshot, built if it is not held."""
        stored = await self._load_project(project)
        held = self._held.get(project)
        if held is None or held.revision != stored.revision:
            async with self._wait_to_build(project):
                stored = await self._load_project(
                    project
                )  # the project may have changed, and been built, while this turn waited
                held = self._held.get(project)
                if held is None or held.revision != stored.revision:
                    held = await self._build_held(project, held)
                    self._held[project] = held
        self._mark_used(project)
        return stored, held

    async def _load_project(self, project: str) -> Project:
        """Return a project from the store; drop the snapshot of a project that is gone."""
        try:
            return await self._store.project(project)
        except NotFound:
            self._held.pop(project, None)
            raise

    def _mark_used(self, project: str) -> None:
        """Mark a project as used now, and drop the snapshots over the bound."""
        if project in self._held:
            self._held.move_to_end(project)
        while len(self._held) > self._most:
            self._held.popitem(last=False)

    @asynccontextmanager
    async def _wait_to_build(self, project: str) -> AsyncGenerator[None, None]:
        """Wait until no other turn builds this project's snapshot; the queue is removed when its last turn leaves."""
        queue = self._queues.setdefault(project, _BuildQueue())
        queue.waiting += 1
        try:
            async with queue.lock:
                yield
        finally:
            queue.waiting -= 1
            if not queue.waiting:
                del self._queues[project]

    async def _build_held(self, project: str, before: _HeldSnapshot | None) -> _HeldSnapshot:
        """Return the snapshot of a project's documents as they are stored now, built on the one before."""
        revision, texts = await self._store.texts(project)
        meaning = await self._meaning()
        rules = tuple((each.filename, each.text) for each in texts if each.category == "RULES")
        searched = [each for each in texts if each.category != "RULES"]

        known, last = (before.made.read, before.made.index) if before is not None else ({}, None)
        if before is not None:
            # Even if building fails: a thread that is given up may go on for a moment.
            before.made.index = None

        def build(effort: Effort) -> _BuiltSnapshot:
            return _build_snapshot(searched, known, last, meaning, self._read, effort)

        snapshot = await run_in_thread(self._run_sync, build)
        if snapshot.knowledge.skipped:
            _log.warning("documents of a project left out", documents=len(snapshot.knowledge.skipped))
        return _HeldSnapshot(revision, snapshot, rules)


def _build_snapshot(
    texts: Iterable[DocumentText],
    known: Mapping[str, _TextSections],
    last: KnowledgeIndex | None,
    meaning: KnowledgeEmbedder | None,
    read_text: ReadText,
    effort: Effort,
) -> _BuiltSnapshot:
    """Return a snapshot over some texts. Blocks; raises `agent.errors.GivenUp` when `effort` was given up.

    `known`, `last`: the sections and the index of the snapshot before. `read_text`: cuts a text into sections.
    """
    read: dict[str, _TextSections] = {}
    for text in texts:
        effort.check()
        file, digest = (
            cite_document(text.category, text.filename),
            hashlib.blake2b(text.text.encode()).digest(),
        )
        before = known.get(file)
        if before is not None and before[0] == digest:
            read[file] = before
            continue
        found = read_text(text, effort)
        read[file] = digest, found if isinstance(found, Skipped) else tuple(map(shelve, found))
    index = _build_index(read, known, last, effort)
    skipped = [found for _, found in read.values() if isinstance(found, Skipped)]
    return _BuiltSnapshot(make_snapshot(index, Synonyms(), meaning, effort, skipped), read, index)


def _build_index(
    read: Mapping[str, _TextSections],
    known: Mapping[str, _TextSections],
    last: KnowledgeIndex | None,
    effort: Effort,
) -> KnowledgeIndex:
    """Return the index of the sections in `read`, built on the index `last` if that is worth it."""
    size = sum(len(_passages_of(found)) for _, found in read.values())
    new = {file: each for file, each in read.items() if known.get(file) is not each}
    added = _all_passages(new)
    if last is None or size < _SMALL or len(last.sections) + len(added) > size * (1 + _GONE_SHARE):
        return KnowledgeIndex(_all_passages(read), effort=effort)
    return KnowledgeIndex(added, after=last, gone=known.keys() - (read.keys() - new.keys()), effort=effort)


def _all_passages(read: Mapping[str, _TextSections]) -> list[Passage]:
    return [passage for _, found in read.values() for passage in _passages_of(found)]


def _passages_of(found: tuple[Passage, ...] | Skipped) -> tuple[Passage, ...]:
    return () if isinstance(found, Skipped) else found
