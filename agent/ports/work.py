"""Blocking work, kept off the event loop."""

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class RunSync(Protocol):
    """Runs a blocking function in a worker thread; tests on virtual time replace it by an inline call."""

    async def __call__(self, function: Callable[[], T]) -> T:
        """Return `function()`. Cancelled, it raises at once; the function goes on and its result is lost.

        So what must not be used by two threads at a time, such as a connection, belongs to one task that nobody
        cancels while the process lives; whoever waits for that task has a deadline of its own.
        """
        ...


class Isolate(Protocol):
    """Answers requests where what they hold can do no harm, one at a time. Everything blocks; for any thread."""

    def start(self) -> None:
        """Get ready, without waiting for it, since a request will come soon."""
        ...

    def ask(
        self,
        request: bytes,
        seconds: float,
        look: Callable[[], object],
        begin: Callable[[], object] = lambda: None,
    ) -> bytes:
        """Return the reply to a request.

        seconds: that it may take. look: is called every few hundredths of a second; what it raises ends the request.
        begin: is called when it is this request's turn.
        Raises `agent.errors.SandboxKilled` for a request that cannot be answered within its limits,
        `agent.errors.SandboxFailed` where none can be answered now, and `agent.errors.GivenUp` after `close`.
        """
        ...

    def close(self) -> None:
        """End what is asked now, and answer nothing any more. Idempotent; takes a few milliseconds."""
        ...
