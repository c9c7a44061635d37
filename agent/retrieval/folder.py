"""Reads the folder of a knowledge base again and again, each time only what differs from what it knew.

Strategy: every file's size, times and identity are compared with what was known, what differs is read, and the next
snapshot is built from the last one (`index`). A file that cannot be used is left out. What could not be read this
time (a disk's error, too many open files) keeps what it said before and is read again the next time, however it
looks. Small indexes, and those of which much is gone, are built anew, since only a new one counts its words exactly.
Files that are read in a process of their own (`foreign`) come last: it starts while the others are read.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from agent.config import EMBED_AT_ONCE
from agent.lexical.synonyms import Synonyms
from agent.ports.search import Passage

from .base import Base, opened
from .effort import Effort
from .foreign import ForeignFiles, is_foreign
from .index import Index
from .kept import shelve
from .load import GONE, Skipped, files, nothing_to_read, read_file
from .meaning import Meaning
from .memory import Read, ReadBefore
from .read import passages_of
from .search import KnowledgeBase, knowledge_of
from .summary import Summary, summary
from .synonyms import read_synonyms
from .terms import terms_of
from .watch import Touched
from .whole import KeptFile

_SMALL = 500  # sections up to which an index is built anew: some 100 ms
_LAST_START = (-1,)  # the signature of a file that was read by the last start, and not looked at by this one
_GONE_SHARE = 0.2  # of an index, that may be gone before it is built anew
_KEPT = "; what it said before stays"
_NO_PROCESS = "is read in a process of its own, and there is none"

Progress = Callable[[int, int], object]
"""Is told how many files have been read, and how many there are; in the reader's thread."""


@dataclass(frozen=True, slots=True)
class _File:
    """What is known of one file, or of a folder that could not be listed.

    signature: of its entry in the folder. digest: of what was read. skipped: why it is left out, or is as it was
    before.
    """

    signature: tuple[int, ...]
    digest: bytes
    name: str
    passages: tuple[Passage, ...] = ()
    skipped: Skipped | None = None

    @property
    def again(self) -> bool:
        """Whether it has to be read again, however it looks."""
        return self.skipped is not None and self.skipped.passing

    @property
    def stays(self) -> bool:
        """Whether it says what it said when it cannot be read now. Not so what only the last start has read."""
        return bool(self.passages) and self.signature != _LAST_START


_LATER = _File((), b"", "")
"""Stands for a file that is read when all others are."""


@dataclass(frozen=True, slots=True)
class Update:
    """A new snapshot. changed: how many files differ. left_out: those of them that cannot be used, or not now."""

    knowledge: KnowledgeBase
    changed: int
    left_out: tuple[Skipped, ...]


