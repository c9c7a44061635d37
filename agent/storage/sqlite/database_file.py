"""One SQLite file: opening it, reading, writing a batch, closing it. All functions block; one thread uses it at a time.

The file is in WAL mode and every commit is synced, so a claim is on disk before its effect begins. A batch is one
transaction for any number of requests, so a slow sync is paid once. A request that is refused (its call has moved on),
or that is itself at fault (JSON cannot hold its result), fails alone, and the others are written: then the batch is run
again, with a savepoint for each request. A full disk or a locked or damaged database fails the whole batch, and nothing
is claimed. The files themselves are checked before and after (`trust.py`): a claim that went to files that cannot be
trusted is not won.

WAL and the owners' locks (`owners.py`) need a local disk: the folder must not be on a network share.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext, suppress
from errno import ENOTDIR
from math import inf
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, OperationalError, SQLAlchemyError

from ...errors import AgentError
from ...ports.clock import Clock
from ..backend import BAD_REQUEST, LOCK_WAIT, BatchReport, WriteRequest, reason, strip_traceback
from ..contents import DatabaseContents, OwnerFunctions
from ..ledger import LEDGER
from ..rows import OutcomeRequest
from ..stall_watch import Progress
from ..transaction import Transaction
from .commit_watch import CommitWatch
from .connection import (
    driver_of,
    execute_raw,
    make_engine,
    roll_back,
    savepoint,
    set_pragma,
    write_transaction,
)
from .header import NewerVersionError, check_version, refuse_newer
from .owners import LedgerOwner, find_abandoned, is_dead_owner, is_owner_at_work
from .trust import Trust, Untrusted, connect_afresh
from .upgrade import create_missing, read_version, stamp_version, upgrade_file

T = TypeVar("T")

OPEN_WAIT = 10.0
"""Seconds for another process's write while the file is opened: several servers start at once."""

_PRAGMAS = {
    "ledger": ("secure_delete=ON",),  # overwrites what users have forgotten
    # Overwrites erased words; sorts in memory, not in files; and cuts off the log that a killed process left.
    "memory": ("secure_delete=ON", "temp_store=MEMORY", "wal_checkpoint(TRUNCATE)"),
    "stories": ("secure_delete=ON", "temp_store=MEMORY", "wal_checkpoint(TRUNCATE)"),
}
"""The pragmas of each database by its name."""

_EMPTY_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"
_STILL_IN_LOG = "it is done, but another process reads, so that the log still has what was erased: try again"

FAULTS = (OSError, sqlite3.Error, SQLAlchemyError, Untrusted, NewerVersionError)
"""Errors of opening and reading, when the file or the disk is at fault."""


_STATEMENT_FAULTS = (
    sqlite3.DataError,
    sqlite3.IntegrityError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
)
AT_FAULT = (
    SQLAlchemyError,
    *_STATEMENT_FAULTS,
    *BAD_REQUEST,
)
"""Errors of a request that is itself at fault."""


