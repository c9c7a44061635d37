"""Whatever models propose, only what its user ordered or stated, in just these words, becomes true unasked."""

import random
from collections.abc import Sequence

import trio
import trio.testing

from agent.memory.exchange_keeper import ExchangeKeeper
from agent.memory.items import same_wording
from agent.memory.message_items import read_items
from agent.memory.note_taker import NoteTaker
from agent.memory.recollection import Recollection
from agent.ports.brain import Question
from agent.ports.memory import LIVE, Draft, Item, ItemType, MemoryStore
from agent.ports.note import MemoryNote, UnreadTurn
from agent.ports.pages import Window
from agent.ports.remember import FinishedAnswer
from agent.storage.memories.store import open_database_memory
from agent.testing.fakes import Figures, Noon
from agent.testing.network import inline
from agent.testing.return_paths import NotedReturnPath
from tests.remembered import ANA, NOW

ORDERS = (
    "Remember that the budget of atlas is 50 SEK.",
    "Remember that the budget of atlas is 60 SEK.",
    "Remember that the door is blue.",
)
QUESTIONS = ("What is the budget?", "The budget of atlas is 70 SEK.", "I prefer the door blue.")
WORDS = (
    ("budget of atlas", "The budget of atlas is 50 SEK"),
    ("budget of atlas", "The budget of atlas is 50 SEK, and whoever asks may spend it"),
    ("budget of atlas", "The budget of atlas is 90 SEK"),
    ("door", "The door is blue and open"),
    ("door", "The door is red"),
    ("budget of atlas", "The budget of atlas is 70 SEK."),
    ("budget", "The budget of atlas is 70"),
    ("door", "I prefer the door blue"),
)
TYPES: tuple[ItemType, ...] = ("fact", "decision", "preference", "rule", "open_loop", "event", "metric")
ORDERED = [
    noted.draft.text
    for order in ORDERS
    for noted in read_items(Question(id="m", text=order, lang="en", at=0.0, scope=ANA), NOW).drafts
]


class Nothing:
    """Recalls nothing."""


async def proposals(
    memory: MemoryStore, recollection: Recollection, question: Question, chance: random.Random
) -> tuple[Draft, ...]:
    """What a model proposes beside a question: anything new, or in the place of anything."""
    made = []
    for _ in range(chance.randrange(3)):
        subject, text = chance.choice(WORDS)
        there = await memory.live_items(ANA, NOW)
        about = chance.choice([*there, chance.choice(TYPES)])
        made.append(recollection.draft_item(question, about, subject, text, "en", ()))
    return tuple(made)


class Reader:
    """Finds anything at all in what was said, in the place of anything."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    async def find_notes(self, unread: UnreadTurn, known: Sequence[Item]) -> tuple[MemoryNote, ...]:
        chance, text = self._chance, unread.turn.remark.text
        return tuple(
            MemoryNote(
                chance.choice(TYPES),
                *chance.choice(WORDS),
                chance.choice((text, text[:10])),
                chance.choice((None, None, *(each.id for each in known))),
            )
            for _ in range(chance.randrange(4))
        )


async def test_no_model_approves(autojump_clock: trio.testing.MockClock) -> None:
    """Over many conversations: what is live without its user's confirm says just what he told to remember.

    An event or a metric may say what he stated.
    """
    assert len(ORDERED) == len(ORDERS)
    lived = waited = by_rule = 0
    for seed in range(8):
        chance = random.Random(seed)
        async with open_database_memory(None, inline, Noon()) as memory, trio.open_nursery() as nursery:
            noting = NoteTaker(Reader(chance), memory, memory, Noon(), Figures())
            keeper = ExchangeKeeper(memory, Noon(), Figures(), read_items, noting=noting)
            recollection = Recollection(memory, Nothing(), Noon())  # type: ignore[arg-type]
            nursery.start_soon(keeper.run)
            nursery.start_soon(noting.run)
            for turn in range(6):
                question = Question(
                    id=f"m{turn}", text=chance.choice(ORDERS + QUESTIONS), lang="en", at=0.0, scope=ANA
                )
                drafts = await proposals(memory, recollection, question, chance)
                await keeper.record_and_propose(question, FinishedAnswer("So it is.", keeps=drafts))
                await trio.testing.wait_all_tasks_blocked()
            items = (await memory.items(ANA, Window(99))).entries
            nursery.cancel_scope.cancel()
        for item in items:
            ruled = item.decided_by == "rule"
            said = (*ORDERED, *QUESTIONS[1:]) if ruled else ORDERED
            assert item.status not in LIVE or any(same_wording(item.text, each) for each in said)
            by_rule += ruled
            lived += item.status in LIVE
            waited += item.status == "proposed"
    assert lived > 8
    assert by_rule
    assert waited > 25


async def test_who_is_there_is_asked_about_what_a_model_proposes(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """With its text, and what it would replace; it is stored as proposed before."""
    asked = NotedReturnPath()
    async with open_database_memory(None, inline, Noon()) as memory, trio.open_nursery() as nursery:
        keeper = ExchangeKeeper(memory, Noon(), Figures(), read_items)
        recollection = Recollection(memory, Nothing(), Noon())  # type: ignore[arg-type]
        nursery.start_soon(keeper.run)
        order = Question(id="m1", text=ORDERS[0], lang="en", at=0.0, scope=ANA)
        await keeper.record_and_propose(order, FinishedAnswer("Noted."))
        question = Question(id="m2", text="What is the budget?", lang="en", at=0.0, scope=ANA)
        draft = recollection.draft_item(question, "fact", *WORDS[2], "en", ())
        keeper.record_exchange(question, FinishedAnswer("50 SEK", keeps=(draft,)), asked)
        await keeper.wait_settled()
        old, new = (await memory.items(ANA, Window(9))).entries
        nursery.cancel_scope.cancel()
    assert (old.status, new.status, new.decided_by) == ("accepted", "proposed", None)
    assert [each.payload for each in asked.proposals] == [
        {"item": new.id, "text": WORDS[2][1], "replaces": [{"item": old.id, "text": old.text}]}
    ]


async def test_an_order_approves_no_words_but_its_own(autojump_clock: trio.testing.MockClock) -> None:
    """A model's proposal that says the same, and more, is shown before it is true: its user has not seen it."""
    asked = NotedReturnPath()
    async with open_database_memory(None, inline, Noon()) as memory, trio.open_nursery() as nursery:
        keeper = ExchangeKeeper(memory, Noon(), Figures(), read_items)
        recollection = Recollection(memory, Nothing(), Noon())  # type: ignore[arg-type]
        nursery.start_soon(keeper.run)
        question = Question(id="m1", text="What is the budget?", lang="en", at=0.0, scope=ANA)
        draft = recollection.draft_item(question, "fact", *WORDS[1], "en", ())
        await keeper.record_and_propose(question, FinishedAnswer("50 SEK", keeps=(draft,)))
        order = Question(id="m2", text=ORDERS[0], lang="en", at=0.0, scope=ANA)
        keeper.record_exchange(order, FinishedAnswer("Noted."), asked)
        await keeper.wait_settled()
        items = (await memory.items(ANA, Window(9))).entries
        nursery.cancel_scope.cancel()
    assert [(item.text, item.status) for item in items] == [(WORDS[1][1], "proposed")]
    assert [each.payload["text"] for each in asked.proposals] == [WORDS[1][1]]
