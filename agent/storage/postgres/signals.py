"""Hints over LISTEN and NOTIFY, on one connection that the event loop itself reads and writes.

`connect` blocks and runs in a worker thread; after that no thread waits: the one task of `PostgresHints.run` sleeps
until the socket can be read, a hint is to be sent, or the connection is to be tried. A connection that is silent is
asked an empty query every `PULSE_EVERY` seconds, so that one is noticed whose other end is gone without a word. A lost
connection is made anew, one attempt at a time, after a pause that grows and is drawn at random, so that the nodes of a
server that comes back do not all come at once. Meanwhile hints are dropped.

Each NOTIFY is a transaction of its own, after the commit that it tells of: commits with a NOTIFY wait for each other.
Other programs may notify the channel too, so a notification that is not exactly a hint is ignored.
"""

import random
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import psycopg
import structlog
import trio
from psycopg.pq import ConnStatus

from ...ports.hints import Hint, HintKind
from ...ports.work import RunSync
from .connecting import connect
from .faults import FAULTS, Unusable, explain

CHANNEL: Final = "agent_hints"
PULSE_EVERY: Final = 5.0  # seconds without a statement until the connection is tried
PULSE_ANSWER: Final = 5.0  # seconds for the answer to a statement; then the connection is lost
PAUSE_FIRST = 0.5  # seconds, at most, before the first attempt to connect anew ...
PAUSE_MOST = 10.0  # ... and before any
HINTS_MOST: Final = 256  # that wait to be sent; further ones are dropped
HINTS_BATCH: Final = 64  # of one statement
ID_MOST: Final = 128  # characters

_KINDS: Final[tuple[HintKind, ...]] = ("thread_cancelled", "call_ended")
_NOTIFY: Final = f"SELECT pg_notify('{CHANNEL}', hint) FROM unnest($1::text[]) AS hint".encode()
_PULSE: Final = f"-- {CHANNEL}".encode()  # a query without a statement, which names the connection's purpose
_LOST: Final = "the connection does not answer"

_log = structlog.get_logger("agent.storage")


class PostgresHints:
    """Hints between the processes that use the database of `url` (implements `agent.ports.hints.Hints`).

    They are carried while `run` runs and the database is there. `run_sync` does the connecting.
    """

    def __init__(self, url: str, run_sync: RunSync) -> None:
        self._url = url
        self._run_sync = run_sync
        self._link: _Link | None = None
        self._waiting: deque[Hint] = deque()
        self._hearers: list[Callable[[Hint], None]] = []
        self._sleep = trio.CancelScope()
        self._trouble = False

    def send(self, hint: Hint) -> None:
        """Send a hint to the other processes soon; drop it where that cannot be done now. Never waits."""
        if self._link is not None and _is_id(hint.id) and len(self._waiting) < HINTS_MOST:
            self._waiting.append(hint)
            self._sleep.cancel()

    def subscribe(self, hear: Callable[[Hint], None]) -> None:
        """Call `hear` with each hint of another process from now on."""
        self._hearers.append(hear)

    async def run(self) -> None:
        """Carry hints until cancelled; then the connection is closed."""
        failures = 0
        while True:
            try:
                link = await self._connect()
                failures = 0
                await self._carry(link)
            except (*FAULTS, Unusable) as error:
                self._note_trouble(error)
            most = min(PAUSE_MOST, PAUSE_FIRST * 2**failures)
            failures = min(failures + 1, 10)
            await trio.sleep(random.uniform(most / 2, most))

    async def _connect(self) -> "_Link":
        """Return a connection that listens; cancelled, none is left open once its thread has ended."""
        attempt = _Attempt(self._url)
        try:
            try:
                await self._run_sync(attempt.connect)
            except RuntimeError as error:  # a thread could not be started
                raise OSError(str(error)) from None
            return _Link(attempt.take())
        finally:
            attempt.abandon()

    async def _carry(self, link: "_Link") -> None:
        """Hear and send hints until the connection is lost; then close it. Raises one of `FAULTS`."""
        self._link = link
        if self._trouble:
            self._trouble = False
            _log.info("hints between servers work again")
        try:
            while True:
                heard = link.read()
                for payload in heard:
                    self._tell(payload)
                if heard:
                    # The socket may not tell of the rest: an encrypted record is read whole.
                    await trio.lowlevel.checkpoint()
                    continue
                is_due = trio.current_time() >= link.next_deadline
                if link.asked_at is None and (self._waiting or is_due):
                    await link.ask(self._take_batch())
                elif is_due:
                    raise psycopg.OperationalError(_LOST)
                with trio.CancelScope(deadline=link.next_deadline) as self._sleep:
                    await trio.lowlevel.wait_readable(link.socket)
        finally:
            self._link = None
            self._waiting.clear()
            link.close()

    def _take_batch(self) -> list[Hint]:
        """Return the oldest hints that wait to be sent; they wait no longer."""
        return [self._waiting.popleft() for _ in range(min(HINTS_BATCH, len(self._waiting)))]

    def _tell(self, payload: bytes) -> None:
        hint = parse_hint(payload)
        if hint is not None:
            for hear in self._hearers:
                hear(hint)

    def _note_trouble(self, error: BaseException) -> None:
        """Log that hints are lost, once."""
        if not self._trouble:
            _log.warning("hints between servers are lost, looking at intervals", why=explain(error))
        self._trouble = True


