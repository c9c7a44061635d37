"""Wall-clock time, injected so that tests can set it."""

from typing import Protocol


class Clock(Protocol):
    """Tells what time it is in the world; durations use the event loop's clock."""

    def now_ms(self) -> int:
        """Return Unix time in milliseconds."""
        ...
