"""The documents of every project, each in an index of its own, made of the texts that are kept when it is asked for.

Strategy: nothing of an index is on disk, so none can differ from what is kept: each turn asks for the project's
revision, one cheap read, and the snapshot that is held is used only where it is of that one. Else it is made anew, in a
worker thread, by the first turn that needs it; others that need it wait for that, one after the other, and find it. A
turn that is cancelled while it makes one gives its thread up (`thread`), and the next in line makes it. INDEXES_KEPT
snapshots are held; the one that was used least lately is let go, and a turn that has it keeps it. A new snapshot takes
from the one before it what has not changed: the sections of a document, which take most of the time, and in a large
project the index, to which only what is new is added.

FACTS and STATE documents are searched. RULES are not: they stand in the project's charter, whole, which is no source.
"""

import hashlib
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import structlog
import trio

from agent.config import INDEXES_KEPT
from agent.errors import NotFound
from agent.lexical.synonyms import Synonyms
from agent.ports.draft import Charter
from agent.ports.projects import DocumentText, Holdings, Project, ProjectStore
from agent.ports.search import Passage
from agent.ports.work import RunSync

from .effort import Effort
from .index import Index
from .kept import shelve
from .load import Skipped
from .meaning import Meaning
from .search import KnowledgeBase, knowledge_of
from .texts import cited, passages_of_text
from .thread import in_thread

_log = structlog.get_logger("agent.retrieval")


ReadText: TypeAlias = Callable[[DocumentText, Effort], tuple[Passage, ...] | Skipped]
"""Returns the sections of a text, or why it is left out; blocks."""

_Read: TypeAlias = tuple[bytes, tuple[Passage, ...] | Skipped]

_SMALL = 500  # sections up to which an index is built anew, which counts its words exactly: some 0.4 s
_GONE_SHARE = 0.2  # of an index, that may be gone before it is built anew


@dataclass(slots=True)
class _Made:
    """A snapshot and what it was made of.

    read: by how each document is cited, the digest of its text and its sections, or why it is left out. index: None
    once another one goes on from it, which none can do twice.
    """

    knowledge: KnowledgeBase
    read: Mapping[str, _Read]
    index: Index | None


@dataclass(frozen=True, slots=True)
class _Held:
    """The snapshot of a project. revision: that it is of. rules: names and texts."""

    revision: int
    made: _Made
    rules: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Queue:
    """Who needs one project's snapshot, while it is not held as it is to be."""

    lock: trio.Lock = field(default_factory=trio.Lock)
    waiting: int = 0


async def _no_meaning() -> Meaning | None:
    return None


