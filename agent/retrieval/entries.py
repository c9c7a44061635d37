"""What a cache holds, and how it is found in the file: an entry counts only when it is what was written.

Strategy: a checksum stands beside each content, and is keyed with what the entry is found by, so that neither a bit
that has changed nor a row that is another's is taken for it.
"""

import hashlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """What is kept of one file. model: whose vectors they are; "" for what was read."""

    key: bytes
    content: bytes
    model: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """The keys of what is there already: of files, and of one model's vectors."""

    files: frozenset[bytes] = frozenset()
    vectors: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class WholeEntry:
    """An index as it was. key: of the model whose vectors it has. place, told: of tantivy's files (`place.kept`)."""

    key: bytes
    content: bytes
    place: str
    told: bytes


class Reading:
    """Finds entries.

    damaged: is called when one is not what was written. failed: is called with what kept one from being read.
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
        self._damaged = damaged
        self._failed = failed

    def file(self, key: bytes) -> bytes | None:
        """Return what was read of a file, None when it is not kept."""
        return self._find(key, "SELECT sum, content FROM files WHERE key = ?", (key,))

    def vectors(self, key: bytes) -> bytes | None:
        """Return the vectors of a file's sections, None when they are not kept."""
        if not self._model:
            return None
        query = "SELECT sum, content FROM vectors WHERE key = ? AND model = ?"
        return self._find(key, query, (key, self._model))

    def whole(self, key: bytes) -> WholeEntry | None:
        """Return the index as it was, None when it is not kept."""
        found = self._row(key, "SELECT sum, content, place, told FROM wholes WHERE key = ?", (key,))
        if found is None or not isinstance(found[2], str):
            return None
        return WholeEntry(key, *found[1:])

    def unusable(self) -> None:
        """Say that an entry was not what its reader wrote."""
        self._damaged()

    def _find(self, key: bytes, query: str, values: tuple[object, ...]) -> bytes | None:
        row = self._row(key, query, values)
        return None if row is None else row[1]

    def _row(self, key: bytes, query: str, values: tuple[object, ...]) -> tuple[Any, ...] | None:
        """Return a row that begins with a checksum and the content that it is of."""
        if self._connection is None:
            return None
        try:
            found: tuple[Any, ...] | None = self._connection.execute(query, values).fetchone()
        except (sqlite3.Error, OSError) as error:
            self._failed(error)
            self._connection.close()
            self._connection = None
            return None
        if found is not None and (not isinstance(found[1], bytes) or found[0] != checksum(key, found[1])):
            self._damaged()
            return None
        return found


def checksum(key: bytes, content: bytes) -> bytes:
    """Return what tells an entry from what was not written as it."""
    return hashlib.blake2b(content, digest_size=16, key=key).digest()
