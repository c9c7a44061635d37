"""What the reader of one folder takes from a cache and gives to it, and the words of what it has read.

Strategy: entries are looked up while a folder is read for the first time, and what the cache lacks is written when the
reader has time. What is there already is asked of the cache itself, so nothing has to be remembered about it. Words of
files are needed for an index and for the cache, and are not held for longer. The index itself is kept whole, too, and a
start begins from it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from agent.ports.search import Passage

from .base import Base, opened
from .cache import Cache
from .effort import Effort
from .entries import Entry, Held, Reading, WholeEntry
from .kept import packed, unpacked
from .meaning import Meaning
from .place import OwnPlace, clear, kept, taken
from .terms import FileTerms, terms_of
from .whole import KeptFile, Whole
from .whole import packed as packed_whole
from .whole import unpacked as unpacked_whole

Read = tuple[str, bytes, tuple[Passage, ...]]
"""A file's name, the hash of its content, and its sections."""


_LATER = 0.05
"""Share of the files that may change while a server runs, before the index that is kept is written anew."""


class ReadBefore:
    """For one reader, and one thread at a time. cache: None keeps nothing. meaning: makes the vectors that are kept."""

    def __init__(self, cache: Cache | None = None, meaning: Meaning | None = None) -> None:
        self._terms: dict[tuple[str, bytes], FileTerms] = {}  # by name and content
        self._cache = cache
        self._meaning = meaning
        self._reading: Reading | None = None
        self._whole: frozenset[tuple[str, bytes]] | None = None  # of which files an index is kept
        self._began = False  # it was looked at whether it is that of this start
        self._given: frozenset[tuple[bytes, bool]] | None = (
            None  # what was written last: keys, and with vectors
        )

    @property
    def has_cache(self) -> bool:
        """Whether anything is kept."""
        return self._cache is not None

    def anew(self) -> "ReadBefore":
        """Return another one with the same cache, that shares nothing with what this one is at."""
        return ReadBefore(self._cache, self._meaning)

    @contextmanager
    def open(self, effort: Effort, first: bool) -> Iterator[None]:
        """Look things up in a block, when it is the first reading."""
        if self._cache is None or not first:
            yield
            return
        with self._cache.reading(self._meaning.model if self._meaning else "") as self._reading:
            try:
                yield
            finally:
                self._reading = None

    def whole(self) -> Whole | None:
        """Return the index of the last start, whatever files it is of; its vectors are known from then on."""
        if self._reading is None or self._cache is None:
            return None
        entry = self._reading.whole(self._whole_key(self._cache))
        if entry is None:
            return None
        try:
            place = taken(self._cache.places, entry.place, entry.told)
            whole = None if place is None else unpacked_whole(entry.content, place, opened(place))
        except (OSError, ValueError):  # the disk's, and tantivy's
            whole = None
        if whole is None:
            return None
        clear(self._cache.places, entry.place)
        if self._meaning is not None:
            living = [section.passage for section in whole.base.sections if section is not None]
            self._meaning.take(living, whole.vectors)
        self._whole = _digests(whole.files)
        return whole

    def place(self) -> OwnPlace | None:
        """Return a place for an index; None where nothing is kept, or that cannot be."""
        if self._cache is None:
            return None
        with suppress(OSError):
            return OwnPlace(self._cache.places)
        return None

    def keep_whole(self, files: Sequence[KeptFile], base: Base, effort: Effort) -> None:
        """Write an index that has a place: after a start when another one is kept, later when much has changed.

        Raises what `effort.look` raises.
        """
        now = _digests(files)
        few = self._whole is not None and len(self._whole ^ now) <= (_LATER * len(now) if self._began else 0)
        self._began = True
        if self._cache is None or not isinstance(base.place, OwnPlace) or few:
            return
        living = [section.passage for section in base.sections if section is not None]
        vectors = b"" if self._meaning is None else self._meaning.packed(living)
        content = None if vectors is None else packed_whole(files, base, vectors, effort.look)
        if content is None:
            return
        with suppress(OSError):
            entry = WholeEntry(self._whole_key(self._cache), content, *kept(base.place))
            if self._cache.write_whole(entry):
                self._whole = now

    def _whole_key(self, cache: Cache) -> bytes:
        return cache.key("", self._model.encode())

    def find(self, file: str, digest: bytes) -> tuple[Passage, ...] | None:
        """Return the sections of a file that was read before, as new ones; their vectors are known from then on."""
        if self._reading is None or self._cache is None:
            return None
        key = self._cache.key(file, digest)
        content = self._reading.file(key)
        if content is None:
            return None
        found = unpacked(file, content)
        if found is None:
            self._reading.unusable()
            return None
        passages, self._terms[file, digest] = found
        vectors = self._reading.vectors(key)
        if vectors is not None and self._meaning is not None:
            self._meaning.take(passages, vectors)
        return passages

    def note(self, file: str, digest: bytes, terms: FileTerms) -> None:
        """Take the words of a file that was read."""
        if terms.sections:
            self._terms[file, digest] = terms

    def terms(self, read: Iterable[Read]) -> dict[str, FileTerms]:
        """Return the words of files, by name, as far as they are known here; of a name that two have, none."""
        found: dict[str, FileTerms] = {}
        names: set[str] = set()
        for file, digest, _ in read:
            its = self._terms.get((file, digest))
            if its is not None and file not in names:
                found[file] = its
            elif file in names:
                found.pop(file, None)
            names.add(file)
        if self._cache is None:
            self._terms = {}
        return found

    def keep(self, read: Iterable[Read], effort: Effort) -> None:
        """Write what the cache lacks, and drop what is of other files. Raises what `effort.look` raises."""
        if self._cache is None:
            return
        cache = self._cache
        files = {cache.key(file, digest): (file, digest, passages) for file, digest, passages in read}
        now = frozenset([(key, self._embedded(passages)) for key, (_, _, passages) in files.items()])
        if now != self._given:
            done = cache.write(lambda held: self._lacking(files, held, effort), self._model, files, effort)
            self._given = now if done else None
        self._terms = {}

    @property
    def _model(self) -> str:
        return self._meaning.model if self._meaning else ""

    def _embedded(self, passages: Sequence[Passage]) -> bool:
        return self._meaning is not None and self._meaning.knows(passages)

    def _lacking(self, files: Mapping[bytes, Read], held: Held, effort: Effort) -> Iterator[Entry]:
        """Yield what is not held yet."""
        for key, (file, digest, passages) in files.items():
            if key not in held.files:
                content = packed(passages, self._terms.get((file, digest)) or terms_of(passages, effort))
                if content is not None:
                    yield Entry(key, content)
            if key not in held.vectors and self._meaning is not None:
                vectors = self._meaning.packed(passages)
                if vectors is not None:
                    yield Entry(key, vectors, self._model)


def _digests(files: Iterable[KeptFile]) -> frozenset[tuple[str, bytes]]:
    return frozenset([(each.path, each.digest) for each in files])
