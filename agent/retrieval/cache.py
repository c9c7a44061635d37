"""What was read of a knowledge base, kept in the data folder, so that the next start reads only what has changed.

Strategy: one SQLite file for each knowledge base. An entry is found by a hash of what it was made of: a file's name and
content, and the code that read it (`made_by`); vectors also by the name of their model, which holds a hash of its
weights. So nothing in it is ever out of date, only unused, and what is unused goes when the next one is written. Each
entry has a checksum: what is damaged, cut off or foreign is read anew, with one line in the log, and the file is then
made anew. It is written in one transaction, by the reader's thread, after questions can be asked; a full disk, a folder
that cannot be written to and another server that is writing cost the entry and nothing else. It holds what the
documents hold, so only this user may read it. No code is ever run from it. Beside it stands a folder of tantivy's files
(`place`).
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
from .entries import Entry, Held, Reading, WholeEntry, checksum
from .place import clear

_log = structlog.get_logger("agent.retrieval")

FOLDER = "index"
FORMAT = 3
"""Of the file. Another one is made anew."""

BASES = 8
"""Knowledge bases whose caches a data folder keeps: those that were used last."""

MODELS = 3
"""Models of which one knowledge base's vectors are kept: those that were written last."""

_PATIENCE = 0.5  # seconds that another server's writing is waited for
_BUSY = 4000  # of SQLite's instructions, between two looks at whether somebody still waits: well under 1 ms
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
"""  # the content of an index comes last, since SQLite writes only what is last without a copy
_PIECE = 1 << 20  # bytes of an index that are written at once
_READ_BY = (
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


Entries = Callable[[Held], Iterable[Entry]]
"""Makes what is not held yet, one by one, so that it need not all be there at once; may be called again."""


class Cache:
    """The entries of one knowledge base. Everything here blocks; for one thread at a time. Never raises but by `look`.

    data: the data folder. base: the knowledge base's.
    """

    def __init__(self, data: Path, base: Path) -> None:
        name = hashlib.blake2b(os.fsencode(os.path.abspath(base)), digest_size=8).hexdigest()
        self._path = data / FOLDER / f"{name}.sqlite"
        self.places = data / FOLDER / name  # of tantivy's files
        self._made_by = b""
        self._told: set[str] = set()
        self._spoilt = False  # something in the file is not what was written

    def key(self, file: str, digest: bytes) -> bytes:
        """Return what a file's entries are found by. digest: of its content."""
        if not self._made_by:
            try:
                self._made_by = made_by()
            except OSError:  # then nothing is found, and nothing found later
                self._made_by = os.urandom(32)
        name = file.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(
            self._made_by + len(name).to_bytes(4, "big") + name + digest, digest_size=24
        ).digest()

    @contextmanager
    def reading(self, model: str = "") -> Iterator[Reading]:
        """Look entries up; without a file that can be read, none is found. model: whose vectors are looked for."""
        connection = self._open_to_read()
        try:
            yield Reading(connection, model, self._damaged, self._failed)
        finally:
            if connection is not None:
                connection.close()

    def write(self, entries: Entries, model: str, known: Collection[bytes], effort: Effort) -> bool:
        """Add entries, and drop those of other files than `known`; return whether that is done.

        model: whose vectors `Held` tells of.
        Raises `agent.errors.GivenUp` when `effort` was given up; of these entries none is then there.
        """
        for attempt in (1, 2):
            if self._spoilt:
                self._remove()
            try:
                self._write(entries, model, known, effort)
            except (sqlite3.Error, OSError) as error:
                effort.look()  # which is what interrupts SQLite
                if attempt == 1 and _is_damaged(error):
                    self._damaged()
                    continue
                self._say("what was read is not kept for the next start", str(error))
                return False
            return True
        return False

    def write_whole(self, whole: WholeEntry) -> bool:
        """Put an index in the place of the last one; return whether that is done."""
        try:
            with closing(self._open_to_write()) as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("DELETE FROM wholes")
                row = connection.execute(
                    "INSERT INTO wholes (key, place, told, sum, content) VALUES (?, ?, ?, ?, zeroblob(?))",
                    (
                        whole.key,
                        whole.place,
                        whole.told,
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
            self._say("what was read is not kept for the next start", str(error))
            shutil.rmtree(self.places / whole.place, ignore_errors=True)
            return False
        clear(self.places, whole.place)
        return True

    def _write(self, entries: Entries, model: str, known: Collection[bytes], effort: Effort) -> None:
        with closing(self._open_to_write()) as connection:
            connection.set_progress_handler(lambda: int(effort.given_up), _BUSY)
            connection.execute("BEGIN IMMEDIATE")
            try:
                for table in ("files", "vectors"):
                    found = _keys(connection, f"SELECT key FROM {table}")
                    unused = [(key,) for key in found.difference(known)]
                    connection.executemany(f"DELETE FROM {table} WHERE key = ?", unused)
                held = Held(
                    _keys(connection, "SELECT key FROM files"),
                    _keys(connection, "SELECT key FROM vectors WHERE model = ?", model),
                )
                for entry in entries(held):
                    effort.look()
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
        self._keep_few()

    def _open_to_read(self) -> sqlite3.Connection | None:
        """Return a connection to the file as it is; None when there is none that can be used."""
        if not self._path.is_file():
            return None
        connection = None
        try:
            uri = f"{self._path.absolute().as_uri()}?mode=ro"
            connection = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)
            if connection.execute("PRAGMA user_version").fetchone() == (FORMAT,):
                return connection
        except (sqlite3.Error, OSError) as error:
            self._failed(error)
        if connection is not None:
            connection.close()
        return None

    def _open_to_write(self) -> sqlite3.Connection:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None)
        try:
            # A crash of this process leaves a whole file; one of the machine is told by the checksums.
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

    def _remove(self) -> None:
        for name in (self._path.name, f"{self._path.name}-journal"):
            with suppress(OSError):
                self._path.with_name(name).unlink()
        self._spoilt = False

    def _keep_few(self) -> None:
        """Remove the caches of knowledge bases that were not used for longest."""
        with suppress(OSError):
            os.utime(self._path)
            others = sorted(self._path.parent.glob("*.sqlite"), key=lambda each: -each.stat().st_mtime)
            for other in others[BASES:]:
                other.unlink()
                clear(other.with_suffix(""))

    def _damaged(self) -> None:
        self._spoilt = True
        self._say("what was kept of the last start cannot be used, it is made anew", "")

    def _failed(self, error: Exception) -> None:
        if _is_damaged(error):
            self._damaged()
        else:
            self._say("what was kept of the last start cannot be read", str(error))

    def _say(self, event: str, why: str) -> None:
        """Log what is wrong, once for each reason."""
        if event + why not in self._told:
            self._told.add(event + why)
            _log.warning(event, **({"why": why} if why else {}))


def made_by() -> bytes:
    """Return a hash of what entries depend on beside the files: our own code, and the versions of the parsers."""
    told = hashlib.blake2b(f"{FORMAT} {sys.byteorder} {sys.version_info[:2]} {[*LANGUAGES]}".encode())
    package = Path(__file__).parents[1]
    for part in _READ_BY:
        place = package / part
        for path in [place] if place.is_file() else sorted(place.rglob("*.*")):
            if path.suffix in (".py", ".txt"):
                told.update(f"{path.relative_to(package)}\n".encode() + path.read_bytes() + b"\0")
    for parser in _PARSERS:
        try:
            told.update(f"{parser} {version(parser)}\n".encode())
        except PackageNotFoundError:
            told.update(f"{parser} -\n".encode())
    return told.digest()


def _keys(connection: sqlite3.Connection, query: str, *values: str) -> frozenset[bytes]:
    return frozenset([key for (key,) in connection.execute(query, values)])


def _insert(connection: sqlite3.Connection, entry: Entry) -> None:
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
    """Tell whether the file is at fault, and not the disk, its permissions or another server."""
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
