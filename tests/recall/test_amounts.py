"""What a text names of lengths, prices and shares, and that a question for one finds it among others."""

import statistics

import pytest

from agent.lang import LANGUAGES, Lang
from agent.recall.amounts import find_amounts
from agent.text.words import split_words
from tests.memory.recall.made import recall_of, search
from tests.memory.recall.numbers import talk


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("It took 14 days.", ["14_day"]),
        ("a 14-day trial, then fourteen months", ["14_day", "14_month"]),
        ("det tog fjorton dagar och 25 %", ["25_%", "14_day"]),
        ("$299, € 1,299 or 1 299 kr", ["299_USD", "1299_EUR", "1299_SEK"]),
        ("5km in room 12, in 2024", ["5_km"]),
        ("I have two kids and 3 cats.", []),
        ("nothing at all", []),
    ],
)
def test_an_amount_is_one_term(text: str, terms: list[str]) -> None:
    """A number with its unit, however it is written; a bare one is a word as any other."""
    assert find_amounts(text, split_words(text)) == terms


def test_digits_that_read_in_two_ways_are_both() -> None:
    """One of them is what is asked for."""
    text = "it costs 1,234 kr"
    assert set(find_amounts(text, split_words(text))) == {"1234_SEK", "1.234_SEK"}


@pytest.mark.parametrize("lang", LANGUAGES)
async def test_a_number_with_its_unit_finds_what_says_it(lang: Lang) -> None:
    """Among the same number of something else, and another number of the same: half of them without these terms."""
    turns, asked = talk(lang)
    recall = recall_of(*turns)
    first = []
    for each in asked:
        found = await recall.recall(search(each.text, lang=lang, limit=1))
        first.append([excerpt.message for excerpt in found.excerpts] == [each.answered_by])
    assert statistics.fmean(first) >= 0.85
