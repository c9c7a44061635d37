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
