"""Connections to a PostgreSQL server: how they are made, and which checks come before the first use.

Every wait ends: of the connection attempt, for a lock, for a statement, and for a network that has fallen silent. A
transaction that this process leaves open, because it is stopped, is ended by the server, since others wait for its
locks.

A server that is away may take each attempt's whole time, and one that comes back has all its clients at the door. So
attempts to connect again are made one at a time in a process (`Attempts`), with a pause after each that failed.
"""

import random
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, Final, TypeVar

import psycopg
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.string import StrDumper, StrDumperUnknown
from sqlalchemy.pool import NullPool

from ...errors import UsageError
from ...ports.clock import Clock
from ..dialect import clean_text
from .faults import FAULTS, Unusable, explain

T = TypeVar("T")

PAUSE: Final = (0.25, 0.75)
"""The bounds of the pause after an attempt to connect again that failed, in seconds."""
OLDEST: Final = 150000  # PostgreSQL 15: the oldest server that is used
BEGIN: Final = "BEGIN ISOLATION LEVEL SERIALIZABLE"
BEGIN_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
RETRY_PAUSE: Final = (0.001, 0.01)
"""Seconds, at least and at most, before a transaction that others' writes have undone is run again."""
STATEMENT_WAIT: Final = 5.0  # seconds
ANSWER_SPARE: Final = 3.0  # seconds for an answer, beside those after which the server ends a statement
_ROUND_TRIPS: Final = 3  # of which the shortest tells the server's time best

_SETTINGS: Final = {
    "lock_timeout": "1000",
    "statement_timeout": str(round(STATEMENT_WAIT * 1000)),
    "idle_in_transaction_session_timeout": "10000",
    # The server notices a machine that has lost its power, and drops the locks of its sessions, within half a minute.
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "20000",
    "client_encoding": "UTF8",
    "timezone": "UTC",
    "standard_conforming_strings": "on",
    "client_min_messages": "warning",
}
_NETWORK: Final[dict[str, Any]] = {
    "connect_timeout": 4,
    "tcp_user_timeout": 4000,  # milliseconds that sent data may wait for its receipt
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "application_name": "agent-server",
}
_TOO_OLD: Final = "the server is PostgreSQL {}: 15 or newer is needed"
_STANDBY: Final = "the server is a standby: name the primary"
_POOLED: Final = "it is behind a pooler that may give its session to others: name the server itself"
_ASYNC: Final = "synchronous_commit is off, so that a crash would forget what was answered: turn it on"
_WARNED: Final = "01000"  # the code of a warning without one of its own: a commit of ours comes with no other
_NO_COPY: Final = "somebody ended a commit's wait for its standby, which may lack it: it is tried again"
_BAD: Final = (
    "the URL of --data cannot be read: it is postgresql://USER@HOST:PORT/DATABASE; the password is best left to "
    "PGPASSWORD or PGPASSFILE"
)


class _NoAnswerError(psycopg.OperationalError):
    """The server has not answered a statement in time, nor ended it."""


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that is lost when an answer takes `ANSWER_SPARE` seconds longer than `statement_wait`.

    A proxy, or a server that is stopped, may hold a connection open and say nothing: the network sees no fault then.
    """

    statement_wait = STATEMENT_WAIT

    def wait(self, gen: Any, *arguments: Any, **named: Any) -> Any:
        """Return the result of a generator of psycopg that waits for the server."""
        try:
            return super().wait(_limit_wait(gen, self.statement_wait + ANSWER_SPARE), *arguments, **named)
        except _NoAnswerError:
            self.close()
            raise

    @contextmanager
    def allow_time(self, seconds: float) -> Iterator[None]:
        """Let each statement of the block take `seconds`; the block is a transaction."""
        self.execute(f"SET LOCAL statement_timeout = {seconds * 1000:.0f}".encode())
        before, self.statement_wait = self.statement_wait, seconds
        try:
            yield
        finally:
            self.statement_wait = before

    def commit_with_standby(self) -> None:
        """Commit. Raises `Unusable` when the server has committed without its synchronous standby.

        It does so where somebody ends its wait for the standby (`pg_cancel_backend`), and says so in a warning alone.
        """
        codes: list[str | None] = []

        def note(warning: psycopg.errors.Diagnostic) -> None:
            codes.append(warning.sqlstate)  # it can be read only now

        self.add_notice_handler(note)
        try:
            self.execute("COMMIT")
        finally:
            self.remove_notice_handler(note)
        if _WARNED in codes:
            raise Unusable(_NO_COPY)


class NulFreeDumper(StrDumper):
    """Sends texts with U+FFFD in place of U+0000, which the server's texts cannot hold."""

    def dump(self, obj: str) -> Any:
        """Return a text as bytes."""
        return super().dump(clean_text(obj))


class UntypedNulFreeDumper(StrDumperUnknown):
    """Sends texts so, whose type the server finds."""

    def dump(self, obj: str) -> Any:
        """Return a text as bytes."""
        return super().dump(clean_text(obj))


class OneCursorConnection(BoundedConnection):
    """Runs its statements over one cursor, since making one takes as long as to send a statement and read its answer.

    Read the rows of a statement before the next is run.
    """

    _one: psycopg.Cursor[Any] | None = None

    def execute(
        self, query: Any, params: Any = None, *, prepare: bool | None = None, binary: bool = False
    ) -> psycopg.Cursor[Any]:
        """Run a statement and return the cursor with its rows."""
        if self._one is None:
            self._one = self.cursor()
        return self._one.execute(query, params, prepare=prepare, binary=binary or None)


