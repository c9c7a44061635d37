"""Records exchanges and asks the user about the items they propose.

It implements `agent.ports.remember.Recorder` and `Backlog`.

Strategy: a caller that hands over an exchange never waits. The exchange joins a queue, and one task writes the queue in
order, many exchanges per transaction. The follow-up (accepting, finishing, declining) is requested for all users at
once, and the store writes it in one transaction too: a slow commit is paid twice per batch, not once per exchange. A
failed write is tried again twice. After that, and while `MEMORY_WAITING` exchanges wait, an exchange is a gap: it is
counted, and the count is stored as soon as the store can write. For `MEMORY_LEFT_OUT` seconds the user's turns say that
something is left out. So a stalled disk costs the messages of that time, never a turn.

A user is asked only after the proposal's row exists: if the user does not answer, or the session is gone, the item
stays proposed. An order to remember approves its item, unless the item contradicts a remembered one: then the user is
asked, with both texts. A model's proposal is never an order; its text is shown to the user before it becomes true. At
most `MEMORY_ASKED` items of one message are asked about.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import structlog
import trio

from ..config import STALL_LOOK
from ..ports.brain import Question
from ..ports.clock import Clock
from ..ports.conversation import Scope
from ..ports.memory import Draft, ExchangeRecord, MemoryStore, ProposalOutcome, Remark
from ..ports.observe import Observer
from ..ports.remember import FinishedAnswer, ReturnPath, Transcript
from ..text.words import split_words
from .message_items import ItemReader, MessageItems
from .note_taker import NoteTaker
from .proposal_settler import FAILED, DeclinedItem, ProposalSettler, QueuedExchange, StoreFailure, try_store
from .repeats import is_within
from .settings import MEMORY_ASKED

MEMORY_WAITING = 4096  # exchanges that wait to be kept; one more is a gap
MEMORY_BATCH = 64  # exchanges that are stored in one transaction
MEMORY_TRIES = 3  # tries to store a batch
MEMORY_RETRY = 1.0  # seconds between two tries
MEMORY_ANSWER = 5.0  # seconds that the answer to a plain request waits for its message's proposals
# Seconds that a turn waits for its user's earlier exchanges, before it says that some are missing.
MEMORY_CAUGHT_UP = 8.0
MEMORY_LEFT_OUT = 600.0  # seconds in which turns say that earlier exchanges of their user could not be kept
NOTE_TRIES = 3  # tries of a model to read a message for items
EXPIRE_EVERY = 60.0  # seconds between two looks for items past their end

_log = structlog.get_logger("agent.memory")

QueueEntry: TypeAlias = QueuedExchange | DeclinedItem
Owner: TypeAlias = tuple[str, str, str]
StoredExchanges: TypeAlias = Mapping[QueuedExchange, tuple[MessageItems, tuple[ProposalOutcome, ...]]]


class ExchangeKeeper:
    """Remembers the exchanges that sessions hand over. Run it in a nursery that outlives the sessions.

    `read_items`: reads the items that a user's words propose. `observer`: counts exchanges kept and lost.
    `transcript`: also holds the words of messages, or None. `noting`: has a model read the words as well, or None.
    `on_stored`: called when exchanges were stored; must not block.
    """

    def __init__(
        self,
        store: MemoryStore,
        clock: Clock,
        observer: Observer,
        read_items: ItemReader,
        transcript: Transcript | None = None,
        noting: NoteTaker | None = None,
    ) -> None:
        self.on_stored: Callable[[], None] = lambda: None
        self._settler = ProposalSettler(store, clock, observer, transcript)
        self._noting = noting
        self._store = store
        self._clock = clock
        self._observer = observer
        self._item_reader = read_items
        self._waiting: deque[QueueEntry] = deque()
        self._writing = False
        self._unwritten = 0  # exchanges of the batch that is being written
        self._batch: list[QueueEntry] = []  # being written, or its follow-up being done
        self._wanted = trio.Event()
        self._quiet = trio.Event()
        self._gaps: Counter[Scope] = Counter()
        self._left_out: dict[Scope, float] = {}  # until when turns of the scope report the loss
        self._trouble = False

    def record_exchange(self, question: Question, answered: FinishedAnswer, return_path: ReturnPath) -> None:
        """Queue an exchange to be stored; return at once."""
        self._queue_exchange(
            QueuedExchange(
                question=question, answered=answered, at=self._clock.now_ms(), return_path=return_path
            )
        )

    async def record_and_propose(
        self, question: Question, answered: FinishedAnswer
    ) -> tuple[ProposalOutcome, ...] | None:
        """Store an exchange; return its proposals, or None if it is not stored within `MEMORY_ANSWER` seconds."""
        exchange = QueuedExchange(
            question=question, answered=answered, at=self._clock.now_ms(), return_path=None
        )
        self._queue_exchange(exchange)
        await self._wait_for(exchange, MEMORY_ANSWER)
        return exchange.proposed

    async def wait_caught_up(self, scope: Scope) -> bool:
        """Wait until the earlier messages of `scope` can be found; `MEMORY_CAUGHT_UP` seconds at most.

        Return False while the disk stalls, and for `MEMORY_LEFT_OUT` seconds after a message of the scope was lost.
        """
        await trio.lowlevel.checkpoint()
        complete = True
        for exchange in reversed((*self._batch, *self._waiting)):  # exchanges end in the order of the queue
            if isinstance(exchange, QueuedExchange) and scope.includes(exchange.question.scope):
                complete = await self._wait_for(exchange, MEMORY_CAUGHT_UP)
                break
        return complete and not self._has_left_out(scope)

    async def _wait_for(self, exchange: QueuedExchange, seconds: float) -> bool:
        """Wait until `exchange` is over or the disk stalls; return whether it is over."""
        until = trio.current_time() + seconds
        while not exchange.over.is_set() and trio.current_time() < until and not self._store.is_stalled:
            with trio.move_on_after(min(STALL_LOOK, until - trio.current_time())):
                await exchange.over.wait()
        return exchange.over.is_set()

    def _has_left_out(self, scope: Scope) -> bool:
        """Return whether a message of `scope` was lost within the last `MEMORY_LEFT_OUT` seconds."""
        now = trio.current_time()
        while self._left_out and next(iter(self._left_out.values())) <= now:  # in the order of their ends
            del self._left_out[next(iter(self._left_out))]
        return any(scope.includes(each) for each in self._left_out)

    def decline_item(self, scope: Scope, item: str) -> None:
        """Queue a user's rejection of an item; if the queue is full, the item stays proposed."""
        if len(self._waiting) < MEMORY_WAITING:
            self._waiting.append((scope, item))
            self._wanted.set()

    async def wait_settled(self) -> None:
        """Wait until the queue is empty, then store the counts of lost exchanges; the caller sets the deadline."""
        await trio.lowlevel.checkpoint()
        while self._waiting or self._writing:
            self._quiet = trio.Event()
            await self._quiet.wait()
        await self._note_gaps()

    async def run(self) -> None:
        """Write the queue and expire items until cancelled; then log how many waiting exchanges are lost.

        A batch in progress at the cancel is stored whole or not at all.
        """
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._expire_items)
                while True:
                    if not self._waiting:
                        self._quiet.set()
                        self._wanted = trio.Event()
                        await self._wanted.wait()
                    self._writing = True
                    await self._write_next()
                    self._writing, self._batch = False, []
        finally:
            self._log_lost()

    # --- the queue

    def _queue_exchange(self, exchange: QueuedExchange) -> None:
        if len(self._waiting) >= MEMORY_WAITING:
            self._count_lost([exchange])
            return
        self._waiting.append(exchange)
        self._wanted.set()

    async def _write_next(self) -> None:
        """Store the first exchanges of the queue in one transaction, then do the follow-up for all users at once.

        A user's own exchanges and declines stay in order.
        """
        self._batch = self._take_batch()
        exchanges = [each for each in self._batch if isinstance(each, QueuedExchange)]
        stored = await self._store_exchanges(exchanges) if exchanges else {}
        async with trio.open_nursery() as nursery:
            for entries in self._group_follow_ups(stored).values():
                nursery.start_soon(self._follow_up, entries, stored)

    async def _store_exchanges(self, exchanges: Sequence[QueuedExchange]) -> StoredExchanges:
        """Store exchanges in one transaction; return them, or nothing where they are lost."""
        self._unwritten = len(exchanges)
        items = [self._read_items(each) for each in exchanges]
        tries = 0 if self._noting is None else NOTE_TRIES
        outcomes = await self._write_records(
            [_make_record(each, read, tries) for each, read in zip(exchanges, items, strict=True)]
        )
        self._unwritten = 0
        if outcomes is FAILED:
            self._count_lost(exchanges)
            return {}
        self._trouble = False
        self.on_stored()
        await self._note_gaps()
        return dict(zip(exchanges, zip(items, outcomes, strict=True), strict=True))

    def _group_follow_ups(self, stored: StoredExchanges) -> Mapping[Owner, Sequence[QueueEntry]]:
        """Return what is left to do for each user: declines, and exchanges with a follow-up. End all other exchanges.

        An exchange behind another entry of its user waits for that.
        """
        follow_ups: dict[Owner, list[QueueEntry]] = {}
        for each in self._batch:
            owner = _owner_of(each)
            if not isinstance(each, QueuedExchange) or (
                each in stored and (owner in follow_ups or _has_follow_up(each, *stored[each]))
            ):
                follow_ups.setdefault(owner, []).append(each)
            elif each in stored:
                self._end_exchange(each, ())
        return follow_ups

    def _take_batch(self) -> list[QueueEntry]:
        """Take one batch off the queue, ending before an exchange that follows a decline of the same user."""
        batch: list[QueueEntry] = []
        declining: set[Owner] = set()
        while self._waiting and len(batch) < MEMORY_BATCH:
            following = self._waiting[0]
            if not isinstance(following, QueuedExchange):
                declining.add(_owner_of(following))
            elif _owner_of(following) in declining:
                break
            batch.append(self._waiting.popleft())
        return batch

    async def _follow_up(
        self,
        entries: Sequence[QueueEntry],
        stored: StoredExchanges,
    ) -> None:
        """Do the follow-up of one user's exchanges and declines, in order."""
        for each in entries:
            if isinstance(each, QueuedExchange):
                await self._settler.unsay_answer(each)
                self._end_exchange(each, await self._settler.settle(each, *stored[each]))
            else:
                await self._settler.decline(each)

    def _end_exchange(self, exchange: QueuedExchange, proposed: tuple[ProposalOutcome, ...]) -> None:
        """Mark an exchange as stored, waking its waiters, and pass it to `noting`."""
        self._observer.count("exchanges", "kept")
        exchange.proposed = proposed
        exchange.over.set()
        if self._noting is not None:
            self._noting.add_message(exchange.question, exchange.return_path, MEMORY_ASKED - exchange.asked)

    async def _write_records(
        self, records: Sequence[ExchangeRecord]
    ) -> "tuple[tuple[ProposalOutcome, ...], ...] | StoreFailure":
        for attempt in range(MEMORY_TRIES):
            if attempt:
                await trio.sleep(MEMORY_RETRY)
            outcomes = await try_store(self._store.keep_exchanges(records, self._clock.now_ms()))
            if outcomes is not FAILED:
                return outcomes
        return FAILED

    def _read_items(self, exchange: QueuedExchange) -> MessageItems:
        """Return the items that a user's words propose; empty if reading them fails."""
        question = exchange.question
        if question.is_continuation:  # the user said nothing new
            return MessageItems()
        try:
            return self._item_reader(question, exchange.at)
        except Exception as error:  # noqa: BLE001 - the edge of one exchange
            _log.error(
                "a message could not be read for memory items; its words are stored",
                kind=type(error).__name__,
            )
            return MessageItems()

    def _count_lost(self, lost: Sequence[QueuedExchange]) -> None:
        """Count exchanges that cannot be stored; log the first of a run of failures."""
        for exchange in lost:
            scope = exchange.question.scope
            self._gaps[scope] += 1
            self._left_out.pop(scope, None)
            self._left_out[scope] = trio.current_time() + MEMORY_LEFT_OUT
            self._observer.count("exchanges", "lost")
            exchange.over.set()
        if not self._trouble:
            self._trouble = True
            _log.warning("exchanges cannot be stored; their users' turns say so for a while")

    def _log_lost(self) -> None:
        waiting = sum(isinstance(each, QueuedExchange) for each in self._waiting)
        lost = waiting + self._unwritten + self._gaps.total()
        if lost:
            _log.warning("exchanges not remembered", exchanges=lost)

    async def _note_gaps(self) -> None:
        if self._gaps:
            async with trio.open_nursery() as nursery:
                for scope in list(self._gaps):
                    nursery.start_soon(self._note_gap, scope)

    async def _note_gap(self, scope: Scope) -> None:
        count = self._gaps.pop(scope, 0)  # so that no other task records it
        if count and await try_store(self._store.record_gap(scope, self._clock.now_ms(), count)) is FAILED:
            self._gaps[scope] += count

    async def _expire_items(self) -> None:
        while True:
            await try_store(self._store.expire_items(self._clock.now_ms()))
            await self._note_gaps()
            await trio.sleep(EXPIRE_EVERY)


