"""Settings of conversations over HTTP."""

from dataclasses import dataclass

from ..config import check, finite

THREAD_CALM = 60.0  # after which a thread goes to sleep
APPROVAL_SECONDS = 24 * 3600.0  # in which a thread's call can be approved, and be taken by its caller
LEASE_SECONDS = 600.0  # in which the caller reports what it has begun


@dataclass(frozen=True, slots=True)
class ThreadSettings:
    """How long a call of a thread waits for somebody, and a thread for the next message.

    Raises `agent.errors.UsageError`, one line that names the setting, when a value cannot work.

    Args:
        approval_time: Seconds in which a suggested call over HTTP can be approved, 1 to 604800 (7 days).
        lease_time: Seconds in which a caller must report a call that it has begun, 1 to 86400 (a day).
        calm_time: Seconds without activity after which a thread is kept on disk only, 1 to 86400 (a day).
    """

    approval_time: float = APPROVAL_SECONDS
    lease_time: float = LEASE_SECONDS
    calm_time: float = THREAD_CALM

    def __post_init__(self) -> None:
        """Check the rules that types cannot express."""
        check(
            finite(self.approval_time, self.lease_time, self.calm_time),
            (not 1 <= self.approval_time <= 7 * 86400, "approval-time must be 1 to 604800 seconds"),
            (not 1 <= self.lease_time <= 86400, "lease-time must be 1 to 86400 seconds"),
            (not 1 <= self.calm_time <= 86400, "calm-time must be 1 to 86400 seconds"),
        )
