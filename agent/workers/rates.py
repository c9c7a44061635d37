"""Rates of addresses in memory that several processes share, so that a rate holds for all of them together.

Whether a message may pass is decided as it is read, so no other process can be asked. The state of an address is a
token bucket: how many tokens were left, and when. It is read and written under a kernel lock on the set of few
addresses that it belongs to; that takes microseconds, and the kernel releases the lock when its holder dies. When a
holder was stopped in between, the others wait `PATIENCE` seconds and then refuse: more than the rate never passes.

Addresses are found by a keyed hash, in sets of `WAYS`; a full set loses the address that was silent for longest. The
clock is the system's monotonic one, which is the same in each process.
"""

import fcntl
import mmap
import os
import secrets
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b

from ..config import ADDRESSES_REMEMBERED

WAYS = 8
SETS = ADDRESSES_REMEMBERED // WAYS
TABLES = 3  # messages, wrong tokens, requests to the HTTP API
PATIENCE = 0.001
_KEY = 32
_ENTRY = struct.Struct("<16sdd")  # a hash, the tokens that were left, and when
_SIZE = _KEY + TABLES * SETS * WAYS * _ENTRY.size


def make_rates() -> int:
    """Return a file descriptor of empty tables, in no folder. Raises `OSError` when the system has no room."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("agent-rates")
    else:
        with tempfile.TemporaryFile() as temporary:
            file = os.dup(temporary.fileno())
    # The whole file is written, so that the disk cannot be full later.
    content = secrets.token_bytes(_KEY) + bytes(_SIZE - _KEY)
    written = os.write(file, content)
    if written < len(content):
        os.close(file)
        raise OSError("the tables of rates were not written whole")
    return file


class SharedRates:
    """A token bucket for each address (implements `agent.server.rates.Rates`).

    `file` is the result of `make_rates`, in any process. `table` is 0 to `TABLES - 1`. `rate` returns the tokens per
    second of an address, 0 for no limit; `burst` is how many seconds' worth of them an address may save. `clock`
    returns seconds, the same in every process.
    """

    def __init__(
        self,
        file: int,
        table: int,
        rate: Callable[[str], float],
        burst: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._file = file
        self._memory = mmap.mmap(file, _SIZE)
        self._key = self._memory[:_KEY]
        self._begin = _KEY + table * SETS * WAYS * _ENTRY.size
        self._rate = rate
        self._burst = burst
        self._clock = clock

    def take(self, address: str | None, now: float) -> bool:
        """Take a token of `address`, if there is one; `None` has no limit. `now` is ignored."""
        return self._change(address, 1)

    def give_back(self, address: str | None, now: float) -> None:
        """Give back a token, if the lock can be had; without the lock the address has one token less for now."""
        self._change(address, -1)

    def _change(self, address: str | None, tokens: int) -> bool:
        if address is None or not (rate := self._rate(address)):
            return True
        name = blake2b(address.encode(), key=self._key, digest_size=16).digest()
        begin = self._begin + int.from_bytes(name[:4], "big") % SETS * WAYS * _ENTRY.size
        with self._lock_set(begin) as locked:
            return locked and self._take(name, begin, rate, tokens)

    def _take(self, name: bytes, begin: int, rate: float, tokens: int) -> bool:
        now, most = self._clock(), rate * self._burst
        entries = [(*_ENTRY.unpack_from(self._memory, at), at) for at in self._set(begin)]
        tokens_left, since, at = next(
            (
                (tokens_left, since, at)
                for entry_name, tokens_left, since, at in entries
                if entry_name == name
            ),
            (most, now, min((since, at) for *_, since, at in entries)[1]),
        )
        tokens_left = min(most, tokens_left + max(0.0, now - since) * rate)
        granted = tokens_left >= tokens
        _ENTRY.pack_into(
            self._memory, at, name, min(most, tokens_left - tokens) if granted else tokens_left, now
        )
        return granted

    def _set(self, begin: int) -> range:
        return range(begin, begin + WAYS * _ENTRY.size, _ENTRY.size)

    @contextmanager
    def _lock_set(self, begin: int) -> Iterator[bool]:
        """Hold a set's lock against other processes; yield `False` if it cannot be had soon."""
        give_up = time.perf_counter() + PATIENCE
        while True:
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, begin)
                break
            except (BlockingIOError, PermissionError):
                if time.perf_counter() > give_up:
                    yield False
                    return
                time.sleep(0)
        try:
            yield True
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, begin)