class ProjectIndexes:
    """Holds the latest used projects ready to be searched: implements `agent.ports.projects.ProjectLibrary`.

    run_sync: builds them. most: how many are held. meaning: gives what makes the vectors of one more knowledge base;
    None where there are none. read: cuts a text into sections, in the worker thread. It is to be asked on one event
    loop.
    """

    def __init__(
        self,
        store: ProjectStore,
        run_sync: RunSync,
        most: int = INDEXES_KEPT,
        meaning: Callable[[], Awaitable[Meaning | None]] = _no_meaning,
        read: ReadText = passages_of_text,
    ) -> None:
        self._store = store
        self._run_sync = run_sync
        self._most = most
        self._meaning = meaning
        self._read = read
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._queues: dict[str, _Queue] = {}

    def __len__(self) -> int:
        """Return how many snapshots are held."""
        return len(self._held)

    async def present(self, project: str) -> Holdings:
        """Return what a project answers from now.

        Raises `NotFound` and `StorageFailed` as the store does. Cancelled while it builds, the thread is given up; the
        next one that waits builds.
        """
        kept = await self._kept(project)
        held = self._held.get(project)
        if held is None or held.revision != kept.revision:
            async with self._in_line(project):
                kept = await self._kept(project)  # it may have changed, and been built, while this one waited
                held = self._held.get(project)
                if held is None or held.revision != kept.revision:
                    held = await self._build(project, held)
                    self._held[project] = held
        self._use(project)
        return Holdings(held.made.knowledge, Charter(kept.role, held.rules))

    async def _kept(self, project: str) -> Project:
        """Return a project as it is kept; nothing is held any more of one that is gone."""
        try:
            return await self._store.project(project)
        except NotFound:
            self._held.pop(project, None)
            raise

    def _use(self, project: str) -> None:
        """Note that a project was used now, and let go of those over the bound."""
        if project in self._held:
            self._held.move_to_end(project)
        while len(self._held) > self._most:
            self._held.popitem(last=False)

    @asynccontextmanager
    async def _in_line(self, project: str) -> AsyncGenerator[None, None]:
        """Wait until nobody else builds a project's snapshot; nothing of it remains when the last one leaves."""
        queue = self._queues.setdefault(project, _Queue())
        queue.waiting += 1
        try:
            async with queue.lock:
                yield
        finally:
            queue.waiting -= 1
            if not queue.waiting:
                del self._queues[project]

    async def _build(self, project: str, before: _Held | None) -> _Held:
        """Return the snapshot of a project's documents as they are kept now, made from the one before."""
        revision, texts = await self._store.texts(project)
        meaning = await self._meaning()
        rules = tuple((each.filename, each.text) for each in texts if each.category == "RULES")
        searched = [each for each in texts if each.category != "RULES"]

        known, last = (before.made.read, before.made.index) if before is not None else ({}, None)
        if before is not None:
            before.made.index = None  # whatever comes of it: a thread that is given up may go on for a moment

        def build(effort: Effort) -> _Made:
            return _make(searched, known, last, meaning, self._read, effort)

        made = await in_thread(self._run_sync, build)
        if made.knowledge.skipped:
            _log.warning("documents of a project left out", documents=len(made.knowledge.skipped))
        return _Held(revision, made, rules)


def _make(
    texts: Iterable[DocumentText],
    known: Mapping[str, _Read],
    last: Index | None,
    meaning: Meaning | None,
    read_text: ReadText,
    effort: Effort,
) -> _Made:
    """Return a snapshot over some texts. Blocks; raises `agent.errors.GivenUp` when `effort` was given up.

    known, last: what was read for the snapshot before, and its index. read_text: cuts a text into sections.
    """
    read: dict[str, _Read] = {}
    for text in texts:
        effort.look()
        file, digest = cited(text.category, text.filename), hashlib.blake2b(text.text.encode()).digest()
        had = known.get(file)
        if had is not None and had[0] == digest:
            read[file] = had
            continue
        found = read_text(text, effort)
        read[file] = digest, found if isinstance(found, Skipped) else tuple(map(shelve, found))
    index = _index(read, known, last, effort)
    skipped = [found for _, found in read.values() if isinstance(found, Skipped)]
    return _Made(knowledge_of(index, Synonyms(), meaning, effort, skipped), read, index)


def _index(
    read: Mapping[str, _Read], known: Mapping[str, _Read], last: Index | None, effort: Effort
) -> Index:
    """Return the index of what was read, made from the last one if that is worth it."""
    size = sum(len(_passages(found)) for _, found in read.values())
    new = {file: each for file, each in read.items() if known.get(file) is not each}
    added = _sections(new)
    if last is None or size < _SMALL or len(last.sections) + len(added) > size * (1 + _GONE_SHARE):
        return Index(_sections(read), effort=effort)
    return Index(added, after=last, gone=known.keys() - (read.keys() - new.keys()), effort=effort)


def _sections(read: Mapping[str, _Read]) -> list[Passage]:
    return [passage for _, found in read.values() for passage in _passages(found)]


def _passages(found: tuple[Passage, ...] | Skipped) -> tuple[Passage, ...]:
    return () if isinstance(found, Skipped) else found