class DatabaseFile:
    """The database in the folder `data`, or with `None` one in memory, which cannot lose its files.

    Implements `agent.storage.backend.Backend`.

    `clock` stamps the rows of dead owners. `contents` describes the file. `beside` says that this process has the file
    open already: then no code opens it directly, since closing it would drop the locks of the other connection.
    """

    def __init__(
        self, data: Path | None, clock: Clock, contents: DatabaseContents = LEDGER, beside: bool = False
    ) -> None:
        self.progress = Progress()
        self.faults: tuple[type[Exception], ...] = FAULTS
        self.in_order = True
        self.clock = clock
        self.upkeep_every = inf
        self.has_nodes = False
        self._beside = beside
        self._data = data
        self._contents = contents
        self._engine: sa.Engine | None = None
        self._connection: sa.Connection | None = None
        self._owner: LedgerOwner | None = None
        self._trust: Trust | None = None
        self._pruned = 0
        self._watch: CommitWatch | None = None

    def open(self) -> None:
        """Open the file, settle the work of dead processes, prune old rows; raises `FAULTS` if it cannot be used."""
        try:
            if self._data is not None:
                _make_folder(self._data)
            if self._data is not None and not self._beside:
                refuse_newer(self._data / self._contents.file, self._contents.version)
                _settle_if_alone(self._data / self._contents.file, self._contents, self.clock.now_ms())
            self._engine = make_engine(self._data and self._data / self._contents.file, OPEN_WAIT)
            self._connection = self._engine.connect()
            _enable_wal(self._connection)
            upgrade_file(self._connection, self._contents.steps)
            for pragma in ("synchronous=FULL", "foreign_keys=ON", *_PRAGMAS[self._contents.name]):
                set_pragma(self._connection, pragma)
            left: list[Path] = []
            with write_transaction(self._connection):
                check_version(self._contents.file, read_version(self._connection), self._contents.version)
                create_missing(self._connection, self._contents, self.clock.now_ms())
                stamp_version(self._connection, self._contents.version)
                if self._contents.owned is not None:
                    left = self._take_place(self._connection, self._contents.owned)
            set_pragma(self._connection, f"busy_timeout={round(LOCK_WAIT * 1000)}")
            for path in left:  # only now is it on disk that their owners hold no claim
                path.unlink(missing_ok=True)
            if self._data is not None:
                self._trust = Trust(self._data, LOCK_WAIT, self._contents.file)
            if self._data is not None and self._contents.watched and not self._beside:
                self._watch = CommitWatch(self._data / self._contents.file, driver_of(self._connection))
        except BaseException:
            self.close()
            raise

    def commit(self, requests: Sequence[WriteRequest]) -> BatchReport:
        """Write `requests` in one transaction. An empty batch writes too, to find out whether the file works."""
        if self._watch is None:
            return self._commit(requests)
        self._watch.begin_batch()
        try:
            return self._commit(requests)
        finally:
            self._watch.end_batch()

    def keep_up(self, documents: str) -> str:
        """Return "": the locks of the owners need no heartbeat."""
        return ""

    def count_foreign_commits(self) -> int | None:
        """Return a number that grows with each commit of another process, or `None` while that is unknown.

        The only function for the event loop: it never waits. A database in memory has no other process.
        """
        if self._data is None:
            return 0
        return None if self._watch is None else self._watch.count_commits()

    def _commit(self, requests: Sequence[WriteRequest]) -> BatchReport:
        report = BatchReport(answers=[None] * len(requests))
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
                    answers.append(strip_traceback(error))
        finally:
            self.progress.working = False
        return answers

    def close(self) -> None:
        """Close the file. The next process that opens it settles claims that have no outcome."""
        idle = False
        if self._connection is not None and self._owner is not None and self._contents.owned is not None:
            with suppress(*FAULTS):
                idle = self._owner.id not in self._contents.owned.at_work(self._connection)
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()
        connection, self._connection = self._connection, None
        engine, self._engine = self._engine, None
        owner, self._owner = self._owner, None
        trust, self._trust = self._trust, None
        if trust is not None:
            trust.close()
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
            self._owner = LedgerOwner(self._data, owned.folder)
            owned.settle(connection, [*filter(self._is_dead, owned.at_work(connection))], self.clock.now_ms())
            left = find_abandoned(self._data, owned.folder)
        self._pruned = owned.prune(connection, self.clock.now_ms(), 0)
        return left

    def _write(self, requests: Sequence[WriteRequest], report: BatchReport) -> list[str]:
        """Write the requests that can be written; return the ids that the ledger claimed."""
        try:
            return self._try_batch(requests, report, guarded=False)
        except _RequestFailed:
            if len(requests) == 1:
                return []
        report.refused.clear()
        report.faults.clear()
        report.erasing.clear()
        return self._try_batch(requests, report, guarded=True)

    def _try_batch(self, requests: Sequence[WriteRequest], report: BatchReport, guarded: bool) -> list[str]:
        """Run a batch in one transaction; return the ids that the ledger claimed.

        `guarded` gives each request a savepoint. Without, the first request that fails raises `_RequestFailed`, and
        nothing is written.
        """
        assert self._connection is not None, "the database is not open"
        place: LedgerOwner | None = None
        pruned, owned = self._pruned, self._contents.owned
        try:
            with write_transaction(self._connection):
                if self._data and owned and self._owner and not self._owner.has_lock_file:
                    place = LedgerOwner(self._data, owned.folder)
                    owned.move(self._connection, self._owner.id, place.id)
                owner = place or self._owner
                transaction = Transaction(
                    connection=self._connection, owner=owner.id if owner else "", dead=self._is_dead
                )
                _write_each(transaction, requests, report, self.progress, guarded)
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
        data, owned = self._data, self._contents.owned
        return data is not None and owned is not None and is_dead_owner(data, owner, owned.folder)

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


class _RequestFailed(Exception):
    """A request of a batch without savepoints has failed, so that its transaction is rolled back."""


def _write_each(
    transaction: Transaction,
    requests: Sequence[WriteRequest],
    report: BatchReport,
    progress: Progress,
    guarded: bool,
) -> None:
    for place, request in enumerate(requests):
        progress.steps += 1
        claimed = len(transaction.claimed)
        report.answers[place] = None
        transaction.noted.clear()
        try:
            with savepoint(transaction.connection) if guarded else nullcontext():
                report.answers[place] = request.write(transaction)
        except AgentError as error:
            report.refused[place] = strip_traceback(error)
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
        if not guarded:
            raise _RequestFailed


def _make_folder(data: Path) -> None:
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR)) from None


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


def _settle_if_alone(file: Path, contents: DatabaseContents, now: int) -> None:
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
            if not is_owner_at_work(reader, contents):
                return
        with engine.connect() as connection:
            set_pragma(connection, "locking_mode=EXCLUSIVE")
            upgrade_file(connection, contents.steps)
            with write_transaction(connection):
                create_missing(connection, contents, now)
                stamp_version(connection, contents.version)
                owned.settle(connection, owned.at_work(connection), now)
    except (sqlite3.OperationalError, OperationalError) as error:
        if "locked" not in reason(error):
            raise
    finally:
        engine.dispose()
