"""The SQLite file: opening it, reading, writing a batch, closing it. All of it blocks; one thread at a time.

The file is in WAL mode and every commit is synced, so that a claim is on disk before its effect begins. A batch is
one transaction, whatever number of requests it holds: a slow sync is paid once. Each request has a savepoint in it:
one that is refused (a call that has gone on meanwhile), or itself at fault (a result that JSON cannot hold), fails
alone, and the others are written without it. A disk that is full, a database that is locked or damaged fails them
all, and nothing was claimed. Before and after, the files themselves are looked at (trust.py); a claim that was written
to what cannot be trusted is not won.

WAL and the owners' locks (owners.py) need a local disk: the folder must not be on a network share.
"""

import os
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
from .connection import command, connecting, roll_back, savepoint, set_pragma, written
from .contents import Contents, Owned, stamp, version
from .ledger import LEDGER
from .owners import Owner, abandoned, proved_dead
from .rows import Record
from .stall import Progress
from .transaction import Transaction
from .trust import Trust, Untrusted, afresh

T = TypeVar("T")
E = TypeVar("E", bound=Exception)

OPEN_WAIT = (
    10.0  # seconds for another process's write while the file is opened: several servers start at once
)
LOCK_WAIT = 1.0  # seconds for another process's write; less than what the runner gives a claim or a record

_EMPTY_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"
_STILL_IN_LOG = "it is done, but another process reads, so that the log still has what was erased: try again"

_SQLITE = (
    b"SQLite format 3\0"  # how a header begins; https://www.sqlite.org/fileformat2.html#the_database_header
)
_VERSION = slice(60, 64)  # of a header


class Newer(Exception):
    """The file was written by a version of this program that is newer."""

    def __init__(self, file: str) -> None:
        super().__init__(f"{file} was written by a newer version")


FAULTS = (OSError, sqlite3.Error, SQLAlchemyError, Untrusted, Newer)
"""What opening and reading the file raise when the file or the disk is at fault."""


AT_FAULT = (SQLAlchemyError, ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)
"""What a request raises that is at fault itself."""


class Request(Protocol):
    """Something to be written."""

    def write(self, transaction: Transaction) -> Any:
        """Write it, and return what its caller is answered; raises `AgentError` when it is refused."""
        ...


@dataclass(slots=True)
class Report:
    """What became of a batch.

    answers: for each request, what it returned; with a `trouble` that is not to be relied on.
    refused: by place in the batch, why a request was not written. faults: why one can never be written. erasing:
    places of those that take words out of the file.
    trouble: why none of it counts; "" when it is on disk.
    """

    answers: list[Any]
    refused: dict[int, AgentError] = field(default_factory=dict)
    faults: dict[int, str] = field(default_factory=dict)
    erasing: list[int] = field(default_factory=list)
    trouble: str = ""


