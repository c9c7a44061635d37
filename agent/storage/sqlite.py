"""The ledger in one SQLite file, for several processes of one machine and across their restarts.

A claim is one INSERT that a conflict turns into nothing, and its row count is the answer: SQLite's write lock decides,
whichever process asks. The file is in WAL mode and every commit is synced, so that a claim is on disk before its
effect begins. All of it is blocking work: one connection, one call at a time, each through the injected `run_sync`.

A process that dies between claim and record leaves a row that says claimed and never changes. Who may say that it is
lost? Each ledger that is opened has an owner id, writes it into the rows it claims, and holds an exclusive `flock` on
the file `owners/<id>` for as long as it lives. The kernel drops that lock when the process ends, however it ends, so
a lock that can be taken is a dead owner: no clock, heartbeat or process id is trusted. Opening a ledger does this
inside one write transaction: lock its own file, then turn the claimed rows of every dead owner into `unknown`. Two
that open at once therefore see each other either whole or not at all. Nothing that is unknown is run again: its
row stays, and refuses a claim, until it is pruned.

WAL and `flock` both need a local disk: the folder must not be on a network share.
"""

import fcntl
import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import sqlalchemy as sa
import trio
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import StaticPool

from ..config import TOMBSTONE_SECONDS
from ..errors import AgentError, UsageError
from ..ports.clock import Clock
from ..ports.ledger import Row, Status
from ..ports.work import RunSync

T = TypeVar("T")

FILE = "ledger.sqlite"
OWNERS = "owners"
SCHEMA = 1  # PRAGMA user_version of a file that this code reads and writes
LOCK_WAIT = 1.0  # seconds for another process's write; less than what the runner gives a claim or a record
LOST = {"success": False, "unknown": True, "error": "The server stopped before the outcome was known."}

_metadata = sa.MetaData()
_actions = sa.Table(
    "actions",
    _metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),  # the order of the claims
    sa.Column("suggestion_id", sa.Text, nullable=False, unique=True),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("claimed_at", sa.Integer, nullable=False),  # Unix ms, as every time here
    sa.Column("ended_at", sa.Integer, index=True),
    sa.Column("result", sa.JSON(none_as_null=True)),
    sqlite_autoincrement=True,
)


