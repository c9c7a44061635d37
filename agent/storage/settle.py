"""What dead owners have left: found when a file is opened, and ended so that nothing runs late.

| left by who died | becomes |
| --- | --- |
| a row of the ledger, and its call, that it had claimed | unknown: it may have happened |
| a call that was confirmed for the server to run, and that nobody claimed | cancelled: it did not happen |
| a message whose turn was going on | cancelled |
| a request that had no answer yet | forgotten, so that it may be tried again |

A suggested call, and what a caller runs, are nobody's: they stay as they are.
"""

import sqlite3
from collections.abc import Collection

import sqlalchemy as sa

from .rows import CALLER, LOST
from .schema import CALLS_SINCE, SCHEMA, actions, calls, idempotency, messages

_CLAIMED = f"SELECT owner FROM actions WHERE status = 'claimed' AND owner <> '{CALLER}'"
_AT_WORK = f"""{_CLAIMED}
UNION SELECT owner FROM calls WHERE owner IS NOT NULL
UNION SELECT owner FROM messages WHERE owner IS NOT NULL
UNION SELECT owner FROM idempotency WHERE owner IS NOT NULL"""


def anybody_at_work(reader: sqlite3.Connection) -> bool:
    """Whether some row says that an owner is doing something; False for a file that this code does not read."""
    (version,) = reader.execute("PRAGMA user_version").fetchone()
    if not 0 < version <= SCHEMA:
        return False
    return reader.execute(_AT_WORK if version >= CALLS_SINCE else _CLAIMED).fetchone() is not None


def owners_at_work(connection: sa.Connection) -> list[str]:
    """Return the ids of the owners that some row says are doing something."""
    return [owner for (owner,) in connection.exec_driver_sql(_AT_WORK)]


def settle(connection: sa.Connection, owners: Collection[str], now: int) -> None:
    """End what these owners have left. now: Unix milliseconds."""
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
    """Return the statement that cancels every pending message, to be narrowed."""
    return sa.update(messages).where(messages.c.status == "pending").values(status="cancelled", owner=None)


def move(connection: sa.Connection, owner: str, to: str) -> None:
    """Give what an owner is doing to another id."""
    connection.execute(
        sa.update(actions).where(actions.c.status == "claimed", actions.c.owner == owner).values(owner=to)
    )
    for table in (calls, messages, idempotency):
        connection.execute(sa.update(table).where(table.c.owner == owner).values(owner=to))
