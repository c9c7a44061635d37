"""Whatever models propose, only what its user ordered, in just these words, becomes true without being asked."""

import random
from collections.abc import Sequence

import trio
import trio.testing

from agent.memory.hearing import hear
from agent.memory.items import same_wording
from agent.memory.keeper import Keeper
from agent.memory.noting import Noting
from agent.memory.recollection import Recollection
from agent.ports.brain import Proposal, Question
from agent.ports.memory import LIVE, Draft, Item, ItemType, MemoryStore
from agent.ports.note import Found, Unread
from agent.ports.pages import Window
from agent.ports.remember import Answered
from agent.storage.memories.store import memory_in
from agent.testing.fakes import Figures, Noon
from agent.testing.network import inline
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
)
TYPES: tuple[ItemType, ...] = ("fact", "decision", "preference", "rule", "open_loop")
ORDERED = [
    noted.draft.text for order in ORDERS for noted in hear(Question("m", order, "en", 0.0, ANA), NOW).noted
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
        there = await memory.live(ANA, NOW)
        about = chance.choice([*there, chance.choice(TYPES)])
        made.append(recollection.drafted(question, about, subject, text, "en", ()))
    return tuple(made)


class Reader:
    """Finds anything at all in what was said, in the place of anything."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    async def find(self, unread: Unread, known: Sequence[Item]) -> tuple[Found, ...]:
        chance, text = self._chance, unread.turn.remark.text
        return tuple(
            Found(
                chance.choice((*TYPES, "event", "metric")),
                *chance.choice(WORDS),
                chance.choice((text, text[:10])),
                chance.choice((None, None, *(each.id for each in known))),
            )
            for _ in range(chance.randrange(4))
        )


async def test_no_model_approves(autojump_clock: trio.testing.MockClock) -> None:
    """Over many conversations: what is live without its user's confirm says just what he told to remember."""
    assert len(ORDERED) == len(ORDERS)
    lived = waited = 0
    for seed in range(8):
        chance = random.Random(seed)
        async with memory_in(None, inline, Noon()) as memory, trio.open_nursery() as nursery:
            noting = Noting(Reader(chance), memory, memory, Noon(), Figures())
            keeper = Keeper(memory, Noon(), Figures(), hear, noting=noting)
            recollection = Recollection(memory, Nothing(), Noon())  # type: ignore[arg-type]
            nursery.start_soon(keeper.run)
            nursery.start_soon(noting.run)
            for turn in range(6):
                question = Question(f"m{turn}", chance.choice(ORDERS + QUESTIONS), "en", 0.0, ANA)
                drafts = await proposals(memory, recollection, question, chance)
                await keeper.kept(question, Answered("So it is.", drafts=drafts))
                await trio.testing.wait_all_tasks_blocked()
            items = (await memory.items(ANA, Window(99))).entries
            nursery.cancel_scope.cancel()
        for item in items:
            assert item.status not in LIVE or any(same_wording(item.text, each) for each in ORDERED)
            lived += item.status in LIVE
            waited += item.status == "proposed"
    assert lived > 8
    assert waited > 25


async def test_who_is_there_is_asked_about_what_a_model_proposes(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """With its text, and what it would replace; it is stored as proposed before."""
    asked: list[Proposal] = []
    async with memory_in(None, inline, Noon()) as memory, trio.open_nursery() as nursery:
        keeper = Keeper(memory, Noon(), Figures(), hear)
        recollection = Recollection(memory, Nothing(), Noon())  # type: ignore[arg-type]
        nursery.start_soon(keeper.run)
        order = Question("m1", ORDERS[0], "en", 0.0, ANA)
        await keeper.kept(order, Answered("Noted."))
        question = Question("m2", "What is the budget?", "en", 0.0, ANA)
        draft = recollection.drafted(question, "fact", *WORDS[2], "en", ())
        keeper.keep(
            question, Answered("50 SEK", drafts=(draft,)), lambda of, proposal: asked.append(proposal)
        )
        await keeper.settled()
        old, new = (await memory.items(ANA, Window(9))).entries
        nursery.cancel_scope.cancel()
    assert (old.status, new.status, new.decided_by) == ("accepted", "proposed", None)
    assert [each.payload for each in asked] == [
        {"item": new.id, "text": WORDS[2][1], "replaces": [{"item": old.id, "text": old.text}]}
    ]


async def test_an_order_approves_no_words_but_its_own(autojump_clock: trio.testing.MockClock) -> None:
    """A model's proposal that says the same, and more, is shown before it is true: its user has not seen it."""
    asked: list[Proposal] = []
    async with memory_in(None, inline, Noon()) as memory, trio.open_nursery() as nursery:
        keeper = Keeper(memory, Noon(), Figures(), hear)
        recollection = Recollection(memory, Nothing(), Noon())  # type: ignore[arg-type]
        nursery.start_soon(keeper.run)
        question = Question("m1", "What is the budget?", "en", 0.0, ANA)
        draft = recollection.drafted(question, "fact", *WORDS[1], "en", ())
        await keeper.kept(question, Answered("50 SEK", drafts=(draft,)))
        order = Question("m2", ORDERS[0], "en", 0.0, ANA)
        keeper.keep(order, Answered("Noted."), lambda of, proposal: asked.append(proposal))
        await keeper.settled()
        items = (await memory.items(ANA, Window(9))).entries
        nursery.cancel_scope.cancel()
    assert [(item.text, item.status) for item in items] == [(WORDS[1][1], "proposed")]
    assert [each.payload["text"] for each in asked] == [WORDS[1][1]]
