"""How often one address may do something: send messages, and wrong tokens that it is told of at leisure.

Each has a bucket of tokens per address, so that one that asks too often slows down nobody but itself.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from ..config import ADDRESS_SESSIONS, ADDRESSES_REMEMBERED, API_REQUESTS, WRONG_TOKENS
from ..wire.bucket import Bucket
from .addresses import THIS_MACHINE
from .settings import ServerSettings

# seconds' worth that an address may save: of messages, of wrong tokens, of requests to the HTTP API
BURST, WRONG_TOKEN_BURST, REQUEST_BURST = 2.0, 60.0, 60.0


class Rates(Protocol):
    """A rate for each address, wherever they are counted."""

    def take(self, address: str | None, now: float) -> bool:
        """Take a token of an address at `now` (seconds), if there is one; nobody in particular has no limit."""
        ...

    def give_back(self, address: str | None, now: float) -> None:
        """Give back a token that was taken, as it was none of what is limited."""
        ...


class PerAddress:
    """A token bucket for each address. The least recently used are forgotten, which have most likely filled up."""

    def __init__(self, rate: Callable[[str], float], burst: float) -> None:
        """rate: tokens per second of an address, 0 for no limit. burst: seconds' worth of them that one may save."""
        self._rate = rate
        self._burst = burst
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, address: str | None, now: float) -> bool:
        """Take a token of an address at `now` (seconds), if there is one; nobody in particular has no limit."""
        if address is None or not (rate := self._rate(address)):
            return True
        bucket = self._buckets.get(address)
        if bucket is None:
            bucket = self._buckets[address] = Bucket(rate, rate * self._burst)
            if len(self._buckets) > ADDRESSES_REMEMBERED:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(address)
        return bucket.take(now)

    def give_back(self, address: str | None, now: float) -> None:
        """Give back a token that was taken; an address that is forgotten has all of its own."""
        bucket = None if address is None else self._buckets.get(address)
        if bucket is not None:
            bucket.give_back()


def message_rate(settings: ServerSettings, rate_limit: float) -> Callable[[str], float]:
    """Return what tells the messages per second of an address. rate_limit: those of one session."""
    chosen, usual = settings.address_rate, ADDRESS_SESSIONS * rate_limit

    def rate(address: str) -> float:
        if chosen is None:
            return 0.0 if address == THIS_MACHINE else usual
        return chosen

    return rate


def request_rate(settings: ServerSettings) -> Callable[[str], float]:
    """Return what tells the requests per second of a key, or of an address without one."""
    chosen = settings.api_rate

    def rate(address: str) -> float:
        if chosen is None:
            return 0.0 if address == THIS_MACHINE else API_REQUESTS / 60
        return chosen / 60

    return rate


def wrong_token_rate(_: str) -> float:
    """Return the wrong tokens per second of an address that are told so at leisure."""
    return WRONG_TOKENS / 60
