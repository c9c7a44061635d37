"""One database on a PostgreSQL server: opening it, reading, writing a batch, closing it. All functions block.

A batch is one SERIALIZABLE transaction, so that the rows that a request has read are unchanged when its changes are
committed, despite other writers. A transaction that the server cannot put in an order is run again: requests are
functions of the database and their values, so a run that is rolled back has no effects. A batch that fails twice is
run request by request, and a request again and again for `RETRY_FOR` seconds; so two requests that always meet delay
each other, and no third. The second run finds the row of the first one's rival, and gets the refusal that SQLite, which
has one writer, gives at once.

A request that is refused or itself at fault fails alone. The first run of a batch has no savepoints, which cost two
round trips each: when one of its requests fails, the second run has a savepoint for each.

An answer that does not come says nothing: the server may have committed. The report then has its `trouble`, and the
answers as they were; so a claim that may be written is recorded cancelled once the server answers again, and nothing
has run on it (`database.py`). The connection is thrown away after any fault of the server or the network, and made anew
with the next batch, read or heartbeat. A statement that only took too long leaves it: with its connection the process
would lose the lock of its place among the nodes (`node.py`), which it then takes again.
"""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

import sqlalchemy as sa
import structlog

from ...config import RECORD_TIMEOUT
from ...errors import AgentError
from ...ports.clock import Clock
from ..backend import BAD_REQUEST, BatchReport, WriteRequest, strip_traceback
from ..contents import DatabaseContents
from ..ledger import LEDGER
from ..rows import OutcomeRequest
from ..settings import HEARTBEAT
from ..stall_watch import Progress
from ..transaction import Transaction
from .connecting import (
    BEGIN,
    BEGIN_READ,
    RETRY_PAUSE,
    ServerClock,
    attempts_at,
    connect,
    driver_of,
    make_engine,
)
from .declarations import OF_WORDS
from .faults import FAULTS, Unusable, explain, explain_start, is_conflict, is_of_request, took_too_long
from .membership import NodeMembership
from .node import SILENT_AFTER
from .schemas import prepare_schema, schema_name
from .standbys import read_standbys
from .word_vacuum import WordVacuum

T = TypeVar("T")

RETRY_FOR: Final = RECORD_TIMEOUT  # seconds in which a transaction that others' writes undo is run again
START_FOR: Final = 15.0  # ... of a start, for which no user waits: many servers may start at once
SAME_KEY: Final = 3  # runs of one request that finds a row of the same key; then it is at fault itself
CLOCK_TOLD, CLOCK_REFUSED = 500, 5_000
"""The milliseconds by which this machine's clock and the server's differ when it is logged, and when it is refused."""
CLOCK_EVERY: Final = 60.0  # seconds between two looks at the server's clock

_ANY_FAULT: Final[tuple[type[Exception], ...]] = (*FAULTS, Unusable, *BAD_REQUEST)
_BUSY: Final = "others write the same at the same time: try again"
_CLOCK: Final = "the clocks of this machine and of the server differ by {:.1f} s: set them right"

_log = structlog.get_logger("agent.storage")


