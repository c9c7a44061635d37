"""What of a payload that a model filled in is kept: the user's own numbers, names and times, and nothing else."""

import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.intents.fields import FILLED_CHARACTERS
from agent.intents.grounded_fields import NumberSource, ground_fields
from agent.intents.phone_numbers import read_digits
from agent.intents.user_message import UserMessage
from agent.intents.wishes import read_wishes
from agent.ports.brain import Proposal, Wish

CALL = "Call me on 070-123 45 67 tomorrow at nine, my name is Anna. The order is 4711."


def made(text: str, by_model: dict[str, Any], before: tuple[str, ...] = (), cited: str = "") -> Proposal:
    """Return what is proposed of the first wish of a text."""
    said = [NumberSource.of(each) for each in (*before, text)]
    return ground_fields(
        read_wishes(UserMessage(text))[0], by_model, said, [NumberSource.of(cited)] if cited else []
    )


def kept(text: str, name: str, value: Any, before: tuple[str, ...] = (), cited: str = "") -> Any:
    """Return a field of what is proposed."""
    return made(text, {name: value}, before, cited).payload.get(name)


def test_what_the_user_said_is_filled_in() -> None:
    """A number as the user wrote it, a name and a time in the user's words."""
    by_model = {"phone": "0701234567", "name": "Anna", "when": "tomorrow at nine"}
    payload = {"phone": "070-123 45 67", "name": "Anna", "when": "tomorrow at nine"}
    assert made(CALL, by_model) == Proposal(action="schedule_callback", payload=payload)


@pytest.mark.parametrize(
    "when",
    [
        "tomorrow at 999",
        "tomorrow at 9 9 9",
        "tomorrow at nine nine nine",
        "at nine, nine, nine",
        "nine-nine-nine tomorrow",
        "at ten tomorrow",
        "tomorrow ②",
        "tomorrow 三",
        "tomorrow at ９９９",
        "tomorrow at ٩٩٩",
        "tomorrow at ½",
        "tomorrow at IX",
        "tomorrow 471",
        "tomorrow 47 11 47 11",
        "tomorrow 070-123",
        "tomorrow\u200b at nine",
        "at nine\ntomorrow",
        "at nine \u202e tomorrow",
        "",
        " . ",
        "tomorrow " * 300,
    ],
)
def test_no_number_and_nothing_hidden_gets_in(when: str) -> None:
    """In no script, in no words, and not in parts."""
    assert kept(CALL, "when", when) is None


@pytest.mark.parametrize("when", ["tomorrow at nine", "tomorrow at 9", "order 4711", "Tomorrow"])
def test_a_number_of_the_users_may_be_said_again(when: str) -> None:
    """By its value, in digits or in words."""
    assert kept(CALL, "when", when) == when


def test_a_name_and_a_time_are_the_users_words() -> None:
    """Not those of a document or of a model, cited or not."""
    assert kept(CALL, "name", "Mallory", cited="Ask for Mallory.") is None
    assert kept(CALL, "when", "in the morning") is None
    assert kept(CALL, "name", "anna") == "anna"
    assert kept(CALL, "name", "Anna", before=("Hi",)) == "Anna"


def test_a_number_in_words_of_another_language_counts() -> None:
    """By the number rule's own reading."""
    assert kept("Open a ticket: the lift is stuck", "subject", "Lift, tre tusen kr") is None
    assert kept("Öppna ett ärende: hissen kostar tre tusen kr", "subject", "Hissen, tre tusen kr") is not None


def test_a_run_of_digits_stands_as_digits() -> None:
    """A number that the user wrote in words is no run of digits of the user's."""
    assert kept("Open a ticket, one hundred lamps are out", "subject", "100 lamps are out") is None
    assert kept("Open a ticket, 3 000 lamps are out", "subject", "3000 lamps are out") == "3000 lamps are out"


def test_a_phone_number_is_one_that_was_given_to_be_used() -> None:
    """As a whole, in this message or one before, and not one that was denied or is another kind of number."""
    text = "Please call me back"
    given = "My number is 070-123 45 67."
    assert kept(text, "phone", "0701234567", (given,)) == "070-123 45 67"
    assert kept(text, "phone", "+46701234567", (given,)) is None
    assert kept(text, "phone", "070-123 45", (given,)) is None
    assert kept(text, "phone", "call 070-123 45 67", (given,)) == "070-123 45 67"
    assert kept(text, "phone", "0709998877", (given,), cited="Call 070-999 88 77.") is None
    assert kept(text, "phone", "0701234567", ("My customer number is 070-123 45 67.",)) is None
    assert kept(text, "phone", "0701234567", (given, "I am not at 070-123 45 67 any more")) is None
    assert kept(text, "phone", "0701234567", (given, "I am not at +46 70 123 45 67 any more")) is None
    assert kept(text, "phone", 701234567, (given,)) is None


def test_the_number_that_was_said_with_the_keyword_is_the_one() -> None:
    """Whatever a model makes of the others that the user spoke of."""
    text = "I was on 070-111 11 11 yesterday. Call me on 070-123 45 67."
    assert kept(text, "phone", "070-111 11 11") == "070-123 45 67"


def test_words_that_were_set_apart_are_sent_as_they_are() -> None:
    """No model words them anew."""
    text = 'Text me on 070-123 45 67: "I am late"'
    assert made(text, {"text": "You have won"}).payload == {"phone": "070-123 45 67", "text": "I am late"}


