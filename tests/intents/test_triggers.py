"""Keywords, their boundaries, their negations, and what a payload takes from the user's words."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.intents.triggers import TRIGGERS, propose_actions, remove_requests
from agent.ports.brain import Proposal


def actions(text: str) -> list[str]:
    return [proposal.action for proposal in propose_actions(text)]


def payload(text: str) -> dict[str, str]:
    (proposal,) = propose_actions(text)
    return dict(proposal.payload)


@pytest.mark.parametrize(
    ("action", "keyword"), [(a, k) for a, keywords in TRIGGERS.items() for k in keywords]
)
def test_every_keyword_of_the_table_fires(action: str, keyword: str) -> None:
    """A keyword fires alone, in capitals, across a line break, decomposed, and beside punctuation."""
    spread = keyword.replace(" ", " \n")
    for text in (
        keyword,
        keyword.upper(),
        f"({keyword}!)",
        f"Hi, {spread} now",
        unicodedata.normalize("NFD", keyword),
    ):
        assert actions(text) == [action], text


@pytest.mark.parametrize(
    "text",
    [
        "context me",
        "text mexico",
        "smssa",
        "tickets",
        "e_ticket",
        "spring mig",
        "ringmig",
        "ring inte upp mig",
        "recall me",
        "call meåå",
        "call: me",
        "what does the standard plan cost",
        "",
    ],
)
def test_part_of_a_word_does_not_fire(text: str) -> None:
    """A keyword inside a longer word, or with something between its words, is not a keyword."""
    assert actions(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "don't call me",
        "Don’t call me please",
        "DON'T CALL ME",
        "dont call me",
        "please do not text me",
        "please do not\ncall me",
        "never call me",
        "never ever call me back",
        "I do not want you to call me",
        "don't call or text me",
        "don't call, text, or sms me",
        "you can't call me",
        "no sms please",
        "no more sms",
        "no calls or sms",
        "no, I said: no ticket",
        "without ticket",
        "stop sending me sms",
        "call me never",
        "ring mig inte",
        "ring mig absolut inte",
        "Ring mig aldrig!",
        "ring upp mig inte",
        "sms:a mig inte",
        "sms:a aldrig",
        "skicka inte sms",
        "skicka inga sms",
        "sluta skicka sms",
        "utan sms",
        "skapa inte ticket",
        "jag vill inte att ni ring mig",
    ],
)
def test_a_negated_keyword_does_not_fire(text: str) -> None:
    """A keyword that the user says no to is not proposed."""
    assert actions(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I can't log in, call me", ["schedule_callback"]),
        ("it does not work. Call me", ["schedule_callback"]),
        ("it does not work so call me", ["schedule_callback"]),
        ("I cannot log in please call me", ["schedule_callback"]),
        ("it does not work\n \ncall me", ["schedule_callback"]),
        ("No, call me", ["schedule_callback"]),
        ("No problem call me", ["schedule_callback"]),
        ("never mind, call or text me", ["send_sms"]),
        ("never mind call me", ["schedule_callback"]),
        ("why don't you call me?", ["schedule_callback"]),
        ("why not text me", ["send_sms"]),
        ("varför inte ring mig", ["schedule_callback"]),
        ("don't call me, text me", ["send_sms"]),
        ("ring mig inte, skicka sms", ["send_sms"]),
        ("ring mig inte utan skicka sms", ["send_sms"]),
        ("ring mig om det inte fungerar", ["schedule_callback"]),
        ("sms, inte samtal", ["send_sms"]),
        ("don't call me at work, call me at home", ["schedule_callback"]),
    ],
)
def test_a_negation_of_something_else_does_not_count(text: str, expected: list[str]) -> None:
    """A negation in another clause, or of another action, leaves the keyword standing."""
    assert actions(text) == expected


def test_each_action_is_proposed_once_in_the_order_of_the_table() -> None:
    """Several keywords of one action give one proposal; several actions give one each."""
    text = "open a ticket, sms me, text me, call me and ring upp"
    assert actions(text) == ["schedule_callback", "send_sms", "create_ticket"]


@pytest.mark.parametrize(
    ("text", "phone"),
    [
        ("call me on 08-123 45 67.", "08-123 45 67"),
        ("call me at +46 8 123 45 67, thanks", "+46 8 123 45 67"),
        ("call me (08) 123 456 78", "(08) 123 456 78"),
        ("call me: 555-123-4567!", "555-123-4567"),
        ("call me 5551234567", "5551234567"),
        ("call me 0701-23-45 67", "0701-23-45 67"),
        ("order 12345678, call me on 070-1234567", "070-1234567"),
        ("ring mig 2025-12-12 10:30 070-123 45 67", "070-123 45 67"),
        ("ring mig kl 10.30 070-123 45 67", "070-123 45 67"),
        ("ring mig på tel:0701234567", "0701234567"),
    ],
)
def test_a_phone_number_is_taken_as_it_was_written(text: str, phone: str) -> None:
    """The payload holds the number with the user's own grouping and nothing around it."""
    assert payload(text) == {"phone": phone}


