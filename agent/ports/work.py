"""Blocking work, kept off the event loop."""

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class RunSync(Protocol):
    """Runs a blocking function in a worker thread; tests on virtual time replace it by an inline call."""

    async def __call__(self, function: Callable[[], T]) -> T:
        """Return `function()`. A cancel waits for the function to return: its thread is never abandoned."""
        ...
