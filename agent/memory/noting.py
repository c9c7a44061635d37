"""Has a model read what users said, for what of it is to be remembered, behind the conversation.

Strategy: the queue is in the rows (`agent.ports.note`), so nothing is lost by an end, and nothing but the messages that
are being read is in memory. Up to NOTES_AT_ONCE are read at a time, of a thread one after the other, each for at most
NOTE_TIMEOUT seconds. One that fails is tried NOTE_TRIES times; a service that cannot be asked is no try, and is left
alone for a while, longer each time. No turn waits for any of it.

What comes of it is proposed, and nothing more: its user is asked if his session still lives, within what a message may
ask about; else it waits among what is proposed.
"""

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import structlog
import trio

from ..config import (
    NOTE_AGAIN,
    NOTE_AGAIN_MOST,
    NOTE_KNOWN,
    NOTE_LOOK,
    NOTE_OFFERS,
    NOTE_TAKEN,
    NOTE_TIMEOUT,
    NOTES_AT_ONCE,
)
from ..errors import ModelFailed, ModelFault, StorageFailed
from ..ports.brain import Question
from ..ports.clock import Clock
from ..ports.memory import Draft, Item, ItemStatus, MemoryStore, Proposed
from ..ports.note import Noter, Unread, UnreadStore
from ..ports.observe import Observer
from ..ports.pages import Window
from ..ports.remember import Offer
from .asking import suggested
from .found import sound

_log = structlog.get_logger("agent.memory")

_ELSEWHERE: Final[frozenset[ModelFault]] = frozenset({"connect", "rate", "server", "auth", "open"})
"""Faults of a service, which say nothing of the message."""


_PROPOSED: Final[tuple[ItemStatus, ...]] = ("proposed",)


@dataclass(frozen=True, slots=True)
class _Asking:
    """Who may be asked about a message, and about how many items."""

    question: Question
    offer: Offer
    left: int


class Noting:
    """Reads what no model has read yet. Run it in a nursery that outlives sessions.

    unread: what is to be read. store: what is known. observer: counts what becomes of messages.
    """

    def __init__(
        self, noter: Noter, unread: UnreadStore, store: MemoryStore, clock: Clock, observer: Observer
    ) -> None:
        self._noter = noter
        self._unread = unread
        self._store = store
        self._clock = clock
        self._observer = observer
        self._asking: OrderedDict[tuple[str, str, str, str], _Asking] = OrderedDict()
        self._wanted = trio.Event()
        self._reading = 0
        self._pause = NOTE_AGAIN
        self._rests = float("-inf")  # until when nothing is read, since the service cannot be asked

    def kept(self, question: Question, offer: Offer | None, left: int) -> None:
        """Take that what a question says is kept, and can be read. Never blocks.

        offer: asks its user, None where nobody can be asked. left: items that he may still be asked about.
        """
        if offer is not None and left > 0:
            self._asking[_key(question)] = _Asking(question, offer, left)
            if len(self._asking) > NOTE_OFFERS:
                self._asking.popitem(last=False)
        self._wanted.set()

    async def run(self) -> None:
        """Read what is unread, until cancelled; what is being read then stays unread."""
        async with trio.open_nursery() as nursery:
            while True:
                self._wanted = trio.Event()
                await trio.sleep_until(self._rests)
                for each in await self._taken(NOTES_AT_ONCE - self._reading):
                    self._reading += 1
                    nursery.start_soon(self._note, each)
                with trio.move_on_after(NOTE_LOOK):
                    await self._wanted.wait()

    async def _taken(self, most: int) -> Sequence[Unread]:
        now = self._clock.now_ms()
        if most > 0:
            with suppress(StorageFailed):
                return await self._unread.take(most, now, now + round(NOTE_TAKEN * 1000))
        return ()

    async def _note(self, taken: Unread) -> None:
        """Read one message, and propose what comes of it."""
        try:
            with suppress(StorageFailed):
                await self._read(taken)
        finally:
            self._reading -= 1
            self._wanted.set()

    async def _read(self, taken: Unread) -> None:
        now = self._clock.now_ms()
        drafts: Sequence[Draft] = ()
        known: Sequence[Item] = ()
        try:
            if taken.turn.remark.text:  # else it was forgotten
                known = await self._known(taken)
                with trio.fail_after(NOTE_TIMEOUT):
                    drafts = sound(await self._noter.find(taken, known), taken.turn, known, now)
                self._pause = NOTE_AGAIN
        except ModelFailed as error:
            await self._failed(taken, error)
            return
        except StorageFailed:
            raise
        except Exception as error:  # noqa: BLE001 - the edge of one message
            _log.warning("a message could not be read by the memory model", kind=type(error).__name__)
            await self._failed(taken, None)
            return
        shown = [each.id for each in known]
        proposed = await self._unread.read(taken, drafts, self._clock.now_ms(), shown)
        if proposed is not None:
            self._observer.count("notes", "read")
            self._ask(taken, proposed)

    async def _known(self, taken: Unread) -> tuple[Item, ...]:
        """Return the items of the same user that a model is shown."""
        scope = taken.turn.scope
        live = await self._store.live(scope, self._clock.now_ms(), most=NOTE_KNOWN)
        waiting = await self._store.items(scope, Window(NOTE_KNOWN), _PROPOSED)
        return (*live, *waiting.entries)

    async def _failed(self, taken: Unread, error: ModelFailed | None) -> None:
        """Give a message back. error: why the model failed; None where it was the message, or its time."""
        elsewhere = error is not None and error.kind in _ELSEWHERE
        if error is not None and elsewhere and self._rests <= trio.current_time():
            _log.warning("the memory model cannot be asked now", why=str(error))
            asked = min(error.retry_after or 0.0, NOTE_AGAIN_MOST)
            self._rests = trio.current_time() + max(self._pause, asked)
            self._pause = min(2 * self._pause, NOTE_AGAIN_MOST)
        left = await self._unread.missed(taken, not elsewhere)
        self._observer.count("notes", "failed" if left else "given_up")

    def _ask(self, taken: Unread, proposed: Sequence[Proposed]) -> None:
        """Ask the user about what is proposed, as far as he may be asked."""
        scope = taken.turn.scope
        asking = self._asking.pop((scope.project, scope.thread, scope.user, taken.turn.remark.message), None)
        waiting = [each for each in proposed if each.item.status == "proposed"]
        for at, each in enumerate(waiting):
            asked = asking is not None and at < asking.left
            self._observer.count("items", "asked" if asked else "listed")
            if asking is not None and asked:
                asking.offer(asking.question, suggested(each))


def _key(question: Question) -> tuple[str, str, str, str]:
    scope = question.scope
    return scope.project, scope.thread, scope.user, question.known_as
