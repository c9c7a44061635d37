"""Keeps what was said, and asks about what it proposes to remember.

It implements `agent.ports.remember.Recorder` and `Backlog`.

Strategy: whoever hands over an exchange never waits: it joins a queue, and one task writes what waits, in its order,
many exchanges in one transaction. What follows from them is asked of the store for all users at once, which writes that
in one transaction too, so that a slow commit is paid twice for a batch, and not for each of its exchanges. A write that
fails is tried again twice; then, and while MEMORY_WAITING exchanges wait, an exchange is a gap: it is counted, and the
count is kept as soon as anything can be; for MEMORY_LEFT_OUT seconds its user's turns say that something is left out.
So a disk that stalls costs what was said meanwhile, never a turn.

Nobody is asked before the row is there: a proposal that its user does not answer, or whose session is gone, stays among
what is proposed. What a user orders to remember is approved by that order, unless it contradicts something that is
remembered: then the user is asked, with both texts. Nobody has ordered what a model proposes, in whatever words but his
own: its text is shown before it is true. At most MEMORY_ASKED are asked about of one message.
"""

from collections import Counter, deque
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, TypeAlias, TypeVar

import structlog
import trio

from ..config import (
    EXPIRE_EVERY,
    MEMORY_ANSWER,
    MEMORY_ASKED,
    MEMORY_BATCH,
    MEMORY_CAUGHT_UP,
    MEMORY_LEFT_OUT,
    MEMORY_RETRY,
    MEMORY_TRIES,
    MEMORY_WAITING,
    MEMORY_WRITE,
    NOTE_TRIES,
    STALL_LOOK,
)
from ..errors import Conflict, NotFound, StorageFailed
from ..ports.brain import Question
from ..ports.clock import Clock
from ..ports.conversation import Scope
from ..ports.memory import ItemType, Kept, MemoryStore, Proposed, Remark, StoredTurn
from ..ports.observe import Observer
from ..ports.remember import Answered, Offer, Transcript
from .asking import suggested
from .conflicts import finished, spoken_of
from .hearing import Hear, Heard
from .noting import Noting

_log = structlog.get_logger("agent.memory")
T = TypeVar("T")


_LOOPS: Final[tuple[ItemType, ...]] = ("open_loop",)


class _Failed(Enum):
    FAILED = "failed"


FAILED: Final = _Failed.FAILED


@dataclass(eq=False, slots=True)
class _Exchange:
    """An exchange that waits. offer: None where nobody can be asked.

    proposed: what became of it, once `over`; None where it is not kept. asked: items that its user was asked about.
    """

    question: Question
    answered: Answered
    at: int
    offer: Offer | None
    proposed: tuple[Proposed, ...] | None = None
    asked: int = 0
    over: trio.Event = field(default_factory=trio.Event)


_Declined: TypeAlias = tuple[Scope, str]


