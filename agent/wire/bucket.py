"""A token bucket (the usual leaky-bucket meter), without a clock of its own."""


class Bucket:
    """Allows `rate` tokens per second and `burst` at once; a rate of 0 allows everything."""

    __slots__ = ("_at", "_burst", "_left", "_rate")

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._at = 0.0

    def has(self, now: float) -> bool:
        """Return whether a token is there at `now` (seconds, never going back)."""
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        return self._rate == 0 or self._left >= 1

    def take(self, now: float) -> bool:
        """Take a token at `now`, if there is one; return whether there was."""
        if not self.has(now):
            return False
        self._left -= 1
        return True

    def give_back(self) -> None:
        """Take back that a token was taken."""
        self._left = min(self._burst, self._left + 1)
