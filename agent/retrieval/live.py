"""The knowledge base as its folder is now: a snapshot that another one takes the place of when files change.

Strategy: a snapshot is never changed. When the folder may have changed, a worker thread compares every file's size,
times and identity with what it knew, reads what differs, and builds the next snapshot from the last one (`index`);
then one assignment on the event loop makes it the present one. A turn takes the present snapshot when it begins and
keeps it. A file that cannot be used is left out with one line in the log; when nothing usable is left, or the folder
is gone, the last snapshot stays. Small indexes, and those of which much is gone, are built anew, since only a new one
counts its words exactly.
"""

import hashlib
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import structlog

from agent.errors import UsageError
from agent.ports.search import Passage
from agent.ports.work import RunSync

from .chunk import Piece, chunk
from .index import Index
from .load import Skipped, markdown_files, nothing_to_read, read_file
from .search import KnowledgeBase, read_tables
from .watch import Touched, Watch

_log = structlog.get_logger("agent.retrieval")

_SMALL = 2_000  # pieces up to which an index is built anew: some 100 ms
_GONE_SHARE = 0.2  # of an index, that may be gone before it is built anew


@dataclass(frozen=True, slots=True)
class _File:
    """What is known of one file. signature: of its entry in the folder. digest: of what was read."""

    signature: tuple[int, ...]
    digest: bytes
    name: str
    pieces: tuple[Piece, ...] = ()
    passages: tuple[Passage, ...] = ()
    skipped: Skipped | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """A new snapshot. changed: how many files differ. left_out: those of them that cannot be used."""

    knowledge: KnowledgeBase
    changed: int
    left_out: tuple[Skipped, ...]


class Folder:
    """Reads one folder again and again. Everything here blocks, and is for one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: Mapping[str, _File] = {}
        self._index: Index | None = None

    def update(self, touched: Touched = ()) -> Update | None:
        """Look at every file; return a new snapshot, or None when nothing that counts has changed.

        touched: absolute paths to read even if they look the same (a second write within one tick of the clock).
        Raises `agent.errors.UsageError` when the folder is not there or nothing in it can be used; what was known
        stays known.
        """
        before = self._files
        after = dict(self._scan(frozenset(touched)))
        changed = [
            path for path, file in after.items() if path not in before or before[path].digest != file.digest
        ]
        lost = before.keys() - after.keys()
        if not changed and not lost and self._index is not None:
            self._files = after
            return None
        if all(file.skipped for file in after.values()):
            raise nothing_to_read(self._path, len(after))
        gone = {before[path].name for path in (*changed, *lost) if path in before}
        index = self._build(after, [after[path] for path in changed], gone)
        self._files, self._index = after, index
        skipped = tuple(file.skipped for file in after.values() if file.skipped)
        passages = [passage for file in after.values() for passage in file.passages]
        left_out = tuple(file.skipped for path in changed if (file := after[path]).skipped)
        return Update(KnowledgeBase(index, passages, skipped), len(changed) + len(lost), left_out)

    def _scan(self, touched: Collection[str]) -> Mapping[str, _File]:
        """Return the files as they are now, those that look the same as they were known."""
        found: dict[str, _File] = {}
        for path in markdown_files(self._path):
            key = os.path.abspath(path)
            try:
                entry = os.lstat(key)
            except OSError:  # gone since the folder was listed
                continue
            signature = (entry.st_ino, entry.st_mode, entry.st_size, entry.st_mtime_ns, entry.st_ctime_ns)
            known = self._files.get(key)
            if known is None or known.signature != signature or key in touched:
                known = self._read(path, signature, known)
            found[key] = known
        return found

    def _read(self, path: Path, signature: tuple[int, ...], known: _File | None) -> _File:
        """Read one file; its pieces are cut again only when what it says is new."""
        read = read_file(self._path, path)
        if isinstance(read, Skipped):
            return _File(signature, read.reason.encode(), read.file, skipped=read)
        digest = hashlib.blake2b(read.text.encode("utf-8", "surrogatepass")).digest()
        if known is not None and known.digest == digest:
            return _File(signature, digest, known.name, known.pieces, known.passages)
        pieces = chunk(read.file, read.text)
        passages = {id(piece.passage): piece.passage for piece in pieces}
        return _File(signature, digest, read.file, pieces, tuple(passages.values()))

    def _build(self, after: Mapping[str, _File], changed: Collection[_File], gone: Collection[str]) -> Index:
        """Return the index of the files `after`, made from the last one if that is worth it."""
        last, self._index = self._index, None  # if this fails, the next one is built anew
        pieces = sum(len(file.pieces) for file in after.values())
        new = sum(len(file.pieces) for file in changed)
        if last is None or pieces < _SMALL or len(last.pieces) + new > pieces * (1 + _GONE_SHARE):
            return Index(piece for file in after.values() for piece in file.pieces)
        return Index((piece for file in changed for piece in file.pieces), after=last, gone=gone)


class LiveKnowledge:
    """The present snapshot of a folder, and the task that keeps it so.

    now: the snapshot that a turn takes when it begins. It is swapped between two steps of the event loop.
    """

    def __init__(self, folder: Path, run_sync: RunSync, first: KnowledgeBase, reader: Folder) -> None:
        self.now = first
        self._folder = folder
        self._run_sync = run_sync
        self._reader = reader
        self._told = ""

    @classmethod
    async def open(cls, folder: Path, run_sync: RunSync) -> "LiveKnowledge":
        """Read and index the markdown files below `folder`, off the event loop.

        Raises `agent.errors.UsageError`, one line that names the folder, when there is no markdown in it.
        A cancel waits for the work in the thread and then has no effect but the lost result.
        """
        reader = Folder(folder)

        def first() -> Update | None:
            read_tables()
            return reader.update()

        update = await run_sync(first)
        assert update is not None, "there was nothing before"
        return cls(folder, run_sync, update.knowledge, reader)

    async def keep(self, watch: Watch) -> None:
        """Keep `now` up to date until cancelled; a cancel waits for a snapshot that is being built."""
        async with watch(self._folder) as batches:
            async for touched in batches:
                await self._look(touched)

    async def _look(self, touched: Touched) -> None:
        """Look at the folder, and take over what changed. Whatever is wrong there, the last snapshot stays."""
        try:
            update = await self._run_sync(lambda: self._reader.update(touched))
        except UsageError as error:
            if self._told != str(error):
                _log.warning("knowledge base is not there, the last one stays", why=str(error))
            self._told = str(error)
            return
        except (OSError, ValueError, RecursionError, MemoryError) as error:  # the system's, and tantivy's
            _log.error("knowledge base cannot be read, the last one stays", exc_info=error)
            return
        self._told = ""
        if update is not None:
            self.now = update.knowledge
            for skipped in update.left_out:
                _log.warning("file left out of the knowledge base", file=skipped.file, why=skipped.reason)
            _log.info("knowledge base reloaded", files=update.changed, snippets=self.now.snippets)
