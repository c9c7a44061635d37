"""What is a greeting, thanks or a look around, and what is a question that only begins or ends with one."""

from time import process_time

import pytest

from agent.text.courtesy import CourtesyMatch, find_courtesy, strip_courtesies


@pytest.mark.parametrize(
    ("text", "what", "lang"),
    [
        ("hello", "greeting", "en"),
        ("Hi there :)", "greeting", "en"),
        ("Good morning!", "greeting", "en"),
        ("Hej", "greeting", "sv"),
        ("hej hej!", "greeting", "sv"),
        ("God kväll.", "greeting", "sv"),
        ("thanks", "thanks", "en"),
        ("Hi, thank you very much!", "thanks", "en"),
        ("Tack så mycket!", "thanks", "sv"),
        ("hej då", "thanks", "sv"),
        ("what can you do?", "abilities", "en"),
        ("Hello! What can I ask you about?", "abilities", "en"),
        ("Hej, vad kan du hjälpa mig med?", "abilities", "sv"),
        ("help", "abilities", "en"),
    ],
)
def test_what_is_no_question(text: str, what: str, lang: str) -> None:
    """Of several, what can be done is answered first, then thanks."""
    said = find_courtesy(text)
    assert said is not None
    assert (said.kind, said.lang) == (what, lang)
    assert isinstance(said, CourtesyMatch)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("What does it cost?", "What does it cost?"),
        ("Hello, what does it cost?", "what does it cost?"),
        ("hello what does it cost", "what does it cost"),
        ("Hi! When do you open? Thanks!", "When do you open?"),
        ("Hej! När öppnar ni? Tack så mycket!", "När öppnar ni?"),
        ("hej när öppnar ni", "när öppnar ni"),
        ("Hello Fresh delivery", "Hello Fresh delivery"),
        ("Hi-fi sets", "Hi-fi sets"),
        ("hello.com is down", "hello.com is down"),
        ("Thanks cards", "Thanks cards"),
        ("Help me cancel my order", "Help me cancel my order"),
        ("there", "there"),
        ("?!", "?!"),
        ("", ""),
    ],
)
def test_a_question_stays_one(text: str, question: str) -> None:
    """A greeting before it and thanks after it are no part of it; a name that begins like one is."""
    assert find_courtesy(text) is None
    assert strip_courtesies(text) == question


@pytest.mark.parametrize(
    "word", ["hej ", "thanks ", "tack ", "vad kan du ", "help me ", " ", "!", "_", "hej, "]
)
def test_any_text_is_looked_at_quickly(word: str) -> None:
    """However often a phrase is repeated, and whatever follows."""
    began = process_time()
    for text in (word * (120 // len(word) - 1) + "x", word * 20_000, word * 20_000 + "x"):
        find_courtesy(text)
        strip_courtesies(text)
    assert process_time() - began < 1
