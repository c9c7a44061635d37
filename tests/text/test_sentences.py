"""Where sentences end: at their marks, not at abbreviations, initials, decimals or the numbers of lists."""

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.text.sentences import sentences


def cut(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [text[start:end] for start, end in sentences(text)]


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
    ],
)
def test_each_ends_at_its_mark(text: str) -> None:
    """What follows must be able to begin another; marks that close belong to the one before."""
    assert cut(text.replace("|", " ")) == [part.strip() for part in text.split("|")]


@given(st.text(alphabet="aA1. !?\n\"'()…e.g", max_size=80))
def test_sentences_are_the_text_without_the_space_between(text: str) -> None:
    """In order, none empty, nothing lost."""
    found = list(sentences(text))
    assert all(start < end for start, end in found)
    assert [place for span in found for place in span] == sorted(place for span in found for place in span)
    assert "".join(cut(text)).replace(" ", "").replace("\n", "") == text.replace(" ", "").replace("\n", "")


@pytest.mark.parametrize("piece", ["A b. ", ". ", "... ", "a.b.", '."', "e.g. ", "x" * 9])
def test_it_is_linear(piece: str) -> None:
    """A text of 200,000 characters takes well under a second."""
    began = thread_time()
    list(sentences(piece * (200_000 // len(piece))))
    assert thread_time() - began < 1.0
