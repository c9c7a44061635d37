"""What every store of what is remembered must do with what no model has read yet."""

from dataclasses import replace

import pytest

from agent.ports.conversation import Scope
from agent.ports.memory import ExchangeRecord, Remark
from agent.ports.note import ReadStore, UnreadTurn
from agent.ports.pages import Window
from tests.remembered import ANA, NOW, a_draft, accepted, an_exchange, budget, proposed

LATER = NOW + 1_000
WINDOW = Window(9)


def unread(
    message: str = "m1", text: str = "I live in Lund", scope: Scope = ANA, tries: int = 3
) -> ExchangeRecord:
    return replace(an_exchange(message, text, "Noted.", scope=scope), tries=tries)


async def taken(memory: ReadStore, most: int = 9, at: int = NOW) -> list[str]:
    return [each.turn.remark.text for each in await memory.take_unread(most, at, at + 500)]


async def test_only_what_is_to_be_read_is_taken(memory: ReadStore) -> None:
    """What its user said, in exchanges that were kept for it; with what stood before it, of both sides."""
    await memory.keep_exchanges([an_exchange("m0", "Hello", "Hi."), unread()], NOW)
    [found] = await memory.take_unread(9, NOW, LATER)
    assert (found.turn.id, found.turn.remark.role, found.turn.scope) == ("t3", "user", ANA)
    assert [(each.remark.role, each.remark.text) for each in found.before] == [
        ("user", "Hello"),
        ("assistant", "Hi."),
    ]


async def test_of_a_thread_one_is_taken_at_a_time(memory: ReadStore) -> None:
    """The oldest, and nobody else gets any of that thread until it was read, given back, or its time is over."""
    other = replace(ANA, thread="t2")
    await memory.keep_exchanges([unread("m1", "one"), unread("m2", "two"), unread("m3", "three", other)], NOW)
    assert await taken(memory, 1) == ["one"]
    assert await taken(memory) == ["three"]
    assert await taken(memory) == []
    [again, _] = await memory.take_unread(9, NOW + 500, NOW + 1_000)
    assert again.turn.remark.text == "one"
    assert await memory.record_reading(again, (), NOW + 600) == ()
    assert await taken(memory, at=NOW + 700) == ["two"]


async def test_what_was_read_is_read_no_more(memory: ReadStore) -> None:
    """And what came of it is proposed with it, or neither is."""
    await memory.keep_exchanges([unread()], NOW)
    [found] = await memory.take_unread(9, NOW, LATER)
    got = await memory.record_reading(found, [budget(50), budget(50)], NOW)
    assert got is not None
    assert [(each.item.status, each.item.text) for each in got] == [
        ("proposed", "The budget of atlas is 50 SEK")
    ]
    assert await memory.record_reading(found, [budget(70)], NOW) == ()
    assert await taken(memory, at=LATER) == []


async def test_what_a_message_has_proposed_is_not_proposed_again(memory: ReadStore) -> None:
    """Whatever its user has decided of it: in other words it would be asked once more."""
    kept = unread()
    await memory.keep_exchanges([replace(kept, drafts=(budget(50),))], NOW)
    await memory.decide_item(ANA, "i1", "reject", NOW)
    [found] = await memory.take_unread(9, NOW, LATER)
    other = a_draft("He has a dog", "dog")
    got = await memory.record_reading(
        found, [a_draft("Atlas may cost 50 SEK", "budget of atlas"), other], NOW
    )
    assert got is not None
    assert [each.item.text for each in got] == ["He has a dog"]


async def test_what_contradicts_names_what_it_would_replace(memory: ReadStore) -> None:
    """As whatever is proposed does."""
    old = await accepted(memory, budget(50, message="m0"))
    await memory.keep_exchanges([unread()], NOW)
    [found] = await memory.take_unread(9, NOW, LATER)
    got = await memory.record_reading(found, [budget(70)], NOW)
    assert got is not None
    assert [each.id for each in got[0].conflicts] == [old.id]


async def test_after_its_tries_it_is_given_up(memory: ReadStore) -> None:
    """A failure that says nothing of the message is none of them."""
    await memory.keep_exchanges([unread(tries=2)], NOW)
    for counts, left in ((False, True), (True, True), (True, False)):
        [found] = await memory.take_unread(9, NOW, LATER)
        assert await memory.record_failure(found, counts) is left
    assert await taken(memory) == []


@pytest.mark.parametrize("which", ["m0", "m1"])
async def test_what_was_forgotten_meanwhile_proposes_nothing(memory: ReadStore, which: str) -> None:
    """Neither of its own words nor of those that were shown with it; what is left is read again without them."""
    await memory.keep_exchanges([an_exchange("m0", "My code is 50"), unread()], NOW)
    [found] = await memory.take_unread(9, NOW, LATER)
    item = (await proposed(memory, budget(50, message=which))).item
    await memory.forget_item(ANA, item.id, NOW)
    assert await memory.record_reading(found, [a_draft("He has a dog", "dog")], NOW) is None
    assert [each.status for each in (await memory.items(ANA, WINDOW)).entries] == []
    [again] = await memory.take_unread(9, NOW, LATER)
    assert again.turn.remark.text == ("" if which == "m1" else "I live in Lund")
    assert all(each.remark.text for each in again.before)
    assert await memory.record_reading(again, (), NOW) == ()


async def test_what_was_known_and_forgotten_meanwhile_comes_back_in_nothing(memory: ReadStore) -> None:
    """A model was shown it beside the message, and may have repeated it."""
    item = await accepted(memory, budget(50, message="m0"))
    await memory.keep_exchanges([unread()], NOW)
    [found] = await memory.take_unread(9, NOW, LATER)
    await memory.forget_item(ANA, item.id, NOW)
    assert await memory.record_reading(found, [a_draft("He has a dog", "dog")], NOW, [item.id]) is None
    [again] = await memory.take_unread(9, NOW, LATER)
    got = await memory.record_reading(again, [a_draft("He has a dog", "dog")], NOW, [])
    assert got is not None
    assert len(got) == 1


async def test_a_refused_answer_is_not_shown(memory: ReadStore) -> None:
    """It was said to nobody's help, and may hold what was refused."""
    refused = ExchangeRecord(
        ANA,
        (
            Remark(message="m0", role="user", text="Who?", at=NOW),
            Remark(message="m0", role="assistant", text="No.", at=NOW, blocked=True),
        ),
    )
    await memory.keep_exchanges([refused, unread()], NOW)
    [found] = await memory.take_unread(9, NOW, LATER)
    assert [each.remark.text for each in found.before] == ["Who?"]
    assert isinstance(found, UnreadTurn)
