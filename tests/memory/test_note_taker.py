"""Having a model read what users said: behind the conversation, bounded, and from where it was left."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
import trio
import trio.testing

from agent.errors import ModelFailed, ModelFault, StorageFailed
from agent.memory.exchange_keeper import NOTE_TRIES, ExchangeKeeper
from agent.memory.message_items import read_items
from agent.memory.note_taker import (
    NOTE_AGAIN,
    NOTE_AGAIN_MOST,
    NOTE_LOOK,
    NOTE_TAKEN,
    NOTE_TIMEOUT,
    NOTES_AT_ONCE,
    NoteTaker,
)
from agent.memory.settings import MEMORY_ASKED
from agent.ports.brain import Question
from agent.ports.conversation import Scope
from agent.ports.memory import Item
from agent.ports.note import MemoryNote, ReadStore, UnreadTurn
from agent.ports.pages import Window
from agent.ports.remember import FinishedAnswer
from agent.storage.open import open_memory_store
from agent.storage.settings import StorageSettings
from agent.testing.fakes import Figures
from agent.testing.network import inline
from agent.testing.return_paths import NotedReturnPath
from tests.examples import sample
from tests.remembered import ANA, accepted, budget

START = 1_700_000_000_000


class Clock:
    """The world's time goes as the test's does."""

    def now_ms(self) -> int:
        return START + round(trio.current_time() * 1000)


@dataclass
class Reader:
    """Finds in each message that it is about its words. wait: seconds that takes. fails: what it raises first."""

    wait: float = 0.0
    fails: list[BaseException] = field(default_factory=list)
    seen: list[tuple[float, UnreadTurn, Sequence[Item]]] = field(default_factory=list)
    at_once: int = 0
    most: int = 0
    finds: Callable[[str], Sequence[MemoryNote]] = lambda text: (
        MemoryNote("fact", text, f"About {text}", text),
    )

    async def find_notes(self, unread: UnreadTurn, known: Sequence[Item]) -> tuple[MemoryNote, ...]:
        self.seen.append((trio.current_time(), unread, known))
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await trio.sleep(self.wait)
        finally:
            self.at_once -= 1
        if self.fails:
            raise self.fails.pop(0)
        return tuple(self.finds(unread.turn.remark.text))

    @property
    def texts(self) -> list[str]:
        return [unread.turn.remark.text for _, unread, _ in self.seen]


@dataclass
class Running:
    """What runs. figures: what was counted."""

    store: ReadStore
    keeper: ExchangeKeeper
    figures: Figures

    async def say(self, text: str, scope: Scope = ANA, asked: NotedReturnPath | None = None) -> None:
        """Say something, which is answered and kept. The words are the message's id, too."""
        self.keeper.record_exchange(
            Question(id=text, text=text, lang="en", at=0.0, scope=scope),
            FinishedAnswer("Noted."),
            asked or NotedReturnPath(),
        )
        await self.keeper.wait_settled()

    async def items(self) -> list[tuple[str, str]]:
        """Return what there is of her, and how it stands."""
        return [(each.text, each.status) for each in (await self.store.items(ANA, Window(99))).entries]


@asynccontextmanager
async def running(reader: Reader, store: ReadStore | None = None) -> AsyncGenerator[Running, None]:
    async with (
        open_memory_store(StorageSettings(), inline, Clock()) as opened,
        trio.open_nursery() as nursery,
    ):
        figures = Figures()
        made = store or opened
        noting = NoteTaker(reader, made, made, Clock(), figures)
        keeper = ExchangeKeeper(made, Clock(), figures, read_items, noting=noting)
        nursery.start_soon(keeper.run)
        nursery.start_soon(noting.run)
        yield Running(made, keeper, figures)
        nursery.cancel_scope.cancel()


