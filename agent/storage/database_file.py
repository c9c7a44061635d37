"""One SQLite file: opening it, reading, writing a batch, closing it. All functions block; one thread uses it at a time.

The file is in WAL mode and every commit is synced, so a claim is on disk before its effect begins. A batch is one
transaction for any number of requests, so a slow sync is paid once. Each request has a savepoint in it: a request that
is refused (its call has moved on), or that is itself at fault (JSON cannot hold its result), fails alone, and the
others are written. A full disk or a locked or damaged database fails the whole batch, and nothing is claimed. The files
themselves are checked before and after (`trust.py`): a claim that went to files that cannot be trusted is not won.

WAL and the owners' locks (`database_file.py`) need a local disk: the folder must not be on a network share.

Locks of owners: the proof that the process behind a claim is dead.

A process that dies between claim and record leaves a row that says claimed and never changes. Each open ledger is an
owner: it holds an exclusive `flock` on a file `owners/<name>` for as long as it lives, and writes its id,
`<name>.<inode>`, into the rows that it claims. The kernel drops the lock when the process ends, however it ends. So

- the file exists, has that inode, and its lock can be taken: the owner is dead;
- the lock is held: the owner lives;
- the file is missing or has another inode (a backup was restored, someone tidied up): that proves nothing, and the
  owner's rows are left alone. An owner removes its own file only when no row says that it is running something.

A lost file must not keep a dead owner's rows claimed for ever, so there is a second proof, which needs only the
database: SQLite holds a shared lock on it for every process that has it open. A process that gets the exclusive lock is
alone, and then every other owner is dead (`_settle_if_alone`). A living owner whose file is gone
notices at its next claim: it takes a new place and moves its rows there, in the transaction of that claim.

No clock, heartbeat or process id is trusted. One case remains: a file was lost, its process died before its next claim,
and the other processes are never all down at once. Then those rows stay claimed, which is never wrong, only late.
"""

import fcntl
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from errno import ENOTDIR
from pathlib import Path
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, OperationalError, SQLAlchemyError

from ..errors import AgentError
from ..ports.clock import Clock
from .connection import execute_raw, make_engine, roll_back, savepoint, set_pragma, write_transaction
from .file_contents import FileContents, OwnerFunctions, read_version, stamp_version
from .ledger import LEDGER
from .migrations import upgrade_file
from .rows import OutcomeRequest
from .stall_watch import Progress
from .transaction import Transaction
from .trust import Trust, Untrusted, connect_afresh

FOLDER = "owners"


class LedgerOwner:
    """A place among the living, held until `leave` or the end of the process. All methods block.

    `data` is the ledger's folder, in which `owners/` is made. Create an `Owner` inside a write transaction: tidying up
    happens in one too, and so never sees a file whose lock is not held yet.
    """

    def __init__(self, data: Path) -> None:
        places = data / FOLDER
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


