"""Reads wall-clock time; it is injected so that tests can set it."""

from typing import Protocol


class Clock(Protocol):
    """Reads the time of day; durations use the event loop's clock."""

    def now_ms(self) -> int:
        """Return Unix time in milliseconds."""
        ...