def _has_follow_up(
    exchange: QueuedExchange, items: MessageItems, proposed: tuple[ProposalOutcome, ...]
) -> bool:
    return bool(proposed or items.finished_keys or items.recent_stems or exchange.answered.cites)


def _owner_of(entry: QueueEntry) -> Owner:
    """Return the key of the user, or of an unknown user's thread, that an exchange or a decline belongs to."""
    scope = entry.question.scope if isinstance(entry, QueuedExchange) else entry[0]
    return scope.project, scope.user, "" if scope.user else scope.thread


def _make_record(exchange: QueuedExchange, items: MessageItems, tries: int) -> ExchangeRecord:
    """Return the record to store; without the user's message if the turn continued after a tool result.

    `tries`: how often a model may try to read the user's words.
    """
    question, answered = exchange.question, exchange.answered
    id = question.key_or_id
    user_remarks = (
        ()
        if question.is_continuation
        else (Remark(message=id, role="user", text=question.text, at=exchange.at),)
    )
    answer_remark = Remark(
        message=id,
        role="assistant",
        text=answered.text,
        at=exchange.at,
        blocked=answered.blocked,
        cites=answered.cites,
        details=answered.describe() if answered.describe is not None else "",
    )
    drafts = _merge_drafts([each.draft for each in items.drafts], answered.keeps or ())
    return ExchangeRecord(question.scope, (*user_remarks, answer_remark), drafts, tries)


def _merge_drafts(own: list[Draft], proposed: Sequence[Draft]) -> tuple[Draft, ...]:
    """Return the drafts of a user's words, `own`, and those that a model `proposed` beside them, each event once.

    Both may name one event by different keys. The model's counts where a rule may accept it.
    """
    for draft in proposed:
        words = split_words(draft.text)
        place = next(
            (
                place
                for place, each in enumerate(own)
                if each.type == draft.type == "event" and is_within(words, split_words(each.text))
            ),
            None,
        )
        if place is None:
            own.append(draft)
        elif draft.by_rule:
            own[place] = draft
    return tuple(own)
