"""The contents of a server's file: its ledger, and the calls and messages of its threads.

The file is read as it is: opening it as a server does would settle calls that were left claimed. A database of several
servers has the same tables, so `read_ledger_rows` reads any.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

RunQuery: TypeAlias = Callable[[str, tuple[Any, ...]], Iterable[tuple[Any, ...]]]
"""Runs a query, with a value for each `?` in it, and returns the rows."""
CALLER = "caller"  # where a call runs that its caller takes, and the owner of its row


@dataclass(frozen=True, slots=True)
class ActionRow:
    """A row of the ledger. `lease_until`: Unix milliseconds until which a caller may report."""

    status: str
    tool: str = ""
    owner: str = ""
    lease_until: int | None = None

    def is_leased(self, at: int) -> bool:
        """Return whether a caller has taken the call, and may still report at `at`."""
        return self.status == "claimed" and self.owner == CALLER and (self.lease_until or 0) > at


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """A call of a thread.

    `digest`: the hash of the arguments that run, or would. `free`: it needed no approval. `edited`: the arguments
    differ from those that were suggested.
    """

    status: str
    tool: str
    runs_at: str
    digest: str
    free: bool = False
    lease_until: int | None = None
    edited: bool = False

    @property
    def runs(self) -> bool:
        """Whether a server runs the call, or is about to."""
        return self.status in ("confirmed", "claimed") and self.runs_at != CALLER


@dataclass(frozen=True, slots=True)
class ServerFile:
    """The contents of the file.

    `rows`, `calls`: by id. `pending`: ids of messages with a turn that has not ended. `at`: when the file was read, in
    Unix milliseconds.
    """

    rows: Mapping[str, ActionRow]
    calls: Mapping[str, CallRow] = field(default_factory=dict)
    pending: tuple[str, ...] = ()
    at: int = 0


_ROWS = "SELECT suggestion_id, status, action, owner, lease_until FROM actions WHERE claimed_at >= ?"
_CALLS = (
    "SELECT id, status, tool, runs_at, arguments_hash, needs_approval = 0, lease_until,"
    " arguments_hash <> proposed_hash FROM calls WHERE created_at >= ?"
)
_PENDING = "SELECT id FROM messages WHERE status = 'pending' AND created_at >= ?"


def read_ledger_file(file: Path, since: int, at: int) -> ServerFile:
    """Return the contents of `file` since a time, read at the time `at`, both in Unix milliseconds. Blocks."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        return read_ledger_rows(connection.execute, since, at)


def read_ledger_rows(run_query: RunQuery, since: int, at: int) -> ServerFile:
    """Return the contents of a ledger's tables since a time, read at the time `at`, both in Unix milliseconds."""
    rows = {id: ActionRow(*row) for id, *row in run_query(_ROWS, (since,))}
    calls = {
        id: CallRow(
            status=status,
            tool=tool,
            runs_at=runs_at,
            digest=digest,
            free=free,
            lease_until=lease_until,
            edited=edited,
        )
        for id, status, tool, runs_at, digest, free, lease_until, edited in run_query(_CALLS, (since,))
    }
    pending = tuple(id for (id,) in run_query(_PENDING, (since,)))
    return ServerFile(rows, calls, pending, at)
