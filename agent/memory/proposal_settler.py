"""Does the follow-up of stored exchanges: accepts ordered items, asks about the rest, ends finished loops.

`agent.memory.exchange_keeper` stores the exchanges first. A failure here leaves the items proposed, and the
conversation goes on.
"""

from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, TypeAlias, TypeVar

import trio

from ..errors import Conflict, NotFound, StorageFailed
from ..ports.brain import Question
from ..ports.clock import Clock
from ..ports.conversation import Scope
from ..ports.memory import ItemType, MemoryStore, ProposalOutcome, Remark, StoredTurn
from ..ports.observe import Observer
from ..ports.remember import FinishedAnswer, ReturnPath, Transcript
from .conflicts import find_finished_loop, find_mentioned_loop
from .item_suggestions import make_suggestion
from .message_items import MessageItems
from .settings import MEMORY_ASKED, MEMORY_WRITE

T = TypeVar("T")

_LOOPS: Final[tuple[ItemType, ...]] = ("open_loop",)


class StoreFailure(Enum):
    """The result of a store call that failed or was refused."""

    FAILED = "failed"


FAILED: Final = StoreFailure.FAILED


@dataclass(eq=False, slots=True, kw_only=True)
class QueuedExchange:
    """An exchange in the queue. `return_path`: reaches the session to ask; None if there is none.

    `proposed`: the outcome once `over` is set; None if the exchange was lost. `asked`: how many items the user was
    asked about.
    """

    question: Question
    answered: FinishedAnswer
    at: int
    return_path: ReturnPath | None
    proposed: tuple[ProposalOutcome, ...] | None = None
    asked: int = 0
    over: trio.Event = field(default_factory=trio.Event)


DeclinedItem: TypeAlias = tuple[Scope, str]
"""The id of an item that its user rejected, with its scope."""


class ProposalSettler:
    """Settles the proposals of exchanges that are stored.

    `observer`: counts the outcomes. `transcript`: also holds the words of messages, or None.
    """

    def __init__(
        self, store: MemoryStore, clock: Clock, observer: Observer, transcript: Transcript | None
    ) -> None:
        self._store = store
        self._clock = clock
        self._observer = observer
        self._transcript = transcript

    async def settle(
        self, exchange: QueuedExchange, items: MessageItems, outcomes: Sequence[ProposalOutcome]
    ) -> tuple[ProposalOutcome, ...]:
        """Accept ordered items, end finished loops and ask about the rest; return the proposals as they stand now."""
        scope = exchange.question.scope
        settled: list[ProposalOutcome] = []
        for proposed in outcomes:
            item = proposed.item
            if item.status == "proposed" and items.orders_item(item) and not proposed.conflicts:
                accepting = self._store.accept_item(scope, item.id, self._clock.now_ms(), replaces=())
                accepted = await try_store(accepting)
                item = item if accepted is FAILED else accepted
            settled.append(replace(proposed, item=item))
            if item.status != "proposed":
                self._observer.count("items", "accepted")
            elif exchange.return_path is not None and exchange.asked < MEMORY_ASKED:
                exchange.asked += 1
                self._observer.count("items", "asked")
                exchange.return_path.offer(exchange.question, make_suggestion(proposed))
        if items.finished_keys or items.recent_stems:
            await self._finish_loops(scope, items)
        return tuple(settled)

    async def _finish_loops(self, scope: Scope, items: MessageItems) -> None:
        """End the open loops reported as done; skip those where several loops match."""
        now = self._clock.now_ms()
        live = await try_store(self._store.live_items(scope, now, _LOOPS))
        if live is not FAILED:
            ended = [find_finished_loop(key, live) for key in items.finished_keys]
            for loop in {
                each.id: each for each in (*ended, find_mentioned_loop(items.recent_stems, live)) if each
            }.values():
                await try_store(self._store.decide_item(scope, loop.id, "finish", now))
                self._observer.count("items", "finished")

    async def decline(self, declined: DeclinedItem) -> None:
        """Reject an item for its user."""
        scope, item = declined
        await try_store(self._store.decide_item(scope, item, "reject", self._clock.now_ms()))

    async def unsay_answer(self, exchange: QueuedExchange) -> None:
        """Remove an answer from the transcript if it cites items that were forgotten before it was stored."""
        cites, question = exchange.answered.cites, exchange.question
        if self._transcript is None or not cites:
            return
        asked = self._store.forgotten_messages(question.scope, {question.key_or_id: cites})
        if await try_store(asked):
            late = StoredTurn(
                0,
                question.scope,
                Remark(message=question.key_or_id, role="assistant", text="", at=exchange.at),
            )
            await try_store(self._transcript.forget_turns([late]))


async def try_store(work: Awaitable[T]) -> "T | StoreFailure":
    """Await a store call, `MEMORY_WRITE` seconds at most; `FAILED` on a timeout, a store failure or a conflict."""
    with trio.move_on_after(MEMORY_WRITE), suppress(StorageFailed, NotFound, Conflict):
        return await work
    return FAILED
