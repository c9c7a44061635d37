"""The entries of a cache, and their look-up: an entry counts only if it is exactly as it was written.

Strategy: beside each content stands a checksum that is keyed with the key of the entry, so neither a changed bit
nor the row of another entry is taken for it.
"""

import hashlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """The content that is kept of one file. `model`: of its vectors; "" for its sections and words."""

    key: bytes
    content: bytes
    model: str = ""


@dataclass(frozen=True, slots=True)
class CachedKeys:
    """The keys that are in the cache: those of files, and those of one model's vectors."""

    files: frozenset[bytes] = frozenset()
    vectors: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A saved index.

    `key`: of the model of its vectors. `place`, `digest`: of tantivy's files (`index_folders.save_copy`).
    """

    key: bytes
    content: bytes
    place: str
    digest: bytes


class CacheReader:
    """Finds entries in an open cache.

    `damaged`: called when an entry differs from the written one. `failed`: called with the error that prevented a
    look-up.
    """

    def __init__(
        self,
        connection: sqlite3.Connection | None,
        model: str,
        damaged: Callable[[], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._connection = connection
        self._model = model
        self._report_damage = damaged
        self._report_failure = failed

    def find_file(self, key: bytes) -> bytes | None:
        """Return the packed sections of a file, or None."""
        return self._find_content(key, "SELECT sum, content FROM files WHERE key = ?", (key,))

    def find_vectors(self, key: bytes) -> bytes | None:
        """Return the packed vectors of a file's sections, or None."""
        if not self._model:
            return None
        query = "SELECT sum, content FROM vectors WHERE key = ? AND model = ?"
        return self._find_content(key, query, (key, self._model))

    def find_index(self, key: bytes) -> IndexEntry | None:
        """Return the saved index, or None."""
        found = self._find_row(key, "SELECT sum, content, place, told FROM wholes WHERE key = ?", (key,))
        if found is None or not isinstance(found[2], str):
            return None
        return IndexEntry(key, *found[1:])

    def report_unusable(self) -> None:
        """Report that an entry could not be unpacked."""
        self._report_damage()

    def _find_content(self, key: bytes, query: str, values: tuple[object, ...]) -> bytes | None:
        row = self._find_row(key, query, values)
        return None if row is None else row[1]

    def _find_row(self, key: bytes, query: str, values: tuple[object, ...]) -> tuple[Any, ...] | None:
        """Return a row that begins with a checksum and its content, if both agree."""
        if self._connection is None:
            return None
        try:
            found: tuple[Any, ...] | None = self._connection.execute(query, values).fetchone()
        except (sqlite3.Error, OSError) as error:
            self._report_failure(error)
            self._connection.close()
            self._connection = None
            return None
        if found is not None and (not isinstance(found[1], bytes) or found[0] != checksum(key, found[1])):
            self._report_damage()
            return None
        return found


def checksum(key: bytes, content: bytes) -> bytes:
    """Return the checksum of `content`, keyed with the `key` of its entry."""
    return hashlib.blake2b(content, digest_size=16, key=key).digest()