def is_dead_owner(data: Path, owner: str) -> bool:
    """Return whether an owner has certainly ended: its very file exists, and its lock is free."""
    name, _, inode = owner.rpartition(".")
    try:
        file = os.open(data / FOLDER / name, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return str(os.fstat(file).st_ino) == inode and _is_unlocked(file)
    finally:
        os.close(file)


def find_abandoned(data: Path) -> list[Path]:
    """Return the files with a free lock. Remove them only once no row is claimed by their owners."""
    abandoned = []
    for path in (data / FOLDER).iterdir():
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


T = TypeVar("T")
E = TypeVar("E", bound=Exception)

OPEN_WAIT = (
    10.0  # seconds for another process's write while the file is opened: several servers start at once
)
LOCK_WAIT = 1.0  # seconds for another process's write; less than the runner's time for a claim or a record

_EMPTY_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"
_STILL_IN_LOG = "it is done, but another process reads, so that the log still has what was erased: try again"

_SQLITE = (
    b"SQLite format 3\0"  # how a header begins; https://www.sqlite.org/fileformat2.html#the_database_header
)
_VERSION = slice(60, 64)  # of a header


class NewerVersionError(Exception):
    """The file has a schema that only a newer version of this program reads; the message gives the remedy."""

    def __init__(self, file: str, schema: int, known: int) -> None:
        super().__init__(
            f"{file} has schema {schema}, written by a newer version, and this version reads schemas up to {known}: "
            "run the newer version"
        )


FAULTS = (OSError, sqlite3.Error, SQLAlchemyError, Untrusted, NewerVersionError)
"""Errors of opening and reading, when the file or the disk is at fault."""


AT_FAULT = (SQLAlchemyError, ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)
"""Errors of a request that is itself at fault."""


class WriteRequest(Protocol):
    """A request to write."""

    def write(self, transaction: Transaction) -> Any:
        """Write the request and return the answer for its caller; raises `AgentError` when it is refused."""
        ...


@dataclass(slots=True)
class BatchReport:
    """The result of a batch.

    `answers` holds the return value of each request; with a `trouble` they count for nothing. `refused` maps the place
    of a request in the batch to the error that refused it; `faults` maps a place to the reason why the request can
    never be written. `erasing` lists the places of requests that take words out of the file. `trouble` is the reason
    why the batch failed, "" once it is on disk.
    """

    answers: list[Any]
    refused: dict[int, AgentError] = field(default_factory=dict)
    faults: dict[int, str] = field(default_factory=dict)
    erasing: list[int] = field(default_factory=list)
    trouble: str = ""


class DatabaseFile:
    """The database in the folder `data`, or with `None` one in memory, which cannot lose its files.

    `clock` stamps the rows of dead owners. `contents` describes the file. `beside` says that this process has the file
    open already: then no code opens it directly, since closing it would drop the locks of the other connection.
    """

    def __init__(
        self, data: Path | None, clock: Clock, contents: FileContents = LEDGER, beside: bool = False
    ) -> None:
        self.progress = Progress()
        self._beside = beside
        self._data = data
        self._clock = clock
        self._contents = contents
        self._engine: sa.Engine | None = None
        self._connection: sa.Connection | None = None
        self._owner: LedgerOwner | None = None
        self._trust: Trust | None = None
        self._pruned = 0

    def open(self) -> None:
        """Open the file, settle the work of dead processes, prune old rows; raises `FAULTS` if it cannot be used."""
        try:
            if self._data is not None:
                _make_folder(self._data)
            if self._data is not None and not self._beside:
                _refuse_newer(self._data / self._contents.file, self._contents.version)
                _settle_if_alone(self._data / self._contents.file, self._contents, self._clock.now_ms())
            self._engine = make_engine(self._data and self._data / self._contents.file, OPEN_WAIT)
            self._connection = self._engine.connect()
            _enable_wal(self._connection)
            upgrade_file(self._connection, self._contents.steps)
            for pragma in ("synchronous=FULL", "foreign_keys=ON", *self._contents.pragmas):
                set_pragma(self._connection, pragma)
            left: list[Path] = []
            with write_transaction(self._connection):
                _check_version(self._contents.file, read_version(self._connection), self._contents.version)
                self._contents.prepare(self._connection, self._clock.now_ms())
                stamp_version(self._connection, self._contents.version)
                if self._contents.owned is not None:
                    left = self._take_place(self._connection, self._contents.owned)
            set_pragma(self._connection, f"busy_timeout={round(LOCK_WAIT * 1000)}")
            for path in left:  # only now is it on disk that their owners hold no claim
                path.unlink(missing_ok=True)
            if self._data is not None:
                self._trust = Trust(self._data, LOCK_WAIT, self._contents.file)
        except BaseException:
            self.close()
            raise

    def commit(self, requests: Sequence[WriteRequest]) -> BatchReport:
        """Write `requests` in one transaction. An empty batch writes too, to find out whether the file works."""
        report = BatchReport([None] * len(requests))
        self.progress.working = True
        try:
            if self._trust is not None:
                self._trust.check()
            claimed = self._write(requests, report)
            if report.erasing:
                self._empty_log(report)
            if self._trust is not None:
                if claimed or not requests or any(isinstance(each, OutcomeRequest) for each in requests):
                    self._trust.read_back(claimed)
                self._trust.check()
        except FAULTS as error:
            report.trouble = self._judge(error)
        finally:
            self.progress.working = False
        return report

    def read(self, work: Callable[[sa.Connection], T]) -> T:
        """Return the result of `work` on one state of the database; raises `FAULTS` and the errors of `work`."""
        assert self._connection is not None, "the database is not open"
        roll_back(self._connection)
        execute_raw(self._connection, "BEGIN")
        try:
            return work(self._connection)
        finally:
            roll_back(self._connection)

    def read_each(self, works: Sequence[Callable[[sa.Connection], Any]]) -> list[Any]:
        """Run several reads; return for each its result or the error that it raised."""
        answers = []
        self.progress.working = True
        try:
            for work in works:
                self.progress.steps += 1
                try:
                    answers.append(self.read(work))
                except (AgentError, *FAULTS, *AT_FAULT) as error:
                    answers.append(_strip_traceback(error))
        finally:
            self.progress.working = False
        return answers

    def close(self) -> None:
        """Close the file. The next process that opens it settles claims that have no outcome."""
        idle = False
        if self._connection is not None and self._owner is not None and self._contents.owned is not None:
            with suppress(*FAULTS):
                idle = self._owner.id not in self._contents.owned.at_work(self._connection)
        connection, self._connection = self._connection, None
        engine, self._engine = self._engine, None
        owner, self._owner = self._owner, None
        if connection is not None:
            connection.close()
        if engine is not None:
            engine.dispose()
        if owner is not None:
            owner.leave(tidy=idle)

    def _take_place(self, connection: sa.Connection, owned: OwnerFunctions) -> list[Path]:
        """Become an owner, settle dead owners, prune old rows; return the files of dead owners."""
        left: list[Path] = []
        if self._data is not None:
            self._owner = LedgerOwner(self._data)
            owned.settle(
                connection, [*filter(self._is_dead, owned.at_work(connection))], self._clock.now_ms()
            )
            left = find_abandoned(self._data)
        self._pruned = owned.prune(connection, self._clock.now_ms(), 0)
        return left

    def _write(self, requests: Sequence[WriteRequest], report: BatchReport) -> list[str]:
        """Write the requests that can be written; return the ids that the ledger claimed."""
        assert self._connection is not None, "the database is not open"
        place: LedgerOwner | None = None
        pruned, owned = self._pruned, self._contents.owned
        try:
            with write_transaction(self._connection):
                if self._data and owned and self._owner and not self._owner.has_lock_file:
                    place = LedgerOwner(self._data)
                    owned.move(self._connection, self._owner.id, place.id)
                owner = place or self._owner
                transaction = Transaction(self._connection, owner.id if owner else "", self._is_dead)
                _write_each(transaction, requests, report, self.progress)
                if not requests:  # the same number: a newer process may have upgraded the file meanwhile
                    stamp_version(self._connection, read_version(self._connection))
                ends = [request.at for request in requests if isinstance(request, OutcomeRequest)]
                if ends and owned:
                    pruned = owned.prune(self._connection, max(ends), pruned)
        except BaseException:
            if place is not None:
                place.leave(tidy=True)
            raise
        self._pruned = pruned
        if place is not None and self._owner is not None:
            self._owner.leave(tidy=False)
            self._owner = place
        return transaction.claimed

    def _empty_log(self, report: BatchReport) -> None:
        """Truncate the log, which holds earlier copies of pages; a failure is a fault of the requests that erase."""
        assert self._connection is not None, "the database is not open"
        try:
            busy, *_ = self._connection.exec_driver_sql(_EMPTY_LOG).one()
        except OperationalError as error:  # the other requests of the batch are on disk
            report.faults |= dict.fromkeys(report.erasing, reason(error))
        else:
            if busy:
                report.faults |= dict.fromkeys(report.erasing, _STILL_IN_LOG)

    def _is_dead(self, owner: str) -> bool:
        return self._data is not None and is_dead_owner(self._data, owner)

    def _judge(self, error: BaseException) -> str:
        """Return the reason why a batch failed. A file that SQLite finds damaged is not tried again."""
        why = reason(error)
        cause = getattr(error, "orig", None) or error
        if self._trust is not None and type(cause) is sqlite3.DatabaseError:
            try:
                self._trust.spoil(why)
            except Untrusted as spoiled:
                return str(spoiled)
        return why


def reason(error: BaseException) -> str:
    """Return the cause of `error` in one line, without its statement and values."""
    cause = getattr(error, "orig", None) or error
    return (str(getattr(cause, "strerror", None) or cause) or type(cause).__name__).splitlines()[0]


def _strip_traceback(error: E) -> E:
    """Return `error` without its traceback and causes.

    These hold statements. A thread that drops the last reference would end the statements, and so wait for the database
    and its disk.
    """
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def _write_each(
    transaction: Transaction, requests: Sequence[WriteRequest], report: BatchReport, progress: Progress
) -> None:
    for place, request in enumerate(requests):
        progress.steps += 1
        claimed = len(transaction.claimed)
        try:
            with savepoint(transaction.connection):
                report.answers[place] = request.write(transaction)
        except AgentError as error:
            report.refused[place] = _strip_traceback(error)
        except AT_FAULT as error:
            if type(error) in (OperationalError, DatabaseError):  # a lock, the disk, a damaged file
                raise
            report.faults[place] = reason(error)
        else:
            if transaction.erases:
                report.erasing.append(place)
            transaction.erases = False
            continue
        transaction.erases = False
        del transaction.claimed[claimed:]


def _make_folder(data: Path) -> None:
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR)) from None


