"""Reads the files of a knowledge base: every document below one folder.

Strategy: walk the folder in a fixed order, without following a symbolic link (it could lead out of the folder), and
read each file of a supported kind within the bound of size. Unusable files are left out and named, with the reason,
so that one bad file never keeps the server from starting. A file that the system could not read this time (too many
open files, a disk that failed) is told apart from one that cannot be used. Everything here blocks: call it through
`run_sync`.
"""

import errno
import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent.documents import SUFFIXES
from agent.errors import UsageError

FILE_BYTES = 4 * 1024 * 1024  # of one file; a larger file is left out and named

SETTINGS = frozenset(("synonyms.txt",))
"""Files of settings at the top of the folder, which are no documents."""

_SUFFIX = 12  # characters of the longest suffix that is reported
_KINDS = "*.md, *.html, *.txt or other"

GONE = frozenset((errno.ENOENT, errno.ENOTDIR))
"""Errors of the system for a path that does not exist; after any other error, a file may be readable later."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The bytes of one file. `file`: "kb/" and the path below the folder, with forward slashes."""

    file: str
    data: bytes

    @classmethod
    def of(cls, file: str, text: str) -> "SourceFile":
        """Return a file that holds `text`."""
        return cls(file, text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that cannot be used, with the `reason` in a few words for the operator.

    `passing`: it could not be read this time, and may be readable the next time.
    """

    file: str
    reason: str
    passing: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class LoadedFolder:
    """The content of a folder: `sources` in the order of their paths, and the files `skipped`.

    `others`: how many files of each suffix are of an unsupported kind.
    """

    sources: tuple[SourceFile, ...]
    skipped: tuple[Skipped, ...]
    others: Mapping[str, int] = field(default_factory=dict)


def load_documents(folder: Path, limit: int = FILE_BYTES) -> LoadedFolder:
    """Read every document below `folder`; files of more than `limit` bytes are skipped.

    Raises `agent.errors.UsageError`, one line that names the folder, when it does not exist or holds no readable
    file. Blocks; it cannot be cancelled.
    """
    loaded = read_folder(folder, limit)
    if not loaded.sources:
        raise no_documents_error(folder, len(loaded.skipped))
    return loaded


def no_documents_error(folder: Path, skipped: int) -> UsageError:
    """Return the error for a folder without a readable file, of which `skipped` files could not be read."""
    left_out = f" ({skipped} could not be read)" if skipped else ""
    return UsageError(
        f"the knowledge base {folder} holds no documents{left_out}; put {_KINDS} files there or use --kb"
    )


def read_folder(folder: Path, limit: int = FILE_BYTES) -> LoadedFolder:
    """Read every document below `folder` as `load_documents` does, but accept a folder without a readable file.

    Raises `agent.errors.UsageError` when it does not exist.
    """
    sources: list[SourceFile] = []
    skipped: list[Skipped] = []
    others: Counter[str] = Counter()
    for found in find_files(folder, others):
        read = found if isinstance(found, Skipped) else read_file(folder, found, limit)
        if isinstance(read, SourceFile):
            sources.append(read)
        elif read is not None:
            skipped.append(read)
    return LoadedFolder(tuple(sources), tuple(skipped), others)


def find_files(folder: Path, others: Counter[str] | None = None) -> Iterator[str | Skipped]:
    """Yield the paths of the documents below a folder, sorted; hidden folders and links are not entered.

    Paths begin with `folder`. After them come the folders that are links or could not be listed. `others`: counts
    the files of unsupported kinds by suffix, except hidden files and `SETTINGS`.
    Raises `agent.errors.UsageError` when `folder` does not exist or cannot be listed.
    """
    if not folder.is_dir():
        problem = "is not a folder" if folder.exists() else "does not exist"
        raise UsageError(f"the knowledge base {folder} {problem}; point to a folder of documents with --kb")
    failed: list[OSError] = []
    linked: list[str] = []
    for root, folders, names in os.walk(os.fspath(folder), onerror=failed.append, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        linked += [path for name in folders if os.path.islink(path := os.path.join(root, name))]
        for name in sorted(names):
            if name in SETTINGS and root == os.fspath(folder):
                continue
            if _suffix(name) in SUFFIXES:
                yield os.path.join(root, name)
            elif others is not None and not name.startswith("."):
                others[_suffix_label(_suffix(name))] += 1
    for path in linked:
        yield Skipped(f"{cite_path(folder, path)}/", "is a symbolic link")
    for error in failed:
        if error.filename == os.fspath(folder):
            raise UsageError(
                f"the knowledge base {folder} cannot be listed: {_system_message(error)};"
                " let this user read it, or use --kb"
            )
        if error.errno not in GONE:
            below = f"{cite_path(folder, error.filename)}/" if error.filename else "kb/"
            yield Skipped(below, f"cannot be listed: {_system_message(error)}", passing=True)


def read_file(folder: Path, path: str, limit: int = FILE_BYTES) -> SourceFile | Skipped | None:
    """Return one file of the knowledge base in `folder`, or why it cannot be used, or None when it is gone."""
    name = cite_path(folder, path)
    try:
        # O_NOFOLLOW and O_NONBLOCK: a link could lead out of the folder, a pipe would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return Skipped(name, "is not a regular file")
            data = file.read(limit + 1)
    except OSError as error:
        if error.errno in GONE:
            return None
        if error.errno == errno.ELOOP:
            return Skipped(name, "is a symbolic link")
        return Skipped(name, f"cannot be read: {_system_message(error)}", passing=True)
    if len(data) > limit:
        return Skipped(name, f"is larger than {limit} bytes")
    return SourceFile(name, data)


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _suffix_label(suffix: str) -> str:
    """Return a suffix for people; "" for a false one, such as the rest of a sentence after a full stop."""
    return suffix if len(suffix) <= _SUFFIX and suffix.isascii() and suffix[1:].isalnum() else ""


def _system_message(error: OSError) -> str:
    """Return the system's message for an error, without the path."""
    return (error.strerror or "unknown error").lower()


def cite_path(folder: Path, path: str) -> str:
    """Return the citation of a file in `folder`; bytes of its name that are not UTF-8 become replacement marks.

    `path`: begins with `folder`, as `find_files` gives it; making it relative to `folder` took longer than reading it.
    """
    below = "kb/" + path[len(os.path.join(folder, "")) :].replace(os.sep, "/")
    return below.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
