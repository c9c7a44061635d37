"""Reports the figures of lower layers to the server, which publishes them."""

from typing import Protocol


class Observer(Protocol):
    """Takes counts and durations. Labels are short fixed words, never a client's or a model's text."""

    def count(self, metric: str, label: str = "") -> None:
        """Add one to the counter `metric`, under `label` where it has one."""
        ...

    def measure(self, metric: str, seconds: float) -> None:
        """Record a duration in seconds under `metric`."""
        ...

    def gauge(self, metric: str, change: int) -> None:
        """Change the level `metric` by `change`."""
        ...
