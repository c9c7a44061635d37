"""The language of a question, on labelled questions and on what does not tell."""

import json
import os
from pathlib import Path

import pytest

from agent.ports.search import Lang
from agent.text.language import detect_language

TABLES = Path(__file__).parents[1] / "retrieval"
SHARED = Path(os.environ.get("AGENT_SHARED", Path(__file__).parents[3] / "shared")) / "data"

ENGLISH = """
what does the standard plan cost
opening hours
phone number to customer service
how long is the return period
shipping to Norway
camera warranty
Is the Malmö shop open on Sunday?
refund
do you deliver to Göteborg
Premium price
cheapest plan
technical support email
cancel my subscription
Where is your head office in Stockholm?
I forgot my code
lost parcel
can i pause it
student discount
What's the difference between Basic and Standard?
hello
"""

SWEDISH = """
vad kostar paketen?
öppettider
telefonnummer till kundtjänst
hur lång är returrätten
frakt till Norge
garanti kamera
Är butiken i Malmö öppen på söndag?
återbetalning
när stänger ni
telefonnummer till kundtjanst
oppettider
billigaste paketet
e-post till supporten
hej
Jag har glömt koden
kan man pausa
studentrabatt
Vad är skillnaden mellan Basic och Standard?
kan du ringa mig
bindningstid
"""


@pytest.mark.parametrize(("questions", "expected"), [(ENGLISH, "en"), (SWEDISH, "sv")])
def test_short_questions(questions: str, expected: Lang) -> None:
    """Short questions, with and without function words, are told apart."""
    asked = questions.strip().splitlines()
    assert [question for question in asked if detect_language(question) != expected] == []


@pytest.mark.parametrize(
    "text",
    ["", "   ", "???", "299 kr", "08-465 004 10", "asdfghjkl qwertyuiop", "Standard", "iOS 16", "日本語"],
)
def test_what_does_not_tell(text: str) -> None:
    """Digits, names, marks and noise are in no language."""
    assert detect_language(text) is None


def test_questions_of_the_tables_of_retrieval() -> None:
    """At least 98 % of the questions that the search is tested with are told right, in each language."""
    rows = [json.loads(line) for line in (TABLES / "on_topic.jsonl").read_text(encoding="utf-8").splitlines()]
    for expected in ("en", "sv"):
        asked = [row["question"] for row in rows if row["lang"] == expected]
        wrong = [question for question in asked if detect_language(question) != expected]
        assert len(wrong) <= 0.02 * len(asked), wrong


@pytest.mark.parametrize(
    ("name", "field", "expected"),
    [("swefaq_dev.jsonl", "question", "sv"), ("ragtruth_qa_dev.jsonl", "query", "en")],
)
def test_labelled_questions(name: str, field: str, expected: Lang) -> None:
    """At least 98 % of the questions of a labelled set are told right."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    asked = sorted({json.loads(line)[field] for line in path.read_text(encoding="utf-8").splitlines()})
    wrong = [question for question in asked if detect_language(question) != expected]
    assert len(wrong) <= 0.02 * len(asked), wrong


def test_a_long_text_is_told_by_its_beginning() -> None:
    """Only the first words are looked at, so the time does not grow with the text."""
    assert detect_language("the shop is open " * 200 + "och det är stängt " * 2000) == "en"
