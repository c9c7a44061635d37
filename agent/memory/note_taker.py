"""Has a model read stored messages for items to remember, in the background of conversations.

Strategy: the queue is in the store's rows (`agent.ports.note`), so a restart loses nothing, and memory holds only the
messages being read. Up to `NOTES_AT_ONCE` are read at a time, one per thread, each for at most `NOTE_TIMEOUT` seconds.
A message that fails is tried `NOTE_TRIES` times. A service that cannot be reached does not count as a try; it is left
alone for a pause that doubles each time. No turn waits for any of this.

The results are only proposals. The user is asked if the session still lives, within the number of questions that a
message allows; otherwise the item stays in the list of proposed items.
"""

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import structlog
import trio

from ..errors import ModelFailed, ModelFault, StorageFailed
from ..ports.brain import Question
from ..ports.clock import Clock
from ..ports.memory import Draft, Item, ItemStatus, MemoryStore, ProposalOutcome
from ..ports.note import Noter, UnreadStore, UnreadTurn
from ..ports.observe import Observer
from ..ports.pages import Window
from ..ports.remember import ReturnPath
from .item_suggestions import make_suggestion
from .note_checks import check_notes

NOTES_AT_ONCE = 4  # messages that a model reads for items to remember, each of another thread
NOTE_TIMEOUT = 20.0  # seconds in which a model must have read a message
NOTE_TAKEN = 60.0  # seconds after which another process may read a message: the first one has ended, or will not answer
NOTE_AGAIN = 5.0  # seconds of the pause after a service failed, twice as long each time ...
NOTE_AGAIN_MOST = 300.0  # ... up to this
NOTE_LOOK = 30.0  # seconds between two looks for messages that other processes left unread
NOTE_OFFERS = 1024  # messages whose items may still be offered to their users
NOTE_KNOWN = 30  # live items that a model is shown, lest it proposes them again; and as many proposed items

_log = structlog.get_logger("agent.memory")

_ELSEWHERE: Final[frozenset[ModelFault]] = frozenset({"connect", "rate", "server", "auth", "open"})
"""Faults of the service, which are no fault of the message."""
_PROPOSED: Final[tuple[ItemStatus, ...]] = ("proposed",)


@dataclass(frozen=True, slots=True)
class _OpenOffer:
    """A message whose user may still be asked about `offers_left` items, by the `return_path` to the session."""

    question: Question
    return_path: ReturnPath
    offers_left: int


class NoteTaker:
    """Reads the messages that no model has read yet. Run it in a nursery that outlives sessions.

    `unread`: the queue of messages. `store`: the items already known. `observer`: counts the outcomes.
    """

    def __init__(
        self, noter: Noter, unread: UnreadStore, store: MemoryStore, clock: Clock, observer: Observer
    ) -> None:
        self._noter = noter
        self._unread = unread
        self._store = store
        self._clock = clock
        self._observer = observer
        self._asking: OrderedDict[tuple[str, str, str, str], _OpenOffer] = OrderedDict()
        self._wanted = trio.Event()
        self._reading = 0
        self._pause = NOTE_AGAIN
        self._rests = float("-inf")  # until when reading pauses, because the service failed

    def add_message(self, question: Question, return_path: ReturnPath | None, offers_left: int) -> None:
        """Register that the message of `question` is stored and can be read. Never blocks.

        `return_path`: reaches the session to ask; None without one. `offers_left`: how many items the user may still be
        asked about.
        """
        if return_path is not None and offers_left > 0:
            self._asking[_key(question)] = _OpenOffer(question, return_path, offers_left)
            if len(self._asking) > NOTE_OFFERS:
                self._asking.popitem(last=False)
        self._wanted.set()

    async def run(self) -> None:
        """Read unread messages until cancelled; a message being read then stays unread."""
        async with trio.open_nursery() as nursery:
            while True:
                self._wanted = trio.Event()
                await trio.sleep_until(self._rests)
                for each in await self._take_unread(NOTES_AT_ONCE - self._reading):
                    self._reading += 1
                    nursery.start_soon(self._note_message, each)
                with trio.move_on_after(NOTE_LOOK):
                    await self._wanted.wait()

    async def _take_unread(self, most: int) -> Sequence[UnreadTurn]:
        now = self._clock.now_ms()
        if most > 0:
            with suppress(StorageFailed):
                return await self._unread.take_unread(most, now, now + round(NOTE_TAKEN * 1000))
        return ()

    async def _note_message(self, turn: UnreadTurn) -> None:
        """Read one message and propose the items found in it."""
        try:
            with suppress(StorageFailed):
                await self._read_message(turn)
        finally:
            self._reading -= 1
            self._wanted.set()

    async def _read_message(self, unread: UnreadTurn) -> None:
        now = self._clock.now_ms()
        drafts: Sequence[Draft] = ()
        known: Sequence[Item] = ()
        try:
            if unread.turn.remark.text:  # else it was forgotten
                known = await self._load_known(unread)
                with trio.fail_after(NOTE_TIMEOUT):
                    drafts = check_notes(await self._noter.find_notes(unread, known), unread.turn, known, now)
                self._pause = NOTE_AGAIN
        except ModelFailed as error:
            await self._record_failure(unread, error)
            return
        except StorageFailed:
            raise
        except Exception as error:  # noqa: BLE001 - the edge of one message
            _log.warning("a message could not be read by the memory model", kind=type(error).__name__)
            await self._record_failure(unread, None)
            return
        known_ids = [each.id for each in known]
        proposed = await self._unread.record_reading(unread, drafts, self._clock.now_ms(), known_ids)
        if proposed is not None:
            self._observer.count("notes", "read")
            self._ask_user(unread, proposed)

    async def _load_known(self, unread: UnreadTurn) -> tuple[Item, ...]:
        """Return the items of the same user that the model is shown."""
        scope = unread.turn.scope
        live = await self._store.live_items(scope, self._clock.now_ms(), most=NOTE_KNOWN)
        waiting = await self._store.items(scope, Window(NOTE_KNOWN), _PROPOSED)
        return (*live, *waiting.entries)

    async def _record_failure(self, unread: UnreadTurn, error: ModelFailed | None) -> None:
        """Return a message to the queue. `error`: the model's failure; None for a fault of the message or a timeout."""
        elsewhere = error is not None and error.kind in _ELSEWHERE
        if error is not None and elsewhere and self._rests <= trio.current_time():
            _log.warning("the memory model cannot be reached now", why=str(error))
            retry_after = min(error.retry_after or 0.0, NOTE_AGAIN_MOST)
            self._rests = trio.current_time() + max(self._pause, retry_after)
            self._pause = min(2 * self._pause, NOTE_AGAIN_MOST)
        tries_remain = await self._unread.record_failure(unread, not elsewhere)
        self._observer.count("notes", "failed" if tries_remain else "given_up")

    def _ask_user(self, unread: UnreadTurn, proposed: Sequence[ProposalOutcome]) -> None:
        """Ask the user about the proposed items, up to the number allowed."""
        scope = unread.turn.scope
        asking = self._asking.pop((scope.project, scope.thread, scope.user, unread.turn.remark.message), None)
        waiting = [each for each in proposed if each.item.status == "proposed"]
        for at, each in enumerate(waiting):
            asked = asking is not None and at < asking.offers_left
            self._observer.count("items", "asked" if asked else "listed")
            if asking is not None and asked:
                asking.return_path.offer(asking.question, make_suggestion(each))


def _key(question: Question) -> tuple[str, str, str, str]:
    scope = question.scope
    return scope.project, scope.thread, scope.user, question.key_or_id
