"""What of a model's findings may be proposed at all."""

from dataclasses import replace
from typing import Any

import pytest

from agent.config import ITEM_TEXT, PROPOSALS_PER_TURN
from agent.memory.note_checks import check_notes
from agent.ports.memory import Remark, Source, StoredTurn
from agent.ports.note import MemoryNote
from tests.memory.made import MINE, NOW, item

SAID = "By the way, I live in Lund, at Storgatan 12. My rent is 9 500 kr a month. Thanks!"
TURN = StoredTurn(7, MINE, Remark(message="m7", role="user", text=SAID, at=NOW))
FOUND = MemoryNote("fact", "home", "The user lives in Lund", "I live in Lund")


def found(**other: Any) -> MemoryNote:
    return replace(FOUND, **other)


def texts(*each: MemoryNote, turn: StoredTurn = TURN, known: Any = ()) -> list[str]:
    return [made.text for made in check_notes(each, turn, known, NOW)]


def test_what_the_message_says_may_be_proposed() -> None:
    """In the model's own words; its source is the message, with the quote."""
    [made] = check_notes([FOUND], TURN, (), NOW)
    assert (made.type, made.text, made.replaces) == ("fact", "The user lives in Lund", None)
    assert made.sources == (Source("message", "m7", quote="I live in Lund"),)
    assert made.key == ("home",)


@pytest.mark.parametrize("quote", ["", "...", "I live in Malmö", "live in Lund I", "I live in"])
def test_its_quote_must_stand_in_the_message(quote: str) -> None:
    """Word for word, whatever its case and marks."""
    assert texts(found(quote=quote)) == ([FOUND.text] if quote == "I live in" else [])
    assert texts(found(quote="i live IN lund,  at")) == [FOUND.text]


def test_no_words_stand_nowhere() -> None:
    """Not in a message that has none either."""
    wordless = replace(TURN, remark=replace(TURN.remark, text="... 👍"))
    assert texts(found(quote="!"), turn=wordless) == []


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("The rent is 9 500 kr a month", True),
        ("The rent is 9500 SEK a month", True),
        ("The rent is 9 500 EUR a month", False),
        ("The rent is 114 000 kr a year", False),
        ("The rent is nine hundred kr", False),
        ("The rent rose by ٣ %", False),
        ("The user lives at Storgatan 12", True),
        ("The user lives at Storgatan 21", False),
        ("The user has lived there since 2019", False),
    ],
)
def test_no_number_that_the_message_does_not_hold(text: str, fits: bool) -> None:
    """Its user is shown the text: nobody is shown a number that nobody said."""
    assert texts(found(text=text)) == ([text] if fits else [])


def test_a_number_of_what_it_is_about_must_be_there_too() -> None:
    """It tells things apart, by what was said."""
    assert texts(found(subject="flat 12")) == [FOUND.text]
    assert texts(found(subject="flat 13")) == []


@pytest.mark.parametrize("type", ["event", "metric"])
def test_what_a_rule_would_accept_is_not_a_models_to_propose(type: Any) -> None:
    """It would be true at once, without its user."""
    assert texts(found(type=type)) == []
    there = item(id="i4", type=type, expires_at=NOW + 1_000)
    assert texts(found(replaces="i4"), known=[there]) == []


@pytest.mark.parametrize(
    "other", [{"text": "x" * (ITEM_TEXT + 1)}, {"text": " "}, {"subject": "12"}, {"subject": ""}]
)
def test_what_cannot_be_kept_is_left_out(other: dict[str, str]) -> None:
    """The rest stays."""
    long = replace(TURN, remark=replace(TURN.remark, text=f"{SAID} {'x' * (ITEM_TEXT + 1)}"))
    assert texts(found(**other), FOUND, turn=long) == [FOUND.text]


def test_what_it_corrects_must_be_live_and_shown() -> None:
    """It then takes that one's place, key and type; what names anything else is something new."""
    live, gone = item(id="i4", key=("rent",), type="preference"), item(id="i5", status="superseded")
    [made] = check_notes([found(replaces="i4")], TURN, [live, gone], NOW)
    assert (made.replaces, made.key, made.type) == ("i4", ("rent",), "preference")
    for id in ("i5", "i9", "none", ""):
        [made] = check_notes([found(replaces=id)], TURN, [live, gone], NOW)
        assert (made.replaces, made.key, made.type) == (None, ("home",), "fact")


def test_as_many_as_a_message_may_propose_and_none_twice() -> None:
    """The first ones."""
    many = [found(subject=f"home {word}", text=f"The user likes {word}") for word in "abcdefg"]
    assert len(texts(*many)) == PROPOSALS_PER_TURN
    assert texts(FOUND, FOUND) == [FOUND.text]
