"""The resources of the machine: open files, the time, worker threads and randomness."""

import resource
import secrets
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

import structlog
import trio

SWITCH_INTERVAL = 0.001  # for which a thread that computes keeps the interpreter when another wants it

_log = structlog.get_logger("agent.host")
_THREADS = 4
T = TypeVar("T")


def raise_file_limit(wanted: int) -> None:
    """Raise the limit of open files to `wanted` if allowed; with fewer, the server refuses clients sooner."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def shorten_switch_interval() -> None:
    """Let computing threads of this process return the interpreter to the event loop sooner.

    A turn over HTTP waits for the interpreter some twenty times, each time for as long as every such thread may keep
    it: beside two threads that read large documents a turn took 60 to 70 ms and at most 190, at Python's own 5 ms 160
    and at most 600.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)


class WallClock:
    """The system's clock (implements `agent.ports.clock.Clock`)."""

    def now_ms(self) -> int:
        """Return Unix time in milliseconds."""
        return time.time_ns() // 1_000_000


class WorkerThreads:
    """Runs blocking work in worker threads, a few at a time.

    Implements `agent.ports.work.RunSync` and `agent.ports.work.RunActionSync`.

    `size`: the number of threads. An abandoned thread keeps its place until its function returns.
    """

    def __init__(self, size: int = _THREADS) -> None:
        self._limiter = trio.CapacityLimiter(size)

    async def __call__(self, function: Callable[[], T], begin: Callable[[], None] | None = None) -> T:
        """Return `function()`. Cancelled, this raises at once; a call that has begun goes on, and is logged.

        `begin`: called once a thread is free, in the step that starts it; when it raises, `function` is not called.
        """
        limiter = (
            self._limiter if begin is None else cast(trio.CapacityLimiter, _BeginGate(self._limiter, begin))
        )
        began = trio.current_time()
        running = False

        def call() -> T:
            nonlocal running
            running = True
            try:
                return function()
            finally:
                running = False

        try:
            return await trio.to_thread.run_sync(call, limiter=limiter, abandon_on_cancel=True)
        except trio.Cancelled:
            if running:
                seconds = round(trio.current_time() - began, 1)
                _log.warning(
                    "blocking call left behind", function=find_function_name(function), seconds=seconds
                )
            raise


class _BeginGate:
    """A limiter that calls `begin` when it grants a place; Trio starts the thread in the same step."""

    def __init__(self, limiter: trio.CapacityLimiter, begin: Callable[[], None]) -> None:
        self._limiter = limiter
        self._begin = begin

    async def acquire_on_behalf_of(self, borrower: object) -> None:
        await self._limiter.acquire_on_behalf_of(borrower)
        try:
            self._begin()
        except BaseException:
            self._limiter.release_on_behalf_of(borrower)
            raise

    def release_on_behalf_of(self, borrower: object) -> None:
        self._limiter.release_on_behalf_of(borrower)


def find_function_name(function: Callable[..., object]) -> str:
    """Return the qualified name that a function has in the code, whatever it is wrapped in."""
    while (inner := getattr(function, "__wrapped__", None) or getattr(function, "func", None)) is not None:
        function = inner
    return str(getattr(function, "__qualname__", type(function).__name__))


def new_id() -> str:
    """Return an unguessable id: 128 random bits as URL-safe text."""
    return secrets.token_urlsafe(16)
