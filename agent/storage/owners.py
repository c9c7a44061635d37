"""Who may say that a claim is lost: the proof that its claimer is dead.

A process that dies between claim and record leaves a row that says claimed and never changes. Each ledger that is
opened is an owner: it holds an exclusive `flock` on a file `owners/<name>` for as long as it lives, and writes its id,
`<name>.<inode>`, into the rows that it claims. The kernel drops the lock when the process ends, however it ends. So

- the file is there, it has that inode, and its lock can be taken: the owner is dead;
- the lock is held: it lives;
- the file is missing, or is another one (a backup was put back, somebody tidied up): that proves nothing, and its
  rows are left alone. An owner removes its own file only when no row says that it is running something.

A lost file must not keep a dead owner's rows claimed for ever, so there is a second proof, which needs no file but
the database: SQLite holds a shared lock on it for every process that has it open. Who gets the exclusive one is alone
with it, and then every owner is dead (`settle_if_alone` in file.py). And an owner that lives finds its file gone when
it next claims: it takes a new place and moves its rows there, in the transaction of that claim.

No clock, heartbeat or process id is trusted. What remains: a file was lost, its process died before it claimed again,
and other processes are never all down at once: those rows stay claimed, which is never wrong, only late.
"""

import fcntl
import os
import secrets
from contextlib import suppress
from pathlib import Path

FOLDER = "owners"


class Owner:
    """A place among the living, held until it is left or the process ends. All of it blocks.

    data: the ledger's folder; `owners/` is made in it. Take it inside a write transaction: whoever tidies up does so
    too, and never sees a file whose lock is not held yet.
    """

    def __init__(self, data: Path) -> None:
        places = data / FOLDER
        places.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = places / secrets.token_hex(8)
        self._file = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self.id = f"{self._path.name}.{os.fstat(self._file).st_ino}"

    @property
    def proved(self) -> bool:
        """Whether the file is still there for others to see that this owner lives."""
        ours = os.fstat(self._file)
        try:
            found = os.stat(self._path)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino)

    def leave(self, tidy: bool) -> None:
        """Give up the lock. tidy: remove the file too; without it the next to open finds this owner dead."""
        if tidy:
            with suppress(OSError):
                self._path.unlink()
        os.close(self._file)


def proved_dead(data: Path, owner: str) -> bool:
    """Whether the owner with this id has certainly ended: its very file is there, and nobody holds its lock."""
    name, _, inode = owner.rpartition(".")
    try:
        file = os.open(data / FOLDER / name, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return str(os.fstat(file).st_ino) == inode and _unlocked(file)
    finally:
        os.close(file)


def abandoned(data: Path) -> list[Path]:
    """Return the files whose lock nobody holds. They may be removed once no row is claimed by their owners."""
    found = []
    for path in (data / FOLDER).iterdir():
        with suppress(OSError):
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            if _unlocked(file):
                found.append(path)
            os.close(file)
    return found


def _unlocked(file: int) -> bool:
    """Whether an open file's lock can be taken; it is let go when the file is closed."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