class Folder:
    """Reads one folder again and again. Everything here blocks, and is for one thread at a time.

    meaning: makes vectors of sections; None makes none. memory: takes from a cache, and gives to it. foreign: reads
    what is not to be read in this process; without it such files are left out.
    """

    def __init__(
        self,
        path: Path,
        meaning: Meaning | None = None,
        memory: ReadBefore | None = None,
        foreign: ForeignFiles | None = None,
    ) -> None:
        self._path = Path(os.path.abspath(path))
        self._meaning = meaning
        self._memory = memory or ReadBefore()
        self._foreign = foreign
        self._files: Mapping[str, _File] = {}
        self._index: Index | None = None
        self._synonyms = Synonyms()
        self._trouble: tuple[Skipped, ...] = ()  # with the file of synonyms
        self._others: Counter[str] = Counter()  # files of kinds that are not read, by suffix
        self._by_words = False  # the last snapshot lacks the vectors that it should have

    @property
    def again(self) -> bool:
        """Whether something could not be read or embedded the last time, and is worth another look."""
        left_out = (file.again for file in self._files.values())
        return self._by_words or any(each.passing for each in self._trouble) or any(left_out)

    @property
    def unfinished(self) -> bool:
        """Whether the last look left sections to be embedded, which the next one goes on with."""
        return self._meaning is not None and self._meaning.unfinished

    def summary(self) -> Summary:
        """Return what the last update read, and what it left out."""
        cut = [file.passages for file in self._files.values() if file.passages or not file.skipped]
        return summary(cut, self._trouble + _all_skipped(self._files), self._others)

    def anew(self) -> "Folder":
        """Return another reader, which begins from what this one knew of the files, and shares no index with it."""
        other = Folder(self._path, self._meaning, self._memory.anew(), self._foreign)
        other._files, other._synonyms, other._trouble = self._files, self._synonyms, self._trouble
        return other

    def update(
        self, touched: Touched = (), effort: Effort | None = None, progress: Progress | None = None
    ) -> Update | None:
        """Look at every file; return a new snapshot, or None when nothing that counts has changed.

        touched: absolute paths to read even if they look the same (a second write within one tick of the clock).
        progress: is told how far it is.
        Raises `agent.errors.UsageError` when the folder is not there or nothing in it can be used, and
        `agent.retrieval.effort.GivenUp` when `effort` was given up; what was known stays known.
        """
        effort = effort or Effort()
        before, index = self._files, self._index
        with self._memory.open(effort, first=index is None):
            if index is None and not before:
                before, index = self._last_start()
            after = self._scan(before, frozenset(touched), effort, progress)
        other = {path for path, file in after.items() if before.get(path) is not file}
        other |= before.keys() - after.keys()
        changed = {path for path in other if _said(before.get(path)) != _said(after.get(path))}
        told = {path for path in other if _skipped(before.get(path)) != _skipped(after.get(path))}
        synonyms, trouble = self._read_synonyms()
        new_words, new_trouble = synonyms != self._synonyms, trouble != self._trouble
        fresh = bool(changed or told) or new_words or new_trouble or self._index is None
        if not fresh and not self._by_words:
            self._files = after
            return None
        if all(file.skipped and not file.passages for file in after.values()):
            raise nothing_to_read(self._path, len(after))
        if changed or new_words or index is None:
            gone = {before[path].name for path in changed if path in before}
            new = [file for path, file in after.items() if path in changed]
            self._index = None  # if this fails, the next one is built anew
            index = self._build(after, new, gone, index, effort)
        knowledge = knowledge_of(
            index, synonyms, self._meaning, effort, trouble + _all_skipped(after), EMBED_AT_ONCE
        )
        self._files, self._index, self._synonyms, self._trouble = after, index, synonyms, trouble
        self._by_words = self._meaning is not None and not knowledge.embedded
        if not fresh and self._by_words:
            return None
        left_out = tuple(file.skipped for path, file in after.items() if path in told and file.skipped)
        return Update(
            knowledge,
            len(changed | told) + (new_words or new_trouble),
            (trouble if new_trouble else ()) + left_out,
        )

    @property
    def has_cache(self) -> bool:
        """Whether what is read is kept for the next start."""
        return self._memory.has_cache

    def keep(self, effort: Effort) -> None:
        """Give what the cache lacks to it. Raises `agent.errors.GivenUp` when `effort` was given up, else nothing."""
        self._memory.keep(_read(self._files.values()), effort)
        if self._index is not None:
            files = [
                KeptFile(path, file.digest, file.name) for path, file in self._files.items() if file.passages
            ]
            self._memory.keep_whole(files, self._index.base, effort)

    def _last_start(self) -> tuple[Mapping[str, _File], Index | None]:
        """Return the files and the index of the last start, as far as they are kept."""
        whole = self._memory.whole()
        if whole is None:
            return {}, None
        files = {
            each.path: _File(_LAST_START, each.digest, each.name, whole.passages[each.path])
            for each in whole.files
        }
        return files, Index([], base=whole.base)

    def _read_synonyms(self) -> tuple[Synonyms, tuple[Skipped, ...]]:
        """Return the synonyms as they are now, those that were known when they cannot be read this time."""
        synonyms, trouble = read_synonyms(self._path)
        if self._synonyms.of and any(each.passing for each in trouble):
            return self._synonyms, tuple([replace(each, reason=each.reason + _KEPT) for each in trouble])
        return synonyms, trouble

    def _scan(
        self,
        before: Mapping[str, _File],
        touched: Collection[str],
        effort: Effort,
        progress: Progress | None,
    ) -> dict[str, _File]:
        """Return the files as they are now, those that look the same, or cannot be read now, as they were known."""
        found: dict[str, _File] = {}
        others: Counter[str] = Counter()
        paths = list(files(self._path, others))
        later: list[str] = []
        for done, path in enumerate(paths):
            effort.look()
            if progress is not None:
                progress(done - len(later), len(paths))
            if isinstance(path, Skipped):
                found.update(_unlisted(path, before) if path.passing else _left_out(path))
                continue
            file = self._look_at(path, path in touched, before.get(path), effort)
            if file is _LATER:
                if not later and self._foreign is not None:
                    self._foreign.start()
                later.append(path)
            if file is not None:
                found[path] = file
        for done, path in enumerate(later, len(paths) - len(later)):
            if progress is not None:
                progress(done, len(paths))
            file = self._look_at(path, True, before.get(path), effort, self._foreign)
            if file is not None:
                found[path] = file
            else:
                del found[path]
        self._others = others
        return found

    def _look_at(
        self,
        path: str,
        touched: bool,
        known: _File | None,
        effort: Effort,
        foreign: ForeignFiles | None = None,
    ) -> _File | None:
        """Return one file as it is now; None when it is gone. foreign: see `_read`."""
        try:
            entry = os.lstat(path)
        except OSError as error:
            if error.errno in GONE:
                return None
            signature: tuple[int, ...] = ()  # reading it says why
        else:
            signature = (entry.st_ino, entry.st_mode, entry.st_size, entry.st_mtime_ns, entry.st_ctime_ns)
        if known is not None and known.signature == signature and not known.again and not touched:
            return known
        return self._read(path, signature, known, effort, foreign)

    def _read(
        self,
        path: str,
        signature: tuple[int, ...],
        known: _File | None,
        effort: Effort,
        foreign: ForeignFiles | None,
    ) -> _File | None:
        """Read one file; its sections are cut again only when what it says is new.

        foreign: reads it where it is not to be read in this process; None returns `_LATER` for such a file.
        """
        read = read_file(self._path, path)
        if read is None:
            return None
        if isinstance(read, Skipped):
            return self._unread(signature, read, known)
        digest = hashlib.blake2b(read.data).digest()
        if known is not None and known.digest == digest:
            left_out = None if known.again else known.skipped
            return replace(known, signature=signature, skipped=left_out)
        kept = self._memory.find(read.file, digest)
        if kept is not None:
            return _File(signature, digest, read.file, kept)
        if not is_foreign(read.file, len(read.data)):
            passages = passages_of(read, effort)
            if isinstance(passages, Skipped):
                return _File(signature, digest, read.file, skipped=passages)
            self._memory.note(read.file, digest, terms_of(passages, effort))
            return _File(signature, digest, read.file, tuple(map(shelve, passages)))
        if self._foreign is None:
            return _File(signature, digest, read.file, skipped=Skipped(read.file, _NO_PROCESS))
        if foreign is None:
            return _LATER
        found = foreign.sections(read, effort)
        if not isinstance(found, Skipped):
            self._memory.note(read.file, digest, found[1])
            return _File(signature, digest, read.file, found[0])
        if found.passing:
            return self._unread(signature, found, known)
        return _File(signature, digest, read.file, skipped=found)

    def _unread(self, signature: tuple[int, ...], why: Skipped, known: _File | None) -> _File:
        """Return a file that could not be read: this time as it was known, or left out."""
        if why.passing and known is not None and known.stays:
            return replace(known, skipped=replace(why, reason=why.reason + _KEPT))
        return _File(signature, why.reason.encode(), why.file, skipped=why)

    def _build(
        self,
        after: Mapping[str, _File],
        changed: Collection[_File],
        gone: Collection[str],
        last: Index | None,
        effort: Effort,
    ) -> Index:
        """Return the index of the files `after`, made from the last one if that is worth it."""
        terms = self._memory.terms(_read(after.values()))
        size = sum(len(file.passages) for file in after.values())
        new = [passage for file in changed for passage in file.passages]
        if last is None or size < _SMALL or len(last.sections) + len(new) > size * (1 + _GONE_SHARE):
            new = [passage for file in after.values() for passage in file.passages]
            place = self._memory.place() if size >= _SMALL else None
            return Index(new, effort=effort, terms=terms, base=Base(opened(place), place=place))
        return Index(new, after=last, gone=gone, effort=effort, terms=terms)


def _unlisted(skipped: Skipped, before: Mapping[str, _File]) -> Iterator[tuple[str, _File]]:
    """Yield a folder that could not be listed, and the files below it as they were known."""
    yield (
        skipped.file,
        _File((), b"", skipped.file, skipped=replace(skipped, reason=skipped.reason + _KEPT)),
    )
    for path, file in before.items():
        if file.stays and file.name.startswith(skipped.file):
            yield path, file


def _left_out(folder: Skipped) -> dict[str, _File]:
    """Return a folder that is never read."""
    return {folder.file: _File((), b"", folder.file, skipped=folder)}


def _read(files: Iterable[_File]) -> list[Read]:
    """Return what was read of the files that give something to the index."""
    return [(file.name, file.digest, file.passages) for file in files if file.passages]


def _said(file: _File | None) -> bytes | None:
    """Return what tells the content of a file from another; None when it gives nothing to the index."""
    return file.digest if file is not None and file.passages else None


def _skipped(file: _File | None) -> Skipped | None:
    return file.skipped if file is not None else None


def _all_skipped(files: Mapping[str, _File]) -> tuple[Skipped, ...]:
    return tuple([file.skipped for file in files.values() if file.skipped])