class PostgresDatabase:
    """The database `contents` on the server of `url` (implements `agent.storage.backend.Backend`).

    `clock` is this machine's, and that of the attribute of the same name goes by the server's. `beside` says that this
    process writes the database over another object: then it takes no place among the nodes. Without `checks_clock` this
    machine's clock is taken as it is. `needs_sync` refuses a server without a synchronous standby.
    """

    def __init__(
        self,
        url: str,
        clock: Clock,
        contents: DatabaseContents = LEDGER,
        beside: bool = False,
        checks_clock: bool = True,
        needs_sync: bool = False,
    ) -> None:
        self.progress = Progress()
        self.faults: tuple[type[Exception], ...] = (*FAULTS, Unusable)
        self.in_order = False
        self.has_nodes = contents.owned is not None and not beside
        self.upkeep_every = HEARTBEAT
        self.clock = ServerClock(clock)
        silent_after = SILENT_AFTER if self.has_nodes else 0.0
        self._engine = make_engine(url, schema_name(contents), silent_after)
        self._attempts = attempts_at(url)
        self._was_open = False
        self._contents = contents
        self._beside = beside
        self._checks_clock = checks_clock
        self._needs_sync = needs_sync
        self._connection: sa.Connection | None = None
        self._node = NodeMembership(contents.owned, self.clock) if contents.owned is not None else None
        self._documents = ""  # the digest that the heartbeat shows
        self._clock_at = 0.0  # when the server's clock is looked at again
        self._clock_told = False
        self._pruned = 0
        words = OF_WORDS.intersection(contents.tables.tables)
        self._vacuum = WordVacuum(partial(connect, url, schema_name(contents)), words)

    def open(self) -> None:
        """Connect, make or upgrade the tables, settle the work of dead processes; raises `Unusable`."""
        try:
            connection = self._connect()
            self._was_open = True
            if self._checks_clock and abs(self._check_clock(connection)) > CLOCK_REFUSED:
                raise Unusable(_CLOCK.format(abs(self.clock.ahead) / 1000))
            if not self._beside:
                if self.has_nodes:
                    self._check_standbys(connection)
                prepare_schema(connection, self._contents, self.clock.now_ms())
            if self.has_nodes:
                self._join(connection)
                self._settle(patience=START_FOR)
        except BaseException as error:
            self.close()
            if isinstance(error, self.faults):
                raise Unusable(explain_start(error)) from None
            raise

    def commit(self, requests: Sequence[WriteRequest]) -> BatchReport:
        """Write `requests`, in one transaction or one by one. An empty batch finds out whether the server works."""
        report = BatchReport(answers=[None] * len(requests))
        self.progress.working = True
        try:
            self._write(requests, report)
        except self.faults as error:
            report.trouble = explain(error)
            self._recover(error)
        finally:
            self.progress.working = False
        return report

    def keep_up(self, documents: str) -> str:
        """Show a heartbeat, end the work of nodes that have died, and look at the clock; return the trouble, or ""."""
        self._documents = documents
        self.progress.working = True
        try:
            self._keep_up()
        except self.faults as error:
            self._recover(error)
            return "" if is_conflict(error) else explain(error)  # with the next heartbeat then
        finally:
            self.progress.working = False
        return ""

    def read_each(self, works: Sequence[Callable[[sa.Connection], Any]]) -> list[Any]:
        """Run several reads, each on one state of the database; return for each its result or its error."""
        answers: list[Any] = []
        self.progress.working = True
        try:
            for work in works:
                self.progress.steps += 1
                answers.append(self._read(work))
        finally:
            self.progress.working = False
        return answers

    def count_foreign_commits(self) -> int | None:
        """Return `None`: other processes' commits are not counted."""
        return None

    def close(self) -> None:
        """End the unfinished work of this process, give up its place, and close the connection.

        Without a connection another node does so, once this process counts as dead.
        """
        place = self._node.place if self._node is not None else None
        if self._node is not None:
            self._node.place = None
        if place is not None and self._connection is not None:
            with suppress(*self.faults):
                self._settle([place.id])
        if self._connection is not None:
            self._vacuum.close()
        self._drop_connection()
        self._engine.dispose()

    # --- connection

    def _connect(self) -> sa.Connection:
        """Return the connection, made anew after a fault."""
        if self._connection is None:
            connect = self._engine.connect
            self._connection = self._attempts.connect_again(connect) if self._was_open else connect()
            if self._node is not None and self._node.place is not None:
                try:
                    self._join(self._connection)
                except BaseException:
                    self._drop_connection()
                    raise
        return self._connection

    def _join(self, connection: sa.Connection) -> None:
        assert self._node is not None
        self._node.join(driver_of(connection), self._documents)

    def _recover(self, error: BaseException) -> None:
        """End the transaction that failed; throw the connection away unless its statement only took too long."""
        if took_too_long(error) and self._connection is not None:
            with suppress(*self.faults):
                driver_of(self._connection).execute("ROLLBACK")
                return
        self._drop_connection()

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*self.faults):
                if not connection.invalidated:
                    driver_of(connection).close()
                    connection.invalidate()
                connection.close()

    def _check_clock(self, connection: sa.Connection) -> int:
        """Set the clock by the server's; return by how many milliseconds the server's is ahead of this machine's."""
        self._clock_at = time.monotonic() + CLOCK_EVERY
        ahead = self.clock.measure(driver_of(connection))
        differs = abs(ahead) > CLOCK_TOLD
        if differs and not self._clock_told and not self._beside:
            _log.warning("the clocks of this machine and of the database differ", ms=ahead)
        self._clock_told = differs
        return ahead

    def _check_standbys(self, connection: sa.Connection) -> None:
        standbys = read_standbys(connection)
        if self._needs_sync and standbys.missing:
            raise Unusable(standbys.missing)
        if standbys.danger:
            _log.warning("standbys of the database", why=standbys.danger)

    # --- nodes

    def _keep_up(self) -> None:
        self._vacuum.keep_up()
        if not self.has_nodes:
            return
        assert self._node is not None
        connection = self._connect()
        self._node.show(driver_of(connection), self._documents)
        if self._checks_clock and time.monotonic() >= self._clock_at:
            self._check_clock(connection)
        if self._node.has_silent_nodes(connection):
            self._settle()

    def _settle(self, ended: Sequence[str] = (), patience: float = RETRY_FOR) -> None:
        """End the work of dead nodes and of those that have `ended`."""
        assert self._node is not None
        self._pruned = self._node.settle(self._connect(), ended, self._pruned, patience)

    def _remove_if_dead(self, connection: sa.Connection, node: str) -> bool:
        return self._node is not None and self._node.remove_if_dead(connection, node)

    # --- reading

    def _read(self, work: Callable[[sa.Connection], T]) -> T | Exception:
        try:
            connection = self._connect()
            driver = driver_of(connection)
            driver.execute(BEGIN_READ)
            try:
                answer = work(connection)
            except BaseException:
                if not driver.closed:
                    driver.execute("ROLLBACK")
                raise
            driver.execute("COMMIT")
        except AgentError as error:
            return strip_traceback(error)
        except _ANY_FAULT as error:
            if not is_of_request(error):
                self._recover(error)
            return Unusable(explain(error))
        return answer

    # --- writing

    def _write(self, requests: Sequence[WriteRequest], report: BatchReport) -> None:
        give_up = time.monotonic() + RETRY_FOR
        for savepoints in (False, True):
            if self._try_batch(range(len(requests)), requests, report, savepoints=savepoints):
                return
        for place in range(len(requests)):
            tries = 1
            while not self._try_batch([place], requests, report, last=tries >= SAME_KEY):
                tries += 1
                report.busy[place] = _BUSY
                if time.monotonic() > give_up:
                    break
                time.sleep(random.uniform(*RETRY_PAUSE))
            if report.busy and time.monotonic() > give_up:
                report.busy |= dict.fromkeys(range(place + 1, len(requests)), _BUSY)
                return

    def _try_batch(
        self,
        places: Sequence[int],
        requests: Sequence[WriteRequest],
        report: BatchReport,
        *,
        savepoints: bool = False,
        last: bool = False,
    ) -> bool:
        """Run some requests in one transaction; return `False` when it must be run again. Raises `faults`.

        Without `savepoints` it must be run again too when one of several requests fails. `last`: a row of the same key
        is the fault of the request.
        """
        connection = self._connect()
        driver = driver_of(connection)
        for place in places:
            report.answers[place] = None
            report.refused.pop(place, None)
            report.faults.pop(place, None)
            report.busy.pop(place, None)
        owned, pruned = self._contents.owned, self._pruned
        erased = False
        transaction = Transaction(
            connection=connection,
            owner=self._node.place.id if self._node is not None and self._node.place is not None else "",
            dead=partial(self._remove_if_dead, connection),
        )
        try:
            driver.execute(BEGIN)
            guarded = savepoints and len(places) > 1
            for place in places:
                if not self._run_request(
                    transaction, place, requests[place], report, savepoint=guarded, last=last
                ):
                    driver.execute("ROLLBACK")
                    return len(places) == 1
                erased = transaction.erases or erased
            ends = [each.at for each in map(requests.__getitem__, places) if isinstance(each, OutcomeRequest)]
            if ends and owned is not None:
                pruned = owned.prune(connection, max(ends), pruned)
            driver.commit_with_standby()
        except self.faults as error:
            if not is_conflict(error, last):
                raise
            if not driver.closed:
                driver.execute("ROLLBACK")
            return False
        self._pruned = pruned
        if erased:
            self._vacuum.request()
        return True

    def _run_request(
        self,
        transaction: Transaction,
        place: int,
        request: WriteRequest,
        report: BatchReport,
        *,
        savepoint: bool,
        last: bool,
    ) -> bool:
        """Run one request; return whether nothing is left of it where it is refused or at fault.

        Raises conflicts and server faults.
        """
        driver = driver_of(transaction.connection)
        self.progress.steps += 1
        claimed = len(transaction.claimed)
        transaction.noted.clear()
        transaction.erases = False
        if savepoint:
            driver.execute("SAVEPOINT request")
        try:
            report.answers[place] = request.write(transaction)
        except AgentError as error:
            report.refused[place] = strip_traceback(error)
        except _ANY_FAULT as error:
            if not is_of_request(error) or is_conflict(error, last):
                raise
            report.faults[place] = explain(error)
        else:
            if savepoint:
                driver.execute("RELEASE request")
            return True
        del transaction.claimed[claimed:]
        if savepoint:
            driver.execute("ROLLBACK TO request")
            driver.execute("RELEASE request")
        return savepoint
