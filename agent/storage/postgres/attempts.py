"""Attempts to connect to a server again, one at a time in this process.

A server that is away may take each attempt's whole time, and one that comes back has all its clients at the door. So
after an attempt that failed there is a pause of a random length, in which a caller that needs a connection gets the
result of the last attempt at once. A first connection is no such attempt: it is always tried.
"""

import random
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Final, TypeVar

from .faults import FAULTS, Unusable, explain

T = TypeVar("T")

PAUSE: Final = 0.25, 0.75
"""The bounds of the pause after an attempt that failed, in seconds."""


class Attempts:
    """The attempts of this process at one server; any thread may use them."""

    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        self._not_before = 0.0
        self._why = ""

    def connect_again(self, connect: Callable[[], T]) -> T:
        """Return `connect()`. Raises its errors, and `Unusable` with the reason of the last one within the pause."""
        with self._one_at_a_time:
            if time.monotonic() < self._not_before:
                raise Unusable(self._why)
            try:
                return connect()
            except (*FAULTS, Unusable) as error:
                self._why = explain(error)
                self._not_before = time.monotonic() + random.uniform(*PAUSE)
                raise


@cache
def attempts_at(url: str) -> Attempts:
    """Return the attempts of this process at the server of `url`."""
    return Attempts()
