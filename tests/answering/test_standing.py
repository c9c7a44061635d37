"""What is kept of a draft that does not stand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.answering.standing import verify_standing
from agent.grounding.verify import check_numbers, verify
from agent.ports.search import Hit, Passage, Snippet
from tests.examples import examples

TEXTS = ("Standard costs 299 kr per month.", "Unused parcels can be returned to our shops for 14 days.")
SNIPPETS = tuple(Snippet(file="kb/a.md", text=text, first=at, last=at) for at, text in enumerate(TEXTS, 1))
HITS = tuple(Hit(snippet, Passage("kb/a.md", ("A",), "en", SNIPPETS), 0.9) for snippet in SNIPPETS)


def kept(draft: str) -> str | None:
    text = verify_standing(verify(draft, HITS), HITS)
    return None if text is None else text.text


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        ("It costs 299 kr. Delivery takes 20 days.", "It costs 299 kr."),
        ("Delivery takes 20 days. It costs 299 kr. Bye.", "It costs 299 kr. Bye."),
        ("- It costs 299 kr\n- It is 349 kr\n- Or 14 days", "- It costs 299 kr\n- Or 14 days"),
        ("Parcels can be returned to a shop. It takes 20 days.", "Parcels can be returned to a shop."),
        ("1. It costs 299 kr.\n2. It takes 20 days.", "- It costs 299 kr."),
        ("Sure, happy to help! It takes 20 days.", None),
        ("Sure, of course. Are parcels returned to shops? It takes 20 days.", None),
        ("This is about returned parcels in shops:\nIt takes 20 days.", None),
        ("It takes 20 days.", None),
    ],
)
def test_the_sentences_that_stand_are_kept_when_one_claims_something(
    draft: str, expected: str | None
) -> None:
    """A supported number is a claim, and so is what the citations are about; a greeting, a lead, a question is not."""
    assert kept(draft) == expected


def test_what_is_left_is_verified_anew() -> None:
    """Sentences that meet only because one between them was left out may make a number of each other."""
    assert kept("It costs 299 kr in a chapter\n20 days\nV") is None


PARTS = st.sampled_from(
    [*TEXTS, "It is 349 kr.", "chapter", "V", "14", "days", "minus", "Sure!", "1. a", "2. b 9"]
)
GLUE = st.sampled_from([" ", "\n", "\n\n", ". ", ""])


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(PARTS, GLUE), max_size=8))
def test_what_is_kept_stands(parts: list[tuple[str, str]]) -> None:
    """Whatever the draft, what is kept passes as a whole on its citations."""
    text = verify_standing(verify("".join(map("".join, parts)), HITS), HITS)
    assert text is None or check_numbers(text.text, text.citations, fill=0).is_supported
