"""What messages ask for, sentence by sentence: labelled by hand, in both languages, as people write them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.config import MAX_TEXT
from agent.intents.fields import FILLED_CHARACTERS, REQUIRED
from agent.intents.phone_numbers import is_phone_number
from agent.intents.triggers import TRIGGERS, propose_actions
from agent.protocol.payload import is_valid_payload
from tests.cpu import measure_cpu
from tests.examples import sample

DATA = Path(__file__).parent / "data"

Fires = dict[str, dict[str, str]]


def labelled(name: str) -> Iterator[tuple[str, Fires]]:
    """Yield each sentence of a file with the actions that it asks for, and their payloads but for the subject."""
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            text, _, said = line.partition(" =>")
            fires: Fires = {}
            for each in filter(None, map(str.strip, said.split(";"))):
                action, _, values = each.partition(" ")
                pairs = [value.strip().partition("=") for value in values.split(",") if value]
                fires[action] = {key: value for key, _, value in pairs}
            yield text, fires


ASKED = [*labelled("asked.txt"), *labelled("held_out.txt"), *labelled("held_out_again.txt")]


def found(text: str) -> Fires:
    """Return what a sentence asks for, as it is labelled; what is missing is what the label does not give."""
    fires: Fires = {}
    for each in propose_actions(text):
        fires[each.action] = {key: str(value) for key, value in each.payload.items() if key != "subject"}
        given = each.payload.keys()
        assert each.missing == tuple(name for name in REQUIRED[each.action] if name not in given)
    return fires


def test_the_sentences_are_many_and_of_every_kind() -> None:
    """So that a rule that fits a few of them shows."""
    assert len(ASKED) == len(dict(ASKED)) == 170
    assert sum(not fires for _, fires in ASKED) > 50
    assert {action for _, fires in ASKED for action in fires} == set(TRIGGERS) == set(REQUIRED)


@pytest.mark.parametrize(("text", "fires"), ASKED, ids=[text for text, _ in ASKED])
def test_a_sentence_asks_for_what_its_writer_wants(text: str, fires: Fires) -> None:
    """Its actions, their phone numbers and texts; a report, a statement and a question ask for nothing."""
    assert found(text) == fires


@pytest.mark.parametrize(
    ("text", "phone"),
    [
        ("I want to call 08-444 55 66", None),
        ("I am not at 08-111 22 33 any more, call 08-444 55 66", "08-444 55 66"),
        ("Jag är inte på 08-111 22 33 längre, ring 08-444 55 66", "08-444 55 66"),
        ("Ring mig inte på 070-123 45 67 utan på 070-765 43 21", "070-765 43 21"),
        ("call me not at 070-123 45 67 but at 070-765 43 21", "070-765 43 21"),
        ("070-123 45 67 is my old number; call me on 070-765 43 21", "070-765 43 21"),
        ("070-123 45 67 no longer works, call me on 070-765 43 21", "070-765 43 21"),
        ("My number changed from 070-123 45 67 to 070-765 43 21, call me", "070-765 43 21"),
        ("call me. The server is 192.168.100.12", ""),
        ("call me about 12345678", ""),
        ("call me on 12345678", "12345678"),
        ("call me about 1000000 kr", ""),
        ("call me on 20251231", ""),
        ("my order numbers are 12345678 and 0701234567, call me", ""),
        ("When I called 08-123 45 67 nobody answered. Call me.", ""),
        ("is 08-123 45 67 your number? call me", ""),
        ("is your number 08-123 45 67? call me", ""),
        ("Ring mig på 0701234567, inte på 0707654321", "0701234567"),
    ],
)
def test_the_number_to_call_is_the_one_that_is_meant(text: str, phone: str | None) -> None:
    """None: nobody is to call; an empty one: it is not said where."""
    calls = {each.action: each for each in propose_actions(text)}.get("schedule_callback")
    assert (calls.payload.get("phone", "") if calls else None) == phone
    assert not calls or calls.missing == (() if phone else ("phone",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Problem: no network. Text me on 0739998877", None),
        ("sms 0739998877 that I am late", "I am late"),
        ("send an sms to 0739998877 and say that I am late", "I am late"),
        ("skicka ett sms till 0739998877 med texten jag är sen", "jag är sen"),
        ("skicka ett sms så att jag vet", None),
        ("send “I am late” as an sms to 0739998877", "I am late"),
        ("send an sms saying hello to 0739998877", None),
    ],
)
def test_the_words_to_send_are_said_to_be_said(text: str, said: str | None) -> None:
    """A colon or quotation before the keyword is about something else, unless what is quoted is what to send."""
    (proposal,) = propose_actions(text)
    assert proposal.payload.get("text") == said


def test_what_stands_in_quotation_marks_asks_for_nothing() -> None:
    """It is what somebody says, or what a button is called."""
    assert propose_actions('the button "open a ticket" is grey') == ()
    assert found('sms 070-123 45 67 "call me"') == {"send_sms": {"phone": "070-123 45 67", "text": "call me"}}


def test_a_payload_always_fits() -> None:
    """However long a message is, and however it is written in JSON."""
    for unit in ("\U0001f600", "\x01", '"', "a"):
        text = ("open a ticket and sms 0701234567: " + unit * MAX_TEXT)[:MAX_TEXT]
        asked = propose_actions(text)
        assert len(asked) == 2
        assert all(is_valid_payload(each.payload) for each in asked)
        longest = max(len(str(value)) for each in asked for value in each.payload.values())
        assert (longest <= FILLED_CHARACTERS) is (unit in "\U0001f600\x01")


@pytest.mark.parametrize(
    ("written", "is_one"),
    [
        *((each, True) for each in ("070-123 45 67", "+46 70 123 45 67", "(08) 123 456 78", " 5551234567 ", "1234567")),
        *((each, False) for each in ("", "call", "123456", "1" * 16, "070-123 45 67 x", "2025-12-31", "900101-1234")),
        *((each, False) for each in ("0701234567\n0701234567", "tel 0701234567", "0701234567.", "++0701234567")),
        *((each, True) for each in ("+44 20 7946 0958", "+1 (201) 555-0123", "0044 20 7946 0958", "00358 40 1234567")),
        *((each, False) for each in ("+999 1234567", "+46 12 345", "+46 70 123 45 67 89", "00340434161094")),
    ],
)  # fmt: skip
def test_a_phone_number_has_the_form_of_one(written: str, is_one: bool) -> None:
    """With nothing beside it but space."""
    assert is_phone_number(written) is is_one


@pytest.mark.parametrize(
    "unit",
    sample(
        [
            "call me 070-123 45 67 ",
            "call me on 070-123 45 67, sorry ",
            "i want to ask if i could have a ticket, ",
            "if you could call me ",
            "sms saying a ",
            '"call me" ',
            "070-123 45 67 or ",
            "not 0701234567 ",
            ".",
            ". ",
            '"',
            "(",
            " ",
            "1 ",
            "192.168.0.",
            "20200101-",
        ],
        4,
    ),
)
def test_the_longest_message_costs_milliseconds(unit: str) -> None:
    """Of keywords, numbers and the words around them only so many are read; ten times what it takes passes."""
    text = ("call me on 070-123 45 67 " + unit * MAX_TEXT)[:MAX_TEXT]
    assert min(measure_cpu(lambda: propose_actions(text)) for _ in range(3)) < 0.02
