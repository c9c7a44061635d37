"""How many connections are served at a time.

Running out of file descriptors needs nothing here: `trio.serve_listeners` logs it, waits 0.1 s and accepts again,
so the server goes on with the connections it has.
"""

import trio


class Cap:
    """Counts what is in use, up to `size`."""

    __slots__ = ("_size", "_unused", "_used")

    def __init__(self, size: int) -> None:
        self._size = size
        self._used = 0
        self._unused = trio.Event()

    @property
    def used(self) -> int:
        """How many are taken."""
        return self._used

    def acquire(self) -> bool:
        """Take one; False, and nothing taken, when all are."""
        if self._used >= self._size:
            return False
        if self._used == 0:
            self._unused = trio.Event()
        self._used += 1
        return True

    def release(self) -> None:
        """Give one back."""
        assert self._used > 0, "released more than was acquired"
        self._used -= 1
        if self._used == 0:
            self._unused.set()

    async def wait_unused(self) -> None:
        """Wait until none is taken; the caller sets the deadline. Always a checkpoint; cancelled, nothing happened."""
        await trio.lowlevel.checkpoint()
        while self._used:
            await self._unused.wait()
