"""Folders in the data folder for tantivy's files: one for each index of a process, and one saved for the next start.

Strategy: tantivy writes a segment's files once and never changes them, so a copy is a few hard links. The index that
a process searches and changes is in a folder of its own, under a lock that the system releases when the process ends,
however it ends. The saved index is a copy that no process writes to; its name and digest are in the cache. So two
servers on one data folder never touch each other's files. The leftovers of a crash are recognised by their free lock,
and removed by the next start.
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
    """An empty folder below `around` that belongs to this process; it is removed with this object.

    Raises OSError when it cannot be made.
    """

    def __init__(self, around: Path) -> None:
        around.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = around / f"{_OWN}{secrets.token_hex(8)}"
        lock = _acquire_lock(_lock_of(self.path), os.O_CREAT | os.O_EXCL)
        weakref.finalize(self, _remove, self.path, lock)
        self.path.mkdir(mode=0o700)


def _remove(path: Path, lock: int) -> None:
    """Remove a place and its lock; called at the end of the process, too."""
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        _lock_of(path).unlink()
    os.close(lock)


def save_copy(place: OwnPlace) -> tuple[str, bytes]:
    """Save a copy of `place` beside it; return its name, and the digest of its files.

    Nothing may write to `place` meanwhile. Raises OSError when the copy cannot be saved.
    """
    name = f"{_KEPT}{secrets.token_hex(8)}"
    folder = place.path.with_name(name)
    folder.mkdir(mode=0o700)
    try:
        _copy(place.path, folder)
        return name, digest_files(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def restore_copy(around: Path, name: str, digest: bytes) -> OwnPlace | None:
    """Return a new place with the content of a saved copy; None when that does not match `told`. Raises OSError."""
    folder = around / name
    if Path(name).name != name or not (folder / _META).is_file():
        return None
    place = OwnPlace(around)
    _copy(folder, place.path)
    return place if digest_files(place.path) == digest else None


def remove_unused(around: Path, keep: str = "") -> None:
    """Remove the folders of ended processes, and all saved copies but `keep`. Never raises."""
    with suppress(OSError):
        for path in list(around.iterdir()):
            if path.name.startswith(_KEPT) and path.name != keep:
                shutil.rmtree(path, ignore_errors=True)
            elif path.suffix == _LOCK:
                with suppress(OSError):
                    _remove(path.with_suffix(""), _acquire_lock(path, 0))
        around.rmdir()


def digest_files(folder: Path) -> bytes:
    """Return a digest of the names and contents of a folder's files."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.iterdir()):
        if not path.name.endswith(_LOCK):
            content = path.read_bytes()
            digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.digest()


def _copy(folder: Path, to: Path) -> None:
    for path in folder.iterdir():
        if path.name.endswith(_LOCK):
            continue
        if path.name.startswith((".", _META)):  # files that tantivy replaces
            shutil.copyfile(path, to / path.name)
            continue
        try:
            os.link(path, to / path.name)
        except OSError:  # a file system without hard links
            shutil.copyfile(path, to / path.name)


def _lock_of(path: Path) -> Path:
    return path.with_name(f"{path.name}{_LOCK}")


def _acquire_lock(path: Path, flags: int) -> int:
    """Return a descriptor that holds the lock at `path`. Raises OSError when another process holds it."""
    lock = os.open(path, os.O_RDWR | os.O_CLOEXEC | flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.stat(path).st_ino != os.fstat(lock).st_ino:
            raise FileNotFoundError(path)
    except OSError:
        os.close(lock)
        raise
    return lock
