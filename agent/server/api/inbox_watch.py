"""Tells approvers of open calls and their changes, for as long as they stay.

The live list is read from the rows, every `LOOK_EVERY` seconds and once for all its readers of a project, so that a
change by another process is told as soon as one by this process. A reader is told the calls that are new, have changed
or have ended since it was told last. It is told one event at a time, so that a slow reader holds up nothing but itself.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import trio

from ...ports.inbox import InboxEntry, InboxLook, InboxMark, InboxStore
from ...ports.thread_service import Listener
from ...protocol.approvals import InboxCall, InboxCalls, InboxGone, InboxListed
from ...protocol.problems import ProblemError
from ..service import OPERATOR
from . import views

LOOK_EVERY = 0.2  # seconds between two looks at the rows
INBOX_MOST = 500  # calls that wait, and others, that a reader is told of
INBOX_READERS = 32  # readers of live lists, in one process
EVENT_BYTES = 64 * 1024  # of one event, unless one call has more
ENTRIES_AT_ONCE = 20  # calls that are read in one visit to the store
_OPEN: Final = frozenset(("suggested", "confirmed", "claimed"))
_encode = msgspec.json.Encoder().encode


class _SharedLook:
    """The last look at a project's open calls, and its readers."""

    def __init__(self) -> None:
        self.readers = 0
        self.lock = trio.Lock()
        self.at = 0.0
        self.look: InboxLook | None = None


class InboxWatch:
    """Tells approvers of open calls and their changes. `draining` returns whether the server goes down."""

    def __init__(self, store: InboxStore, draining: Callable[[], bool] = lambda: False) -> None:
        self.store = store
        self._draining = draining
        self._shared: dict[str | None, _SharedLook] = {}
        self._readers = 0

    async def run(self, project: str | None, key: str, listener: Listener) -> None:
        """Tell `listener` of a project's open calls, or of all for None, until cancelled.

        Raises `ProblemError` with the reason that nothing more is told: `full`, `unauthorized` for a `key` that was
        revoked, `shutting_down`. Raises `NotFound` for a project that was deleted, and `StorageFailed`.
        """
        if self._readers >= INBOX_READERS:
            raise ProblemError("full")
        shared = self._shared.setdefault(project, _SharedLook())
        reader = _InboxReader(self.store, project, listener)
        shared.readers += 1
        self._readers += 1
        try:
            while True:
                due = trio.current_time() + LOOK_EVERY
                if self._draining():
                    raise ProblemError("shutting_down")
                if project is not None and key != OPERATOR and not await self.store.is_live_key(project, key):
                    raise ProblemError("unauthorized", "This key was revoked: ask for another one.")
                await reader.tell(await self._look(project, shared))
                await trio.sleep_until(due)
        finally:
            self._readers -= 1
            shared.readers -= 1
            if not shared.readers:
                self._shared.pop(project, None)

    async def _look(self, project: str | None, shared: _SharedLook) -> InboxLook:
        """Return a look that is no older than `LOOK_EVERY`."""
        async with shared.lock:
            now = trio.current_time()
            if shared.look is None or now - shared.at >= LOOK_EVERY / 2:
                shared.look = await self.store.look(project, INBOX_MOST)
                shared.at = now
            return shared.look


class _InboxReader:
    """One reader of a live list."""

    def __init__(self, store: InboxStore, project: str | None, listener: Listener) -> None:
        self._store = store
        self._project = project
        self._listener = listener
        self._told: dict[str, InboxMark] = {}
        self._listed: InboxListed | None = None

    async def tell(self, look: InboxLook) -> None:
        """Tell the differences between a look and the calls that were told before."""
        changed = [id for id, mark in look.marks.items() if self._told.get(id) != mark]
        left = [id for id in self._told if id not in look.marks]
        gone: list[str] = []
        for start in range(0, len(left), ENTRIES_AT_ONCE):
            ids = left[start : start + ENTRIES_AT_ONCE]
            ended = [
                each
                for each in await self._store.entries(self._project, ids)
                if each.call.status not in _OPEN
            ]
            gone += {*ids} - {each.call.id for each in ended}
            await self._tell_calls(ended)
            for id in ids:
                del self._told[id]
        if gone:
            await self._send(InboxGone(tuple(gone)))
        for start in range(0, len(changed), ENTRIES_AT_ONCE):
            ids = changed[start : start + ENTRIES_AT_ONCE]
            await self._tell_calls(await self._store.entries(self._project, ids))
            self._told.update((id, look.marks[id]) for id in ids)
        shown = sum(mark.status == "suggested" for mark in look.marks.values())
        listed = InboxListed(look.waiting, shown)
        if listed != self._listed:
            await self._send(listed)
            self._listed = listed

    async def _tell_calls(self, entries: Sequence[InboxEntry]) -> None:
        waiting: list[InboxCall] = []
        size = 0
        for call in map(views.inbox_call, entries):
            size += len(_encode(call))
            if waiting and size > EVENT_BYTES:
                await self._send(InboxCalls(tuple(waiting)))
                waiting, size = [], 0
            waiting.append(call)
        if waiting:
            await self._send(InboxCalls(tuple(waiting)))

    async def _send(self, event: msgspec.Struct) -> None:
        """Hand an event over, and wait until it is written."""
        written = trio.Event()
        self._listener.take_frame(_encode(event))
        self._listener.call_when_room(written.set)
        await written.wait()