class _Attempt:
    """One attempt to connect, in a thread that may be abandoned: then it closes the connection that it made."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._made: psycopg.Connection[Any] | None = None
        self._abandoned = False

    def connect(self) -> None:
        """Connect and listen. Blocks."""
        made: psycopg.Connection[Any] | None = connect(self._url, "pg_catalog")
        assert made is not None
        try:
            made.execute(f"LISTEN {CHANNEL}".encode())
            with self._lock:
                if not self._abandoned:
                    self._made, made = made, None
        finally:
            if made is not None:
                made.close()

    def take(self) -> psycopg.Connection[Any]:
        """Return the connection, which is its caller's from now on."""
        with self._lock:
            made, self._made = self._made, None
        assert made is not None
        return made

    def abandon(self) -> None:
        """Close the connection, now or once it is made, unless it was taken."""
        with self._lock:
            self._abandoned = True
            made, self._made = self._made, None
        if made is not None:
            made.close()


class _Link:
    """A connection that listens, without blocking. One statement at a time is asked.

    `asked_at` is when, or `None` once it is answered; `answered_at` is when the last one was answered.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection  # which ends with its last reference
        self._libpq = connection.pgconn
        self._libpq.nonblocking = 1
        self.socket = self._libpq.socket
        self.asked_at: float | None = None
        self.answered_at = trio.current_time()

    @property
    def next_deadline(self) -> float:
        """When the connection is to be tried, or to be given up."""
        return self.answered_at + PULSE_EVERY if self.asked_at is None else self.asked_at + PULSE_ANSWER

    def read(self) -> list[bytes]:
        """Read the socket; return the payloads of other processes' notifications. Raises for a lost connection."""
        self._libpq.consume_input()
        if self._libpq.status != ConnStatus.OK:
            raise psycopg.OperationalError(_LOST)
        while self.asked_at is not None and not self._libpq.is_busy():
            if self._libpq.get_result() is None:  # the results are ignored: a refused hint is lost
                self.asked_at, self.answered_at = None, trio.current_time()
        payloads = []
        while (notice := self._libpq.notifies()) is not None:
            if notice.be_pid != self._libpq.backend_pid:
                payloads.append(notice.extra)
        return payloads

    async def ask(self, hints: list[Hint]) -> None:
        """Send hints in a transaction of their own, or without any an empty query. Raises for a lost connection."""
        self.asked_at = trio.current_time()
        if hints:
            texts = ",".join(f'"{hint.kind} {hint.id}"' for hint in hints)
            self._libpq.send_query_params(_NOTIFY, [f"{{{texts}}}".encode()])
        else:
            self._libpq.send_query(_PULSE)
        with trio.move_on_at(self.next_deadline):
            while self._libpq.flush():
                await trio.lowlevel.wait_writable(self.socket)

    def close(self) -> None:
        """Close the connection, also one that is broken, which psycopg's own `close` leaves as it is. Never blocks."""
        self._libpq.finish()


def parse_hint(payload: bytes) -> Hint | None:
    """Return a notification as a hint, or `None` for any other text."""
    if len(payload) > ID_MOST + 32:
        return None
    kind, _, id = payload.decode("ascii", "replace").partition(" ")
    for known in _KINDS:
        if kind == known and _is_id(id):
            return Hint(known, id)
    return None


def _is_id(text: str) -> bool:
    """Return whether a text has the form of an id: letters, digits, `-` and `_`."""
    return 0 < len(text) <= ID_MOST and text.isascii() and text.replace("-", "0").replace("_", "0").isalnum()
