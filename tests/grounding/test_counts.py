"""Counts of an answer's own list, when they are allowed."""

import pytest

from agent.grounding.verify import check_numbers, snippets_of

SOURCE = snippets_of("You can pay by card, by invoice or by Swish.")
COUNTED = [
    "There are three ways: by card, by invoice and by Swish.",
    "Two of them are common: by card or by invoice.",
    "Det finns två sätt: med kort och med faktura.",
    "You have three ways to pay:\n- by card\n- by invoice\n- by Swish",
]
WRONG = [
    "There are four ways: by card, by invoice and by Swish.",
    "There are three ways to pay.",
    "It takes three days: by card, by invoice and by Swish.",
    "There are 3 ways: by card, by invoice and by Swish.",
    "You have two ways to pay:\n- by card\n- by invoice\n- by Swish",
    "There are three. Pay so: by card, by invoice and by Swish.",
]


@pytest.mark.parametrize("answer", COUNTED)
def test_counts_its_own_list(answer: str) -> None:
    """A count in words of the items that follow it stands only when that is asked for."""
    assert check_numbers(answer, SOURCE, counts=True).is_supported
    assert not check_numbers(answer, SOURCE).is_supported


@pytest.mark.parametrize("answer", WRONG)
def test_counts_nothing_else(answer: str) -> None:
    """Another number of items, digits, a unit, or no list: refused as ever."""
    assert not check_numbers(answer, SOURCE, counts=True).is_supported
