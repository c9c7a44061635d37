"""Folders in the data folder for tantivy's files: one for each index of a process, and one that is kept for a start.

Strategy: tantivy writes a segment's files once and never changes them, so a copy is a few hard links. An index that a
process searches and changes is in a folder of its own, under a lock that the system lets go of when the process ends,
however it ends; what is kept is a copy that nobody writes to, named and summed up in the cache. So two servers of one
data folder never touch each other's files, and what a crash left is told by its lock, and removed by the next start.
"""

import fcntl
import hashlib
import os
import secrets
import shutil
import weakref
from contextlib import suppress
from pathlib import Path

_OWN, _KEPT, _LOCK = "own-", "kept-", ".lock"
_META = "meta.json"


class OwnPlace:
    """An empty folder below `around`, of this process's own; it is removed with this object.

    Raises OSError when it cannot be made.
    """

    def __init__(self, around: Path) -> None:
        around.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = around / f"{_OWN}{secrets.token_hex(8)}"
        lock = _locked(_lock_of(self.path), os.O_CREAT | os.O_EXCL)
        weakref.finalize(self, _remove, self.path, lock)
        self.path.mkdir(mode=0o700)


def _remove(path: Path, lock: int) -> None:
    """Remove a place; at the end of the process, too."""
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        _lock_of(path).unlink()
    os.close(lock)


def kept(place: OwnPlace) -> tuple[str, bytes]:
    """Keep a copy of what is in a place beside it; return its name, and what tells it from any other.

    Nobody may write there meanwhile. Raises OSError when it cannot be kept.
    """
    name = f"{_KEPT}{secrets.token_hex(8)}"
    folder = place.path.with_name(name)
    folder.mkdir(mode=0o700)
    try:
        _copy(place.path, folder)
        return name, summed(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def taken(around: Path, name: str, told: bytes) -> OwnPlace | None:
    """Return a place with a copy of what `kept` keeps; None when that is not there as it was. Raises OSError."""
    folder = around / name
    if Path(name).name != name or not (folder / _META).is_file():
        return None
    place = OwnPlace(around)
    _copy(folder, place.path)
    return place if summed(place.path) == told else None


def clear(around: Path, keep: str = "") -> None:
    """Remove what nobody uses: what ended processes left, and what is kept but `keep`. Never raises."""
    with suppress(OSError):
        for path in list(around.iterdir()):
            if path.name.startswith(_KEPT) and path.name != keep:
                shutil.rmtree(path, ignore_errors=True)
            elif path.suffix == _LOCK:
                with suppress(OSError):
                    _remove(path.with_suffix(""), _locked(path, 0))
        around.rmdir()


def summed(folder: Path) -> bytes:
    """Return what tells the files of a folder from any others."""
    told = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.iterdir()):
        if not path.name.endswith(_LOCK):
            content = path.read_bytes()
            told.update(f"{path.name} {len(content)}\n".encode() + content)
    return told.digest()


def _copy(folder: Path, to: Path) -> None:
    for path in folder.iterdir():
        if path.name.endswith(_LOCK):
            continue
        if path.name.startswith((".", _META)):  # which tantivy puts others in place of
            shutil.copyfile(path, to / path.name)
            continue
        try:
            os.link(path, to / path.name)
        except OSError:  # a file system without hard links
            shutil.copyfile(path, to / path.name)


def _lock_of(path: Path) -> Path:
    return path.with_name(f"{path.name}{_LOCK}")


def _locked(path: Path, how: int) -> int:
    """Return a descriptor that holds a lock. Raises OSError when another process does."""
    lock = os.open(path, os.O_RDWR | os.O_CLOEXEC | how, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.stat(path).st_ino != os.fstat(lock).st_ino:
            raise FileNotFoundError(path)
    except OSError:
        os.close(lock)
        raise
    return lock
