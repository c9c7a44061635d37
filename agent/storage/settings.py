"""Settings of storage. Above them, the limits that modules of this room share."""

from dataclasses import dataclass

from ..config import MEMORY, check, finite

IDEMPOTENCY_SECONDS = 24 * 3600.0
TOMBSTONE_SECONDS = 24 * 3600.0
RETENTION_DAYS = 36_500  # that may be set at most

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
            for programs' data. memory keeps everything in RAM, until the server ends.
        keep_threads: Days after which an unused thread is deleted, with its messages, calls and answers kept for an
            Idempotency-Key. 0 keeps threads for ever. A thread is unused while it has no new message, no turn, and no
            call that waits, runs or ends. Memory stays.
        keep_audit: Days after which a line of the audit (who decided what, and when) is deleted. 0 keeps it for ever.
    """

    data: str = MEMORY
    keep_threads: float = 0.0
    keep_audit: float = 0.0

    def __post_init__(self) -> None:
        """Check the rules that types cannot express."""
        check(
            finite(self.keep_threads, self.keep_audit),
            (not self.data.strip(), "data must be a folder, user or memory"),
            (not _is_possible(self.keep_threads), f"keep-threads {_DAYS}"),
            (not _is_possible(self.keep_audit), f"keep-audit {_DAYS}"),
        )

    @property
    def retention(self) -> Retention:
        """The retention of threads and of the audit."""
        return Retention(self.keep_threads, self.keep_audit)


def _is_possible(days: float) -> bool:
    """Return whether `days` is 0 or within bounds; less than a day would delete answers that can still be repeated."""
    return days == 0 or 1 <= days <= RETENTION_DAYS
