"""A token bucket (the usual leaky-bucket meter), without a clock of its own."""


class Bucket:
    """Allows `rate` tokens per second and `burst` at once; a rate of 0 allows everything."""

    __slots__ = ("_at", "_burst", "_rate", "_tokens")

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._at = 0.0

    def has_token(self, now: float) -> bool:
        """Return whether a token is left at `now` (seconds, never decreasing)."""
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        return self._rate == 0 or self._tokens >= 1

    def take_token(self, now: float) -> bool:
        """Take a token at `now`, if one is left; return whether one was."""
        if not self.has_token(now):
            return False
        self._tokens -= 1
        return True

    def return_token(self) -> None:
        """Return a token that was taken."""
        self._tokens = min(self._burst, self._tokens + 1)