def check_url(url: str) -> None:
    """Raise `UsageError` unless `url` names a database of a server."""
    try:
        known = conninfo_to_dict(url)
        ports = [int(port) for port in str(known.get("port", "")).split(",") if port]  # one for each host
    except (psycopg.ProgrammingError, ValueError, UnicodeError):
        raise UsageError(_BAD) from None
    if any(not 0 < port < 2**16 for port in ports):
        raise UsageError(_BAD)
    if not known.get("dbname"):
        raise UsageError(f"the URL of --data names no database: {_BAD.partition(': ')[2]}")
    if "options" in known:
        raise UsageError("the URL of --data sets options, which the server's tables need: leave them out")


def make_engine(url: str, schema: str, silent_after: float = 0.0) -> sa.Engine:
    """Return an engine whose connections see the tables of `schema`, and commit each statement by itself.

    The server ends a session that is idle for `silent_after` seconds; 0 is never.
    """
    return sa.create_engine(
        "postgresql+psycopg://",
        creator=partial(connect, url, schema, silent_after),
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
    )


def connect(url: str, schema: str, silent_after: float = 0.0) -> BoundedConnection:
    """Return a connection as those of `make_engine`. Blocks. Raises one of `FAULTS`, or `Unusable`."""
    settings = _SETTINGS | {"search_path": schema, "idle_session_timeout": f"{silent_after * 1000:.0f}"}
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    made = OneCursorConnection.connect(url, autocommit=True, options=options, **_NETWORK)
    made.adapters.register_dumper(str, NulFreeDumper)
    made.adapters.register_dumper(str, UntypedNulFreeDumper)
    try:
        _check_server(made, schema)
    except BaseException:
        made.close()
        raise
    return made


def driver_of(connection: sa.Connection) -> BoundedConnection:
    """Return the psycopg connection below a SQLAlchemy connection."""
    raw = connection.connection.driver_connection
    assert isinstance(raw, BoundedConnection)
    return raw


class ServerClock:
    """The clock `own` of this machine, set right by the server's (implements `agent.ports.clock.Clock`).

    `ahead` is by how many milliseconds the server's was ahead when it was measured last. One thread measures; any may
    read the time.
    """

    def __init__(self, own: Clock) -> None:
        self._own = own
        self.ahead = 0

    def now_ms(self) -> int:
        """Return the server's Unix time in milliseconds."""
        return self._own.now_ms() + self.ahead

    def measure(self, driver: psycopg.Connection[Any]) -> int:
        """Return `ahead` anew: by the middle of the shortest of some round trips."""
        trips = [self._measure_once(driver) for _ in range(_ROUND_TRIPS)]
        _, self.ahead = min(trips)
        return self.ahead

    def _measure_once(self, driver: psycopg.Connection[Any]) -> tuple[int, int]:
        """Return the milliseconds of a round trip, and by how many the server's clock was ahead in its middle."""
        before = self._own.now_ms()
        row = driver.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint").fetchone()
        after = self._own.now_ms()
        assert row is not None
        return after - before, int(row[0]) - (before + after) // 2


def _limit_wait(gen: Generator[Any, Any, Any], seconds: float) -> Generator[Any, Any, Any]:
    """Wait as `gen` does, which is told ten times a second that nothing has come; raises `_NoAnswerError`."""
    give_up = time.monotonic() + seconds
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > give_up:
                raise _NoAnswerError("the server does not answer")
            wanted = gen.send(ready)
    except StopIteration as ended:
        return ended.value


def _check_server(driver: psycopg.Connection[Any], schema: str) -> None:
    if driver.info.server_version < OLDEST:
        raise Unusable(_TOO_OLD.format(driver.info.server_version // 10000))
    found = driver.execute(
        "SELECT pg_is_in_recovery(), current_setting('search_path'), current_setting('synchronous_commit'),"
        " pg_backend_pid()"
    ).fetchone()
    assert found is not None
    standby, path, durable, session = found
    if standby:
        raise Unusable(_STANDBY)
    if path != schema or session != driver.info.backend_pid:  # a pooler gives its clients numbers of its own
        raise Unusable(_POOLED)
    if durable == "off":
        raise Unusable(_ASYNC)


class Attempts:
    """The attempts of this process to connect to one server again; any thread may use them.

    In the pause after an attempt that failed, a caller that needs a connection gets the result of that attempt at once.
    A first connection is no such attempt: it is always tried.
    """

    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        self._not_before = 0.0
        self._why = ""

    def connect_again(self, connect: Callable[[], T]) -> T:
        """Return `connect()`. Raises its errors, and `Unusable` with the reason of the last one within the pause."""
        with self._one_at_a_time:
            if time.monotonic() < self._not_before:
                raise Unusable(self._why)
            try:
                return connect()
            except (*FAULTS, Unusable) as error:
                self._why = explain(error)
                self._not_before = time.monotonic() + random.uniform(*PAUSE)
                raise


@cache
def attempts_at(url: str) -> Attempts:
    """Return the attempts of this process at the server of `url`."""
    return Attempts()