@pytest.mark.parametrize(
    "text",
    [
        "call me",
        "call me 2025-12-12",
        "call me 11/12/2025 10:30",
        "call me at 10:30",
        "call me about order ABC-1234567",
        "call me about 123456",
        "call me about 1234567890123456",
    ],
)
def test_what_is_no_phone_number_is_left_out(text: str) -> None:
    """Dates, times, labels and numbers of other lengths give no phone."""
    assert payload(text) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('sms 070-1234567 "I am late"', {"phone": "070-1234567", "text": "I am late"}),
        ("sms 070-1234567: running late", {"phone": "070-1234567", "text": "running late"}),
        ("sms:a 070-1234567 att ”kom nu”", {"phone": "070-1234567", "text": "kom nu"}),
        ("text me: hello", {"text": "hello"}),
        ("sms: 070-1234567", {"phone": "070-1234567"}),
        ("sms:a mig", {}),
    ],
)
def test_a_message_is_what_follows_a_colon_or_stands_in_quotes(text: str, expected: dict[str, str]) -> None:
    """send_sms carries the words to send, never the bare number again."""
    assert payload(text) == expected


def test_the_subject_of_a_ticket_is_the_message() -> None:
    """create_ticket carries the user's text without the space around it."""
    assert propose_actions("  Open a ticket:\nit is broken 14 \n") == (
        Proposal(action="create_ticket", payload={"subject": "Open a ticket:\nit is broken 14"}),
    )


@given(st.text(max_size=200), st.sampled_from([k for keywords in TRIGGERS.values() for k in keywords]))
def test_any_text_around_a_keyword_is_harmless(text: str, keyword: str) -> None:
    """No text breaks the search, and every value of a payload is a non-empty piece of the message."""
    message = f"{text} {keyword} {text}"
    for proposal in propose_actions(message):
        for value in proposal.payload.values():
            assert value
            assert value in unicodedata.normalize("NFC", message)


@pytest.mark.parametrize("unit", ["1 ", "1.", "(1", "call me ", "not ", '"', ": ", "1-1:"])
def test_a_long_hostile_message_costs_little(unit: str) -> None:
    """The longest message of repeated pieces is read in linear time."""
    text = (unit * 8000)[:8000]
    start = time.process_time()
    propose_actions(text)
    assert time.process_time() - start < 0.5


def test_of_many_keywords_the_first_are_looked_at() -> None:
    """Each is read with its clause, so only so many are: what stands behind them fires nothing, and is kept."""
    assert [each.action for each in propose_actions("no sms. " * 31 + "sms")] == ["send_sms"]
    assert propose_actions("no sms. " * 32 + "sms") == ()
    assert remove_requests("no sms. " * 32 + "sms").endswith("no sms. sms")


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (
            "what does the standard plan cost? call me at 070-123 45 67",
            "what does the standard plan cost?   at",
        ),
        ("skapa ärende om min faktura", "om min faktura"),
        ("Ring mig", ""),
        ("don't call me, what is the price of 12 months?", "don't call me, what is the price of 12 months?"),
        ("Please call me back on 070-123 45 67", "Please   on"),
        ("Ring mig tillbaka på 070-123 45 67", "på"),
    ],
)
def test_what_is_asked_is_the_text_without_what_the_action_is_about(text: str, rest: str) -> None:
    """Keywords that fire and phone numbers are no words of the question; everything else stays."""
    assert remove_requests(text) == rest