def _refuse_newer(file: Path, known: int) -> None:
    """Raise `NewerVersionError` if the header names a newer schema, before SQLite opens the file and changes a byte."""
    with suppress(FileNotFoundError), file.open("rb") as opened:
        header = opened.read(_VERSION.stop)
        if header.startswith(_SQLITE):
            _check_version(file.name, int.from_bytes(header[_VERSION], "big"), known)


def _check_version(file: str, schema: int, known: int) -> None:
    if schema > known:
        raise NewerVersionError(file, schema, known)


def _enable_wal(connection: sa.Connection) -> None:
    """Switch the file to WAL mode, trying again for `OPEN_WAIT` seconds.

    SQLite itself does not wait for other processes here, so one of two servers that start at once would fail.
    """
    give_up = time.monotonic() + OPEN_WAIT
    while True:
        try:
            set_pragma(connection, "journal_mode=WAL")
        except OperationalError as error:
            if "locked" not in reason(error) or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
        else:
            return


def _settle_if_alone(file: Path, contents: FileContents, now: int) -> None:
    """Settle the rows of every owner if no other connection of any process has this database open.

    SQLite in WAL mode holds a shared lock on the file for each connection, so the process that gets the exclusive lock
    is alone. A process that only reads the file counts as alive too: then the owners' files decide.
    """
    owned = contents.owned
    if owned is None or not file.exists():
        return
    engine = make_engine(file, 0.0)
    try:
        with closing(connect_afresh(file, LOCK_WAIT)) as reader:
            if not owned.anybody_at_work(reader):
                return
        with engine.connect() as connection:
            set_pragma(connection, "locking_mode=EXCLUSIVE")
            upgrade_file(connection, contents.steps)
            with write_transaction(connection):
                contents.prepare(connection, now)
                stamp_version(connection, contents.version)
                owned.settle(connection, owned.at_work(connection), now)
    except (sqlite3.OperationalError, OperationalError) as error:
        if "locked" not in reason(error):
            raise
    finally:
        engine.dispose()
