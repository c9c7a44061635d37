"""The ledger's SQLite file: opening it, writing a batch, closing it. All of it blocks; one thread at a time.

The file is in WAL mode and every commit is synced, so that a claim is on disk before its effect begins. A batch is
one transaction, whatever number of claims and outcomes it holds: a slow sync is paid once. A request that is itself
at fault (a result that JSON cannot hold) fails alone and the others are written without it; a disk that is full, a
database that is locked or damaged fails them all, and nothing was claimed. Before and after, the files themselves are
looked at (trust.py); a claim that was written to what cannot be trusted is not won.

WAL and the owners' locks (owners.py) need a local disk: the folder must not be on a network share.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from errno import ENOTDIR
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from ..ports.clock import Clock
from . import rows
from .owners import Owner, abandoned, proved_dead
from .rows import Claim, Record
from .trust import FILE, Trust, Untrusted, afresh

T = TypeVar("T")

OPEN_WAIT = (
    10.0  # seconds for another process's write while the file is opened: several servers start at once
)
LOCK_WAIT = 1.0  # seconds for another process's write; less than what the runner gives a claim or a record


class Newer(Exception):
    """The file was written by a version of this program that is newer."""

    def __str__(self) -> str:
        return f"{FILE} was written by a newer version"


FAULTS = (OSError, sqlite3.Error, SQLAlchemyError, Untrusted, Newer)
"""What opening and reading the file raise when the file or the disk is at fault."""


@dataclass(slots=True)
class Report:
    """What became of a batch.

    made: for each request, whether it made a row; with a `trouble` that is not to be relied on.
    faults: by place in the batch, why a request can never be written.
    trouble: why none of it counts; "" when it is on disk.
    """

    made: list[bool]
    faults: dict[int, str] = field(default_factory=dict)
    trouble: str = ""


class LedgerFile:
    """The database in the folder `data`, or with None one in memory, where nothing can get lost.

    clock: stamps the rows of dead owners when they are found lost.
    """

    def __init__(self, data: Path | None, clock: Clock) -> None:
        self._data = data
        self._clock = clock
        self._engine: sa.Engine | None = None
        self._connection: sa.Connection | None = None
        self._owner: Owner | None = None
        self._trust: Trust | None = None

    def open(self) -> None:
        """Open it, settle what dead processes left, forget what is old; raises `FAULTS` when it cannot be used."""
        try:
            if self._data is not None:
                _make_folder(self._data)
                _settle_if_alone(self._data, self._clock.now_ms())
            self._engine = _engine(self._data, OPEN_WAIT)
            self._connection = self._engine.connect()
            _to_wal(self._connection)
            self._connection.exec_driver_sql("PRAGMA synchronous=FULL")
            left: list[Path] = []
            with _transaction(self._connection):
                if rows.version(self._connection) > rows.SCHEMA:
                    raise Newer
                rows.prepare(self._connection)
                if self._data is not None:
                    left = self._take_place(self._connection, self._data)
                rows.prune(self._connection, self._clock.now_ms())
            self._connection.exec_driver_sql(f"PRAGMA busy_timeout={round(LOCK_WAIT * 1000)}")
            for path in left:  # not before it is on disk that their owners have claimed nothing
                path.unlink(missing_ok=True)
            if self._data is not None:
                self._trust = Trust(self._data, LOCK_WAIT)
        except BaseException:
            self.close()
            raise

    def commit(self, requests: Sequence[Claim | Record]) -> Report:
        """Write these in one transaction. Without any it writes all the same, to find out whether that works."""
        report = Report([False] * len(requests))
        try:
            if self._trust is not None:
                self._trust.check()
            self._write(requests, report)
            if self._trust is not None:
                made = zip(requests, report.made, strict=True)
                self._trust.read_back([request.suggestion_id for request, new in made if new])
                self._trust.check()
        except FAULTS as error:
            report.trouble = self._judge(error)
        return report

    def read(self, work: Callable[[sa.Connection], T]) -> T:
        """Do something that writes nothing; raises `FAULTS`."""
        assert self._connection is not None, "the ledger is not open"
        return work(self._connection)

    def close(self) -> None:
        """Close it. What was claimed and never recorded is from here on for the next to open to settle."""
        idle = False
        if self._connection is not None and self._owner is not None:
            with suppress(*FAULTS):
                idle = self._owner.id not in rows.owners_at_work(self._connection)
        connection, self._connection = self._connection, None
        engine, self._engine = self._engine, None
        owner, self._owner = self._owner, None
        if connection is not None:
            connection.close()
        if engine is not None:
            engine.dispose()
        if owner is not None:
            owner.leave(tidy=idle)

    def _take_place(self, connection: sa.Connection, data: Path) -> list[Path]:
        """Become an owner and settle what dead ones have claimed; return the files that they left."""
        self._owner = Owner(data)
        dead = [owner for owner in rows.owners_at_work(connection) if proved_dead(data, owner)]
        rows.call_lost(connection, dead, self._clock.now_ms())
        return abandoned(data)

    def _write(self, requests: Sequence[Claim | Record], report: Report) -> None:
        """Write all that can be written; a request that is at fault itself is left out of the next try."""
        while True:
            try:
                self._try(requests, report)
            except _AtFault as fault:
                report.faults[fault.place] = fault.why
            else:
                return

    def _try(self, requests: Sequence[Claim | Record], report: Report) -> None:
        assert self._connection is not None, "the ledger is not open"
        place: Owner | None = None
        try:
            with _transaction(self._connection):
                if self._data is not None and self._owner is not None and not self._owner.proved:
                    place = Owner(self._data)
                    rows.move(self._connection, self._owner.id, place.id)
                owner = place or self._owner
                made = _write_each(self._connection, requests, owner.id if owner else "", report.faults)
                if not requests:
                    rows.stamp(self._connection)
                if ends := [request.at for request in requests if isinstance(request, Record)]:
                    rows.prune(self._connection, max(ends))
        except BaseException:
            if place is not None:
                place.leave(tidy=True)
            raise
        report.made = made
        if place is not None and self._owner is not None:
            self._owner.leave(tidy=False)
            self._owner = place

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


class _AtFault(Exception):
    """A request that can never be written."""

    def __init__(self, place: int, why: str) -> None:
        super().__init__(why)
        self.place = place
        self.why = why


def reason(error: BaseException) -> str:
    """Return one line that says why, without a statement or its values."""
    cause = getattr(error, "orig", None) or error
    return (str(getattr(cause, "strerror", None) or cause) or type(cause).__name__).splitlines()[0]


def _write_each(
    connection: sa.Connection, requests: Sequence[Claim | Record], owner: str, left_out: dict[int, str]
) -> list[bool]:
    made = [False] * len(requests)
    for place, request in enumerate(requests):
        if place in left_out:
            continue
        try:
            made[place] = request.write(connection, owner)
        except (SQLAlchemyError, ArithmeticError, RuntimeError, TypeError, ValueError) as error:
            if type(error) in (OperationalError, DatabaseError):  # a lock, the disk, a damaged file
                raise
            raise _AtFault(place, reason(error)) from None
    return made


def _make_folder(data: Path) -> None:
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR)) from None


def _to_wal(connection: sa.Connection) -> None:
    """Keep a log beside the file, trying again for OPEN_WAIT seconds.

    SQLite itself does not wait for others here, so one of two servers that start at once would fail.
    """
    give_up = time.monotonic() + OPEN_WAIT
    while True:
        try:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        except OperationalError as error:
            if "locked" not in reason(error) or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
        else:
            return


def _settle_if_alone(data: Path, now: int) -> None:
    """Call every claimed row lost, when no other connection of any process has this database open.

    SQLite in WAL mode keeps a shared lock on the file for each connection, so who gets the exclusive one is alone.
    Whoever merely reads the file counts as alive too: then the rows are left to the owners' files.
    """
    if not (data / FILE).exists():
        return
    engine = _engine(data, 0.0)
    try:
        with closing(afresh(data / FILE, LOCK_WAIT)) as reader:
            if reader.execute("PRAGMA user_version").fetchone() != (rows.SCHEMA,):
                return
            if reader.execute("SELECT 1 FROM actions WHERE status = 'claimed' LIMIT 1").fetchone() is None:
                return
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA locking_mode=EXCLUSIVE")
            with _transaction(connection):
                rows.call_lost(connection, rows.owners_at_work(connection), now)
    except (sqlite3.OperationalError, OperationalError) as error:
        if "locked" not in reason(error):
            raise
    finally:
        engine.dispose()


@contextmanager
def _transaction(connection: sa.Connection) -> Iterator[None]:
    """A write transaction, committed at the end of the block, or rolled back, whatever ended it."""
    _roll_back(connection)  # what a rollback that failed has left open
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    try:
        yield
        connection.exec_driver_sql("COMMIT")
    except BaseException:
        with suppress(SQLAlchemyError):
            _roll_back(connection)
        raise


def _roll_back(connection: sa.Connection) -> None:
    raw = connection.connection.driver_connection
    if raw is not None and raw.in_transaction:
        connection.exec_driver_sql("ROLLBACK")


def _engine(data: Path | None, patience: float) -> sa.Engine:
    url = sa.URL.create("sqlite", database=":memory:" if data is None else str(data / FILE))
    return sa.create_engine(
        url,
        poolclass=StaticPool,
        isolation_level="AUTOCOMMIT",
        connect_args={"check_same_thread": False, "timeout": patience},
    )
