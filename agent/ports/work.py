"""Runs blocking work off the event loop."""

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class RunSync(Protocol):
    """Runs a blocking function in a worker thread; tests on virtual time replace it by an inline call."""

    async def __call__(self, function: Callable[[], T]) -> T:
        """Return `function()`. Cancelled, it raises at once; the function goes on and its result is lost.

        So an object that must not be used by two threads at a time, such as a connection, belongs to one task that is
        not cancelled while the process lives; every waiter for that task has a deadline of its own.
        """
        ...


class RunActionSync(Protocol):
    """Runs a blocking function that has an effect in a worker thread; tests on virtual time replace it as above."""

    async def __call__(self, function: Callable[[], T], begin: Callable[[], None]) -> T:
        """Return `function()`, after `begin()`, which is called on the event loop in the step that starts `function`.

        Cancelled before `begin()`, or when that raises, `function` is never called. Cancelled after it, this raises at
        once; the function goes on and its result is lost.
        """
        ...


class Isolate(Protocol):
    """Answers requests in a place where hostile content can do no harm, one at a time. All methods block; any thread
    may call.
    """

    def start(self) -> None:
        """Start, without waiting for it, since a request will come soon."""
        ...

    def ask(
        self,
        request: bytes,
        seconds: float,
        look: Callable[[], object],
        begin: Callable[[], object] = lambda: None,
    ) -> bytes:
        """Return the reply to `request`, within `seconds`.

        `look` is called every few hundredths of a second; its exceptions end the request. `begin` is called when it is
        this request's turn. Raises `agent.errors.SandboxKilled` for a request that cannot be answered within its
        limits, `agent.errors.SandboxFailed` where none can be answered now, and `agent.errors.GivenUp` after `close`.
        """
        ...

    def close(self) -> None:
        """End the present request, and answer no more. Idempotent; takes a few milliseconds."""
        ...