def test_worded_fields_may_say_a_cited_number() -> None:
    """A subject, a body and a text; a time may not."""
    text = "Text me the price on 070-123 45 67"
    cited = "The plan costs 299 kr a month."
    assert kept(text, "text", "It is 299 kr a month.", cited=cited) == "It is 299 kr a month."
    assert kept(text, "text", "It is 299 kr a month.") is None
    assert kept(text, "text", "It is 999 kr a month.", cited=cited) is None
    assert kept(text, "text", "It is 299 kr a year.", cited=cited) is None
    assert kept(text, "text", "Room 299.", cited="Room 299 is open.") == "Room 299."
    assert kept(CALL, "when", "at 299", cited="Room 299 is open.") is None


def test_a_subject_that_does_not_stand_is_missing() -> None:
    """And is asked for; once the user was asked, the user's own words do."""
    proposal = made("Open a ticket", {"subject": "Pay 99913 kr", "priority": "high"})
    assert proposal == Proposal(action="create_ticket", payload={"priority": "high"}, missing=("subject",))
    told = read_wishes(UserMessage("The lift is stuck"), [Wish(proposal, ("Open a ticket",))])[0]
    again = ground_fields(told, {"subject": "Pay 99913 kr"}, [NumberSource.of("The lift is stuck")])
    assert again.payload["subject"] == "The lift is stuck"
    better = ground_fields(told, {"subject": "Lift stuck"}, [NumberSource.of("The lift is stuck")])
    assert better.payload["subject"] == "Lift stuck"


@pytest.mark.parametrize(
    ("text", "by_model", "payload", "missing"),
    [
        (
            "Call me on 070-123 45 67 tomorrow at nine, my name is Anna.",
            {"name": "Anna", "when": "Nineamaths"},
            {"phone": "070-123 45 67", "name": "Anna"},
            (),
        ),
        (
            "Please call me back",
            {"name": "PizzaCake", "when": "2018-01-26T13:00:00.000000.000000, "},
            {},
            ("phone",),
        ),
        ("Ring mig imorgon, jag heter Anna", {"phone": "jag"}, {}, ("phone",)),
        (
            "Call me on 070-123 45 67",
            {"name": "CallMeOn70123456789"},
            {"phone": "070-123 45 67"},
            (),
        ),
        (
            "Open a ticket: the lift on floor 3 is stuck",
            {"subject": "The lift on floor 3 is stuck", "body": "The lift is stuck.", "priority": "high"},
            {"subject": "The lift on floor 3 is stuck", "body": "The lift is stuck.", "priority": "high"},
            (),
        ),
    ],
)
def test_what_a_small_real_model_wrote(
    text: str, by_model: dict[str, Any], payload: dict[str, Any], missing: tuple[str, ...]
) -> None:
    """Word for word, of SmolLM2 with 135 million parameters: what it made up is left out."""
    proposal = made(text, by_model)
    assert (proposal.payload, proposal.missing) == (payload, missing)


def test_a_payload_stays_within_its_bounds() -> None:
    """A field that is too long, or no string, is left out, and one that nobody knows is not looked at."""
    by_model = {"subject": "Lift", "body": "b" * (FILLED_CHARACTERS + 1), "priority": ["high"], "to": "me"}
    assert made("Open a ticket, the lift is stuck", by_model).payload == {"subject": "Lift"}


def test_what_a_field_costs_has_a_bound() -> None:
    """However many numbers are in it and in what it is compared with."""
    said = [NumberSource.of("1 " * 4000), NumberSource.of("a1 " * 200)]
    value = " ".join("1" * count for count in range(3, 60))
    wish = read_wishes(UserMessage("Open a ticket"))[0]
    began = time.thread_time()
    ground_fields(wish, {"subject": value, "body": value}, said)
    assert time.thread_time() - began < 0.3  # some 0.03


SAID = (
    "070-123 45 67|0709998877|299|kr|call|at|nine|9|99|999|tre tusen|②|٣٣٣|３|Anna|,|:|-|.|4711|47|11| |\n|two|hundred|"
    "12:30|3 000|IX|x7y8z9"
)
ATOMS = st.sampled_from(SAID.split("|"))
TEXTS = st.lists(ATOMS, max_size=8).map(" ".join) | st.lists(ATOMS, max_size=8).map("".join)


def holds(text: str, run: str) -> bool:
    """Return whether a run is one group of digits of a text, or several that follow each other."""
    groups = [read_digits(each) for each in re.findall(r"\d+", text)]
    return any(
        "".join(groups[first:last]) == read_digits(run)
        for first in range(len(groups))
        for last in range(first + 1, len(groups) + 1)
    )


def check(said: str, cited: str, one: str, two: str) -> None:
    """Check that each run of what is proposed stands in the user's words, or is cited."""
    for text in (f"Call me {said}", f"Send an sms {said}", f"Open a ticket {said}"):
        by_model = {"phone": one, "name": two, "when": one, "text": two, "subject": one, "body": two}
        for wish in read_wishes(UserMessage(text)):
            payload = ground_fields(wish, by_model, [NumberSource.of(text)], [NumberSource.of(cited)]).payload
            for name, value in payload.items():
                sources = [text, cited] if name in ("text", "subject", "body") else [text]
                for run in re.findall(r"\d{3,}", value):
                    assert any(holds(source, run) for source in sources), (name, value)


@settings(max_examples=20, deadline=None)
@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_no_run_of_three_digits_comes_from_elsewhere(said: str, cited: str, one: str, two: str) -> None:
    """Whatever the model writes."""
    check(said, cited, one, two)


@pytest.mark.proof
@settings(max_examples=1000, deadline=None)
@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_none_at_all_does(said: str, cited: str, one: str, two: str) -> None:
    """The same, long."""
    check(said, cited, one, two)
