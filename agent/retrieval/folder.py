"""Reads the folder of a knowledge base again and again, each time only the files that differ.

Strategy: the size, times and identity of every file are compared with what was known, changed files are read, and the
next snapshot is built from the last one (`index`). Unusable files are left out. A file that could not be read this
time (a disk's error, too many open files) keeps its last content and is read again the next time, even if it looks
the same. Small indexes, and those with many deleted sections, are built anew, since only a new index counts its words
exactly. Files that are read in a process of their own (`foreign`) come last, so that the process starts while the
others are read.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from agent.lexical.synonyms import Synonyms
from agent.ports.search import Passage

from .base import IndexData, open_section_index
from .effort import Effort
from .folder_cache import FolderCache, ReadFile
from .foreign import ForeignFiles, is_foreign
from .index import KnowledgeIndex
from .load import GONE, Skipped, find_files, no_documents_error, read_file
from .meaning import KnowledgeEmbedder
from .packed_index import IndexedFile
from .packed_sections import shelve
from .read import passages_of
from .search import KnowledgeBase, make_snapshot
from .summary import ReadingSummary, summarize
from .synonyms import read_synonyms
from .terms import terms_of
from .watch import TouchedPaths

# Sections that a model of sentences embeds in one look at the knowledge base: about a second.
EMBED_AT_ONCE = 32

_SMALL = 500  # sections up to which an index is built anew: some 100 ms
_LAST_START = (-1,)  # the signature of a file that the last start read and this one has not looked at
_GONE_SHARE = 0.2  # share of an index that may be deleted before it is built anew
_KEPT = "; its last content stays in use"
_NO_PROCESS = "needs the reader process, which is not available"

Progress = Callable[[int, int], object]
"""Called in the reader's thread with the number of files read so far and the number of all files."""


@dataclass(frozen=True, slots=True)
class _KnownFile:
    """The last known state of one file, or of a folder that could not be listed.

    `signature`: of its entry in the folder. `digest`: of its content. `name`: as it is cited. `skipped`: why it is
    left out, or keeps an earlier content.
    """

    signature: tuple[int, ...]
    digest: bytes
    name: str
    passages: tuple[Passage, ...] = ()
    skipped: Skipped | None = None

    @property
    def needs_retry(self) -> bool:
        """Whether it has to be read again even if it looks the same."""
        return self.skipped is not None and self.skipped.passing

    @property
    def keeps_content(self) -> bool:
        """Whether its content stays when it cannot be read now. False for content that only the last start has read."""
        return bool(self.passages) and self.signature != _LAST_START


_LATER = _KnownFile((), b"", "")
"""Marks a file that is read after all others."""


@dataclass(frozen=True, slots=True)
class Update:
    """A new snapshot in `knowledge`.

    `digest`: of all that answers are taken from, the same wherever a folder with the same content is. `changed`: how
    many files differ. `left_out`: those of them that cannot be used now.
    """

    knowledge: KnowledgeBase
    digest: str
    changed: int
    left_out: tuple[Skipped, ...]


