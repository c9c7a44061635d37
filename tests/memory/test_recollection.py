"""What a turn is told of what is remembered, over a real store in memory and a recaller that finds what it is told."""

from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import trio
import trio.testing
from msgspec import structs

from agent.config import MEMORY_READ
from agent.errors import StorageFailed
from agent.lang import Lang
from agent.memory.recall.recall import IndexRecaller
from agent.memory.recollection import PICTURE_READ, Recollection, orders_to_forget
from agent.ports.brain import Question
from agent.ports.conversation import Exchange, Scope
from agent.ports.note import ReadStore
from agent.ports.recall import Excerpt, RecallQuery, RecallResult
from agent.ports.remember import UNREAD_MEMORY
from agent.storage.open import open_memory_store
from agent.storage.settings import StorageSettings
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.examples import sample
from tests.remembered import ANA, NOW, OTHERS, a_draft, accepted, an_exchange, budget, proposed

ASKED = Question(id="m9", text="What is the budget?", lang="en", at=0.0, scope=ANA)
SAID = Excerpt(
    id="t1",
    kind="turn",
    text="The budget is 50 SEK",
    at=NOW,
    by="user",
    thread="t1",
    score=0.6,
    citable=True,
    message="m1",
)
OWN = Excerpt(
    id="t2",
    kind="turn",
    text="It was 70 SEK",
    at=NOW,
    by="assistant",
    thread="t1",
    score=0.4,
    citable=False,
    message="m1",
)
ITEM = Excerpt(
    id="i1",
    kind="item",
    text="The budget of atlas is 50 SEK",
    at=NOW,
    by="",
    thread="",
    score=0.9,
    citable=True,
)


class Found:
    """Finds what it was made with."""

    def __init__(self, *excerpts: Excerpt, wait: float = 0.0, fails: bool = False) -> None:
        pairs = (("t1", "i1"),) if len(excerpts) > 1 else ()
        self.found = RecallResult(excerpts=excerpts, score=0.9, disagreements=pairs)
        self.wait, self.fails = wait, fails
        self.asked: list[RecallQuery] = []

    async def recall(self, search: RecallQuery) -> RecallResult:
        self.asked.append(search)
        await trio.sleep(self.wait)
        if self.fails:
            raise StorageFailed("gone")
        return self.found

    async def standing_ids(self, scope: Scope, ids: Collection[str], at: int) -> frozenset[str]:
        raise AssertionError("nothing of it is cited")


@asynccontextmanager
async def store() -> AsyncGenerator[ReadStore, None]:
    async with open_memory_store(StorageSettings(), inline, Noon()) as memory:
        yield memory


@asynccontextmanager
async def used() -> AsyncGenerator[ReadStore, None]:
    """What was found, as it is kept: t1 and t3 of their user, t2 and t4 of the agent, and i1."""
    async with store() as memory:
        await memory.keep_exchanges([an_exchange("m1", SAID.text, OWN.text), an_exchange("m3")], NOW)
        await accepted(memory, budget(50, message="m0"))
        yield memory


