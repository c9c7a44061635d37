"""The state of a server towards newcomers: it opens once it listens, and drains once, for good."""

from collections.abc import Iterator
from contextlib import contextmanager

import trio

from .settings import IDLE_TIMEOUT


class Gate:
    """The state of the server: it opens once it listens, and drains once, for good.

    `accepting`: the scope around the accept loop. `trouble`: a sentence about work that an open server cannot do just
    now, or ""; it accepts connections all the same.
    """

    def __init__(self) -> None:
        self.accepting = trio.CancelScope()  # around the accept loop
        self.trouble = ""
        self._open = False
        self._idle: set[trio.CancelScope] = set()

    @property
    def unready(self) -> str:
        """The reason to send new clients elsewhere, as a sentence; "" if they are welcome."""
        if self.draining:
            return "The server is going down."
        return self.trouble if self._open else "The server is starting."

    @property
    def draining(self) -> bool:
        """Whether `drain` was called."""
        return self.accepting.cancel_called

    def open(self) -> None:
        """Open the gate: the server listens."""
        self._open = True

    def drain(self) -> None:
        """Accept no more connections, and end those that wait for their next request. Idempotent.

        All other connections go on, those in their handshake too.
        """
        self.accepting.cancel()
        for scope in self._idle:
            scope.cancel()

    @contextmanager
    def bound_wait(self) -> Iterator[None]:
        """Bound the block, which waits for a next request, to `IDLE_TIMEOUT` seconds; `drain` ends it at once."""
        with trio.move_on_after(0 if self.draining else IDLE_TIMEOUT) as scope:
            self._idle.add(scope)
            try:
                yield
            finally:
                self._idle.discard(scope)