class FolderReader:
    """Reads one folder again and again. All methods block, and are for one thread at a time.

    `meaning`: makes the vectors of sections; None makes none. `memory`: looks up and stores in a cache. `foreign`:
    reads files in a process of their own; without it such files are left out.
    """

    def __init__(
        self,
        path: Path,
        meaning: KnowledgeEmbedder | None = None,
        memory: FolderCache | None = None,
        foreign: ForeignFiles | None = None,
    ) -> None:
        self._path = Path(os.path.abspath(path))
        self._meaning = meaning
        self._cache = memory or FolderCache()
        self._foreign = foreign
        self._files: Mapping[str, _KnownFile] = {}
        self._index: KnowledgeIndex | None = None
        self._synonyms = Synonyms()
        self._trouble: tuple[Skipped, ...] = ()  # problems of the file of synonyms
        self._others: Counter[str] = Counter()  # files of kinds that are not read, by suffix
        self._lacks_vectors = False  # whether the last snapshot lacks vectors that it should have

    @property
    def needs_retry(self) -> bool:
        """Whether something could not be read or embedded the last time, and another update may succeed."""
        left_out = (file.needs_retry for file in self._files.values())
        return self._lacks_vectors or any(each.passing for each in self._trouble) or any(left_out)

    @property
    def has_more_to_embed(self) -> bool:
        """Whether the last update left sections without vectors, which the next one goes on with."""
        return self._meaning is not None and self._meaning.is_unfinished

    def summarize(self) -> ReadingSummary:
        """Return the counts of files that the last update read and left out."""
        cut = [file.passages for file in self._files.values() if file.passages or not file.skipped]
        return summarize(cut, self._trouble + _find_skipped(self._files), self._others)

    def restart(self) -> "FolderReader":
        """Return another reader, which begins from the known state of the files and shares no index with this one."""
        other = FolderReader(self._path, self._meaning, self._cache.restart(), self._foreign)
        other._files, other._synonyms, other._trouble = self._files, self._synonyms, self._trouble
        return other

    def update(
        self, touched: TouchedPaths = (), effort: Effort | None = None, progress: Progress | None = None
    ) -> Update | None:
        """Look at every file; return a new snapshot, or None when nothing relevant has changed.

        `touched`: absolute paths to read even if they look the same (a second write within one tick of the clock).
        `progress`: see `Progress`.
        Raises `agent.errors.UsageError` when the folder does not exist or nothing in it can be used, and
        `agent.errors.GivenUp` when `effort` was given up; the known state then stays as it was.
        """
        effort = effort or Effort()
        before, index = self._files, self._index
        with self._cache.open(effort, first=index is None):
            if index is None and not before:
                before, index = self._load_last_start()
            after = self._scan_files(before, frozenset(touched), effort, progress)
        other = {path for path, file in after.items() if before.get(path) is not file}
        other |= before.keys() - after.keys()
        changed = {
            path for path in other if _content_digest(before.get(path)) != _content_digest(after.get(path))
        }
        left_out_anew = {
            path for path in other if _skip_reason(before.get(path)) != _skip_reason(after.get(path))
        }
        synonyms, trouble = self._read_synonyms()
        new_words, new_trouble = synonyms != self._synonyms, trouble != self._trouble
        fresh = bool(changed or left_out_anew) or new_words or new_trouble or self._index is None
        if not fresh and not self._lacks_vectors:
            self._files = after
            return None
        if all(file.skipped and not file.passages for file in after.values()):
            raise no_documents_error(self._path, len(after))
        if changed or new_words or index is None:
            gone = {before[path].name for path in changed if path in before}
            new = [file for path, file in after.items() if path in changed]
            self._index = None  # if this fails, the next one is built anew
            index = self._build_index(after, new, gone, index, effort)
        knowledge = make_snapshot(
            index, synonyms, self._meaning, effort, trouble + _find_skipped(after), EMBED_AT_ONCE
        )
        self._files, self._index, self._synonyms, self._trouble = after, index, synonyms, trouble
        self._lacks_vectors = self._meaning is not None and not knowledge.has_vectors
        if not fresh and self._lacks_vectors:
            return None
        left_out = tuple(
            file.skipped for path, file in after.items() if path in left_out_anew and file.skipped
        )
        return Update(
            knowledge,
            _digest_content(after.values(), synonyms),
            len(changed | left_out_anew) + (new_words or new_trouble),
            (trouble if new_trouble else ()) + left_out,
        )

    @property
    def has_cache(self) -> bool:
        """Whether the content is kept for the next start."""
        return self._cache.has_cache

    def write_cache(self, effort: Effort) -> None:
        """Write the entries that the cache lacks. Raises only `agent.errors.GivenUp`, when `effort` was given up."""
        self._cache.save_files(_indexed_files(self._files.values()), effort)
        if self._index is not None:
            files = [
                IndexedFile(path, file.digest, file.name)
                for path, file in self._files.items()
                if file.passages
            ]
            self._cache.save_index(files, self._index.base, effort)

    def _load_last_start(self) -> tuple[Mapping[str, _KnownFile], KnowledgeIndex | None]:
        """Return the files and the index of the last start, as far as the cache has them."""
        whole = self._cache.load_index()
        if whole is None:
            return {}, None
        files = {
            each.path: _KnownFile(_LAST_START, each.digest, each.name, whole.passages[each.path])
            for each in whole.files
        }
        return files, KnowledgeIndex([], base=whole.base)

    def _read_synonyms(self) -> tuple[Synonyms, tuple[Skipped, ...]]:
        """Return the synonyms as they are now, or the known ones when they cannot be read this time."""
        synonyms, trouble = read_synonyms(self._path)
        if self._synonyms.of and any(each.passing for each in trouble):
            return self._synonyms, tuple([replace(each, reason=each.reason + _KEPT) for each in trouble])
        return synonyms, trouble

    def _scan_files(
        self,
        before: Mapping[str, _KnownFile],
        touched: Collection[str],
        effort: Effort,
        progress: Progress | None,
    ) -> dict[str, _KnownFile]:
        """Return the files as they are now; those that look the same, or cannot be read now, keep their known state."""
        found: dict[str, _KnownFile] = {}
        others: Counter[str] = Counter()
        paths = list(find_files(self._path, others))
        later: list[str] = []
        for done, path in enumerate(paths):
            effort.check()
            if progress is not None:
                progress(done - len(later), len(paths))
            if isinstance(path, Skipped):
                found.update(_list_unreadable(path, before) if path.passing else _skip_folder(path))
                continue
            file = self._check_file(path, path in touched, before.get(path), effort)
            if file is _LATER:
                if not later and self._foreign is not None:
                    self._foreign.start()
                later.append(path)
            if file is not None:
                found[path] = file
        for done, path in enumerate(later, len(paths) - len(later)):
            if progress is not None:
                progress(done, len(paths))
            file = self._check_file(path, True, before.get(path), effort, self._foreign)
            if file is not None:
                found[path] = file
            else:
                del found[path]
        self._others = others
        return found

    def _check_file(
        self,
        path: str,
        touched: bool,
        known: _KnownFile | None,
        effort: Effort,
        foreign: ForeignFiles | None = None,
    ) -> _KnownFile | None:
        """Return one file as it is now, or None when it is gone. `foreign`: see `_read_file`."""
        try:
            entry = os.lstat(path)
        except OSError as error:
            if error.errno in GONE:
                return None
            signature: tuple[int, ...] = ()  # reading the file will name the reason
        else:
            signature = (entry.st_ino, entry.st_mode, entry.st_size, entry.st_mtime_ns, entry.st_ctime_ns)
        if known is not None and known.signature == signature and not known.needs_retry and not touched:
            return known
        return self._read_file(path, signature, known, effort, foreign)

    def _read_file(
        self,
        path: str,
        signature: tuple[int, ...],
        known: _KnownFile | None,
        effort: Effort,
        foreign: ForeignFiles | None,
    ) -> _KnownFile | None:
        """Read one file; its sections are cut again only when its content is new.

        `foreign`: reads files that this process must not read; None returns `_LATER` for such a file.
        """
        read = read_file(self._path, path)
        if read is None:
            return None
        if isinstance(read, Skipped):
            return self._keep_known(signature, read, known)
        digest = hashlib.blake2b(read.data).digest()
        if known is not None and known.digest == digest:
            left_out = None if known.needs_retry else known.skipped
            return replace(known, signature=signature, skipped=left_out)
        passages_before = self._cache.find_passages(read.file, digest)
        if passages_before is not None:
            return _KnownFile(signature, digest, read.file, passages_before)
        if not is_foreign(read.file, len(read.data)):
            passages = passages_of(read, effort)
            if isinstance(passages, Skipped):
                return _KnownFile(signature, digest, read.file, skipped=passages)
            self._cache.add_terms(read.file, digest, terms_of(passages, effort))
            return _KnownFile(signature, digest, read.file, tuple(map(shelve, passages)))
        if self._foreign is None:
            return _KnownFile(signature, digest, read.file, skipped=Skipped(read.file, _NO_PROCESS))
        if foreign is None:
            return _LATER
        found = foreign.read_sections(read, effort)
        if not isinstance(found, Skipped):
            self._cache.add_terms(read.file, digest, found[1])
            return _KnownFile(signature, digest, read.file, found[0])
        if found.passing:
            return self._keep_known(signature, found, known)
        return _KnownFile(signature, digest, read.file, skipped=found)

    def _keep_known(self, signature: tuple[int, ...], why: Skipped, known: _KnownFile | None) -> _KnownFile:
        """Return a file that could not be read: with its known content this time, or left out."""
        if why.passing and known is not None and known.keeps_content:
            return replace(known, skipped=replace(why, reason=why.reason + _KEPT))
        return _KnownFile(signature, why.reason.encode(), why.file, skipped=why)

    def _build_index(
        self,
        after: Mapping[str, _KnownFile],
        changed: Collection[_KnownFile],
        gone: Collection[str],
        last: KnowledgeIndex | None,
        effort: Effort,
    ) -> KnowledgeIndex:
        """Return the index of the files `after`, built on the index `last` if that is worth it."""
        terms = self._cache.collect_terms(_indexed_files(after.values()))
        size = sum(len(file.passages) for file in after.values())
        new = [passage for file in changed for passage in file.passages]
        if last is None or size < _SMALL or len(last.sections) + len(new) > size * (1 + _GONE_SHARE):
            new = [passage for file in after.values() for passage in file.passages]
            place = self._cache.make_place() if size >= _SMALL else None
            return KnowledgeIndex(
                new, effort=effort, terms=terms, base=IndexData(open_section_index(place), place=place)
            )
        return KnowledgeIndex(new, after=last, gone=gone, effort=effort, terms=terms)


