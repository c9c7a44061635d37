"""Settings of storage. Above them, the limits that modules of this room share."""

import os
from dataclasses import dataclass
from pathlib import Path

from ..config import MEMORY, check, finite

SERVERS = ("postgresql://", "postgres://")
"""How a value of `data` begins that names a database server."""

HEARTBEAT = 5.0
"""Seconds between two heartbeats of a process that shares a database server with others."""
NODE_DEAD_AFTER = 30.0
"""Seconds without a heartbeat after which such a process is dead, unless the server still has its session."""
IDEMPOTENCY_SECONDS = 24 * 3600.0
TOMBSTONE_SECONDS = 24 * 3600.0
RETENTION_DAYS = 36_500  # that may be set at most
_NAME_LENGTH = 100  # characters of the knowledge base's name

_DAYS = f"must be 0 (for ever) or 1 to {RETENTION_DAYS} days"


@dataclass(frozen=True, slots=True)
class Retention:
    """For how many days unused threads, and lines of the audit, are kept; 0 is for ever."""

    threads: float = 0.0
    audit: float = 0.0


FOR_EVER = Retention()


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """The folder of actions, threads and memory, and how long their rows are kept.

    Raises `agent.errors.UsageError`, one line that names the setting, when a value cannot work.

    Args:
        data: Folder for actions, threads and memory across restarts; several servers may share it. user is your folder
            for programs' data. memory keeps everything in RAM, until the server ends. postgresql://USER@HOST/DATABASE
            keeps it on a PostgreSQL server; its password may stand in PGPASSWORD or PGPASSFILE.
        keep_threads: Days after which an unused thread is deleted, with its messages, calls and answers kept for an
            Idempotency-Key. 0 keeps threads for ever. A thread is unused while it has no new message, no turn, and no
            call that waits, runs or ends. Memory stays.
        keep_audit: Days after which a line of the audit (who decided what, and when) is deleted. 0 keeps it for ever.
        kb_name: Name of the knowledge base in the ledger and the memory of sockets, the same on all servers of a
            PostgreSQL database that have the same documents. Without it the last part of --kb; in a folder its path.
        require_sync: Do not start on a PostgreSQL server without a synchronous standby, which still has all that was
            answered when the server is lost.
    """

    data: str = MEMORY
    keep_threads: float = 0.0
    keep_audit: float = 0.0
    kb_name: str = ""
    require_sync: bool = False

    def __post_init__(self) -> None:
        """Check the rules that types cannot express."""
        check(
            finite(self.keep_threads, self.keep_audit),
            (not self.data.strip(), "data must be a folder, user, memory or a postgresql:// URL"),
            ("://" in self.data and not is_server(self.data), "data can be no URL but postgresql://..."),
            (not _is_possible(self.keep_threads), f"keep-threads {_DAYS}"),
            (not _is_possible(self.keep_audit), f"keep-audit {_DAYS}"),
            (
                len(self.kb_name) > _NAME_LENGTH or not self.kb_name.isprintable(),
                f"kb-name must be a line of up to {_NAME_LENGTH} characters",
            ),
            (
                self.require_sync and not is_server(self.data),
                "require-sync is for a PostgreSQL server: set data to postgresql://...",
            ),
        )

    @property
    def retention(self) -> Retention:
        """The retention of threads and of the audit."""
        return Retention(self.keep_threads, self.keep_audit)

    def name_documents(self, kb: Path) -> str:
        """Return the name of the documents in `kb` that does not depend on this machine; "" where it is their path.

        Machines that share a server have their documents in different places, and only the last part of a path is
        theirs in common. A link is not followed: its target may differ with each release of the documents.
        """
        if self.kb_name or not is_server(self.data):
            return self.kb_name
        return os.path.basename(os.path.abspath(kb))


def is_server(data: str) -> bool:
    """Return whether a value of `data` names a database server."""
    return data.startswith(SERVERS)


def hide_login(url: str) -> str:
    """Return the `url` of a server without user, password and options: with its host, its port and the database.

    As libpq reads it, a login ends at an "@" before the first "/", and may have a "?" or "#".
    """
    scheme, _, rest = url.partition("://")
    server, slash, database = rest.partition("/")
    shown = f"{server.rpartition('@')[2].partition('?')[0]}{slash}{database.partition('?')[0]}"
    return f"{scheme}://{shown.rpartition('@')[2]}"


def _is_possible(days: float) -> bool:
    """Return whether `days` is 0 or within bounds; less than a day would delete answers that can still be repeated."""
    return days == 0 or 1 <= days <= RETENTION_DAYS
