"""Strict binding: a number must be said of what its source says it of."""

import pytest

from agent.grounding.verify import check_numbers, snippets_of, verify
from agent.ports.search import Hit, Passage, Snippet

PRICES = "| Basic | 299 kr |\n| Premium | 599 kr |"
TABLE = "| Plan | Monthly fee |\n|---|---|\n| Basic | 299 kr |"


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        (PRICES, "Basic costs 599 kr."),
        (PRICES, "Basic costs 299 kr. Basic costs 599 kr."),
        ("Premium costs 599 kr. Basic costs 299 kr.", "Basic costs 599 kr."),
        ("- Garantin gäller i 2 år\n- Leveransen tar 3 dagar", "Garantin gäller i 3 dagar."),
        ("Premiumpaketet kostar 599 kr.", "Baspaketet kostar 599 kr."),
    ],
)
def test_said_of_another(source: str, answer: str) -> None:
    """A number of another row, list item or sentence is refused when binding is strict, and passes when it is off."""
    snippets = snippets_of(source)
    verdicts = (
        check_numbers(answer, snippets).is_supported,
        check_numbers(answer, snippets, binding="strict").is_supported,
    )
    assert verdicts == (True, False)


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        (PRICES, "The Basic plan costs 299 kr and Premium 599 kr."),
        (PRICES, "It costs 599 kr."),
        (TABLE, "The monthly fee is 299 kr."),
        ("Garantin gäller i 2 år.", "Garantitiden är två år."),
        ("The fee is 3 kr.\nPremium is 5 kr.", "The fee ranges within 3-5 kr."),
        (PRICES, "Nothing is said."),
    ],
)
def test_said_of_the_same(source: str, answer: str) -> None:
    """A number that its sentence names as its source does passes; so does one that nothing names."""
    assert check_numbers(answer, snippets_of(source), binding="strict").unsupported_checks == ()


@pytest.mark.parametrize(("heading", "passed"), [("Shipping", True), ("Returns", False)])
def test_headings(heading: str, passed: bool) -> None:
    """A heading above a row names what the row itself does not."""
    snippet = Snippet(file="kb/a.md", text="| Sverige | 49 kr |", first=3, last=3)
    hit = Hit(snippet, Passage("kb/a.md", (heading,), "en", (snippet,)), 0.9)
    assert verify("Shipping is 49 kr.", [hit], binding="strict").is_supported is passed


def test_the_header_before_a_row() -> None:
    """A row's snippet begins with its table's header line, which names the row and is no row of its own."""
    row = Snippet(
        file="kb/a.md", text="| Plan | Monthly fee |\n| Basic | 299 kr |", first=5, last=5, kind="row"
    )
    for answer, passed in [
        ("The monthly fee is 299 kr.", True),
        ("Basic costs 299 kr.", True),
        ("The deposit is 299 kr.", False),
    ]:
        assert check_numbers(answer, (row,), binding="strict").is_supported is passed, answer


def test_cites_where_it_is_bound() -> None:
    """Of two snippets with a number the one that says it of the same thing is cited for it."""
    snippets = snippets_of("Premium costs 5 kr.\n\nBasic costs 5 kr.")
    verdict = check_numbers("Basic costs 5 kr.", snippets, fill=0, binding="strict")
    assert [snippet.text for snippet in verdict.citations] == ["Basic costs 5 kr."]