def _list_unreadable(skipped: Skipped, before: Mapping[str, _KnownFile]) -> Iterator[tuple[str, _KnownFile]]:
    """Yield a folder that could not be listed, and the files below it with their known content."""
    yield (
        skipped.file,
        _KnownFile((), b"", skipped.file, skipped=replace(skipped, reason=skipped.reason + _KEPT)),
    )
    for path, file in before.items():
        if file.keeps_content and file.name.startswith(skipped.file):
            yield path, file


def _skip_folder(folder: Skipped) -> dict[str, _KnownFile]:
    """Return the entry of a folder that is never read."""
    return {folder.file: _KnownFile((), b"", folder.file, skipped=folder)}


def _indexed_files(files: Iterable[_KnownFile]) -> list[ReadFile]:
    """Return the name, digest and sections of each file that the index holds."""
    return [(file.name, file.digest, file.passages) for file in files if file.passages]


def _digest_content(files: Iterable[_KnownFile], synonyms: Synonyms) -> str:
    """Return a digest of the names and contents of the files that the index holds, and of the synonyms."""
    held = sorted((file.name, file.digest) for file in files if file.passages)
    return hashlib.blake2b(repr((held, sorted(synonyms.of.items()))).encode(), digest_size=16).hexdigest()


def _content_digest(file: _KnownFile | None) -> bytes | None:
    """Return the digest of a file's content, or None when the index holds nothing of it."""
    return file.digest if file is not None and file.passages else None


def _skip_reason(file: _KnownFile | None) -> Skipped | None:
    return file.skipped if file is not None else None


def _find_skipped(files: Mapping[str, _KnownFile]) -> tuple[Skipped, ...]:
    return tuple([file.skipped for file in files.values() if file.skipped])
