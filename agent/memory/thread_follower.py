"""Tells sessions of the changes in their users' threads, by any session and any process.

Strategy: one task of a process reads the store's changes, which it finds by number: every `FOLLOW_EVERY` seconds while
a session follows, every `LOOK_EVERY` seconds while none does, and at once when an exchange of this process was stored.
Each change is told once to each session of its user that follows. A deleted thread is told to every session, since none
may go on in it. The store has no change that is not committed, so nothing is told that a restart takes back.

A session's frames go through its outbox, whose bounds end a connection that does not read.
"""

from collections import deque
from collections.abc import Callable, Iterable

import structlog
import trio

from ..errors import StorageFailed
from ..ports.consult import ExchangeUpdate, ThreadListener, ThreadUpdate
from ..ports.conversation import Exchange, Scope
from ..ports.remember import MEMORY_FILES
from ..ports.thread_history import ThreadChange, ThreadHistory, ThreadMark, ThreadMessage, ThreadOwner
from ..protocol.consult_frames import ExchangeFrame, FrameMessage, FrameThread, ThreadChanged, ThreadDeleted
from ..protocol.thread_frames import make_message, make_thread

FOLLOW_EVERY = 0.5  # seconds between two looks for changes of other processes, while a session follows
LOOK_EVERY = 5.0  # ... and while none does
CHANGES_READ = 64  # changes in one look
ERASED_KNOWN = 256  # deleted threads that a late answer cannot open again

_log = structlog.get_logger("agent.memory")


class ThreadFollower:
    """Follows the threads of one store for the sessions of one process.

    `on_deleted`: called with the scope of a deleted thread; must not block. `withhold`: returns a stored message as it
    may be shown.
    """

    def __init__(
        self,
        store: ThreadHistory,
        on_deleted: Callable[[Scope], None],
        withhold: Callable[[ThreadMessage], ThreadMessage],
    ) -> None:
        self._store = store
        self._on_deleted = on_deleted
        self._withhold = withhold
        self._members: dict[ThreadOwner, set[ThreadListener]] = {}
        self._mark: ThreadMark | None = None
        self._reading = trio.Lock()
        self._wanted = trio.Event()
        self._erased: deque[Scope] = deque(maxlen=ERASED_KNOWN)

    async def follow(self, member: ThreadListener, scope: Scope) -> None:
        """Tell `member` of the changes in the threads of the scope's user from now on, until `leave`.

        Changes from before are not told, unless the store cannot be read now.
        """
        owner = (scope.project, scope.user)
        if member not in self._members.get(owner, ()):
            await self.catch_up()
            self._members.setdefault(owner, set()).add(member)
            self._wanted.set()

    def leave(self, member: ThreadListener, scope: Scope) -> None:
        """Tell `member` nothing more. Idempotent."""
        owner = (scope.project, scope.user)
        members = self._members.get(owner)
        if members is not None:
            members.discard(member)
            if not members:
                del self._members[owner]

    def was_erased(self, scope: Scope) -> bool:
        """Return whether the thread of `scope` was deleted lately."""
        return scope in self._erased

    def look_soon(self) -> None:
        """Look for changes at once, if a session follows: something was stored. Never blocks."""
        if self._members:
            self._wanted.set()

    async def run(self) -> None:
        """Follow the store until cancelled."""
        while True:
            await self.catch_up()
            with trio.move_on_after(FOLLOW_EVERY if self._members else LOOK_EVERY):
                await self._wanted.wait()
            self._wanted = trio.Event()

    async def catch_up(self) -> None:
        """Tell the sessions of all changes that are stored by now; where they cannot be read, a later look does."""
        try:
            async with self._reading:
                while await self._read_changes():
                    pass
        except StorageFailed:
            _log.warning("changes of threads cannot be read now")

    async def _read_changes(self) -> bool:
        """Read the next changes and tell of them; return whether there are more."""
        if self._mark is None:
            self._mark = await self._store.find_mark()
            return False
        changes = await self._store.thread_changes_after(self._mark, tuple(self._members), CHANGES_READ)
        for change in changes.threads:
            self._tell(change)
        self._mark = changes.upto
        return changes.more

    def _tell(self, change: ThreadChange) -> None:
        """Tell a change to the sessions that follow its thread; report a deletion then."""
        scope = change.scope
        members = self._members.get((scope.project, scope.user), ())
        if members:
            update = self._make_update(change)
            for member in tuple(members):
                member.tell_update(update)
        if change.is_deleted and not self.was_erased(scope):
            self._erased.append(scope)
            self._on_deleted(scope)

    def _make_update(self, change: ThreadChange) -> ThreadUpdate:
        thread = change.scope.thread
        if change.is_deleted:
            return ThreadUpdate(change.scope, ThreadDeleted(thread))
        shown = FrameThread(thread=thread) if change.summary is None else make_thread(change.summary)
        by_message: dict[str, list[FrameMessage]] = {}
        for message in change.messages:
            by_message.setdefault(message.message, []).append(make_message(self._withhold(message)))
        exchanges = [
            ExchangeUpdate(
                message,
                ExchangeFrame(thread, tuple(told)),
                not any(each.text for each in told),
                pair_exchange(told),
            )
            for message, told in by_message.items()
        ]
        return ThreadUpdate(change.scope, ThreadChanged(shown), tuple(exchanges))


def pair_exchange(told: Iterable[FrameMessage]) -> Exchange | None:
    """Return a message and its answer as the history of the next question has them.

    Return `None` for a refusal, and where one of the two is missing.
    """
    sides = {each.role: each for each in told if each.text and not each.blocked}
    if len(sides) < 2:
        return None
    files = [each.file for each in sides["assistant"].citations if each.file.startswith(MEMORY_FILES)]
    cites = tuple(file.removeprefix(MEMORY_FILES) for file in dict.fromkeys(files))
    question = sides["user"]
    return Exchange(question.text, sides["assistant"].text, message=question.message, cites=cites)
