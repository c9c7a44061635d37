"""Whether the files of the ledger are still the ones that were opened, and whole.

SQLite does not notice that its files were removed, replaced or overwritten: it goes on in what it holds open and in
its cache. So that nothing runs on such a claim, each batch asks before it begins and again after it was synced:

- are the database, its log and its index still the files that were opened (device and inode);
- does the log still begin as SQLite began it: if not, nothing of it would be found after a crash;
- does a connection made afresh, as another process would make it, read the claims back; a batch that neither claims
  nor records does not ask that, since nothing runs on it, and connecting costs more than it does.

Files that come back are used again, for they are the same ledger. What stands in their place, or was overwritten, is
never taken over while the server runs: the outcomes that are kept belong to rows of the lost one, and settling what
another file holds is part of a start. So that asks for a restart.

The database itself is never opened by hand: closing it would drop the locks that SQLite has on it in this process.
"""

import os
import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

FILE = "ledger.sqlite"
LOG = f"{FILE}-wal"
_ENDS = ("", "-wal", "-shm")  # of the names of a database's files
_GONE = "its files are gone, or others stand in their place: put them back, or restart the server"
_SPOILED = "it is damaged ({}): restart the server with a backup in its place, or with another folder"
_HEADER = 32  # bytes of a log's header; https://www.sqlite.org/fileformat2.html#the_write_ahead_log
_MAGIC = {0x377F0682: "little", 0x377F0683: "big"}  # and how its checksum reads words
_WORD = 4


class Untrusted(Exception):
    """The files cannot be trusted with a claim; the message says why and what to do."""


class Trust:
    """What is known of the open files of a database in a folder. All of it blocks.

    patience: seconds that reading back waits for another process's lock.
    """

    def __init__(self, data: Path, patience: float, file: str = FILE) -> None:
        self._file = data / file
        # made once: they are looked at twice for each batch
        self._paths = [f"{self._file}{end}" for end in _ENDS]
        self._patience = patience
        self._opened = self._identity()
        self._header = b""  # of the log, as it was last found whole
        self._spoiled = ""

    def check(self) -> None:
        """Raise `Untrusted` when a file is missing, is another one, or the log has lost its beginning."""
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
        """Trust these files no more, whatever becomes of them; raises `Untrusted`."""
        self._spoiled = _SPOILED.format(why)
        raise Untrusted(self._spoiled)

    def read_back(self, claimed: Collection[str]) -> None:
        """Raise `Untrusted` when these claims cannot be read through a connection that had no part in writing them.

        Without any: when such a connection cannot read at all.
        """
        with closing(afresh(self._file, self._patience)) as other:
            if not claimed:
                other.execute("SELECT count(*) FROM sqlite_master").fetchone()
                return
            wanted = ",".join("?" * len(claimed))
            query = f"SELECT count(*) FROM actions WHERE suggestion_id IN ({wanted})"
            (found,) = other.execute(query, tuple(claimed)).fetchone()
        if found != len(claimed):
            raise Untrusted("what was written cannot be read back")

    def _log_is_whole(self) -> bool:
        """Whether the log begins as it did, which was right, or otherwise and right too."""
        with open(self._paths[1], "rb", buffering=0) as file:
            header = file.read(_HEADER)
        if header != self._header:
            if not _whole_log(header):
                return False
            self._header = header
        return True

    def _identity(self) -> list[tuple[int, int]]:
        found = [os.stat(path) for path in self._paths]
        return [(file.st_dev, file.st_ino) for file in found]


def afresh(path: Path, patience: float) -> sqlite3.Connection:
    """Connect to a database that is there; it is never made. patience: seconds to wait for a lock."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None)


def _whole_log(header: bytes) -> bool:
    """Whether a write-ahead log that begins so has a header whose checksum is right, or is empty after a checkpoint.

    One that somebody else emptied is caught with the next claim, which SQLite writes behind where it had come to.
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
