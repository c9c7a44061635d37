"""Every limit and every setting, in one place.

`Settings` is what an operator may choose; the constants below it are bounds of the design (DESIGN and PROTOCOL
give them), named here so that no number stands twice. Sizes are bytes, times are seconds, unless the name says
otherwise.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .errors import UsageError

# --- the wire
MAX_FRAME = 64 * 1024
MAX_TEXT = 8000  # characters of a message
MAX_ID = 128  # characters of a message id
MAX_NESTING = 32
BAD_FRAMES = 3  # the third bad frame ...
BAD_FRAMES_WINDOW = 10.0  # ... in this time closes the connection
FRAMES_PER_SECOND = 200
HEAD_MAX = 16 * 1024
HEAD_TIMEOUT = 5.0
HANDSHAKE_TIMEOUT = 5.0
KEEPALIVE_EVERY = 20.0
KEEPALIVE_ANSWER = 20.0
CLOSE_TIMEOUT = 2.0  # for the client's half of the closing handshake
FLUSH_TIMEOUT = 1.0  # for what still waits when the client has closed

# --- the outbox
OUTBOX_DELTAS = 8  # of one turn, waiting
OUTBOX_FRAMES = 256  # control frames, waiting
OUTBOX_BYTES = 1024 * 1024
WRITE_TIMEOUT = 10.0

# --- the session
LIVE_SUGGESTIONS = 8
QUEUED_MESSAGES = 8
CONFIRM_SECONDS = 30.0
SUGGESTIONS_REMEMBERED = 1024  # closed suggestions a session can still answer for
UNWIND_TIMEOUT = 2.0  # a Brain's clean-up after a cancel
DRAIN_TIMEOUT = 25.0

# --- a turn
QUERY_WORDS = 12
DRAFT_MAX = 32 * 1024

# --- actions
ACTION_TIMEOUT = 10.0
WEBHOOK_TIMEOUT = 8.0
WEBHOOK_ANSWER_MAX = 16 * 1024
RECORD_TIMEOUT = 2.0  # claim and record, shielded
TOMBSTONE_SECONDS = 24 * 3600.0
LEDGER_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator chose: one frozen value, checked when it is made.

    Raises `agent.errors.UsageError`, one line that names the setting, when a value cannot work.
    """

    host: str = "127.0.0.1"
    port: int = 8787
    kb: Path = Path("kb")
    lang: Literal["en", "sv"] = "en"
    model: str = "mock"  # "mock" or "script:FILE"
    mock_hallucinate: float = 0.0  # 0..1, share of drafts that hold an invented number
    mock_seed: int = 0
    mock_delay_ms: float = 0.0  # before each delta of a draft
    pace_ms: float = 20.0  # between two deltas of a verified text; 0 is off
    turn_timeout: float = 30.0  # seconds for a draft
    action_webhook: str | None = None
    action_delay_ms: tuple[float, float] = (0.0, 0.0)  # before and after begin(), of the `record` executor
    token: str | None = None
    insecure: bool = False
    allow_host: tuple[str, ...] = ()
    allow_origin: tuple[str, ...] = ()
    max_connections: int = 1000
    rate_limit: float = 20.0  # messages per second that pre-empt or queue; 0 is off
    log_format: Literal["console", "json"] = "console"
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    def __post_init__(self) -> None:
        """Check what the types cannot say."""
        problems = (
            (not 0 <= self.port <= 65535, "port must be 0 to 65535"),
            (self.lang not in ("en", "sv"), "lang must be en or sv"),
            (not 0 <= self.mock_hallucinate <= 1, "mock-hallucinate must be 0 to 1"),
            (self.mock_delay_ms < 0, "mock-delay-ms must not be negative"),
            (self.pace_ms < 0, "pace-ms must not be negative"),
            (self.turn_timeout <= 0, "turn-timeout must be positive"),
            (min(self.action_delay_ms) < 0, "action-delay-ms must not be negative"),
            (self.rate_limit < 0, "rate-limit must not be negative"),
            (self.max_connections < 1, "max-connections must be at least 1"),
            (self.log_format not in ("console", "json"), "log-format must be console or json"),
            (
                self.model != "mock" and not self.model.startswith("script:"),
                "model must be mock or script:FILE",
            ),
        )
        for wrong, message in problems:
            if wrong:
                raise UsageError(message)
