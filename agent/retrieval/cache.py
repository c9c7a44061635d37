"""Keeps what was read of a knowledge base in the data folder, so that the next start reads only changed files.

Strategy: one SQLite file for each knowledge base. The key of an entry is a hash of everything it was made from: the
file's name and content, and the code that read it (`code_digest`); for vectors also the name of their model, which
holds a hash of its weights. So no entry is ever out of date, only unused, and unused entries are deleted when the
next ones are written.

Each entry has a checksum. A damaged, truncated or foreign entry is read anew from its document, with one line in the
log, and the file is then made anew. The reader's thread writes it in one transaction, after questions can be asked. A
full disk, a read-only folder or another server that is writing cost the entry and nothing else. The file holds the
content of the documents, so only this user may read it. No code is ever run from it. Beside it stands a folder of
tantivy's files (`place`).
"""

import hashlib
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import structlog

from agent.lang import LANGUAGES

from .effort import Effort
from .entries import CachedKeys, CacheEntry, CacheReader, IndexEntry, checksum
from .index_folders import remove_unused

_log = structlog.get_logger("agent.retrieval")

FOLDER = "index"
FORMAT = 3
"""Version of the file; a file of another version is made anew."""

BASES = 8
"""Caches that a data folder keeps: those of the knowledge bases that were used last."""

MODELS = 3
"""Models whose vectors one cache keeps: those that were written last."""

_PATIENCE = 0.5  # seconds to wait for another server's write
_BUSY = 4000  # SQLite instructions between two looks at `Effort.given_up`: well under 1 ms
_SCHEMA = """
CREATE TABLE files (key BLOB PRIMARY KEY, sum BLOB NOT NULL, content BLOB NOT NULL);
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, model TEXT NOT NULL, sum BLOB NOT NULL, content BLOB NOT NULL,
    UNIQUE (key, model)
);
CREATE TABLE wholes (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, place TEXT NOT NULL, told BLOB NOT NULL, sum BLOB NOT NULL,
    content BLOB NOT NULL
);
"""  # the content of an index is the last column, since SQLite writes only the last one without a copy
_PIECE = 1 << 20  # bytes of an index in one write
_CODE = (
    "documents",
    "retrieval",
    "lexical",
    "text",
    "numbers",
    "protocol/nul.py",
    "lang",
    "config.py",
    "ports",
)  # code and word lists that entries depend on
_PARSERS = ("markdown-it-py", "docutils", "pyyaml", "pypdfium2", "python-docx", "tantivy")


MakeEntries = Callable[[CachedKeys], Iterable[CacheEntry]]
"""Yields the entries that `CachedKeys` lacks, so that they need not all be in memory; may be called again."""


