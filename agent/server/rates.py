"""Rates per address: of messages, of requests to the HTTP API, and of wrong tokens.

Each rate has a token `Bucket` per address, so that a client that asks too often slows down only its own address.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from ..config import ADDRESSES_REMEMBERED
from ..wire.bucket import Bucket
from .addresses import THIS_MACHINE
from .settings import WRONG_TOKENS, ServerSettings

ADDRESS_SESSIONS = 10  # the message rate of one address, in rates of a session
API_REQUESTS = 100.0  # of one key, or of one address without one, in a minute

# seconds' worth that an address may save: of messages, of wrong tokens, of requests to the HTTP API
BURST, WRONG_TOKEN_BURST, REQUEST_BURST = 2.0, 60.0, 60.0


class Rates(Protocol):
    """A rate for each address, counted in this process or for several servers together."""

    def take(self, address: str | None, now: float) -> bool:
        """Take a token of `address` at `now` (seconds); return whether it had one. The address None has no limit."""
        ...

    def give_back(self, address: str | None, now: float) -> None:
        """Give back a token that was taken for an event that turned out not to count."""
        ...


class PerAddress:
    """A token bucket for each address. The least recently used ones are forgotten: they have most likely filled up."""

    def __init__(self, rate: Callable[[str], float], burst: float) -> None:
        """Start without buckets.

        `rate` returns the tokens per second of an address, 0 for no limit. `burst`: seconds' worth of tokens that an
        address may save.
        """
        self._rate = rate
        self._burst = burst
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, address: str | None, now: float) -> bool:
        """Take a token of `address` at `now` (seconds); return whether it had one. The address None has no limit."""
        if address is None or not (rate := self._rate(address)):
            return True
        bucket = self._buckets.get(address)
        if bucket is None:
            bucket = self._buckets[address] = Bucket(rate, rate * self._burst)
            if len(self._buckets) > ADDRESSES_REMEMBERED:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(address)
        return bucket.take_token(now)

    def give_back(self, address: str | None, now: float) -> None:
        """Give back a token that was taken. A forgotten address needs none: it starts with a full bucket."""
        bucket = None if address is None else self._buckets.get(address)
        if bucket is not None:
            bucket.return_token()


def message_rate(settings: ServerSettings, rate_limit: float) -> Callable[[str], float]:
    """Return a function from an address to its messages per second. `rate_limit`: those of one session."""
    chosen, usual = settings.address_rate, ADDRESS_SESSIONS * rate_limit

    def rate(address: str) -> float:
        if chosen is None:
            return 0.0 if address == THIS_MACHINE else usual
        return chosen

    return rate


def request_rate(settings: ServerSettings) -> Callable[[str], float]:
    """Return a function from a key, or an address without a key, to its requests per second."""
    chosen = settings.api_rate

    def rate(address: str) -> float:
        if chosen is None:
            return 0.0 if address == THIS_MACHINE else API_REQUESTS / 60
        return chosen / 60

    return rate


def wrong_token_rate(_: str) -> float:
    """Return the wrong tokens per second that an address may show before it is refused as `TooManyGuesses`."""
    return WRONG_TOKENS / 60
