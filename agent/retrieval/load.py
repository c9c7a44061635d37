"""Reads a knowledge base: every markdown file below one folder.

Strategy: walk the folder in a fixed order, without following a symbolic link (it could lead out of the folder),
and read each `*.md` that is not too large and is UTF-8. What cannot be used is left out and named, with the reason,
so that one bad file never keeps the server from starting. Everything here blocks: call it through `run_sync`.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.errors import UsageError

FILE_MAX = 4 * 1024 * 1024
"""Bytes of one markdown file; a larger one is skipped and named."""


@dataclass(frozen=True, slots=True)
class Document:
    """One markdown file. `file` is "kb/" and the path below the folder, with forward slashes."""

    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was left out, and why, in a few words for the operator."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a folder held: the documents in the order of their paths, and the files that were left out."""

    documents: tuple[Document, ...]
    skipped: tuple[Skipped, ...]


def load(folder: Path, limit: int = FILE_MAX) -> Loaded:
    """Read every markdown file below `folder`; files of more than `limit` bytes are skipped.

    Raises `agent.errors.UsageError`, one line that names the folder, when it is not there or holds no markdown
    that can be read. Blocks; it cannot be cancelled.
    """
    loaded = read_folder(folder, limit)
    if not loaded.documents:
        raise nothing_to_read(folder, len(loaded.skipped))
    return loaded


def nothing_to_read(folder: Path, skipped: int) -> UsageError:
    """Return the error for a folder without a file that can be read, in which `skipped` files could not."""
    left_out = f" ({skipped} could not be read)" if skipped else ""
    return UsageError(
        f"the knowledge base {folder} holds no markdown files{left_out}; put *.md files there or use --kb"
    )


def read_folder(folder: Path, limit: int = FILE_MAX) -> Loaded:
    """Do what `load` does, also for a folder without anything that can be read.

    Raises `agent.errors.UsageError` when it is not there.
    """
    documents: list[Document] = []
    skipped: list[Skipped] = []
    for path in markdown_files(folder):
        read = read_file(folder, path, limit)
        if isinstance(read, Skipped):
            skipped.append(read)
        else:
            documents.append(read)
    return Loaded(tuple(documents), tuple(skipped))


def markdown_files(folder: Path) -> Iterator[Path]:
    """Yield the paths of the markdown files, sorted; hidden folders and links to folders are not entered.

    Raises `agent.errors.UsageError` when `folder` is not there.
    """
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise UsageError(f"the knowledge base {folder} {what}; point to a folder of markdown files with --kb")
    for root, folders, files in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.lower().endswith(".md"):
                yield Path(root, name)


def read_file(folder: Path, path: Path, limit: int = FILE_MAX) -> Document | Skipped:
    """Read one file of the knowledge base in `folder`, or say why not."""
    name = _utf8("kb/" + path.relative_to(folder).as_posix())
    read = _read(path, limit)
    return Skipped(name, read.reason) if read.reason else Document(name, read.text)


@dataclass(frozen=True, slots=True)
class _Read:
    """The text of a file, or the reason why there is none."""

    text: str = ""
    reason: str = ""


def _read(path: Path, limit: int) -> _Read:
    """Read one file, or say why not."""
    try:
        # O_NOFOLLOW and O_NONBLOCK: a link could lead out of the folder, a pipe would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return _Read(reason="is a symbolic link" if path.is_symlink() else _sentence(error))
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return _Read(reason="is not a regular file")
        try:
            data = file.read(limit + 1)
        except OSError as error:
            return _Read(reason=_sentence(error))
    if len(data) > limit:
        return _Read(reason=f"is larger than {limit} bytes")
    try:
        return _Read(text=data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return _Read(reason=f"is not UTF-8 (byte {error.start})")


def _sentence(error: OSError) -> str:
    """Return the system's words for an error, without the path."""
    return f"cannot be read: {(error.strerror or 'unknown error').lower()}"


def _utf8(name: str) -> str:
    """Return a file name that can be sent: bytes that are not UTF-8 become replacement marks."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
