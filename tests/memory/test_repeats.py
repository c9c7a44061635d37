"""What says again what an item says: its words in their order, wherever they stand, and nothing like it."""

from dataclasses import replace
from typing import Any

import pytest

from agent.memory.repeats import Repeats, item_wordings
from agent.ports.memory import Source
from agent.testing.fake_memory import make_item
from tests.remembered import ANA

CODE = Repeats(["My locker code is Zanzibarium-12."])


@pytest.mark.parametrize(
    "text",
    [
        "My locker code is Zanzibarium-12.",
        "remember that my LOCKER code is zanzibarium 12, please",
        "Well - **my locker code**, is\n“Zanzibarium-12”!",
    ],
)
def test_the_whole_text_is_found_in_what_a_user_says(text: str) -> None:
    """In any case, with any marks, and with other words around it."""
    assert CODE.matches_user_text(text)
    assert CODE.matches_agent_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "My locker code is",
        "My locker code is Zanzibarium-13.",
        "My locker code was not is Zanzibarium-12.",
        "Zanzibarium-12 is my locker code",
        "My locker code is Zanzibarium-123",
        "Tommy locker code is Zanzibarium-12",
    ],
)
def test_what_only_resembles_it_is_left(text: str) -> None:
    """Other words, another order, a part of it or of a word."""
    assert not CODE.matches_user_text(text)
    assert not CODE.matches_agent_text(text)


@pytest.mark.parametrize(
    ("text", "said", "told", "by_user"),
    [
        ("My locker code is Quetzal", "Your locker code is Quetzal, as you wrote.", True, False),
        ("Min skåpkod är Quetzal", "Din skåpkod är Quetzal.", True, False),
        ("My locker code is Quetzal", "Your gym code is Quetzal", False, False),
        ("I am at home", "You are at home", False, False),  # one word of content is no matter of its own
        ("I am at home", "Yes, I am at home now", True, True),
    ],
)
def test_the_agent_says_it_in_its_own_person(text: str, said: str, told: bool, by_user: bool) -> None:
    """A word of grammar counts as any other in what it says, where enough others stand beside it."""
    repeats = Repeats([text])
    assert repeats.matches_agent_text(said) is told
    assert repeats.matches_user_text(said) is by_user


def test_a_word_or_two_are_repeated_by_nothing_else_only() -> None:
    """What is about "blue" has not said what somebody answered with it."""
    repeats = Repeats(["Blue.", "", "..."])
    assert repeats.matches_user_text("blue!")
    assert not repeats.matches_user_text("The blue one")
    assert not repeats.matches_user_text("")
    assert not Repeats([]).matches_user_text("blue")


def test_values_lose_the_texts_that_say_it() -> None:
    """However deep they stand; names, numbers and other texts stay."""
    value = {"a": ["My locker code is Zanzibarium-12", 12, None, {"b": "other"}], "c": True}
    left: dict[str, Any] = {"a": ["", 12, None, {"b": "other"}], "c": True}
    assert CODE.blank_repeats(value) == left
    assert (CODE.matches_json(value), CODE.matches_json(left)) == (True, False)


def test_an_item_is_known_by_its_text_and_by_what_its_user_said_of_it() -> None:
    """Not by an order that has none of its words, nor by a document's; a forgotten one by nothing."""
    quotes = (
        Source("message", "m1", quote="the code for it: Quetzal"),
        Source("message", "m2", quote="Yes, do that"),
        Source("document", "a.md", 1, 2, "The code of lockers"),
        Source("tool", "c1", quote="Quetzal"),
    )
    item = replace(make_item(ANA, "i1", "Her code is Quetzal"), sources=quotes)
    assert item_wordings(item) == ("Her code is Quetzal", "the code for it: Quetzal")
    assert item_wordings(replace(item, text="", status="forgotten")) == ()
