"""The settings of a session: its pace, rate limit, history and the time for a confirm.

Above them, the limits that modules of this room share.
"""

from dataclasses import dataclass

from ..config import CONFIRM_SECONDS, check, finite

LIVE_SUGGESTIONS = 8
QUEUED_MESSAGES = 8
PROGRESS_AFTER = 0.4  # seconds that a state of a turn lasts before a client that asks for it is told


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """The pace, rate limit, history and time for a confirm of each session.

    Raises `agent.errors.UsageError`, one line that names the setting, when a value cannot work.

    Args:
        pace_ms: Milliseconds between two words of a verified answer. 0 sends all words at once.
        rate_limit: Most messages per second of one session that interrupt or queue. 0 is no limit.
        history_tokens: Most tokens of earlier messages in a prompt. 0 leaves them out. They are never a source.
        confirm_time: Seconds in which a suggestion over a socket can be confirmed, 1 to 86400 (a day).
    """

    pace_ms: float = 20.0
    rate_limit: float = 20.0
    history_tokens: int = 2000
    confirm_time: float = CONFIRM_SECONDS

    def __post_init__(self) -> None:
        """Check the ranges that the types cannot express."""
        check(
            finite(self.pace_ms, self.rate_limit, self.confirm_time),
            (self.pace_ms < 0, "pace-ms must not be negative"),
            (self.rate_limit < 0, "rate-limit must not be negative"),
            (self.history_tokens < 0, "history-tokens must not be negative"),
            (not 1 <= self.confirm_time <= 86400, "confirm-time must be 1 to 86400 seconds"),
        )
