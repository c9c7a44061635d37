"""What stands in a server's file: its ledger, and the calls and messages of its threads.

The file is read as it is: opening it as a server would settle what was left claimed.
"""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

CALLER = "caller"  # where a call runs that its caller takes, and whose its row is then


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the ledger. lease_until: Unix ms until when a caller may report."""

    status: str
    tool: str = ""
    owner: str = ""
    lease_until: int | None = None

    def leased(self, at: int) -> bool:
        """Whether a caller has it, and may still report."""
        return self.status == "claimed" and self.owner == CALLER and (self.lease_until or 0) > at


@dataclass(frozen=True, slots=True)
class KeptCall:
    """A call of a thread.

    digest: of the arguments that run, or would. free: it needed nobody's approval. edited: the arguments are others
    than those that were suggested.
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
        """Whether a server runs it, or is about to."""
        return self.status in ("confirmed", "claimed") and self.runs_at != CALLER


@dataclass(frozen=True, slots=True)
class Kept:
    """All of it. rows, calls: by id. pending: messages whose turn has not ended. at: when it was read, Unix ms."""

    rows: Mapping[str, Row]
    calls: Mapping[str, KeptCall] = field(default_factory=dict)
    pending: tuple[str, ...] = ()
    at: int = 0


_ROWS = "SELECT suggestion_id, status, action, owner, lease_until FROM actions WHERE claimed_at >= ?"
_CALLS = (
    "SELECT id, status, tool, runs_at, arguments_hash, NOT needs_approval, lease_until,"
    " arguments_hash <> proposed_hash FROM calls WHERE created_at >= ?"
)
_PENDING = "SELECT id FROM messages WHERE status = 'pending' AND created_at >= ?"


def kept_since(file: Path, since: int, at: int) -> Kept:
    """Return what stands in a file since a time (Unix ms), `at` another one. It blocks."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        rows = {id: Row(*row) for id, *row in connection.execute(_ROWS, (since,))}
        calls = {id: KeptCall(*call) for id, *call in connection.execute(_CALLS, (since,))}
        pending = tuple(id for (id,) in connection.execute(_PENDING, (since,)))
    return Kept(rows, calls, pending, at)
