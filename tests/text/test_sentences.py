"""Where sentences end: at their marks, not at abbreviations, initials, decimals or the numbers of lists."""

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.answering import prompts
from agent.grounding.binding import sentences_of
from agent.numbers.number_tokens import tokens
from agent.text.sentences import find_line_sentences, find_sentences


def cut(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [text[start:end] for start, end in find_sentences(text)]


@pytest.mark.parametrize(
    "text",
    [
        "It costs 5 kr.|It is new.",
        "Is it?|Yes!|Well…|It is.",
        "He said “no.”|She left.",
        "(It costs 5 kr.)|It is new.",
        "It is.\n\n|  And more",
        "It is.|“Is it?”|(Yes.)|[No.]|«Ja.»",
        "We open at 9.|5 people work here.",
        "Det är så.|Är det?|Åh!|Öppet nu.",
        "One sentence without an end",
        "It is 3.5 kg and costs 1.299,50 kr, see example.com for more.",
        "Write to Mr. Smith, e.g. by mail, at St. Mary's.",
        "Ring t.ex. Anna, dvs. chefen, kl. 9 eller ca. 10.",
        "J. R. Smith wrote it with A. Jones.",
        "See no. 5, vol. 3, p. 7 and fig. A.",
        "1. Open the app",
        "it is. and goes on so",
        "What?!|Really",
        "**It is so.**|_Is it?_|`Yes.`|No.",
        "It is. à la carte",
    ],
)
def test_each_ends_at_its_mark(text: str) -> None:
    """What follows must be able to begin another; marks that close belong to the one before."""
    assert cut(text.replace("|", " ")) == [part.strip() for part in text.split("|")]


@given(st.text(alphabet="aA1. !?\n\"'()…e.g", max_size=80))
def test_sentences_are_the_text_without_the_space_between(text: str) -> None:
    """In order, none empty, nothing lost."""
    found = list(find_sentences(text))
    assert all(start < end for start, end in found)
    assert [place for span in found for place in span] == sorted(place for span in found for place in span)
    assert "".join(cut(text)).replace(" ", "").replace("\n", "") == text.replace(" ", "").replace("\n", "")


@pytest.mark.parametrize("piece", ["A b. ", ". ", "... ", "a.b.", '."', "e.g. ", "x" * 9])
def test_it_is_linear(piece: str) -> None:
    """A text of 200,000 characters takes well under a second."""
    began = thread_time()
    list(find_sentences(piece * (200_000 // len(piece))))
    assert thread_time() - began < 1.0


MIXED = (
    "Ring t.ex. Anna, dvs. chefen, ca. 9.30. “Öppet?” (Ja.) See e.g. Smith et al. and no. 5.\n"
    "- The fee is approx. 299 kr. *Delivery* is free.\n- 14 days"
)
PIECES = [
    "Ring t.ex. Anna, dvs. chefen, ca. 9.30.",
    "“Öppet?”",
    "(Ja.)",
    "See e.g. Smith et al. and no. 5.",
    "- The fee is approx. 299 kr.",
    "*Delivery* is free.",
    "- 14 days",
]


def test_rows_and_items_are_cut_by_themselves() -> None:
    """A line of its own never runs on into the next."""
    assert [MIXED[start:end] for start, end in find_line_sentences(MIXED)] == PIECES
    assert list(find_line_sentences("\n \n")) == []


def test_all_who_cut_a_text_cut_it_alike() -> None:
    """What binding reads as one, and what a redraft is told about."""
    assert sentences_of(MIXED) == PIECES
    price = next(token for token in tokens(MIXED) if token.text == "299 kr")
    start, end = prompts._find_sentence(MIXED, price)
    assert MIXED[start:end] == PIECES[4]
