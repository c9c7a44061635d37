"""Locks of owners: the proof that the process behind a claim is dead.

A process that dies between claim and record leaves a row that says claimed and never changes. Each open ledger is an
owner: it holds an exclusive `flock` on a file `owners/<name>` for as long as it lives, and writes its id,
`<name>.<inode>`, into the rows that it claims. The kernel drops the lock when the process ends, however it ends. So

- the file exists, has that inode, and its lock can be taken: the owner is dead;
- the lock is held: the owner lives;
- the file is missing or has another inode (a backup was restored, someone tidied up): that proves nothing, and the
  owner's rows are left alone. An owner removes its own file only when no row says that it is running something.

A lost file must not keep a dead owner's rows claimed for ever, so there is a second proof, which needs only the
database: SQLite holds a shared lock on it for every process that has it open. A process that gets the exclusive lock is
alone, and then every other owner is dead (`database_file.py`). A living owner whose file is gone notices at its next
claim: it takes a new place and moves its rows there, in the transaction of that claim.

No clock, heartbeat or process id is trusted. One case remains: a file was lost, its process died before its next claim,
and the other processes are never all down at once. Then those rows stay claimed, which is never wrong, only late.
"""

import fcntl
import os
import secrets
import sqlite3
from contextlib import suppress
from pathlib import Path

from ..contents import DatabaseContents

FOLDER = "owners"


class LedgerOwner:
    """A place among the living, held until `leave` or the end of the process. All methods block.

    `data` is the data folder, in which `folder` is made. Create a `LedgerOwner` inside a write transaction:
    tidying up happens in one too, and so never sees a file whose lock is not held yet.
    """

    def __init__(self, data: Path, folder: str = FOLDER) -> None:
        places = data / folder
        places.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = places / secrets.token_hex(8)
        self._file = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self.id = f"{self._path.name}.{os.fstat(self._file).st_ino}"

    @property
    def has_lock_file(self) -> bool:
        """Whether the lock's file is still there, so that other processes see that this owner lives."""
        opened = os.fstat(self._file)
        try:
            named = os.stat(self._path)
        except OSError:
            return False
        return (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)

    def leave(self, tidy: bool) -> None:
        """Give up the lock. With `tidy` remove its file too; without, the next process to open the ledger finds this
        owner dead.
        """
        if tidy:
            with suppress(OSError):
                self._path.unlink()
        os.close(self._file)


def is_dead_owner(data: Path, owner: str, folder: str = FOLDER) -> bool:
    """Return whether an owner has certainly ended: its very file exists, and its lock is free."""
    name, _, inode = owner.rpartition(".")
    try:
        file = os.open(data / folder / name, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return str(os.fstat(file).st_ino) == inode and _is_unlocked(file)
    finally:
        os.close(file)


def find_abandoned(data: Path, folder: str = FOLDER) -> list[Path]:
    """Return the files with a free lock. Remove them only once no row is claimed by their owners."""
    abandoned = []
    for path in (data / folder).iterdir():
        with suppress(OSError):
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            if _is_unlocked(file):
                abandoned.append(path)
            os.close(file)
    return abandoned


def _is_unlocked(file: int) -> bool:
    """Return whether the lock of an open file can be taken; closing the file releases it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_owner_at_work(reader: sqlite3.Connection, contents: DatabaseContents) -> bool:
    """Return whether some row names an owner at work; `False` for a file of a version that this code does not read."""
    (version,) = reader.execute("PRAGMA user_version").fetchone()
    if contents.owned is None or not 0 < version <= contents.version:
        return False
    return reader.execute(contents.owned.find_work(version)).fetchone() is not None
