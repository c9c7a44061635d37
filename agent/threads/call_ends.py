"""Waiting for the end of a call, which may run in another process.

The row of the call says whether it has ended. A waiting task reads it every `CALL_LOOK` seconds, and at once when this
process has stored its end or a hint of another process comes.
"""

from contextlib import suppress

import trio

from ..errors import StorageFailed
from ..ports.calls import CallStore, StoredCall

CALL_LOOK = 0.5  # seconds between two reads of a call that somebody waits for
_OPEN = frozenset(("suggested", "confirmed", "claimed"))


class CallEnds:
    """The calls whose ends are waited for in this process."""

    def __init__(self, calls: CallStore) -> None:
        self._calls = calls
        self._waits: dict[trio.Event, StoredCall] = {}  # by the event that lets the waiting task read

    def hear_call(self, id: str) -> None:
        """Let the tasks that wait for a call read it now."""
        self._wake([look for look, call in self._waits.items() if call.id == id])

    def hear_thread(self, id: str) -> None:
        """Let the tasks that wait for a call of a thread read it now."""
        self._wake([look for look, call in self._waits.items() if call.thread == id])

    async def wait_for_end(self, call: StoredCall, wait: float) -> StoredCall:
        """Return the call once it has ended, or as it is after `wait` seconds.

        Raises `NotFound` when it was deleted. A row that cannot be read is read again.
        """
        give_up = trio.current_time() + wait
        while True:
            look = trio.Event()
            self._waits[look] = call  # before the row is read, so that no end comes unseen in between
            try:
                with suppress(StorageFailed):
                    call = await self._calls.call(call.project, call.id)
                if call.status not in _OPEN or trio.current_time() >= give_up:
                    return call
                with trio.move_on_at(min(give_up, trio.current_time() + CALL_LOOK)):
                    await look.wait()
            finally:
                del self._waits[look]

    def _wake(self, looks: list[trio.Event]) -> None:
        for look in looks:
            look.set()
