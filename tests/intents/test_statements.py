"""The statements that a message makes in earnest, word for word."""

import pytest

from agent.intents.statements import makes_statement
from agent.lang import Lang


@pytest.mark.parametrize(
    ("message", "statement", "lang"),
    [
        ("The boiler broke.", "the boiler broke", "en"),
        ("Hi, the boiler broke! What now?", "The boiler broke.", "en"),
        ("Remember that the boiler broke.", "The boiler broke.", "en"),
        ("The boiler broke and we called Ana.", "We called Ana", "en"),
        ("The boiler broke and we called Ana.", "The boiler broke and we called Ana", "en"),
        ("The boiler does not work.", "The boiler does not work.", "en"),
        ("It is -5 °C at 10:30.", "It is -5 °C at 10:30", "en"),
        ("Hej! Pannan gick sönder igår.", "Pannan gick sönder igår", "sv"),
        ("Pannan gick sönder och vi ringde Ana.", "vi ringde Ana", "sv"),
    ],
)
def test_a_sentence_makes_its_statement(message: str, statement: str, lang: Lang) -> None:
    """A whole one, or all between two words that join."""
    assert makes_statement(message, statement, lang)


@pytest.mark.parametrize(
    ("message", "statement", "lang"),
    [
        ("The boiler broke.", "The boiler broke yesterday.", "en"),
        ("The boiler broke yesterday.", "The boiler broke.", "en"),
        ("The shop is closed, except on Mondays.", "The shop is closed", "en"),
        ("The shop is closed but not on Mondays.", "The shop is closed", "en"),
        ("I do not think the boiler broke.", "The boiler broke", "en"),
        ("Did you know the boiler broke?", "The boiler broke", "en"),
        ("The boiler broke?", "The boiler broke", "en"),
        ("If I am late and the boiler broke, call.", "The boiler broke", "en"),
        ("Maybe the boiler broke.", "Maybe the boiler broke.", "en"),
        ("Ana said hi and the boiler broke.", "The boiler broke", "en"),
        ("The boiler broke, she said.", "The boiler broke", "en"),
        ('He wrote: "The boiler broke."', "The boiler broke", "en"),
        ("> The boiler broke.", "The boiler broke", "en"),
        ("Translate this: Hi. The boiler broke.", "The boiler broke", "en"),
        ("Imagine a house. The boiler broke.", "The boiler broke", "en"),
        ("The boiler broke haha", "The boiler broke haha", "en"),
        ("It is -5 degrees.", "It is 5 degrees.", "en"),
        ("It costs 1.5 kr.", "It costs 1 5 kr.", "en"),
        ("Broke.", "Broke.", "en"),
        ("The boiler broke.", "", "en"),
        ("Kanske gick pannan sönder.", "gick pannan sönder", "sv"),
        ("Jag tror inte det och pannan gick sönder.", "Pannan gick sönder", "sv"),
        ("Om pannan gick sönder", "pannan gick sönder", "sv"),
    ],
)
def test_in_doubt_none_is_made(message: str, statement: str, lang: Lang) -> None:
    """Of parts, questions, suppositions, reports, quotations and other numbers."""
    assert not makes_statement(message, statement, lang)
