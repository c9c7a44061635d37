"""Marks that count an answer's sources: which are taken out of it, and which are numbers that a user must see."""

import pytest

from agent.grounding.verify import check_numbers, snippets_of
from agent.ports.search import Snippet

SOURCES = snippets_of(
    "An invoice is due within five (5) days.\n\nIt costs 299 kr.\n\nParties: (2)\n\n- (2) of the parties agree.\n\n"
    "The (2) parties agree."
)
"""Five sources, four of them with a number in parentheses."""


@pytest.mark.parametrize(
    ("draft", "said"),
    [
        ("It costs 299 kr (2).", "It costs 299 kr."),
        ("It costs 299 kr (2) and is due (1).", "It costs 299 kr and is due."),
        ("It costs 299 kr. (2) It is due", "It costs 299 kr. It is due"),
        ("It costs 299 kr [1][2].", "It costs 299 kr."),
        ("It is due within five (5) days [1].", "It is due within five (5) days."),
    ],
)
def test_a_mark_of_a_source_is_taken_out(draft: str, said: str) -> None:
    """A number behind a statement that counts the sources does not reach the user."""
    verdict = check_numbers(draft, SOURCES)
    assert (verdict.said, verdict.refused) == (said, ())


@pytest.mark.parametrize(
    "draft",
    [
        "It is due within five (5) days.",
        "It is due within (5) days.",
        "It is due within five (5).",
        "(2) parties agree.",
        "The (2) parties agree.",
        "Parties: (2)",
        "- (2) of the parties agree.",
    ],
)
def test_a_number_of_the_text_stays(draft: str) -> None:
    """A number in parentheses stays where it counts a noun, or stands beside the same word in a source."""
    verdict = check_numbers(draft, SOURCES)
    assert (verdict.said, verdict.refused) == (draft, ())


@pytest.mark.parametrize("draft", ["It is due within (4) days.", "It has (3) parties."])
def test_a_number_before_a_noun_is_verified(draft: str) -> None:
    """A number in parentheses that counts a noun is no mark, even when there are as many sources."""
    assert not check_numbers(draft, SOURCES).is_supported


def test_a_footnote_of_a_source_is_no_number() -> None:
    """The mark of a footnote is layout in a source, so it is taken out of an answer that quotes it."""
    verdict = check_numbers("It costs 299 kr[^1].", snippets_of("It costs 299 kr[^1]."))
    assert (verdict.said, verdict.refused) == ("It costs 299 kr.", ())


def test_a_mark_in_the_spoken_form_of_a_row_stays() -> None:
    """A statement is quoted in its spoken form, so a number in it stays too."""
    said = "Basic; Term: 5 days (1)"
    row = Snippet(file="a.md", text="| Basic | 5 days | 1 |", first=1, last=1, plain_text=said)
    assert check_numbers(said, [row]).said == said