class DatabaseFile:
    """The database in the folder `data`, or with None one in memory, where nothing can get lost.

    clock: stamps the rows of dead owners when they are found lost. contents: what it holds. beside: this process has it
    open already, so that nothing of it is read by hand: closing that would drop the locks of the other connection.
    """

    def __init__(
        self, data: Path | None, clock: Clock, contents: Contents = LEDGER, beside: bool = False
    ) -> None:
        self.progress = Progress()
        self._beside = beside
        self._data = data
        self._clock = clock
        self._contents = contents
        self._engine: sa.Engine | None = None
        self._connection: sa.Connection | None = None
        self._owner: Owner | None = None
        self._trust: Trust | None = None
        self._pruned = 0

    def open(self) -> None:
        """Open it, settle what dead processes left, forget what is old; raises `FAULTS` when it cannot be used."""
        try:
            if self._data is not None:
                _make_folder(self._data)
            if self._data is not None and not self._beside:
                _refuse_newer(self._data / self._contents.file, self._contents.version)
                _settle_if_alone(self._data / self._contents.file, self._contents, self._clock.now_ms())
            self._engine = connecting(self._data and self._data / self._contents.file, OPEN_WAIT)
            self._connection = self._engine.connect()
            _to_wal(self._connection)
            for pragma in ("synchronous=FULL", "foreign_keys=ON", *self._contents.pragmas):
                set_pragma(self._connection, pragma)
            left: list[Path] = []
            with written(self._connection):
                if version(self._connection) > self._contents.version:
                    raise Newer(self._contents.file)
                self._contents.prepare(self._connection, self._clock.now_ms())
                stamp(self._connection, self._contents.version)
                if self._contents.owned is not None:
                    left = self._take_place(self._connection, self._contents.owned)
            set_pragma(self._connection, f"busy_timeout={round(LOCK_WAIT * 1000)}")
            for path in left:  # not before it is on disk that their owners have claimed nothing
                path.unlink(missing_ok=True)
            if self._data is not None:
                self._trust = Trust(self._data, LOCK_WAIT, self._contents.file)
        except BaseException:
            self.close()
            raise

    def commit(self, requests: Sequence[Request]) -> Report:
        """Write these in one transaction. Without any it writes all the same, to find out whether that works."""
        report = Report([None] * len(requests))
        self.progress.working = True
        try:
            if self._trust is not None:
                self._trust.check()
            claimed = self._write(requests, report)
            if report.erasing:
                self._empty_log(report)
            if self._trust is not None:
                if claimed or not requests or any(isinstance(each, Record) for each in requests):
                    self._trust.read_back(claimed)
                self._trust.check()
        except FAULTS as error:
            report.trouble = self._judge(error)
        finally:
            self.progress.working = False
        return report

    def read(self, work: Callable[[sa.Connection], T]) -> T:
        """Do something that writes nothing, and sees one state of the database; raises `FAULTS`, and what it does."""
        assert self._connection is not None, "the database is not open"
        roll_back(self._connection)
        command(self._connection, "BEGIN")
        try:
            return work(self._connection)
        finally:
            roll_back(self._connection)

    def read_each(self, works: Sequence[Callable[[sa.Connection], Any]]) -> list[Any]:
        """Read for several at once; return for each what it returned, or the error that it raised."""
        answers = []
        self.progress.working = True
        try:
            for work in works:
                self.progress.steps += 1
                try:
                    answers.append(self.read(work))
                except (AgentError, *FAULTS, *AT_FAULT) as error:
                    answers.append(_bare(error))
        finally:
            self.progress.working = False
        return answers

    def close(self) -> None:
        """Close it. What was claimed and never recorded is from here on for the next to open to settle."""
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

    def _take_place(self, connection: sa.Connection, owned: Owned) -> list[Path]:
        """Become an owner, settle what dead ones have left, forget what is old; return the files that they left."""
        left: list[Path] = []
        if self._data is not None:
            self._owner = Owner(self._data)
            owned.settle(connection, [*filter(self._dead, owned.at_work(connection))], self._clock.now_ms())
            left = abandoned(self._data)
        self._pruned = owned.prune(connection, self._clock.now_ms(), 0)
        return left

    def _write(self, requests: Sequence[Request], report: Report) -> list[str]:
        """Write all that can be written; return the ids of the rows that the ledger got."""
        assert self._connection is not None, "the database is not open"
        place: Owner | None = None
        pruned, owned = self._pruned, self._contents.owned
        try:
            with written(self._connection):
                if self._data and owned and self._owner and not self._owner.proved:
                    place = Owner(self._data)
                    owned.move(self._connection, self._owner.id, place.id)
                owner = place or self._owner
                transaction = Transaction(self._connection, owner.id if owner else "", self._dead)
                _write_each(transaction, requests, report, self.progress)
                if not requests:
                    stamp(self._connection, self._contents.version)
                ends = [request.at for request in requests if isinstance(request, Record)]
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

    def _empty_log(self, report: Report) -> None:
        """Cut off the log, which holds pages as they were; where that fails, it is who erases that is told."""
        assert self._connection is not None, "the database is not open"
        try:
            busy, *_ = self._connection.exec_driver_sql(_EMPTY_LOG).one()
        except OperationalError as error:  # what was written in the same batch is written
            report.faults |= dict.fromkeys(report.erasing, reason(error))
        else:
            if busy:
                report.faults |= dict.fromkeys(report.erasing, _STILL_IN_LOG)

    def _dead(self, owner: str) -> bool:
        return self._data is not None and proved_dead(self._data, owner)

    def _judge(self, error: BaseException) -> str:
        """Return why a batch failed. A file that SQLite finds damaged is not tried again."""
        why = reason(error)
        cause = getattr(error, "orig", None) or error
        if self._trust is not None and type(cause) is sqlite3.DatabaseError:
            try:
                self._trust.spoil(why)
            except Untrusted as spoiled:
                return str(spoiled)
        return why


def reason(error: BaseException) -> str:
    """Return one line that says why, without a statement or its values."""
    cause = getattr(error, "orig", None) or error
    return (str(getattr(cause, "strerror", None) or cause) or type(cause).__name__).splitlines()[0]


def _bare(error: E) -> E:
    """Return an error that holds nothing of where it was raised.

    That holds statements; whichever thread let go of it would end them, and wait for the database and its disk.
    """
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def _write_each(
    transaction: Transaction, requests: Sequence[Request], report: Report, progress: Progress
) -> None:
    for place, request in enumerate(requests):
        progress.steps += 1
        claimed = len(transaction.claimed)
        try:
            with savepoint(transaction.connection):
                report.answers[place] = request.write(transaction)
        except AgentError as error:
            report.refused[place] = _bare(error)
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
    """Raise `Newer` for a file whose header says so: before it is opened, so that it stays as it is, byte for byte."""
    with suppress(FileNotFoundError), file.open("rb") as opened:
        header = opened.read(_VERSION.stop)
        if header.startswith(_SQLITE) and int.from_bytes(header[_VERSION], "big") > known:
            raise Newer(file.name)


def _to_wal(connection: sa.Connection) -> None:
    """Keep a log beside the file, trying again for OPEN_WAIT seconds.

    SQLite itself does not wait for others here, so one of two servers that start at once would fail.
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


def _settle_if_alone(file: Path, contents: Contents, now: int) -> None:
    """Settle what every owner has left, when no other connection of any process has this database open.

    SQLite in WAL mode keeps a shared lock on the file for each connection, so who gets the exclusive one is alone.
    Whoever merely reads the file counts as alive too: then the rows are left to the owners' files.
    """
    owned = contents.owned
    if owned is None or not file.exists():
        return
    engine = connecting(file, 0.0)
    try:
        with closing(afresh(file, LOCK_WAIT)) as reader:
            if not owned.anybody_at_work(reader):
                return
        with engine.connect() as connection:
            set_pragma(connection, "locking_mode=EXCLUSIVE")
            with written(connection):
                contents.prepare(connection, now)
                stamp(connection, contents.version)
                owned.settle(connection, owned.at_work(connection), now)
    except (sqlite3.OperationalError, OperationalError) as error:
        if "locked" not in reason(error):
            raise
    finally:
        engine.dispose()
