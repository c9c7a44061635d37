"""What is made of a candidate, what is refused, and what a draft is to the items that are there."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations, permutations
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import ITEM_QUOTE, ITEM_TEXT
from agent.errors import BadItem
from agent.intents.subjects import ITEM_KEY, key_of
from agent.lang import Lang
from agent.lexical.stems import stem
from agent.memory.conflicts import compare_draft, find_finished_loop, find_mentioned_loop
from agent.memory.items import ITEM_LATEST, ITEM_REF, make_draft, numbers_agree, numbers_of
from agent.ports.memory import LIVE, Candidate, Draft, Item, ItemStatus, ItemType, Source

from .made import DAY, NOW, item

SOURCE = Source("message", "m1", quote="The budget of Atlas is 50 000 kr")
BUDGET = Candidate(
    type="fact",
    subject="budget of project Atlas",
    text="The budget of project Atlas is 50 000 kr",
    lang="en",
    sources=(SOURCE,),
)


def made(text: str, subject: str = "budget of project Atlas", kind: ItemType = "fact", **other: Any) -> Draft:
    """A draft, made as every draft is."""
    return make_draft(replace(BUDGET, text=text, subject=subject, type=kind, **other), NOW)


def kept(of: Draft, status: ItemStatus = "accepted", id: str = "i1") -> Item:
    """The item of a draft."""
    return item(
        id=id, type=of.type, status=status, key=of.key, slot=of.slot, text=of.text, numbers=of.numbers
    )


def test_a_candidate_becomes_a_draft() -> None:
    """Whole: its key in stems, its numbers by kind and unit, valid from now, without an end."""
    it = make_draft(BUDGET, NOW)
    assert (it.key, it.numbers) == (("atlas", "budget", "project"), (("money SEK", "50000 SEK"),))
    assert (it.valid_from, it.valid_to, it.expires_at, it.confidence) == (NOW, None, None, 1.0)
    assert (it.text, it.sources, it.type) == (BUDGET.text, (SOURCE,), "fact")


WRONG: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "empty": ({"text": " \n\t "}, "is empty"),
    "too_long": ({"text": "a" * (ITEM_TEXT + 1)}, "500 characters"),
    "no_source": ({"sources": ()}, "at least one"),
    "bad_source": ({"sources": (replace(SOURCE, ref=""),)}, "named"),
    "bad_source 2": ({"sources": (replace(SOURCE, ref="a" * (ITEM_REF + 1)),)}, "300 characters"),
    "bad_source 3": ({"sources": (replace(SOURCE, quote="a" * (ITEM_QUOTE + 1)),)}, "300 characters"),
    "bad_source 4": ({"sources": (SOURCE, replace(SOURCE, first=1, last=1))}, "only for a document"),
    "bad_source 5": ({"sources": (Source("document", "a.md"),)}, "from 1"),
    "bad_source 6": ({"sources": (Source("document", "a.md", 3, 2),)}, "from 1"),
    "no_key": ({"subject": "50 000 kr, 14 days and 3"}, "numbers alone"),
    "no_key 2": ({"subject": "of the"}, "must have words"),
    "no_limit": ({"type": "metric"}, "expires_at"),
    "bad_confidence": ({"confidence": 1.01}, "0 to 1"),
    "bad_confidence 2": ({"confidence": -0.01}, "0 to 1"),
    "bad_confidence 3": ({"confidence": float("nan")}, "0 to 1"),
    "bad_time": ({"valid_to": NOW}, "later than valid_from"),
    "bad_time 2": ({"valid_from": NOW + 2, "valid_to": NOW + 1}, "later than valid_from"),
    "bad_time 3": ({"expires_at": NOW}, "later than now"),
    "bad_time 4": ({"valid_from": NOW + 2, "expires_at": NOW + 1}, "later than now"),
    "bad_time 5": ({"valid_from": -1}, "1970 to 9999"),
    "bad_time 6": ({"valid_to": ITEM_LATEST + 1}, "1970 to 9999"),
    "bad_time 7": ({"expires_at": 2**63}, "1970 to 9999"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_not_sound_is_refused(wrong: str) -> None:
    """With a word for programs and a sentence that says what to do, and holds nothing of what was sent."""
    other, says = WRONG[wrong]
    with pytest.raises(BadItem, match=says) as refused:
        make_draft(replace(BUDGET, **other), NOW)
    assert refused.value.code == wrong.partition(" ")[0]
    assert "Atlas" not in refused.value.message


def test_what_is_just_sound_is_taken() -> None:
    """At each bound."""
    long = replace(SOURCE, ref="a" * ITEM_REF, quote="b" * ITEM_QUOTE)
    lines = Source("document", "a.md", 1, 1)
    for confidence in (0.0, 1.0):
        it = made(
            "a" * ITEM_TEXT,
            sources=(long, lines),
            confidence=confidence,
            valid_to=NOW + 1,
            expires_at=NOW + 1,
        )
        assert (len(it.text), it.valid_to, it.expires_at) == (ITEM_TEXT, NOW + 1, NOW + 1)


def test_time_limits_are_the_types() -> None:
    """An event 7 days, an idea 30, a lesson 90, from when it holds; what says its own has that; others none."""
    own = {"event": 7, "idea": 30, "lesson": 90}
    for kind in get_args(ItemType):
        if kind != "metric":
            assert made("said", kind=kind).expires_at == (NOW + own[kind] * DAY if kind in own else None)
        assert made("said", kind=kind, expires_at=NOW + 1).expires_at == NOW + 1
    assert made("said", kind="event", valid_from=NOW + 10 * DAY).expires_at == NOW + 17 * DAY
    assert made("said", kind="event", valid_from=NOW - 10 * DAY).expires_at == NOW + 7 * DAY
    assert made("said", kind="event", valid_from=ITEM_LATEST - 1).expires_at == ITEM_LATEST


def test_an_event_lasts_from_the_last_day_that_it_names() -> None:
    """If that is still to come; no other type does."""
    for days, lasts in (((-9,), 7), ((3,), 10), ((30, 2), 37)):
        named = [datetime.fromtimestamp(NOW / 1000 + each * 86_400, UTC).date().isoformat() for each in days]
        text = f"The course is given on {' and '.join(named)}"
        assert made(text, "course", "event").expires_at == NOW + lasts * DAY
        assert made(text, "course", "idea").expires_at == NOW + 30 * DAY
    assert made("It is on 9999-12-31", "course", "event").expires_at == ITEM_LATEST


def test_a_text_is_one_line_that_can_be_written() -> None:
    """White space is one space, and half a character is a mark."""
    assert made(" two\n\nlines\t\ud800 ").text == "two lines ?"


def test_a_key_is_stems_without_numbers() -> None:
    """In any order, in either language, of the first words where there are too many."""
    assert key_of("the budgets of Project Atlas (2026)", "en") == key_of("Atlas project's budget: 50k", "en")
    assert key_of("budgeten för Atlas kontor", "sv") == key_of("Atlas kontor, budget", "sv")
    many = "alpha beta gamma delta epsilon zeta eta theta iota kappa"
    assert len(key_of(many, "en")) == ITEM_KEY
    assert key_of(many, "en") == key_of(many.removesuffix(" iota kappa"), "en")
    assert key_of("plan B", "en") != key_of("plan C", "en")
    assert key_of("12 and 14:30", "en") == ()


WORDS = st.lists(st.sampled_from(["budget", "Atlas", "of", "the", "Zürich", "plan"]), min_size=1, max_size=8)


@given(said=WORDS, number=st.sampled_from(["", " 50k", " 14 days", " 2026-05-03"]))
def test_a_key_knows_no_order_and_no_number(said: list[str], number: str) -> None:
    """Sorted, without doubles, and the same for whatever order the words came in."""
    key = key_of(" ".join(said), "en")
    assert key == tuple(sorted(set(key))) == key_of(" ".join(reversed(said)) + number, "en")


def test_same_values_of_one_key_are_one_item() -> None:
    """However the sentence and the number are written."""
    item = kept(made("The budget of project Atlas is 50 000 kr"))
    for text in ("The Atlas project has a budget of SEK 50,000.", "Budget for Atlas: 50 000 kr"):
        assert compare_draft(made(text, "Atlas project budget"), [item]).same is item


def test_other_values_of_one_key_conflict() -> None:
    """A value of the same kind and unit; never silently the same, and never both."""
    item = kept(made("The budget of project Atlas is 50 000 kr"))
    found = compare_draft(made("The budget of project Atlas is 60 000 kr"), [item])
    assert (found.same, found.conflicts) == (None, (item,))


def test_alike_texts_decide_nothing() -> None:
    """Two keys are two items, and so are two measures of one key."""
    item = kept(made("The budget of project Atlas is 50 000 kr"))
    for text, subject in (
        ("The budget of project Boreas is 50 000 kr", "budget of project Boreas"),
        ("The budget of project Atlas is 60 000 kr", "budget of project Boreas"),
        ("The budget of project Atlas is 50 days", "budget of project Atlas"),
        ("The budget of project Atlas is 60 000 kr in 3 parts", "budget of project Atlas"),
        ("The budget of project Atlas is a secret", "budget of project Atlas"),
    ):
        found = compare_draft(made(text, subject), [item])
        assert (found.same, found.conflicts) == (None, ()), text


BUDGETS: tuple[tuple[Lang, str], ...] = (
    ("en", "The budget is 50k"),
    ("en", "The budget is 50 000 kr"),
    ("en", "The budget is 50k EUR"),
    ("en", "The budget is $50,000"),
    ("sv", "Budget är 50 tusen"),
    ("sv", "Budget är 50 tkr"),
    ("sv", "Budget är 50 000 euro"),
)


@pytest.mark.parametrize(("one", "other"), [*combinations(BUDGETS, 2)])
def test_a_number_without_its_unit_or_in_another_contradicts(
    one: tuple[Lang, str], other: tuple[Lang, str]
) -> None:
    """Of one key, in either order and language, whatever its value; only the same unit and value is the same."""
    first, second = (made(text, "budget", lang=lang) for lang, text in (one, other))
    found, back = compare_draft(first, [kept(second)]), compare_draft(second, [kept(first)])
    assert (found.same is None, len(found.conflicts)) == (back.same is None, len(back.conflicts))
    assert (found.same is not None) == (first.slot == second.slot) == (not found.conflicts)


@pytest.mark.parametrize(
    ("one", "other", "conflict"),
    [
        ("The wall is 180 cm", "The wall is 2 m", True),
        ("The wall is 180", "The wall is 2 m", True),
        ("The wall is 2 metres", "The wall is 80 kg", False),
        ("The wall is 2 metres", "The wall is 900 kr", False),
        ("The wall is 10 %", "The wall is 10", True),
        ("The wall costs at least 900", "The wall costs at most 800 kr", False),
        ("The wall costs at least 900", "The wall costs at least 800 kr", True),
        ("The wall is due on 25 May", "The wall is 25", False),
        ("The wall costs between 40 and 50", "The wall costs between 40 and 50 kr", True),
        ("The wall is 2 metres and 900 kr", "The wall is 200 cm and 900 euro", True),
        ("The wall is 2 metres and 900 kr", "The wall is 200 cm", False),
        ("The wall is 2 metres and 900 kr", "The wall is 900 euro and 8 kg", False),
    ],
)
def test_units_of_one_measure_contradict(one: str, other: str, conflict: bool) -> None:
    """What another unit of the same measure says, or a number that lacks its unit; another measure stands beside it."""
    first, second = made(one, "wall"), made(other, "wall")
    for here, there in ((first, second), (second, first)):
        found = compare_draft(here, [kept(there)])
        assert (found.same, len(found.conflicts)) == (None, int(conflict))


def test_what_is_not_live_is_compared_with_nothing() -> None:
    """A rejected, proposed or ended item neither stands for another nor in its way."""
    it = made("The budget of project Atlas is 50 000 kr")
    for status in get_args(ItemStatus):
        assert (compare_draft(it, [kept(it, status)]).same is not None) == (status in LIVE)


def test_bounds_stand_beside_each_other() -> None:
    """ "At least 3 days" and "at most 14 days" are both right; two upper bounds are not."""
    at_least, at_most = (
        made(f"Delivery takes {which} days", "delivery") for which in ("at least 3", "at most 14")
    )
    assert compare_draft(at_most, [kept(at_least)]).conflicts == ()
    assert at_most.slot != at_least.slot
    for text in ("Delivery takes at most 20 days", "Delivery takes 20 days"):
        assert len(compare_draft(made(text, "delivery"), [kept(at_most)]).conflicts) == 1
    beside = compare_draft(made("Delivery takes at most 3 days", "delivery"), [kept(at_least)])
    assert (beside.same, beside.conflicts) == (None, ())
    same = compare_draft(made("Delivery takes 14 days", "delivery"), [kept(at_most)])
    assert (same.same, same.conflicts) == (None, ())


def test_a_number_that_names_is_no_value() -> None:
    """Room 12 and room 13 are two rooms."""
    one, two, other = (
        made(f"The rent of room {room} is {rent} kr", f"rent of room {room}")
        for room, rent in (("12", "900"), ("13", "800"), ("12", "850"))
    )
    assert one.key == two.key
    assert compare_draft(two, [kept(one)]).conflicts == ()
    assert len(compare_draft(other, [kept(one), kept(two)]).conflicts) == 1
    assert (
        len(compare_draft(made("The rent is 850 kr", "rent of room 12"), [kept(one), kept(two)]).conflicts)
        == 1
    )


def test_single_valued_items_have_one_wording() -> None:
    """Of a preference or a decision the same words are one item, other words a contradiction."""
    for kind in ("preference", "decision"):
        tea = kept(made("I prefer tea in the morning", "morning drink", kind))
        assert compare_draft(made("i prefer tea, in the morning!", "morning drink", kind), [tea]).same is tea
        assert compare_draft(
            made("I prefer coffee in the morning", "morning drink", kind), [tea]
        ).conflicts == (tea,)
    fact = kept(made("Ana drinks tea", "Ana"))
    beside = made("Ana plays chess", "Ana")
    assert (compare_draft(beside, [fact]).same, compare_draft(beside, [fact]).conflicts) == (None, ())
    assert compare_draft(made("Ana drinks tea.", "Ana"), [fact]).same is fact


def test_events_never_contradict() -> None:
    """What happened twice, with other numbers, are two events."""
    first = kept(made("The backup took 30 minutes", "backup", "event"))
    again = made("The backup took 45 minutes", "backup", "event")
    assert (compare_draft(again, [first]).same, compare_draft(again, [first]).conflicts) == (None, ())


TEXTS = st.sampled_from(
    [
        "50 000 kr",
        "60 000 kr",
        "at most 3 days",
        "at least 4 days",
        "5 days",
        "a lot",
        "1.234 kr",
        "1234 kr",
        "1,234 kr",
        "1234",
        "1234 euro",
        "6 weeks",
    ]
)


@given(kind=st.sampled_from(get_args(ItemType)), texts=st.tuples(TEXTS, TEXTS))
def test_one_slot_holds_one_item(kind: ItemType, texts: tuple[str, str]) -> None:
    """Of one key and slot two are the same or contradict each other, and which does not depend on who came first."""
    mine, theirs = (made(f"It is {text}", kind=kind, expires_at=NOW + DAY) for text in texts)
    found, back = compare_draft(mine, [kept(theirs)]), compare_draft(theirs, [kept(mine)])
    assert (found.same is None, len(found.conflicts)) == (back.same is None, len(back.conflicts))
    if mine.slot == theirs.slot:
        assert (found.same is None) == bool(found.conflicts)


def test_numbers_agree_in_any_order() -> None:
    """And digits with two readings agree with either, each number once."""
    said = numbers_of("3 kg, 14 days and 14 days")
    assert all(numbers_agree(said, order) for order in permutations(said))
    assert not numbers_agree(said, said[:-1])
    assert not numbers_agree(said[:-1], said)
    assert numbers_agree(numbers_of("1.234 kr"), numbers_of("1 234 kr"))
    assert not numbers_agree(numbers_of("1.234 kr"), numbers_of("2 234 kr"))
    assert not numbers_agree(numbers_of("3 kg"), numbers_of("3 days"))
    assert numbers_of("plan IV") == ()
    assert not numbers_agree(numbers_of("2026-05-03"), numbers_of("2026-05-04"))


def test_what_denies_is_not_the_same() -> None:
    """ "Always call before 10" and "never call before 10" have one key and one number."""
    always = kept(made("Always call before 10:00", "call", "rule"))
    never = made("Never call before 10:00", "call", "rule")
    assert (compare_draft(never, [always]).same, compare_draft(never, [always]).conflicts) == (
        None,
        (always,),
    )


def test_what_is_done_names_its_loop() -> None:
    """By the thing alone, where it is one loop's and that is open."""
    send = kept(made("I need to send the tax report", "send the tax report", "open_loop"), "active", "i1")
    call = kept(made("I need to call about the report", "call about the report", "open_loop"), "active", "i2")
    fact = kept(made("The tax report is long", "tax report"), "active", "i3")
    assert find_finished_loop(key_of("the tax report", "en"), [send, call, fact]) is send
    assert find_finished_loop(key_of("the report", "en"), [send, call, fact]) is None
    assert find_finished_loop(key_of("the report", "en"), [call, fact]) is call
    assert find_finished_loop(key_of("the tax form", "en"), [send, call, fact]) is None
    assert find_finished_loop((), [send]) is None
    assert find_finished_loop(key_of("the tax report", "en"), [replace(send, status="done")]) is None
    whole = kept(made("I need to report", "report", "open_loop"), "active", "whole")
    assert find_finished_loop(key_of("the report", "en"), [send, call, whole]) is whole


def test_what_is_done_may_be_what_was_spoken_of_last() -> None:
    """Where that is one loop: of two in one exchange it is not clear which is meant, nor are older ones then."""
    send = kept(made("I need to send the tax report", "send the tax report", "open_loop"), "active", "i1")
    call = kept(made("I need to call the bank", "call the bank", "open_loop"), "active", "i2")
    fact = kept(made("The bank is shut", "bank"), "active", "i3")
    loops = [send, call, fact]
    tax, bank, both, none = (
        frozenset(stem("en", word) for word in said.split())
        for said in (
            "how about the tax report",
            "did you call the bank",
            "call the bank about the tax report",
            "what a nice report",
        )
    )
    assert find_mentioned_loop([tax, bank], loops) is send
    assert find_mentioned_loop([none, bank, tax], loops) is call
    assert find_mentioned_loop([both, bank], loops) is None
    assert find_mentioned_loop([none], loops) is find_mentioned_loop([], loops) is None
    assert find_mentioned_loop([tax], [replace(send, status="done")]) is None
