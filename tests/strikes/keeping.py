"""What the lab's server remembers with: the product's own memory in RAM, watched, and read out at the very end."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import trio

from agent.compose.memory import UserMemory
from agent.errors import ActionFailed
from agent.lang import Lang
from agent.memory.recall.recall import IndexRecaller
from agent.memory.recollection import Recollection
from agent.ports.action import Call, Executor
from agent.ports.brain import MemoryNotice, Question
from agent.ports.change_mark import BEGINNING
from agent.ports.clock import Clock
from agent.ports.conversation import Scope
from agent.ports.memory import LIVE, Change, Draft, Item, ItemType, Source, StoredTurn
from agent.ports.note import MemoryNote, UnreadTurn
from agent.ports.remember import EMPTY_MEMORY, MemoryOrder, TurnMemory
from agent.session.forgotten_exchanges import Conversations
from agent.session.registry import Registry
from agent.testing.breakable import EffectBegan, EffectFailed, EffectFinished
from agent.testing.network import inline

_ALL = 9_999
HEDGE = "hedge"


@dataclass(frozen=True, slots=True)
class Forgot:
    """A user had an item forgotten, which said this."""

    item: str
    text: str


@dataclass(frozen=True, slots=True)
class Rows:
    """All that is kept when the server has ended. history: of each item, by its id."""

    turns: tuple[StoredTurn, ...]
    items: tuple[Item, ...]
    history: Mapping[str, tuple[Change, ...]]


class WatchedNoter:
    """Finds a hedge where one is spoken of (implements `agent.ports.note.Noter`).

    wait: virtual seconds that it takes. seen: the ids of the messages that it read. reading: how many it reads now.
    """

    def __init__(self, wait: float) -> None:
        self._wait = wait
        self.seen: list[str] = []
        self.reading = 0

    async def find_notes(self, unread: UnreadTurn, known: Sequence[Item]) -> tuple[MemoryNote, ...]:
        """Return what a turn has to remember."""
        said = unread.turn.remark
        self.seen.append(said.message)
        self.reading += 1
        try:
            await trio.sleep(self._wait)
        finally:
            self.reading -= 1
        return (MemoryNote("fact", HEDGE, f"There is a {HEDGE}", HEDGE),) if HEDGE in said.text else ()


class WatchedMemory:
    """The memory of a server, once it is opened (implements `agent.ports.remember.Memory`, and an `Executor`).

    note: hears of each effect.
    """

    def __init__(self, note: Callable[[str, Any], None], clock: Clock) -> None:
        self.rows: Rows | None = None
        self._write_down = note
        self._clock = clock
        self._opened: UserMemory | None = None
        self._told: Recollection | None = None

    def open(self, memory: UserMemory) -> None:
        """Take the memory that the server has opened."""
        self._opened = memory
        recall = IndexRecaller(memory.store, inline)
        self._told = Recollection(memory.store, recall, self._clock, memory.keeper)

    async def read_out(self) -> None:
        """Read all that is kept."""
        if self._opened is None:
            return
        store = self._opened.store
        kept = await store.changes_after(BEGINNING, _ALL)
        turns = await store.turns(0, _ALL)
        history = {item.id: await store.history(item.scope, item.id) for item in kept.items}
        self.rows = Rows(turns, kept.items, history)

    async def forget(self, scope: Scope, registry: Registry | None) -> None:
        """Have the first live item of a scope forgotten, if there is one, and tell the sessions of `registry`."""
        assert self._opened is not None
        live = await self._opened.store.live_items(scope, self._clock.now_ms())
        if live:
            told = () if registry is None else (Conversations(registry),)
            await self._opened.make_desk(told).forget_item(scope, live[0].id)
            self._write_down("~~", Forgot(live[0].id, live[0].text))

    def find_order(self, question: Question, lang: Lang) -> MemoryOrder | None:
        """Return the order that a question consists of."""
        return None if self._told is None else self._told.find_order(question, lang)

    def is_statement(self, question: Question, lang: Lang) -> bool:
        """Return whether a question is nothing but what can be remembered."""
        return self._told is not None and self._told.is_statement(question, lang)

    def find_notice(self, question: Question, lang: Lang) -> MemoryNotice | None:
        """Return whether some of a question is to be remembered."""
        return self._told.find_notice(question, lang) if self._told else None

    async def load_memory(self, question: Question, text: str, lang: Lang) -> TurnMemory:
        """Return what a turn should know."""
        return await self._told.load_memory(question, text, lang) if self._told else EMPTY_MEMORY

    async def find_live_item(self, question: Question, id: str) -> Item | None:
        """Return an item that a question's user may be told of."""
        return await self._told.find_live_item(question, id) if self._told else None

    def draft_item(
        self,
        question: Question,
        about: ItemType | Item,
        subject: str,
        text: str,
        lang: Lang,
        sources: tuple[Source, ...],
        expires_at: int | None = None,
    ) -> Draft:
        """Return what a model proposes to remember."""
        assert self._told is not None
        return self._told.draft_item(question, about, subject, text, lang, sources, expires_at)

    async def are_citable(self, scope: Scope, files: Collection[str]) -> bool:
        """Return whether all of these may still be cited."""
        return self._told is not None and await self._told.are_citable(scope, files)

    def carrying_out(self, otherwise: Executor) -> "Executor":
        """Return what accepts items, and notes that, and leaves every other action to another."""
        return _Watched(self._opened.executors if self._opened else {}, otherwise, self._write_down)


class _Watched:
    def __init__(
        self, by_name: Mapping[str, Executor], otherwise: Executor, note: Callable[[str, Any], None]
    ) -> None:
        self._by_name = by_name
        self._otherwise = otherwise
        self._write_down = note

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Carry out a call."""
        own = self._by_name.get(call.action)
        if own is None:
            return await self._otherwise.run(call, begin)

        def begun() -> None:
            begin()
            self._write_down("**", EffectBegan(call.suggestion_id, call.action, call.payload))

        try:
            result = await own.run(call, begun)
        except ActionFailed:
            self._write_down("**", EffectFailed(call.suggestion_id))
            raise
        self._write_down("**", EffectFinished(call.suggestion_id))
        return result


def live(rows: Rows) -> list[Item]:
    """Return the items that are live."""
    return [item for item in rows.items if item.status in LIVE]