class SqliteLedger:
    """Claims and outcomes in the folder `data`, or with None in a database of memory that ends with this object.

    Open it with `async with`; every method raises `agent.errors.AgentError` when the database cannot do it. Cancelled
    while it waits for its turn nothing has happened; a call that has begun is finished, and its answer returned.

    run_sync: does the blocking work. clock: stamps the rows of dead owners when they are found lost.
    """

    def __init__(self, data: Path | None, run_sync: RunSync, clock: Clock) -> None:
        self._data = data
        self._run_sync = run_sync
        self._clock = clock
        self._owner = secrets.token_hex(8)
        self._turn = trio.Lock()  # one connection, so one call at a time
        self._engine: sa.Engine | None = None
        self._lock_file = -1

    async def __aenter__(self) -> "SqliteLedger":
        """Open the file and settle what dead processes left; raises UsageError when the folder cannot be used."""
        try:
            await self._run_sync(self._open)
        except (OSError, SQLAlchemyError, _Newer) as error:
            raise UsageError(
                f"actions cannot be kept in {self._data}: {_reason(error)}; choose another folder with --data DIR, "
                "or --data memory to forget them when the server stops"
            ) from None
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file. What was claimed and never recorded is from here on for the next to open to settle."""
        with trio.CancelScope(shield=True, deadline=trio.current_time() + 2 * LOCK_WAIT):
            async with self._turn:
                await self._run_sync(self._close)

    async def claim(self, suggestion_id: str, action: str, at: int) -> bool:
        """Claim an action at Unix milliseconds `at`; True for exactly one claimer of an id, in any process."""

        def work(connection: sa.Connection) -> bool:
            won = connection.execute(
                insert(_actions)
                .values(
                    suggestion_id=suggestion_id,
                    action=action,
                    status="claimed",
                    owner=self._owner,
                    claimed_at=at,
                )
                .on_conflict_do_nothing(index_elements=["suggestion_id"])
            )
            return won.rowcount == 1

        return await self._do(work)

    async def record(self, suggestion_id: str, status: Status, result: Mapping[str, Any], at: int) -> None:
        """Record the outcome of a claimed action at Unix milliseconds `at`; the first outcome stands.

        What ended more than TOMBSTONE_SECONDS before is forgotten.
        """

        def work(connection: sa.Connection) -> None:
            connection.execute(
                sa.update(_actions)
                .where(_actions.c.suggestion_id == suggestion_id, _actions.c.status == "claimed")
                .values(status=status, result=dict(result), ended_at=at)
            )
            _prune(connection, at)

        await self._do(work)

    async def get(self, suggestion_id: str) -> Row | None:
        """Return the row of a claimed action, or None."""

        def work(connection: sa.Connection) -> Row | None:
            found = connection.execute(
                sa.select(_actions).where(_actions.c.suggestion_id == suggestion_id)
            ).one_or_none()
            return None if found is None else _row(found)

        return await self._do(work)

    async def rows(self, limit: int = 100) -> tuple[Row, ...]:
        """Return the newest `limit` rows by claim, newest first."""

        def work(connection: sa.Connection) -> tuple[Row, ...]:
            newest = sa.select(_actions).order_by(_actions.c.number.desc()).limit(limit)
            return tuple(_row(found) for found in connection.execute(newest))

        return await self._do(work)

    async def _do(self, work: Callable[[sa.Connection], T]) -> T:
        """Do one piece of work; each statement of it is a transaction of its own."""

        def call() -> T:
            assert self._engine is not None, "the ledger is not open"
            with self._engine.connect() as connection:
                return work(connection)

        async with self._turn:
            try:
                return await self._run_sync(call)
            except SQLAlchemyError as error:
                raise AgentError(f"the ledger: {_reason(error)}") from None

    # --- in the worker thread

    def _open(self) -> None:
        try:
            if self._data is not None:
                (self._data / OWNERS).mkdir(mode=0o700, parents=True, exist_ok=True)
            self._engine = _engine(self._data)
            with self._engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA journal_mode=WAL")
                connection.exec_driver_sql("PRAGMA synchronous=FULL")
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
                if version > SCHEMA:
                    raise _Newer
                _metadata.create_all(connection)
                connection.exec_driver_sql(f"PRAGMA user_version={SCHEMA}")
                if self._data is not None:
                    self._settle_the_dead(connection, self._data / OWNERS)
                _prune(connection, self._clock.now_ms())
                connection.exec_driver_sql("COMMIT")
        except BaseException:
            self._close()
            raise

    def _settle_the_dead(self, connection: sa.Connection, owners: Path) -> None:
        """Take this owner's lock, and call unknown what owners without one have claimed. In a write transaction."""
        self._lock_file = os.open(owners / self._owner, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock_file, fcntl.LOCK_EX)
        dead = [
            owner
            for (owner,) in connection.execute(
                sa.select(_actions.c.owner).where(_actions.c.status == "claimed").distinct()
            )
            if not _alive(owners / owner)
        ]
        connection.execute(
            sa.update(_actions)
            .where(_actions.c.status == "claimed", _actions.c.owner.in_(dead))
            .values(status="unknown", result=LOST, ended_at=self._clock.now_ms())
        )
        for path in owners.iterdir():
            if not _alive(path):
                path.unlink(missing_ok=True)

    def _close(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.dispose()
        if self._lock_file >= 0:
            assert self._data is not None
            with suppress(OSError):  # a file that stays is found dead by the next to open
                (self._data / OWNERS / self._owner).unlink(missing_ok=True)
            os.close(self._lock_file)
            self._lock_file = -1


class _Newer(Exception):
    def __str__(self) -> str:
        return f"{FILE} was written by a newer version"


def _engine(data: Path | None) -> sa.Engine:
    url = sa.URL.create("sqlite", database=":memory:" if data is None else str(data / FILE))
    return sa.create_engine(
        url,
        poolclass=StaticPool,
        isolation_level="AUTOCOMMIT",
        connect_args={"check_same_thread": False, "timeout": LOCK_WAIT},
    )


def _alive(path: Path) -> bool:
    """Whether some process holds the lock of this owner's file."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _prune(connection: sa.Connection, now: int) -> None:
    oldest_kept = now - int(TOMBSTONE_SECONDS * 1000)
    connection.execute(sa.delete(_actions).where(_actions.c.ended_at < oldest_kept))


def _row(found: "sa.Row[Any]") -> Row:
    return Row(
        suggestion_id=found.suggestion_id,
        action=found.action,
        status=found.status,
        claimed_at=found.claimed_at,
        ended_at=found.ended_at,
        result=found.result,
    )


def _reason(error: Exception) -> str:
    """One line that says why, without a statement or its values."""
    cause = getattr(error, "orig", None) or error
    return str(getattr(cause, "strerror", None) or cause).splitlines()[0]