async def test_what_fits_is_evidence_and_the_agents_words_are_none(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The best first, under its day and who said it; what stands in the thread anyway is not looked for."""
    async with used() as memory:
        found = Found(SAID, OWN, ITEM)
        asked = replace(ASKED, history=(Exchange("Hi", "Hello", message="m7"), Exchange("?", "!")))
        told = await Recollection(memory, found, Noon()).load_memory(asked, "budget?", "en")
        assert [hit.snippet.file for hit in told.hits] == ["memory/i1", "memory/t1"]
        assert told.hits[1].snippet.headings == ("2023-11-14, user",)
        assert (told.hits[1].snippet.when, told.hits[1].snippet.by) == ("2023-11-14", "user")
        assert told.hits[0].snippet.headings == ("2023-11-14",)
        assert "70 SEK" in told.reminder.past_messages
        assert "50 SEK" not in told.reminder.past_messages
        assert "memory/i1 is newer" in told.reminder.past_messages
        (search,) = found.asked
        assert (search.text, search.scope, search.visible_messages) == ("budget?", ANA, frozenset({"m7"}))


async def test_what_its_user_said_in_this_conversation_may_be_cited_too(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Though it is not told again; it comes last, and no more than the rest where it was taken back or asked."""
    async with used() as memory:
        found = Found(ITEM)
        asked = structs.replace(SAID, id="t3", text="Is it 70 SEK?")
        elsewhere = structs.replace(SAID, id="t99")
        found.found = replace(found.found, visible_excerpts=(SAID, asked, elsewhere))
        told = await Recollection(memory, found, Noon()).load_memory(ASKED, "budget?", "en")
        assert [(hit.snippet.file, hit.in_conversation) for hit in told.hits] == [
            ("memory/i1", False),
            ("memory/t1", True),
        ]
        assert "50 SEK" not in told.reminder.past_messages


@pytest.mark.parametrize(
    ("text", "lang", "everything"),
    sample(
        [
            ("What do you remember about me?", "en", True),
            ("what do you know about me", "en", True),
            ("Who am I?", "en", True),
            ("What have I told you?", "en", True),
            ("Tell me everything you know about me!", "en", True),
            ("Vad kommer du ihåg om mig?", "sv", True),
            ("Vad vet du om mig?", "sv", True),
            ("Berätta allt du vet om mig", "sv", True),
            ("What do you know about my dog?", "en", False),
            ("What do you know?", "en", False),
            ("What can you do?", "en", False),
            ("Who am I to call?", "en", False),
            ("Vad kan du?", "sv", False),
            ("Vad vet du om returer?", "sv", False),
        ],
        3,
    ),
)
async def test_who_asks_for_everything_is_told_what_is_remembered_of_him(
    text: str, lang: Lang, everything: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """His live items, the newest of them, and nothing of the documents; any other question is looked for."""
    async with used() as memory:
        await proposed(memory, a_draft("The car is red", "car", message="m5"))
        for other in OTHERS[:1]:
            await memory.accept_item(
                other, (await memory.propose_drafts(other, [budget(9)], NOW))[0].item.id, NOW
            )
        found = Found()
        told = await Recollection(memory, found, Noon()).load_memory(replace(ASKED, text=text), text, lang)
        assert told.is_asked_for is everything
        assert [hit.snippet.file for hit in told.hits] == (["memory/i1"] if everything else [])
        assert len(found.asked) == (not everything)


async def test_the_words_that_are_answered_are_no_source(autojump_clock: trio.testing.MockClock) -> None:
    """Also where a turn goes on with the result of a call, and the message that led to it has been kept."""
    async with used() as memory:
        found = Found()
        found.found = replace(found.found, visible_excerpts=(SAID,))
        for text, cited in ((SAID.text, []), ("What is the budget?", ["memory/t1"])):
            history = (Exchange(SAID.text, "Wait.", message="m1"),)
            asked = replace(ASKED, text=text, history=history)
            told = await Recollection(memory, found, Noon()).load_memory(asked, "budget?", "en")
            assert [hit.snippet.file for hit in told.hits] == cited


async def test_a_question_of_a_user_states_nothing(autojump_clock: trio.testing.MockClock) -> None:
    """What is asked is no evidence; what is said beside it is."""
    async with used() as memory:
        asked = structs.replace(SAID, text="Is the budget 70 SEK?")
        mixed = structs.replace(SAID, id="t3", text="The budget is 50 SEK. Or is it 70 SEK? It is for Atlas.")
        found = Found(asked, mixed)
        told = await Recollection(memory, found, Noon()).load_memory(ASKED, "budget?", "en")
        (hit,) = told.hits
        assert hit.snippet.file == "memory/t3"
        assert "50 SEK" in hit.snippet.text
        assert "70" not in hit.snippet.text
        assert "for Atlas" in hit.snippet.text


async def test_what_its_user_has_taken_back_is_neither_told_nor_cited(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Where an item was replaced, the message that it comes from says the old number still."""
    async with store() as memory:
        await memory.keep_exchanges(
            [an_exchange("m1", "My budget is 50 SEK", "Noted", budget(50, message="m1"))], NOW
        )
        old = await memory.accept_item(ANA, "i1", NOW)
        await memory.replace_item(ANA, old.id, budget(60, message="m2"), NOW)
        told = await Recollection(memory, Found(SAID, ITEM), Noon()).load_memory(ASKED, "budget?", "en")
        assert told.hits == ()
        assert "50" not in repr(told.reminder)


async def test_what_an_item_says_is_told_once(autojump_clock: trio.testing.MockClock) -> None:
    """Not again as the order to remember it; what its user said beside it is evidence of its own."""
    order = structs.replace(SAID, text=f"Please remember that {ITEM.text.lower()}, thanks!")
    more = structs.replace(
        SAID, id="t3", text=f"{ITEM.text}, but for travel we have another account at the bank."
    )
    async with used() as memory:
        told = await Recollection(memory, Found(ITEM, order, more), Noon()).load_memory(ASKED, "?", "en")
        assert [hit.snippet.file for hit in told.hits] == ["memory/i1", "memory/t3"]


async def test_what_is_not_live_or_not_theirs_is_told_to_nobody(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Neither proposed, rejected, replaced, forgotten nor another's."""
    async with store() as memory:
        kept = await accepted(memory, a_draft("Always answer in one line", "answers", "rule"))
        await proposed(memory, a_draft("Always answer in verse 31", "verse", "rule"))
        no = await proposed(memory, a_draft("Always answer in prose 32", "prose", "rule"))
        await memory.decide_item(ANA, no.item.id, "reject", NOW)
        gone = await accepted(memory, a_draft("Never say hello 33", "hello", "rule"))
        await memory.forget_item(ANA, gone.id, NOW)
        for number, scope in enumerate(OTHERS):
            await accepted(memory, a_draft(f"Always say {40 + number}", "manners", "rule"), scope)
        told = await Recollection(memory, Found(), Noon()).load_memory(ASKED, "budget?", "en")
        assert kept.text in told.reminder.standing
        assert told.reminder.situation == ""
        assert not any(each in repr(told) for each in ("31", "32", "33", "40", "41", "42", "43"))


async def test_what_the_search_knows_to_be_live_is_not_read_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """But where it cannot tell, or there is more than is chosen from; what is another's is told to nobody."""
    async with store() as memory:
        rule = await accepted(memory, a_draft("Always answer in one line", "answers", "rule"))
        anothers = await accepted(memory, a_draft("Always answer in verse", "verse", "rule"), OTHERS[0])
        found = Found()
        told: list[str] = []
        for items in ((), (rule, anothers), None, (rule,) * (PICTURE_READ + 1)):
            found.found = replace(found.found, items=items)
            remembered = await Recollection(memory, found, Noon()).load_memory(ASKED, "budget?", "en")
            told.append(remembered.reminder.standing)
        assert told[0] == ""
        assert all(rule.text in each and "verse" not in each for each in told[1:])


async def test_what_another_process_changes_is_told_as_it_is(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """From the next turn on, whatever the search has taken in before."""
    settings = StorageSettings(str(tmp_path))
    async with (
        open_memory_store(settings, inline, Noon()) as memory,
        open_memory_store(settings, inline, Noon()) as other,
    ):
        recollection = Recollection(memory, IndexRecaller(memory, inline), Noon())
        assert (await recollection.load_memory(ASKED, "budget?", "en")).reminder.standing == ""
        rule = await accepted(other, a_draft("Always answer in one line", "answers", "rule"))
        assert rule.text in (await recollection.load_memory(ASKED, "budget?", "en")).reminder.standing
        new = await other.replace_item(
            ANA, rule.id, a_draft("Always answer in two lines", "answers", "rule"), NOW
        )
        standing = (await recollection.load_memory(ASKED, "budget?", "en")).reminder.standing
        assert new.text in standing
        assert rule.text not in standing
        await other.forget_item(ANA, new.id, NOW)
        assert (await recollection.load_memory(ASKED, "budget?", "en")).reminder.standing == ""


@pytest.mark.parametrize("trouble", ["slow", "broken"])
async def test_a_memory_that_cannot_be_read_is_no_reason_for_no_answer(
    trouble: str, autojump_clock: trio.testing.MockClock
) -> None:
    """A turn waits MEMORY_READ seconds for it at most, and then nothing of it is cited."""
    async with store() as memory:
        found = Found(SAID, wait=3600.0 if trouble == "slow" else 0.0, fails=trouble == "broken")
        began = trio.current_time()
        told = await Recollection(memory, found, Noon()).load_memory(ASKED, "budget?", "en")
        assert told == UNREAD_MEMORY
        assert trio.current_time() - began <= MEMORY_READ


async def test_what_may_be_cited_stands_until_it_is_forgotten(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """All of it, or none of it counts."""
    async with store() as memory:
        await memory.keep_exchanges([an_exchange("m1", "My budget is 50 SEK")], NOW)
        item = await accepted(memory, budget(50))
        recollection = Recollection(memory, IndexRecaller(memory, inline), Noon())
        assert await recollection.are_citable(ANA, {f"memory/{item.id}", "memory/t1"})
        assert not await recollection.are_citable(ANA, {f"memory/{item.id}", "memory/t2"})
        await memory.forget_item(ANA, item.id, NOW)
        assert not await recollection.are_citable(ANA, {f"memory/{item.id}"})


async def test_an_order_to_remember_is_known_as_one() -> None:
    """And nothing else is."""
    async with store() as memory:
        recollection = Recollection(memory, Found(), Noon())
        assert (
            recollection.find_order(replace(ASKED, text="Remember that my budget is 50 SEK"), "en")
            == "remember"
        )
        assert recollection.find_order(ASKED, "en") is None


@pytest.mark.parametrize(
    ("lang", "text", "is_order"),
    [
        ("en", "Forget my parcel number.", True),
        ("en", "Please forget what I told you about my address", True),
        ("en", "Can you forget everything?", True),
        ("en", "forget about me", True),
        ("sv", "Glöm att jag bor i Lund.", True),
        ("sv", "Kan du glömma bort mitt nummer?", True),
        ("en", "Forget it.", False),
        ("en", "I forgot my password.", False),
        ("en", "Don't forget my appointment", False),
        ("en", "Forget my address. Where is my parcel?", False),
        ("sv", "Glöm det.", False),
        ("sv", "Glöm inte min tid", False),
    ],
)
def test_an_order_to_forget_is_known_as_one(lang: Lang, text: str, is_order: bool) -> None:
    """As a whole message: what asks for more besides is answered."""
    assert orders_to_forget(text, lang) is is_order


async def test_a_turn_that_could_not_read_costs_no_other_its_memory(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Each looks for itself, and waits while the server is busy."""
    async with used() as memory:
        found = Found(ITEM, wait=MEMORY_READ + 1)
        recollection = Recollection(memory, found, Noon())
        assert await recollection.load_memory(ASKED, "budget?", "en") == UNREAD_MEMORY
        found.wait = MEMORY_READ - 1
        told = await recollection.load_memory(ASKED, "budget?", "en")
        assert told.hits
        assert not told.unread


async def test_a_turn_knows_that_some_of_what_was_said_is_not_kept(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """What can be found is found all the same."""

    class Behind:
        async def wait_caught_up(self, scope: Scope) -> bool:
            await trio.lowlevel.checkpoint()
            return False

    async with used() as memory:
        told = await Recollection(memory, Found(ITEM), Noon(), Behind()).load_memory(ASKED, "budget?", "en")
        assert told.hits
        assert told.unread


async def test_what_cannot_be_looked_up_neither_stands_nor_falls(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Who asks whether it may be cited is told that nobody knows."""
    async with used() as memory:
        recollection = Recollection(memory, IndexRecaller(memory, inline), Noon())
    with pytest.raises(StorageFailed):  # it is closed
        await recollection.are_citable(ANA, {"memory/i1"})
