"""Retention: deletes unused threads and lines of the audit once they are older than the settings allow.

A thread is unused while it has no new message, no call that has ended lately, no turn in progress, and no call that
waits or runs. The ledger keeps the claim of an ended call for `TOMBSTONE_SECONDS`, so that nothing is done twice; the
call's thread stays for as long, however short its retention.

Rows go in pieces of `RETENTION_ROWS`, each in a transaction of its own that checks anew whether the thread is unused:
when a thread is used between two pieces, its latest messages stay. Several processes on one file may sweep at once. In
the end the log is truncated, since it holds earlier copies of pages.
"""

from contextlib import suppress
from functools import partial
from typing import Any, Final, Protocol

import sqlalchemy as sa
import structlog
import trio

from ..errors import StorageFailed
from ..ports.clock import Clock
from .database import Database
from .dialect import NUMBER
from .listing import OF_THREAD
from .schema import actions, audit, calls, idempotency, messages, threads
from .settings import IDEMPOTENCY_SECONDS, TOMBSTONE_SECONDS, Retention
from .transaction import Transaction

RETENTION_EVERY = 600.0  # seconds between two looks for rows that have reached their retention
RETENTION_ROWS = 200  # deleted in one transaction, so that other writes wait some milliseconds ...
RETENTION_PAUSE = 0.1  # ... and seconds until the next one

_log = structlog.get_logger("agent.storage")
_DAY: Final = 86_400_000  # milliseconds
_PENDING: Final = sa.text("messages.status = 'pending'")  # as the index has it
_OPEN: Final = sa.text("calls.status IN ('suggested', 'confirmed', 'claimed')")
_BEFORE: sa.BindParameter[int] = sa.bindparam("before", type_=NUMBER)
_MOST: sa.BindParameter[int] = sa.bindparam("most", type_=NUMBER)


def _join_thread(table: sa.Table) -> sa.ColumnElement[bool]:
    return sa.and_(table.c.project_id == threads.c.project_id, table.c.thread_id == threads.c.id)


_UNUSED = (
    sa.select(threads.c.project_id, threads.c.id)
    .where(
        threads.c.updated_at < _BEFORE,
        ~sa.exists().where(_join_thread(messages), _PENDING),
        ~sa.exists().where(
            _join_thread(calls),
            sa.or_(_OPEN, calls.c.ended_at >= sa.bindparam("ended", type_=NUMBER)),
        ),
    )
    .order_by(threads.c.updated_at)
    .limit(_MOST)
)


def _delete_first(by: str, table: sa.Table, *wanted: sa.ColumnElement[bool]) -> sa.Delete:
    """Return the statement that deletes up to `most` of the wanted rows of `table`, the lowest in column `by` first."""
    first = sa.select(table.c.number).where(*wanted).order_by(table.c[by]).limit(_MOST)
    return sa.delete(table).where(table.c.number.in_(first))


def _match_thread(table: sa.Table) -> tuple[sa.ColumnElement[bool], ...]:
    return table.c.project_id == sa.bindparam("project"), table.c.thread_id == sa.bindparam("thread")


_MESSAGES = _delete_first("number", messages, *_match_thread(messages))
_CALLS = _delete_first("number", calls, *_match_thread(calls)).returning(calls.c.id)
_CLAIM = sa.delete(actions).where(
    actions.c.suggestion_id == sa.bindparam("call"), actions.c.ended_at < sa.bindparam("ended")
)
_THREAD = sa.delete(threads).where(*OF_THREAD)
_ANSWERS = _delete_first(
    "created_at", idempotency, idempotency.c.created_at < _BEFORE, idempotency.c.owner.is_(None)
)
_AUDIT = _delete_first("at", audit, audit.c.at < _BEFORE)


class _Piece(Protocol):
    """Deletes some of the rows that have reached their retention."""

    def __call__(self, now: int, most: int, transaction: Transaction) -> int:
        """Delete up to `most` rows at Unix milliseconds `now`; return their number."""
        ...


class RetentionSweep:
    """A task that deletes rows that are too old from an open database. `clock` tells their age."""

    def __init__(self, database: Database, clock: Clock, retention: Retention) -> None:
        self._database = database
        self._clock = clock
        self._in_log = False  # deleted rows may still be in the log
        self._pieces: dict[str, _Piece] = {}
        if retention.threads:
            self._pieces["threads"] = partial(delete_unused, round(retention.threads * _DAY))
            self._pieces["answers"] = delete_answers
        if retention.audit:
            self._pieces["audit"] = partial(delete_audit, round(retention.audit * _DAY))

    async def run(self) -> None:
        """Sweep every `RETENTION_EVERY` seconds until cancelled; a piece is deleted whole or not at all."""
        while self._pieces:
            with suppress(StorageFailed):  # the next look is soon enough
                await self._delete()
            await trio.sleep(RETENTION_EVERY)

    async def _delete(self) -> None:
        for kind, piece in self._pieces.items():
            rows = await self._delete_each(piece)
            if rows:
                _log.info("deleted after its time", what=kind, rows=rows)
        if self._in_log:
            await self._database.write(_cut_log)
            self._in_log = False

    async def _delete_each(self, piece: _Piece) -> int:
        """Delete all rows of one kind, piece by piece; return their number."""
        now, rows = self._clock.now_ms(), 0
        while True:
            deleted = await self._database.write(partial(piece, now, RETENTION_ROWS))
            rows += deleted
            self._in_log = self._in_log or deleted > 0
            if deleted < RETENTION_ROWS:
                return rows
            await trio.sleep(RETENTION_PAUSE)


def delete_unused(kept: int, now: int, most: int, transaction: Transaction) -> int:
    """Delete up to `most` rows of threads that were unused for `kept` milliseconds, oldest threads first."""
    connection = transaction.connection
    before, claims = now - kept, now - round(TOMBSTONE_SECONDS * 1000)
    rows_left = most
    of: dict[str, Any] = {"before": before, "ended": min(before, claims), "most": most}
    for project, thread in connection.execute(_UNUSED, of).all():
        rows_left -= _delete_rows(
            connection, {"project": project, "thread": thread, "ended": claims}, rows_left
        )
        if not rows_left:
            break
    return most - rows_left


def _delete_rows(connection: sa.Connection, of: dict[str, Any], most: int) -> int:
    """Delete up to `most` rows of a thread, the thread itself last; return their number."""
    rows_left = most
    deleted = connection.execute(_CALLS, {**of, "most": rows_left}).scalars().all()
    if deleted:  # only now: a trigger keeps the ledger's row of a call that exists
        connection.execute(_CLAIM, [{"call": id, "ended": of["ended"]} for id in deleted])
    rows_left -= len(deleted)
    rows_left -= connection.execute(_MESSAGES, {**of, "most": rows_left}).rowcount
    if rows_left:
        rows_left -= connection.execute(_THREAD, of).rowcount
    return most - rows_left


def delete_answers(now: int, most: int, transaction: Transaction) -> int:
    """Delete up to `most` answers to requests that are too old to be repeated."""
    before = now - round(IDEMPOTENCY_SECONDS * 1000)
    return transaction.connection.execute(_ANSWERS, {"before": before, "most": most}).rowcount


def delete_audit(kept: int, now: int, most: int, transaction: Transaction) -> int:
    """Delete up to `most` lines of the audit older than `kept` milliseconds, oldest first."""
    return transaction.connection.execute(_AUDIT, {"before": now - kept, "most": most}).rowcount


def _cut_log(transaction: Transaction) -> None:
    transaction.erases = True
