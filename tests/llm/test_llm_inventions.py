"""Each kind of invention, and that none of them is true by accident."""

import re
from collections.abc import Sequence
from random import Random

import pytest

from agent.llm import inventions
from agent.llm.inventions import KINDS, InventionSource, find_number_phrases, invent_number

EVIDENCE = "Standard costs 299 kr per month.\nIt is open 24 hours a day and lasts 30 days.\n| 7 | 30 |\n08-465 004 10"
DRAFT = "Standard costs you 299 kr per month and is open 24 hours a day. It lasts 30 days."
BY_NAME = {kind.__name__.strip("_"): kind for kind in KINDS}


def ground(
    draft: str = DRAFT,
    question: str = "Is it 249 kr or 299 kr?",
    elsewhere: Sequence[str] = ("119.50 kr", "299 kr", "15 weeks", "46500"),
) -> InventionSource:
    return InventionSource(draft, EVIDENCE, question, "en", elsewhere)


def drawn(name: str, of: InventionSource) -> set[str | None]:
    return {BY_NAME[name](of, Random(seed)) for seed in range(200)}


def numbers(text: str | None) -> set[str]:
    return set(re.findall(r"\d+", text or ""))


@pytest.mark.parametrize("name", sorted(set(BY_NAME) - {"change_unit", "invent_phone"}))
def test_a_made_up_number_is_not_in_the_evidence(name: str) -> None:
    """Whatever is drawn, the draft gains a run of digits that the evidence does not hold."""
    for text in drawn(name, ground()):
        assert text is not None
        assert numbers(text) - numbers(EVIDENCE)


def test_a_phone_number_is_not_in_the_evidence_however_it_is_grouped() -> None:
    """All the digits in a row are new."""
    for text in drawn("invent_phone", ground()):
        assert text is not None
        assert re.sub(r"\D", "", text.removeprefix(DRAFT)) not in re.sub(r"[ -]", "", EVIDENCE)


def test_a_near_miss_changes_one_number_a_little() -> None:
    """299 becomes 349, among others; single digits and parts of longer numbers are left alone."""
    texts = drawn("change_number", ground())
    assert DRAFT.replace("299", "349") in texts
    assert drawn("change_number", ground("Call 08-465 004 10 in 7 days, 1,609.20 kr, 09:30-15:30.")) == {None}


def test_a_wrong_unit_is_not_used_where_the_bare_number_stands_too() -> None:
    """299 kr and 24 hours change their unit; 30 days does not, because a bare 30 would support any."""
    assert drawn("change_unit", ground()) == {
        DRAFT.replace("299 kr", "299 %"),
        DRAFT.replace("24 hours", "24 days"),
    }
    assert drawn("change_unit", ground("It lasts 30 days.")) == {None}


def test_a_number_from_elsewhere_is_true_of_something_else() -> None:
    """Only phrases whose digits the evidence does not hold are taken; even in a row (46500 is in the phone)."""
    said = {text.removeprefix(DRAFT).strip() for text in drawn("add_from_elsewhere", ground()) if text}
    assert said == {"Here that means 119.50 kr.", "Here that means 15 weeks."}
    assert drawn("add_from_elsewhere", ground(elsewhere=())) == {None}
    assert drawn("add_from_elsewhere", ground(elsewhere=("299 kr",))) == {None}


def test_a_number_of_the_question_is_taken_at_its_word() -> None:
    """The user's own number is said back, unless the evidence holds it."""
    assert drawn("add_from_question", ground()) == {DRAFT + " Yes, it is 249 kr."}
    assert drawn("add_from_question", ground(question="Is it 299 kr?")) == {None}
    assert drawn("add_from_question", ground(question="What is it?")) == {None}


def test_a_date_gives_way_when_its_year_is_there() -> None:
    """A year that the evidence holds is not used."""
    every_year = InventionSource(DRAFT, " ".join(map(str, range(2027, 2036))), "q", "sv", ())
    assert drawn("invent_date", every_year) == {None}


def test_every_kind_is_drawn() -> None:
    """Over many drafts each kind occurs, in both languages."""
    for lang, starts in (
        ("en", ("The price is", "You reach us", "That includes", "It applies", "Here that", "Yes, it is")),
        ("sv", ("Priset är", "Du når oss", "Då ingår", "Det gäller", "Här betyder", "Ja, det är")),
    ):
        of = InventionSource(DRAFT, EVIDENCE, "Is it 249 kr?", lang, ("119.50 kr",))
        texts = [invent_number(of, Random(seed)) for seed in range(300)]
        assert all(any(start in text for text in texts) for start in starts)
        assert any("349" in text for text in texts)
        assert any("24 days" in text for text in texts)


def test_there_is_always_something_to_make_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """When no kind can be drawn, the first whole number from 1000 that is not there becomes a price."""
    monkeypatch.setattr(inventions, "KINDS", (lambda ground, rng: None,))
    of = InventionSource("Yes.", " ".join(map(str, range(3000))), "q", "en", ())
    text = invent_number(of, Random(0))
    assert numbers(text) - numbers(of.evidence)


def test_phrases_are_numbers_with_what_they_count() -> None:
    """Amounts, percents and quantities are found whole; parts of dates, times, phones and ranges are not."""
    assert find_number_phrases(
        ["119.50 kr, 14 days, 25 %, 149 kr", "149 kr, 08:30, 2-4 days, 08-465 004 10, 1,609.20"]
    ) == (
        "119.50 kr",
        "14 days",
        "25 %",
        "149 kr",
    )
