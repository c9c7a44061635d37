"""What a message asks to be done: its own keywords, or the rest of the wish before it."""

import time

import pytest

from agent.config import MAX_TEXT, WISH_MESSAGES
from agent.intents.user_message import UserMessage
from agent.intents.wishes import only_completes, read_wishes
from agent.ports.brain import Proposal, Wish

PHONE = "070-123 45 67"
CALL = Wish(Proposal(action="schedule_callback", payload={}, missing=("phone",)), ("Call me",))
SMS = Wish(Proposal(action="send_sms", payload={}, missing=("phone", "text")), ("Text me",))
WORDS = Wish(
    Proposal(action="send_sms", payload={"phone": PHONE}, missing=("text",)), (f"Text me on {PHONE}",)
)
TICKET = Wish(Proposal(action="create_ticket", payload={}, missing=("subject",)), ("Open a ticket",))


def told(text: str, *left: Wish) -> list[tuple[str, dict[str, object], tuple[str, ...]]]:
    """Return what a message makes of open wishes."""
    found = [each.proposal for each in read_wishes(UserMessage(text), left)]
    return [(each.action, dict(each.payload), each.missing) for each in found]


@pytest.mark.parametrize(
    "text",
    [
        PHONE,
        f"My number is {PHONE}",
        f"it's {PHONE}, thanks",
        f"Mitt nummer är {PHONE}.",
        f"use {PHONE} please",
        f"+46 70 123 45 67, in Sweden {PHONE}",
    ],
)
def test_the_next_message_tells_the_number(text: str) -> None:
    """In whatever words."""
    assert told(text, CALL) == [("schedule_callback", {"phone": PHONE}, ())]
    assert only_completes(UserMessage(text), read_wishes(UserMessage(text), [CALL]))


@pytest.mark.parametrize(
    "text",
    [
        "What does the Standard plan cost?",
        "Anna",
        "thanks",
        "no",
        f"No, not {PHONE}",
        f"never mind, {PHONE} is wrong",
        f"don't call me on {PHONE}",
        f"ring mig inte på {PHONE}",
        f"{PHONE} is mine, but never call me",
        f"my customer number is {PHONE}",
        f"{PHONE} or 08-765 43 21",
        "",
        "12345",
    ],
)
def test_anything_else_is_a_new_subject(text: str) -> None:
    """And the wish is gone."""
    assert read_wishes(UserMessage(text), [CALL]) == ()


def test_a_number_without_an_open_wish_is_none() -> None:
    """Keywords choose the action; a number alone never does."""
    assert read_wishes(UserMessage(PHONE)) == ()


def test_a_message_with_a_keyword_is_a_wish_of_its_own() -> None:
    """Another action's ends the open one; the same action's goes on with what is known."""
    assert told(f"Call me on {PHONE}", SMS) == [("schedule_callback", {"phone": PHONE}, ())]
    assert told('Send me an sms: "I am late"', WORDS) == [
        ("send_sms", {"phone": PHONE, "text": "I am late"}, ())
    ]
    (again,) = read_wishes(UserMessage("Call me"), [Wish(CALL.proposal, ("Call me",) * WISH_MESSAGES)])
    assert again.words == ("Call me",) * WISH_MESSAGES


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("I will be late", "I will be late"),
        ('"Do you have time?"', "Do you have time?"),
        ("saying that I will be late", "I will be late"),
        ("Jag blir sen", "Jag blir sen"),
        ("What does it cost?", None),
        ("how late are you open", None),
        ("thanks", None),
        ("nej tack", None),
        ("Forget it", None),
    ],
)
def test_the_next_message_may_be_what_to_send(text: str, sent: str | None) -> None:
    """Unless it is a question, a courtesy or a withdrawal."""
    expected = [("send_sms", {"phone": PHONE, "text": sent}, ())] if sent else []
    assert told(text, WORDS) == expected
    assert only_completes(UserMessage(text), read_wishes(UserMessage(text), [WORDS])) is bool(
        sent and "?" not in text
    )


def test_two_things_may_be_told_one_after_the_other() -> None:
    """What is still missing stays so, and what was told is kept."""
    (half,) = read_wishes(UserMessage(PHONE), [SMS])
    assert half.proposal == Proposal(action="send_sms", payload={"phone": PHONE}, missing=("text",))
    assert half.words == ("Text me", PHONE)
    assert told("I will be late", half) == [("send_sms", {"phone": PHONE, "text": "I will be late"}, ())]
    assert told(f'{PHONE}: "I will be late"', SMS) == [
        ("send_sms", {"phone": PHONE, "text": "I will be late"}, ())
    ]


def test_a_subject_is_told() -> None:
    """As the message."""
    assert told("The lift is stuck", TICKET) == [("create_ticket", {"subject": "The lift is stuck"}, ())]
    assert read_wishes(UserMessage("Don't open a ticket"), [TICKET]) == ()


def test_a_long_message_still_fits() -> None:
    """It is cut to what a confirm could fill in."""
    ((_, payload, _),) = told("å" * 8000, TICKET)
    assert len(str(payload["subject"])) == 8000  # two bytes each
    ((_, payload, _),) = told("語" * 8000, TICKET)
    assert len(str(payload["subject"])) == 2000


@pytest.mark.parametrize("unit", ['"a', "070-123 45 67 ", "a. ", "sms: ", "'", "no "])
def test_no_message_is_expensive(unit: str) -> None:
    """One of 8,000 characters takes some milliseconds."""
    text = (unit * MAX_TEXT)[:MAX_TEXT]
    began = time.thread_time()
    only_completes(UserMessage(text), read_wishes(UserMessage(text), [SMS, TICKET]))
    only_completes(UserMessage(text), read_wishes(UserMessage(text), [WORDS, CALL]))
    assert time.thread_time() - began < 0.1  # some 0.015


def test_a_question_beside_the_number_is_answered() -> None:
    """Only a message that tells and asks nothing has no answer."""
    text = f"{PHONE}. What does the Standard plan cost?"
    assert told(text, CALL) == [("schedule_callback", {"phone": PHONE}, ())]
    assert not only_completes(UserMessage(text), read_wishes(UserMessage(text), [CALL]))
    text = f"{PHONE}. Tell me about the Standard plan and its prices"
    assert not only_completes(UserMessage(text), read_wishes(UserMessage(text), [CALL]))
    assert not only_completes(
        UserMessage(f"Call me on {PHONE}"), read_wishes(UserMessage(f"Call me on {PHONE}"))
    )
    assert not only_completes(UserMessage("Hello"), ())
