"""Checks that the files of the ledger are still the ones that were opened, and whole.

SQLite does not notice that its files were removed, replaced or overwritten: it goes on with its open files and its
cache. So that nothing runs on such a claim, each batch checks before it begins and again after its sync:

- The database, its log and its index are still the files that were opened (device and inode).
- The log still begins as SQLite began it; if not, nothing of it would be found after a crash.
- A new connection, as another process would make it, reads the claims back. A batch that neither claims nor records
  skips this check, since nothing runs on it, and connecting costs more than the batch.

Files that come back are used again, for they are the same ledger. Files that stand in their place, or were overwritten,
are never used while the server runs: the kept outcomes belong to rows of the lost ledger, and settling another file's
rows is part of a start. So that asks for a restart.

The code never opens the database file itself: closing it would drop the locks that SQLite holds on it in this process.
It keeps the log open, on which SQLite holds no lock, so that its beginning is one read.
"""

import os
import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from .connection import LastingCursor

FILE = "ledger.sqlite"
_ENDS = ("", "-wal", "-shm")  # of the names of a database's files
_GONE = "its files are gone, or others stand in their place: put them back, or restart the server"
_SPOILED = "it is damaged ({}): restart the server with a backup in its place, or with another folder"
_HEADER = 32  # bytes of a log's header; https://www.sqlite.org/fileformat2.html#the_write_ahead_log
_MAGIC = {0x377F0682: "little", 0x377F0683: "big"}  # and how its checksum reads words
_WORD = 4


class Untrusted(Exception):
    """The files cannot be trusted with a claim; the message gives the reason and the remedy."""


class Trust:
    """The identity of the open files of a database in a folder. All methods block.

    `patience` is how many seconds reading back waits for the lock of another process.
    """

    def __init__(self, data: Path, patience: float, file: str = FILE) -> None:
        self._file = data / file
        # made once: they are looked at twice for each batch
        self._paths = [f"{self._file}{end}" for end in _ENDS]
        self._patience = patience
        self._opened = self._identity()
        self._log = os.open(self._paths[1], os.O_RDONLY | os.O_CLOEXEC)
        self._header = b""  # of the log, as it was last found whole
        self._spoiled = ""

    def close(self) -> None:
        """Let go of the log; nothing can be checked afterwards."""
        os.close(self._log)

    def check(self) -> None:
        """Raise `Untrusted` when a file is missing or replaced, or the log has lost its beginning."""
        if self._spoiled:
            raise Untrusted(self._spoiled)
        try:
            found = self._identity()
        except FileNotFoundError:
            found = []
        if found != self._opened:
            raise Untrusted(_GONE)
        if not any(self._log_is_whole() for _ in range(3)):  # once it may be read while it is written
            self.spoil("its log was overwritten")

    def spoil(self, why: str) -> None:
        """Mark the files as spoiled for good and raise `Untrusted`."""
        self._spoiled = _SPOILED.format(why)
        raise Untrusted(self._spoiled)

    def read_back(self, claimed: Collection[str]) -> None:
        """Raise `Untrusted` unless a new connection, which had no part in the write, reads these claims.

        Without claims, raise an error if a new connection cannot read at all.
        """
        with closing(connect_afresh(self._file, self._patience)) as other:
            if not claimed:
                other.execute("SELECT count(*) FROM sqlite_master").fetchone()
                return
            wanted = ",".join("?" * len(claimed))
            query = f"SELECT count(*) FROM actions WHERE suggestion_id IN ({wanted})"
            (found,) = other.execute(query, tuple(claimed)).fetchone()
        if found != len(claimed):
            raise Untrusted("what was written cannot be read back")

    def _log_is_whole(self) -> bool:
        """Return whether the log begins as it did when it was found whole, or with another valid header."""
        header = os.pread(self._log, _HEADER, 0)
        if header != self._header:
            if not _is_whole_log(header):
                return False
            self._header = header
        return True

    def _identity(self) -> list[tuple[int, int]]:
        return [_identify(os.stat(path)) for path in self._paths]


def _identify(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def connect_afresh(path: Path, patience: float, any_thread: bool = False) -> sqlite3.Connection:
    """Connect to an existing database; never create it. `patience` is how many seconds to wait for a lock.

    With `any_thread` several threads may use the connection, one at a time.
    """
    uri = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(
        uri,
        uri=True,
        timeout=patience,
        isolation_level=None,
        check_same_thread=not any_thread,
        factory=LastingCursor,
    )


def _is_whole_log(header: bytes) -> bool:
    """Return whether the header of a write-ahead log has a valid checksum, or the log is empty after a checkpoint.

    A log that was emptied by another program is caught at the next claim, which SQLite writes at its own old position.
    """
    if not header:
        return True
    words = [header[at : at + _WORD] for at in range(0, _HEADER, _WORD)]
    order = _MAGIC.get(int.from_bytes(words[0], "big"))
    if order is None or len(header) < _HEADER:
        return False
    first = second = 0
    for at in (0, 2, 4):
        first = (first + int.from_bytes(words[at], order) + second) % 2**32  # type: ignore[arg-type]
        second = (second + int.from_bytes(words[at + 1], order) + first) % 2**32  # type: ignore[arg-type]
    return words[6] + words[7] == first.to_bytes(_WORD, "big") + second.to_bytes(_WORD, "big")