class Cache:
    """The cache of one knowledge base. All methods block and are for one thread at a time; only `Effort.check` raises.

    `data`: the data folder. `base`: the folder of the knowledge base.
    """

    def __init__(self, data: Path, base: Path) -> None:
        name = hashlib.blake2b(os.fsencode(os.path.abspath(base)), digest_size=8).hexdigest()
        self._path = data / FOLDER / f"{name}.sqlite"
        self.places = data / FOLDER / name  # the folder of tantivy's files
        self._made_by = b""
        self._warned: set[str] = set()
        self._is_spoilt = False  # an entry differs from what was written

    def key_of(self, file: str, digest: bytes) -> bytes:
        """Return the key of a file's entries. `digest`: the hash of its content."""
        if not self._made_by:
            try:
                self._made_by = code_digest()
            except OSError:  # a random key: no entry matches now, or on a later start
                self._made_by = os.urandom(32)
        name = file.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(
            self._made_by + len(name).to_bytes(4, "big") + name + digest, digest_size=24
        ).digest()

    @contextmanager
    def open_reader(self, model: str = "") -> Iterator[CacheReader]:
        """Open the cache for look-ups; without a readable file, the reader finds nothing.

        `model`: names the vectors to find.
        """
        connection = self._open_to_read()
        try:
            yield CacheReader(connection, model, self._report_damage, self._report_failure)
        finally:
            if connection is not None:
                connection.close()

    def write(self, entries: MakeEntries, model: str, known: Collection[bytes], effort: Effort) -> bool:
        """Add entries, and delete those whose key is not in `known`; return whether that succeeded.

        `model`: names the vectors that `CachedKeys` lists.
        Raises `agent.errors.GivenUp` when `effort` was given up; then none of the entries is written.
        """
        for attempt in (1, 2):
            if self._is_spoilt:
                self._remove_file()
            try:
                self._write(entries, model, known, effort)
            except (sqlite3.Error, OSError) as error:
                effort.check()  # an effort that is given up interrupts SQLite
                if attempt == 1 and _is_damaged(error):
                    self._report_damage()
                    continue
                self._warn_once(
                    "cache of the knowledge base cannot be written, the next start reads all files",
                    str(error),
                )
                return False
            return True
        return False

    def write_index(self, whole: IndexEntry) -> bool:
        """Replace the saved index by `whole`; return whether that succeeded."""
        try:
            with closing(self._open_to_write()) as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("DELETE FROM wholes")
                row = connection.execute(
                    "INSERT INTO wholes (key, place, told, sum, content) VALUES (?, ?, ?, ?, zeroblob(?))",
                    (
                        whole.key,
                        whole.place,
                        whole.digest,
                        checksum(whole.key, whole.content),
                        len(whole.content),
                    ),
                ).lastrowid
                assert row is not None
                content = memoryview(whole.content)
                with connection.blobopen("wholes", "content", row) as blob:
                    for at in range(0, len(content), _PIECE):
                        blob.write(content[at : at + _PIECE])
                connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            self._warn_once(
                "cache of the knowledge base cannot be written, the next start reads all files", str(error)
            )
            shutil.rmtree(self.places / whole.place, ignore_errors=True)
            return False
        remove_unused(self.places, whole.place)
        return True

    def _write(self, entries: MakeEntries, model: str, known: Collection[bytes], effort: Effort) -> None:
        with closing(self._open_to_write()) as connection:
            connection.set_progress_handler(lambda: int(effort.given_up), _BUSY)
            connection.execute("BEGIN IMMEDIATE")
            try:
                for table in ("files", "vectors"):
                    found = _keys(connection, f"SELECT key FROM {table}")
                    unused = [(key,) for key in found.difference(known)]
                    connection.executemany(f"DELETE FROM {table} WHERE key = ?", unused)
                held = CachedKeys(
                    _keys(connection, "SELECT key FROM files"),
                    _keys(connection, "SELECT key FROM vectors WHERE model = ?", model),
                )
                for entry in entries(held):
                    effort.check()
                    _insert(connection, entry)
                connection.execute(
                    "DELETE FROM vectors WHERE model NOT IN "
                    "(SELECT model FROM vectors GROUP BY model ORDER BY max(id) DESC LIMIT ?)",
                    (MODELS,),
                )
                connection.execute("COMMIT")
            except BaseException:
                connection.set_progress_handler(None, 0)
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
        self._remove_old_caches()

    def _open_to_read(self) -> sqlite3.Connection | None:
        """Return a read-only connection to the file; None when there is no usable file."""
        if not self._path.is_file():
            return None
        connection = None
        try:
            uri = f"{self._path.absolute().as_uri()}?mode=ro"
            connection = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)
            if connection.execute("PRAGMA user_version").fetchone() == (FORMAT,):
                return connection
        except (sqlite3.Error, OSError) as error:
            self._report_failure(error)
        if connection is not None:
            connection.close()
        return None

    def _open_to_write(self) -> sqlite3.Connection:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None)
        try:
            # A crash of this process leaves a whole file; the checksums detect a crash of the machine.
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA auto_vacuum = FULL")
            found = connection.execute("PRAGMA user_version").fetchone()[0]
            if found != FORMAT:
                if found or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                    raise sqlite3.DatabaseError("another format")
                connection.executescript(
                    f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;"
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _remove_file(self) -> None:
        for name in (self._path.name, f"{self._path.name}-journal"):
            with suppress(OSError):
                self._path.with_name(name).unlink()
        self._is_spoilt = False

    def _remove_old_caches(self) -> None:
        """Remove the caches of the knowledge bases that were not used for longest."""
        with suppress(OSError):
            os.utime(self._path)
            others = sorted(self._path.parent.glob("*.sqlite"), key=lambda each: -each.stat().st_mtime)
            for other in others[BASES:]:
                other.unlink()
                remove_unused(other.with_suffix(""))

    def _report_damage(self) -> None:
        self._is_spoilt = True
        self._warn_once("cache of the knowledge base is damaged, making it anew", "")

    def _report_failure(self, error: Exception) -> None:
        if _is_damaged(error):
            self._report_damage()
        else:
            self._warn_once("cache of the knowledge base cannot be read", str(error))

    def _warn_once(self, event: str, why: str) -> None:
        """Log a problem, once for each reason."""
        if event + why not in self._warned:
            self._warned.add(event + why)
            _log.warning(event, **({"why": why} if why else {}))


def code_digest() -> bytes:
    """Return a hash of everything that entries depend on beside the files: our code and the versions of the parsers."""
    digest = hashlib.blake2b(f"{FORMAT} {sys.byteorder} {sys.version_info[:2]} {[*LANGUAGES]}".encode())
    package = Path(__file__).parents[1]
    for part in _CODE:
        place = package / part
        for path in [place] if place.is_file() else sorted(place.rglob("*.*")):
            if path.suffix in (".py", ".txt"):
                digest.update(f"{path.relative_to(package)}\n".encode() + path.read_bytes() + b"\0")
    for parser in _PARSERS:
        try:
            digest.update(f"{parser} {version(parser)}\n".encode())
        except PackageNotFoundError:
            digest.update(f"{parser} -\n".encode())
    return digest.digest()


def _keys(connection: sqlite3.Connection, query: str, *values: str) -> frozenset[bytes]:
    return frozenset([key for (key,) in connection.execute(query, values)])


def _insert(connection: sqlite3.Connection, entry: CacheEntry) -> None:
    checked = checksum(entry.key, entry.content)
    if entry.model:
        connection.execute(
            "INSERT OR REPLACE INTO vectors (key, model, sum, content) VALUES (?, ?, ?, ?)",
            (entry.key, entry.model, checked, entry.content),
        )
    else:
        connection.execute(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?)", (entry.key, checked, entry.content)
        )


def _is_damaged(error: Exception) -> bool:
    """Tell whether the file is at fault, rather than the disk, its permissions or another server."""
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
