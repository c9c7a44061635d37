"""The settings of what is kept."""

from dataclasses import dataclass

from ..config import MEMORY, RETENTION_DAYS, check, finite

_DAYS = f"must be 0 (for ever) or 1 to {RETENTION_DAYS} days"


@dataclass(frozen=True, slots=True)
class Retention:
    """For how many days unused threads, and lines of the audit, are kept; 0 is for ever."""

    threads: float = 0.0
    audit: float = 0.0


FOR_EVER = Retention()


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """Where actions and what was read are kept, and for how long.

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
        """Check what the types cannot say."""
        check(
            finite(self.keep_threads, self.keep_audit),
            (not self.data.strip(), "data must be a folder, user or memory"),
            (not _is_possible(self.keep_threads), f"keep-threads {_DAYS}"),
            (not _is_possible(self.keep_audit), f"keep-audit {_DAYS}"),
        )

    @property
    def retention(self) -> Retention:
        """For how long what can grow old is kept."""
        return Retention(self.keep_threads, self.keep_audit)


def _is_possible(days: float) -> bool:
    """Return whether something can be kept for so many days; less than one would end what can still be asked for."""
    return days == 0 or 1 <= days <= RETENTION_DAYS
