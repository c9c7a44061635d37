"""Settles the rows of dead owners, so that nothing of theirs runs late.

| row of a dead owner | becomes |
| --- | --- |
| a claimed row of the ledger, and its call | unknown: it may have happened |
| a call that was confirmed for the server to run, and is not claimed | cancelled: it did not happen |
| a message whose turn was in progress | cancelled |
| a request without an answer | forgotten, so that it may be tried again |

A suggested call, and a call that its caller runs, belong to no process and stay as they are.
"""

from collections.abc import Collection

import sqlalchemy as sa

from .rows import CALLER, LOST
from .schema import CALLS_SINCE, actions, calls, idempotency, messages

CLAIMED = f"SELECT owner FROM actions WHERE status = 'claimed' AND owner <> '{CALLER}'"
AT_WORK = f"""{CLAIMED}
UNION SELECT owner FROM calls WHERE owner IS NOT NULL
UNION SELECT owner FROM messages WHERE owner IS NOT NULL
UNION SELECT owner FROM idempotency WHERE owner IS NOT NULL"""
"""The queries for owners that rows name as working on them: rows of the ledger, and all rows."""


def find_work(version: int) -> str:
    """Return the query for the owners that rows of a file name as working on them; `version` is its schema."""
    return AT_WORK if version >= CALLS_SINCE else CLAIMED


def owners_at_work(connection: sa.Connection) -> list[str]:
    """Return the ids of the owners that some row names as working on it."""
    return [owner for (owner,) in connection.exec_driver_sql(AT_WORK)]


def settle_rows(connection: sa.Connection, owners: Collection[str], now: int) -> None:
    """End the work of these owners, at Unix milliseconds `now`."""
    if not owners:
        return
    lost = sa.and_(actions.c.status == "claimed", actions.c.owner.in_(owners))
    for statement in (
        sa.update(calls)
        .where(calls.c.status == "claimed", calls.c.id.in_(sa.select(actions.c.suggestion_id).where(lost)))
        .values(status="unknown", result=LOST, ended_at=now),
        sa.update(actions).where(lost).values(status="unknown", result=LOST, ended_at=now),
        sa.update(calls)
        .where(calls.c.status == "confirmed", calls.c.owner.in_(owners))
        .values(status="cancelled", owner=None, ended_at=now),
        end_turns().where(messages.c.owner.in_(owners)),
        sa.delete(idempotency).where(idempotency.c.owner.in_(owners)),
    ):
        connection.execute(statement)


def end_turns() -> sa.Update:
    """Return the statement that cancels every pending message, for callers to narrow."""
    return sa.update(messages).where(messages.c.status == "pending").values(status="cancelled", owner=None)


def move_rows(connection: sa.Connection, owner: str, to: str) -> None:
    """Hand the rows of one owner id to another."""
    connection.execute(
        sa.update(actions).where(actions.c.status == "claimed", actions.c.owner == owner).values(owner=to)
    )
    for table in (calls, messages, idempotency):
        connection.execute(sa.update(table).where(table.c.owner == owner).values(owner=to))
