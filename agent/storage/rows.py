"""The ledger's one table, and every statement that touches it. Pure SQL: who calls it holds the connection.

A claim is one INSERT that a conflict turns into nothing, and its row count is the answer. An outcome is one UPDATE of
a row that is still claimed, so the first outcome stands and writing it again changes nothing.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from ..config import TOMBSTONE_SECONDS
from ..ports.ledger import Row, Status

SCHEMA = 1  # PRAGMA user_version of a file that this code reads and writes
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
    sa.Column("kb", sa.Text),  # the last one, as files made before it get it behind the others
    sqlite_autoincrement=True,
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim to be written. at: Unix milliseconds."""

    suggestion_id: str
    action: str
    at: int
    kb: str | None = None

    def write(self, connection: sa.Connection, owner: str) -> bool:
        """Claim it for an owner; True when this statement made the row."""
        made = connection.execute(
            insert(_actions)
            .values(
                suggestion_id=self.suggestion_id,
                action=self.action,
                status="claimed",
                owner=owner,
                claimed_at=self.at,
                kb=self.kb,
            )
            .on_conflict_do_nothing(index_elements=["suggestion_id"])
        )
        return made.rowcount == 1


@dataclass(frozen=True, slots=True)
class Record:
    """An outcome to be written. at: Unix milliseconds."""

    suggestion_id: str
    status: Status
    result: Mapping[str, Any]
    at: int

    def write(self, connection: sa.Connection, owner: str) -> bool:
        """Write it, if the row is there and has no outcome; False, as it claims nothing."""
        connection.execute(
            sa.update(_actions)
            .where(_actions.c.suggestion_id == self.suggestion_id, _actions.c.status == "claimed")
            .values(status=self.status, result=dict(self.result), ended_at=self.at)
        )
        return False


def prepare(connection: sa.Connection) -> None:
    """Make the table, or its last column, where it is missing, and stamp the file. Inside a write transaction.

    The version stays: code that knows no such column writes and reads the others as before.
    """
    _metadata.create_all(connection)
    known = [name for _, name, *_ in connection.exec_driver_sql("PRAGMA table_info(actions)")]
    if "kb" not in known:
        connection.exec_driver_sql("ALTER TABLE actions ADD COLUMN kb TEXT")
    stamp(connection)


def stamp(connection: sa.Connection) -> None:
    """Write the version of the table into the file; that writes a page even when it stands there already."""
    connection.exec_driver_sql(f"PRAGMA user_version={SCHEMA}")


def version(connection: sa.Connection) -> int:
    """Return the version of the table that the file was written by, 0 for a new one."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def owners_at_work(connection: sa.Connection) -> list[str]:
    """Return the ids of the owners that some row says are running something."""
    found = connection.execute(sa.select(_actions.c.owner).where(_actions.c.status == "claimed").distinct())
    return [owner for (owner,) in found]


def call_lost(connection: sa.Connection, owners: Collection[str], now: int) -> None:
    """Call unknown what these owners have claimed and not recorded."""
    connection.execute(
        sa.update(_actions)
        .where(_actions.c.status == "claimed", _actions.c.owner.in_(owners))
        .values(status="unknown", result=LOST, ended_at=now)
    )


def move(connection: sa.Connection, owner: str, to: str) -> None:
    """Give what an owner is running to another id."""
    connection.execute(
        sa.update(_actions).where(_actions.c.status == "claimed", _actions.c.owner == owner).values(owner=to)
    )


def prune(connection: sa.Connection, now: int) -> None:
    """Forget what ended more than TOMBSTONE_SECONDS before."""
    oldest_kept = now - int(TOMBSTONE_SECONDS * 1000)
    connection.execute(sa.delete(_actions).where(_actions.c.ended_at < oldest_kept))


def one(connection: sa.Connection, suggestion_id: str) -> Row | None:
    """Return a row, or None."""
    found = connection.execute(
        sa.select(_actions).where(_actions.c.suggestion_id == suggestion_id)
    ).one_or_none()
    return None if found is None else _row(found)


def newest(connection: sa.Connection, limit: int, kb: str | None = None) -> tuple[Row, ...]:
    """Return the newest rows by claim, newest first; with `kb` only those of that knowledge base."""
    wanted = sa.select(_actions).order_by(_actions.c.number.desc()).limit(limit)
    if kb is not None:
        wanted = wanted.where(_actions.c.kb == kb)
    return tuple(map(_row, connection.execute(wanted)))


def _row(found: "sa.Row[Any]") -> Row:
    return Row(
        suggestion_id=found.suggestion_id,
        action=found.action,
        status=found.status,
        claimed_at=found.claimed_at,
        ended_at=found.ended_at,
        result=found.result,
        kb=found.kb,
    )