async def test_what_a_model_finds_is_proposed_and_asked_about(autojump_clock: trio.testing.MockClock) -> None:
    """Once its message is kept, and never more than proposed."""
    asked = NotedReturnPath()
    async with running(Reader(wait=2.0)) as run:
        await run.say("home", asked=asked)
        assert await run.items() == []
        await trio.sleep(3)
        assert await run.items() == [("About home", "proposed")]
        assert [each.payload for each in asked.proposals] == [{"item": "i1", "text": "About home"}]
        assert {"read", "asked"} <= run.figures.words


async def test_a_message_asks_about_so_many_whoever_finds_them(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The rules' findings come first; what is left is listed."""
    asked = NotedReturnPath()
    text = "I prefer green tea to any coffee."
    reader = Reader(
        finds=lambda said: [MemoryNote("fact", each, f"About {each}", "tea") for each in ("cat", "dog")]
    )
    async with running(reader) as run:
        await run.say(text, asked=asked)
        await trio.sleep(1)
        assert len(await run.items()) == 3
        assert len(asked.proposals) == MEMORY_ASKED


async def test_what_contradicts_is_asked_about_with_both_texts(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """As what the rules find is."""
    asked = NotedReturnPath()
    reader = Reader(finds=lambda said: [MemoryNote("fact", "budget of atlas", "Its budget is 70 SEK", said)])
    async with running(reader) as run:
        await accepted(run.store, budget(50))
        await run.say("70 SEK now", asked=asked)
        await trio.sleep(1)
        [proposal] = asked.proposals
        assert [each["text"] for each in proposal.payload["replaces"]] == ["The budget of atlas is 50 SEK"]


async def test_a_model_is_shown_what_is_known(autojump_clock: trio.testing.MockClock) -> None:
    """Of the same user: what is live, and what waits for him."""
    reader = Reader()
    async with running(reader) as run:
        await accepted(run.store, budget(50))
        await run.say("home")
        await run.say("garden")
        await run.say("attic", replace(ANA, user="bo"))
        await trio.sleep(1)
        shown = {unread.turn.remark.text: [each.text for each in known] for _, unread, known in reader.seen}
        assert shown == {
            "home": ["The budget of atlas is 50 SEK"],
            "garden": ["The budget of atlas is 50 SEK", "About home"],
            "attic": [],
        }


async def test_of_a_thread_one_is_read_at_a_time(autojump_clock: trio.testing.MockClock) -> None:
    """In their order; of all of them as many as may be."""
    reader = Reader(wait=1.0)
    async with running(reader) as run:
        for number in range(NOTES_AT_ONCE + 2):
            for word in ("one", "two"):
                await run.say(f"{word} {number}", replace(ANA, thread=f"t{number}"))
        await trio.sleep(60)
        assert reader.most == NOTES_AT_ONCE
        assert sorted(reader.texts) == sorted(
            f"{word} {number}" for word in ("one", "two") for number in range(NOTES_AT_ONCE + 2)
        )
        for number in range(NOTES_AT_ONCE + 2):
            assert reader.texts.index(f"one {number}") < reader.texts.index(f"two {number}")


async def test_one_that_takes_too_long_is_given_up(autojump_clock: trio.testing.MockClock) -> None:
    """After its tries; what comes after it in its thread is read then."""
    reader = Reader(wait=NOTE_TIMEOUT + 1)
    async with running(reader) as run:
        await run.say("slow")
        await trio.sleep(NOTE_TRIES * NOTE_TIMEOUT + 1)
        assert reader.texts == ["slow"] * NOTE_TRIES
        assert "given_up" in run.figures.words
        reader.wait = 0.0
        await run.say("quick")
        await trio.sleep(1)
        assert await run.items() == [("About quick", "proposed")]


@pytest.mark.parametrize("kind", sample(["connect", "rate", "server", "auth", "open"], 4))
async def test_a_service_that_cannot_be_asked_is_left_alone(
    kind: ModelFault, autojump_clock: trio.testing.MockClock
) -> None:
    """Longer each time, and nothing is given up for it."""
    reader = Reader(fails=[ModelFailed("away", kind) for _ in range(2 * NOTE_TRIES)])
    async with running(reader) as run:
        await run.say("home")
        await trio.sleep(3600)
        assert await run.items() == [("About home", "proposed")]
        times = [at for at, _, _ in reader.seen]
        pauses = [after - before for before, after in pairwise(times)]
        assert pauses == pytest.approx([min(NOTE_AGAIN * 2**each, NOTE_AGAIN_MOST) for each in range(6)])


async def test_a_service_says_how_long_to_leave_it_alone(autojump_clock: trio.testing.MockClock) -> None:
    """Within reason."""
    reader = Reader(fails=[ModelFailed("busy", "rate", 40.0), ModelFailed("busy", "rate", 1e9)])
    async with running(reader) as run:
        await run.say("home")
        await trio.sleep(3600)
        times = [at for at, _, _ in reader.seen]
        assert [times[1] - times[0], times[2] - times[1]] == pytest.approx([40.0, NOTE_AGAIN_MOST])


async def test_a_fault_of_the_reading_ends_no_server(autojump_clock: trio.testing.MockClock) -> None:
    """It counts as a try of that message, and the next is read."""
    reader = Reader(fails=[ValueError("a bug"), ModelFailed("no list", "request")])
    async with running(reader) as run:
        await run.say("home")
        await trio.sleep(1)
        assert reader.texts == ["home"] * 3
        assert await run.items() == [("About home", "proposed")]


async def test_what_was_not_read_is_read_after_a_start(autojump_clock: trio.testing.MockClock) -> None:
    """Also what was being read; who asked is gone, so that it waits among what is proposed."""
    async with open_memory_store(StorageSettings(), inline, Clock()) as store:
        asked = NotedReturnPath()
        async with running(Reader(wait=5.0), store) as run:
            await run.say("home", asked=asked)
            await run.say("garden", asked=asked)
            await trio.sleep(1)
        async with running(Reader(), store) as run:
            await trio.sleep(NOTE_TAKEN + NOTE_LOOK)
            assert [text for text, _ in await run.items()] == ["About home", "About garden"]
            assert asked.proposals == []


async def test_what_is_forgotten_while_it_is_read_leaves_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """What a model made of it is thrown away."""
    async with running(Reader(wait=5.0)) as run:
        await run.say("Remember that my code is Vega")
        await trio.sleep(1)
        [(_, status)] = await run.items()
        assert status == "accepted"
        await run.store.forget_item(ANA, "i1", START)
        await trio.sleep(60)
        assert await run.items() == []


class Refusing:
    """A store whose first reads of the queue fail."""

    def __init__(self, store: ReadStore, fails: int) -> None:
        self._store = store
        self.fails = fails

    def __getattr__(self, name: str) -> object:
        if name == "take" and self.fails:
            self.fails -= 1
            return self._fail
        return getattr(self._store, name)

    async def _fail(self, *given: object) -> None:
        raise StorageFailed("locked")


async def test_a_store_that_fails_is_asked_again(autojump_clock: trio.testing.MockClock) -> None:
    """And no server ends for it."""
    async with open_memory_store(StorageSettings(), inline, Clock()) as store:
        refusing: ReadStore = Refusing(store, 3)  # type: ignore[assignment]
        async with running(Reader(), refusing) as run:
            await run.say("home")
            await trio.sleep(3 * NOTE_LOOK)
            assert await run.items() == [("About home", "proposed")]


async def test_without_a_model_nothing_waits_for_one(autojump_clock: trio.testing.MockClock) -> None:
    """So one that is named later does not read what was said before."""
    async with open_memory_store(StorageSettings(), inline, Clock()) as store, trio.open_nursery() as nursery:
        keeper = ExchangeKeeper(store, Clock(), Figures(), read_items)
        nursery.start_soon(keeper.run)
        keeper.record_exchange(
            Question(id="m", text="hello", lang="en", at=0.0, scope=ANA),
            FinishedAnswer("Hi."),
            NotedReturnPath(),
        )
        await keeper.wait_settled()
        assert await store.take_unread(9, START * 2, START * 3) == ()
        nursery.cancel_scope.cancel()
