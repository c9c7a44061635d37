"""Connects the reader of one folder to its cache, and holds the words of the files that the reader has read.

Strategy: entries are looked up while a folder is read for the first time, and missing entries are written when the
reader has time. The cache itself knows its entries, so this module has no list of them. The words of a file are held
until the index and the cache have them. The whole index is saved too, and the next start begins from the saved index.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from agent.ports.search import Passage

from .base import IndexData, open_section_index
from .cache import Cache
from .effort import Effort
from .entries import CachedKeys, CacheEntry, CacheReader, IndexEntry
from .index_folders import OwnPlace, remove_unused, restore_copy, save_copy
from .meaning import KnowledgeEmbedder
from .packed_index import IndexedFile, SavedIndex
from .packed_index import pack_index as packed_whole
from .packed_index import unpack_index as unpacked_whole
from .packed_sections import pack_sections, unpack_sections
from .terms import FileTerms, terms_of

ReadFile = tuple[str, bytes, tuple[Passage, ...]]
"""The name of a file, the hash of its content, and its sections."""


_LATER = 0.05
"""Share of the files that may change while a server runs before the saved index is written anew."""


class FolderCache:
    """The cache for one reader. Only one thread at a time may use it.

    `cache`: `None` stores nothing. `meaning`: makes the vectors to store.
    """

    def __init__(self, cache: Cache | None = None, meaning: KnowledgeEmbedder | None = None) -> None:
        self._terms: dict[tuple[str, bytes], FileTerms] = {}  # by name and content
        self._cache = cache
        self._meaning = meaning
        self._reader: CacheReader | None = None
        self._saved_files: frozenset[tuple[str, bytes]] | None = None  # the files of the saved index
        self._has_compared = False  # whether the saved index was compared with this start's files
        # The entries written last: key, and whether with vectors.
        self._written: frozenset[tuple[bytes, bool]] | None = None

    @property
    def has_cache(self) -> bool:
        """Whether there is a cache."""
        return self._cache is not None

    def restart(self) -> "FolderCache":
        """Return another instance with the same cache, which shares nothing of the work in progress."""
        return FolderCache(self._cache, self._meaning)

    @contextmanager
    def open(self, effort: Effort, first: bool) -> Iterator[None]:
        """Open the cache for look-ups in the block, if this is the first reading."""
        if self._cache is None or not first:
            yield
            return
        with self._cache.open_reader(self._meaning.model if self._meaning else "") as self._reader:
            try:
                yield
            finally:
                self._reader = None

    def load_index(self) -> SavedIndex | None:
        """Return the saved index of the last start with all its files; the embedder adopts its vectors."""
        if self._reader is None or self._cache is None:
            return None
        entry = self._reader.find_index(self._index_key(self._cache))
        if entry is None:
            return None
        try:
            place = restore_copy(self._cache.places, entry.place, entry.digest)
            whole = None if place is None else unpacked_whole(entry.content, place, open_section_index(place))
        except (OSError, ValueError):  # errors of the disk and of tantivy
            whole = None
        if whole is None:
            return None
        remove_unused(self._cache.places, entry.place)
        if self._meaning is not None:
            living = [section.passage for section in whole.base.sections if section is not None]
            self._meaning.adopt_vectors(living, whole.vectors)
            self._meaning.adopt_words(whole.base.lexicon.vocabulary.words, whole.tokens)
        self._saved_files = _digests_of(whole.files)
        return whole

    def make_place(self) -> OwnPlace | None:
        """Return a folder for an index; `None` without a cache, or when the folder cannot be made."""
        if self._cache is None:
            return None
        with suppress(OSError):
            return OwnPlace(self._cache.places)
        return None

    def save_index(self, files: Sequence[IndexedFile], base: IndexData, effort: Effort) -> None:
        """Save an index that has a folder, unless the saved index is nearly the same.

        After a start any difference counts; later, a change of more than `_LATER` of the files. Raises as
        `effort.check` does.
        """
        now = _digests_of(files)
        few = self._saved_files is not None and len(self._saved_files ^ now) <= (
            _LATER * len(now) if self._has_compared else 0
        )
        self._has_compared = True
        if self._cache is None or not isinstance(base.place, OwnPlace) or few:
            return
        living = [section.passage for section in base.sections if section is not None]
        vectors = b"" if self._meaning is None else self._meaning.pack_vectors(living)
        if vectors is None:
            return
        tokens = b"" if self._meaning is None else self._meaning.pack_words(base.lexicon.vocabulary.words)
        content = packed_whole(files, base, vectors, tokens, effort.check)
        if content is None:
            return
        with suppress(OSError):
            entry = IndexEntry(self._index_key(self._cache), content, *save_copy(base.place))
            if self._cache.write_index(entry):
                self._saved_files = now

    def _index_key(self, cache: Cache) -> bytes:
        return cache.key_of("", self._model.encode())

    def find_passages(self, file: str, digest: bytes) -> tuple[Passage, ...] | None:
        """Return the sections of a file from the cache, as new objects; the embedder adopts their vectors."""
        if self._reader is None or self._cache is None:
            return None
        key = self._cache.key_of(file, digest)
        content = self._reader.find_file(key)
        if content is None:
            return None
        unpacked = unpack_sections(file, content)
        if unpacked is None:
            self._reader.report_unusable()
            return None
        passages, self._terms[file, digest] = unpacked
        vectors = self._reader.find_vectors(key)
        if vectors is not None and self._meaning is not None:
            self._meaning.adopt_vectors(passages, vectors)
        return passages

    def add_terms(self, file: str, digest: bytes, terms: FileTerms) -> None:
        """Hold the words of a file that was read."""
        if terms.sections:
            self._terms[file, digest] = terms

    def collect_terms(self, read: Iterable[ReadFile]) -> dict[str, FileTerms]:
        """Return the words of files by file name, without file names that two files share."""
        terms_by_file: dict[str, FileTerms] = {}
        names: set[str] = set()
        for file, digest, _ in read:
            terms = self._terms.get((file, digest))
            if terms is not None and file not in names:
                terms_by_file[file] = terms
            elif file in names:
                terms_by_file.pop(file, None)
            names.add(file)
        if self._cache is None:
            self._terms = {}
        return terms_by_file

    def save_files(self, read: Iterable[ReadFile], effort: Effort) -> None:
        """Write the entries that the cache lacks, and delete those of other files. Raises as `effort.check` does."""
        if self._cache is None:
            return
        cache = self._cache
        files = {cache.key_of(file, digest): (file, digest, passages) for file, digest, passages in read}
        now = frozenset([(key, self._has_vectors(passages)) for key, (_, _, passages) in files.items()])
        if now != self._written:
            done = cache.write(
                lambda held: self._missing_entries(files, held, effort), self._model, files, effort
            )
            self._written = now if done else None
        self._terms = {}

    @property
    def _model(self) -> str:
        return self._meaning.model if self._meaning else ""

    def _has_vectors(self, passages: Sequence[Passage]) -> bool:
        return self._meaning is not None and self._meaning.knows(passages)

    def _missing_entries(
        self, files: Mapping[bytes, ReadFile], held: CachedKeys, effort: Effort
    ) -> Iterator[CacheEntry]:
        """Yield the entries that the cache lacks."""
        for key, (file, digest, passages) in files.items():
            if key not in held.files:
                content = pack_sections(
                    passages, self._terms.get((file, digest)) or terms_of(passages, effort)
                )
                if content is not None:
                    yield CacheEntry(key, content)
            if key not in held.vectors and self._meaning is not None:
                vectors = self._meaning.pack_vectors(passages)
                if vectors is not None:
                    yield CacheEntry(key, vectors, self._model)


def _digests_of(files: Iterable[IndexedFile]) -> frozenset[tuple[str, bytes]]:
    return frozenset([(each.path, each.digest) for each in files])