class Keeper:
    """Remembers what sessions hand over. Run it in a nursery that outlives them.

    hear: reads what a user's words have to remember. observer: counts what is kept, and what is lost. transcript: holds
    what was said, too; None where nothing does. noting: has a model read these words besides; None where none does.
    """

    def __init__(
        self,
        store: MemoryStore,
        clock: Clock,
        observer: Observer,
        hear: Hear,
        transcript: Transcript | None = None,
        noting: Noting | None = None,
    ) -> None:
        self._transcript = transcript
        self._noting = noting
        self._store = store
        self._clock = clock
        self._observer = observer
        self._hear = hear
        self._waiting: deque[_Exchange | _Declined] = deque()
        self._writing = False
        self._unwritten = 0  # exchanges of the batch that is being written
        self._batch: list[
            _Exchange | _Declined
        ] = []  # that is being written, or what it proposes being settled
        self._wanted = trio.Event()
        self._quiet = trio.Event()
        self._gaps: Counter[Scope] = Counter()
        self._left_out: dict[Scope, float] = {}  # until when its turns say so
        self._trouble = False

    def keep(self, question: Question, answered: Answered, offer: Offer) -> None:
        """Remember an exchange, soon."""
        self._take(_Exchange(question, answered, self._clock.now_ms(), offer))

    async def kept(self, question: Question, answered: Answered) -> tuple[Proposed, ...] | None:
        """Remember an exchange; return what it proposes, None where it cannot be kept within MEMORY_ANSWER seconds."""
        exchange = _Exchange(question, answered, self._clock.now_ms(), None)
        self._take(exchange)
        await self._wait_for(exchange, MEMORY_ANSWER)
        return exchange.proposed

    async def caught_up(self, scope: Scope) -> bool:
        """Wait until what a scope's user said before can be found; MEMORY_CAUGHT_UP seconds at most.

        Return whether it can: not where the disk stalls, nor for MEMORY_LEFT_OUT seconds after some of it was lost.
        """
        await trio.lowlevel.checkpoint()
        complete = True
        for exchange in reversed((*self._batch, *self._waiting)):  # they are over in their order
            if isinstance(exchange, _Exchange) and scope.includes(exchange.question.scope):
                complete = await self._wait_for(exchange, MEMORY_CAUGHT_UP)
                break
        return complete and not self._has_left_out(scope)

    async def _wait_for(self, exchange: _Exchange, seconds: float) -> bool:
        """Wait until an exchange is over, and not for a disk that stalls; return whether it is."""
        until = trio.current_time() + seconds
        while not exchange.over.is_set() and trio.current_time() < until and not self._store.stalled:
            with trio.move_on_after(min(STALL_LOOK, until - trio.current_time())):
                await exchange.over.wait()
        return exchange.over.is_set()

    def _has_left_out(self, scope: Scope) -> bool:
        """Return whether anything was lost of late that a scope's user said."""
        now = trio.current_time()
        while self._left_out and next(iter(self._left_out.values())) <= now:  # they are in that order
            del self._left_out[next(iter(self._left_out))]
        return any(scope.includes(each) for each in self._left_out)

    def decline(self, scope: Scope, item: str) -> None:
        """Take that its user does not want an item remembered, soon; where there is no room it stays proposed."""
        if len(self._waiting) < MEMORY_WAITING:
            self._waiting.append((scope, item))
            self._wanted.set()

    async def settled(self) -> None:
        """Wait until nothing waits to be kept, and count what could not be; the caller sets the deadline."""
        await trio.lowlevel.checkpoint()
        while self._waiting or self._writing:
            self._quiet = trio.Event()
            await self._quiet.wait()
        await self._note_gaps()

    async def run(self) -> None:
        """Keep what comes, and end what is over, until cancelled; then what waits is lost, and the log says how much.

        A batch that is being written then is kept whole or not at all.
        """
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._expire)
                while True:
                    if not self._waiting:
                        self._quiet.set()
                        self._wanted = trio.Event()
                        await self._wanted.wait()
                    self._writing = True
                    await self._write_next()
                    self._writing, self._batch = False, []
        finally:
            self._say_what_is_lost()

    # --- what waits

    def _take(self, exchange: _Exchange) -> None:
        if len(self._waiting) >= MEMORY_WAITING:
            self._lose([exchange])
            return
        self._waiting.append(exchange)
        self._wanted.set()

    async def _write_next(self) -> None:
        """Keep the exchanges that come first in one transaction; then do what follows from them, for all users at once.

        A user's own exchanges and declines have their order.
        """
        self._batch = self._next_batch()
        exchanges = [each for each in self._batch if isinstance(each, _Exchange)]
        self._unwritten = len(exchanges)
        heard = [self._read(each) for each in exchanges]
        tries = 0 if self._noting is None else NOTE_TRIES
        kept = [_kept(each, its, tries) for each, its in zip(exchanges, heard, strict=True)]
        found = await self._write(kept) if kept else ()
        self._unwritten = 0
        became: dict[_Exchange, tuple[Heard, tuple[Proposed, ...]]] = {}
        if found is FAILED:
            self._lose(exchanges)
        elif exchanges:
            became = dict(zip(exchanges, zip(heard, found, strict=True), strict=True))
            self._trouble = False
            await self._note_gaps()
        following: dict[tuple[str, str, str], list[_Exchange | _Declined]] = {}
        for each in self._batch:
            if not isinstance(each, _Exchange):
                following.setdefault(_whose(each), []).append(each)
            elif each in became:
                its, proposed = became[each]
                if proposed or its.done or its.before or each.answered.cites or _whose(each) in following:
                    following.setdefault(_whose(each), []).append(each)
                else:
                    self._end(each, ())
        async with trio.open_nursery() as nursery:
            for ones in following.values():
                nursery.start_soon(self._follow, ones, became)

    def _next_batch(self) -> list[_Exchange | _Declined]:
        """Take what waits, as much as a batch takes, up to an exchange that comes after its user's decline."""
        batch: list[_Exchange | _Declined] = []
        declining: set[tuple[str, str, str]] = set()
        while self._waiting and len(batch) < MEMORY_BATCH:
            following = self._waiting[0]
            if not isinstance(following, _Exchange):
                declining.add(_whose(following))
            elif _whose(following) in declining:
                break
            batch.append(self._waiting.popleft())
        return batch

    async def _follow(
        self,
        ones: Sequence[_Exchange | _Declined],
        became: Mapping[_Exchange, tuple[Heard, tuple[Proposed, ...]]],
    ) -> None:
        """Do what follows from what one user said and declined, in its order."""
        for each in ones:
            if isinstance(each, _Exchange):
                await self._unsay(each)
                self._end(each, await self._settle(each, *became[each]))
            else:
                scope, item = each
                await self._tried(self._store.decide(scope, item, "reject", self._clock.now_ms()))

    def _end(self, exchange: _Exchange, proposed: tuple[Proposed, ...]) -> None:
        """Let those go on who wait for an exchange that is kept."""
        self._observer.count("exchanges", "kept")
        exchange.proposed = proposed
        exchange.over.set()
        if self._noting is not None:
            self._noting.kept(exchange.question, exchange.offer, MEMORY_ASKED - exchange.asked)

    async def _unsay(self, exchange: _Exchange) -> None:
        """Take an answer out of the transcript that cites what was forgotten before it was kept."""
        cites = exchange.answered.cites
        if self._transcript is None or not cites:
            return
        gone = await self._tried(self._store.forgotten(cites))
        if gone:
            question = exchange.question
            late = StoredTurn(0, question.scope, Remark(question.known_as, "assistant", "", exchange.at))
            await self._tried(self._transcript.forget([late]))

    async def _write(self, kept: Sequence[Kept]) -> "tuple[tuple[Proposed, ...], ...] | _Failed":
        for attempt in range(MEMORY_TRIES):
            if attempt:
                await trio.sleep(MEMORY_RETRY)
            found = await self._tried(self._store.keep(kept, self._clock.now_ms()))
            if found is not FAILED:
                return found
        return FAILED

    def _read(self, exchange: _Exchange) -> Heard:
        """Return what a user's words have to remember; words that break the reading have nothing."""
        question = exchange.question
        if question.goes_on:  # nobody said anything anew
            return Heard()
        try:
            return self._hear(question, exchange.at)
        except Exception as error:  # noqa: BLE001 - the edge of one exchange
            _log.error("what was said could not be looked through", kind=type(error).__name__)
            return Heard()

    def _lose(self, lost: Sequence[_Exchange]) -> None:
        """Count what cannot be kept; say so once."""
        for exchange in lost:
            scope = exchange.question.scope
            self._gaps[scope] += 1
            self._left_out.pop(scope, None)
            self._left_out[scope] = trio.current_time() + MEMORY_LEFT_OUT
            self._observer.count("exchanges", "lost")
            exchange.over.set()
        if not self._trouble:
            self._trouble = True
            _log.warning("what is said cannot be remembered now")

    def _say_what_is_lost(self) -> None:
        waiting = sum(isinstance(each, _Exchange) for each in self._waiting)
        lost = waiting + self._unwritten + self._gaps.total()
        if lost:
            _log.warning("exchanges not remembered", exchanges=lost)

    async def _note_gaps(self) -> None:
        if self._gaps:
            async with trio.open_nursery() as nursery:
                for scope in list(self._gaps):
                    nursery.start_soon(self._note_gap, scope)

    async def _note_gap(self, scope: Scope) -> None:
        count = self._gaps.pop(scope, 0)  # so that nobody else notes it
        if count and await self._tried(self._store.gap(scope, self._clock.now_ms(), count)) is FAILED:
            self._gaps[scope] += count

    # --- what was proposed

    async def _settle(
        self, exchange: _Exchange, heard: Heard, found: Sequence[Proposed]
    ) -> tuple[Proposed, ...]:
        """Accept what was ordered, end what is done, and ask about the rest; return how all of it stands now."""
        scope = exchange.question.scope
        settled: list[Proposed] = []
        for proposed in found:
            item = proposed.item
            if item.status == "proposed" and heard.told(item) and not proposed.conflicts:
                accepting = self._store.accept(scope, item.id, self._clock.now_ms(), replaces=())
                accepted = await self._tried(accepting)
                item = item if accepted is FAILED else accepted
            settled.append(replace(proposed, item=item))
            if item.status != "proposed":
                self._observer.count("items", "accepted")
            elif exchange.offer is not None and exchange.asked < MEMORY_ASKED:
                exchange.asked += 1
                self._observer.count("items", "asked")
                exchange.offer(exchange.question, suggested(proposed))
        if heard.done or heard.before:
            await self._finish(scope, heard)
        return tuple(settled)

    async def _finish(self, scope: Scope, heard: Heard) -> None:
        """End the open loops that words say are done; none where it is not clear which is meant."""
        now = self._clock.now_ms()
        live = await self._tried(self._store.live(scope, now, _LOOPS))
        if live is not FAILED:
            ended = [finished(key, live) for key in heard.done]
            for loop in {each.id: each for each in (*ended, spoken_of(heard.before, live)) if each}.values():
                await self._tried(self._store.decide(scope, loop.id, "finish", now))
                self._observer.count("items", "finished")

    async def _expire(self) -> None:
        while True:
            await self._tried(self._store.expire(self._clock.now_ms()))
            await self._note_gaps()
            await trio.sleep(EXPIRE_EVERY)

    async def _tried(self, work: Awaitable[T]) -> "T | _Failed":
        """Wait for the store, MEMORY_WRITE seconds at most; FAILED where it could not, or things stand otherwise."""
        with trio.move_on_after(MEMORY_WRITE), suppress(StorageFailed, NotFound, Conflict):
            return await work
        return FAILED


def _whose(one: _Exchange | _Declined) -> tuple[str, str, str]:
    """Return whose an exchange or a decline is: a user's, or of nobody's one thread's."""
    scope = one.question.scope if isinstance(one, _Exchange) else one[0]
    return scope.project, scope.user, "" if scope.user else scope.thread


def _kept(exchange: _Exchange, heard: Heard, tries: int) -> Kept:
    """Return an exchange as it is stored; of a turn that went on after a result its user said nothing anew.

    tries: of a model to read the user's words.
    """
    question, answered = exchange.question, exchange.answered
    id = question.known_as
    asked = () if question.goes_on else (Remark(id, "user", question.text, exchange.at),)
    said = Remark(id, "assistant", answered.text, exchange.at, blocked=answered.blocked, cites=answered.cites)
    drafts = (*(each.draft for each in heard.noted), *answered.drafts)
    return Kept(question.scope, (*asked, said), drafts, tries)
