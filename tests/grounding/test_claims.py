"""Claims: what parses, what checks out, and that what is rendered stands as a whole."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.config import DRAFT_MAX
from agent.grounding.claims import CLAIM, CLAIMS, EVIDENCE, DraftClaim, parse_claims, render_claims
from agent.grounding.verify import check_numbers
from agent.ports.search import Hit, Passage, Snippet
from tests.examples import examples

TEXTS = (
    "Standard costs 299 kr per month.",
    "Returns are free for 14 days.",
    "Call 08-123 45 67.",
    "Fourteen shops and 3-5 days, chapter IV.",
)
SNIPPETS = tuple(Snippet(file="kb/a.md", text=text, first=at, last=at) for at, text in enumerate(TEXTS, 1))
PASSAGE = Passage("kb/a.md", ("A",), "en", SNIPPETS)
HITS = tuple(Hit(snippet, PASSAGE, 0.9) for snippet in SNIPPETS)
PRICE, RETURNS = DraftClaim("It costs 299 kr", (1,)), DraftClaim("You have 14 days.", (2,))
ONE = {"text": "It costs 299 kr", "evidence": [1]}


def said(*claims: DraftClaim) -> str | None:
    text = render_claims(claims, HITS).text
    return None if text is None else text.text


# --- parsing


@pytest.mark.parametrize(
    "draft",
    [
        '[{"text": "It costs 299 kr", "evidence": [1]}, {"text": "You have 14 days.", "evidence": [2]}]',
        '{"text": "It costs 299 kr", "evidence": [1]}\n\n{"evidence": [2], "text": "You have 14 days."}\n',
        '```json\n[{"text":"It costs 299 kr","evidence":[1]},{"text":"You have 14 days.","evidence":[2]}]\n```',
    ],
)
def test_claims_are_an_array_or_lines(draft: str) -> None:
    """Either form, also in a code fence, gives the claims in their order."""
    assert parse_claims(draft) == (PRICE, RETURNS)


@pytest.mark.parametrize("draft", ["[]", " ", "```\n[]\n```"])
def test_no_claims_are_claims(draft: str) -> None:
    """A model that claims nothing is understood."""
    assert parse_claims(draft) == ()


@pytest.mark.parametrize(
    "draft",
    [
        "It costs 299 kr.",
        "[",
        '[{"text": "a"}]',
        '[{"text": "a", "evidence": [1], "sure": true}]',
        '[{"text": "a", "evidence": 1}]',
        '[{"text": "a", "evidence": ["1"]}]',
        '[{"text": "a", "evidence": [0]}]',
        '[{"text": "a", "evidence": [1.5]}]',
        '[{"text": "", "evidence": [1]}]',
        '[{"text": 5, "evidence": [1]}]',
        json.dumps([{"text": "a" * (CLAIM + 1), "evidence": [1]}]),
        json.dumps([{"text": "a", "evidence": [1] * (EVIDENCE + 1)}]),
        json.dumps([ONE] * (CLAIMS + 1)),
        "\n".join([json.dumps(ONE)] * (CLAIMS + 1)),
        'Here it is:\n[{"text": "a", "evidence": [1]}]',
        '{"text": "a", "evidence": [1]} and more',
        "[" * (DRAFT_MAX // 2),
        '[{"text": "a", "evidence": ' + "[" * 20_000,
        '[{"text": "\ud800", "evidence": [1]}]',
    ],
)
def test_anything_else_is_no_claims(draft: str) -> None:
    """A draft that is not strictly of the form, or over a bound, is not read in part."""
    assert parse_claims(draft) is None


# --- rendering


def test_claims_that_check_out_are_sentences() -> None:
    """They come in their order, each with an end, on the snippets that they name."""
    rendered = render_claims([PRICE, RETURNS], HITS)
    assert rendered.text is not None
    assert rendered.text.text == "It costs 299 kr. You have 14 days."
    assert rendered.text.citations == SNIPPETS[:2]
    assert rendered.dropped == ()


@pytest.mark.parametrize(
    "wrong",
    [
        DraftClaim("It costs 349 kr.", (1,)),
        DraftClaim("It costs 299 kr.", (2,)),
        DraftClaim("It costs 299 kr.", ()),
        DraftClaim("It is nice.", ()),
        DraftClaim("It costs 299 kr.", (1, 5)),
        DraftClaim(" \n ", (1,)),
    ],
)
def test_a_claim_that_does_not_check_out_is_dropped(wrong: DraftClaim) -> None:
    """A number that its own evidence does not hold, no evidence, or evidence that does not exist."""
    rendered = render_claims([wrong, RETURNS], HITS)
    assert rendered.text is not None
    assert rendered.text.text == RETURNS.text
    assert rendered.dropped == (" ".join(wrong.text.split()),)
    alone = render_claims([wrong], HITS)
    assert alone.text is None


def test_strict_binding_drops_a_claim_about_another_thing() -> None:
    """A number that its evidence says of something else; the other claims are the answer."""
    misplaced = DraftClaim("Premium users pay 299 kr.", (1,))
    assert said(misplaced, RETURNS) == "Premium users pay 299 kr. You have 14 days."
    rendered = render_claims([misplaced, DraftClaim("Returns take 14 days.", (2,))], HITS, binding="strict")
    assert rendered.text is not None
    assert rendered.text.text == "Returns take 14 days."
    assert rendered.dropped == (misplaced.text,)


def test_the_numbers_that_were_refused_are_told() -> None:
    """They keep a snippet that shows them out of a refusal."""
    assert [token.text for token in render_claims([DraftClaim("It costs 349 kr.", (1,))], HITS).refused] == [
        "349 kr"
    ]


def test_a_claim_stays_in_its_line() -> None:
    """White space cannot make a list, a paragraph or a table of it."""
    assert (
        said(DraftClaim("It is so:\n1. 299\tkr\n\n", (1,))) is None
    )  # "1." is a number when it is no marker
    assert said(DraftClaim("It is so:\n- 299\tkr\n\n", (1,))) == "It is so: - 299 kr."


def test_no_number_arises_between_claims() -> None:
    """A claim that makes a number together with the one before it is dropped."""
    first = DraftClaim("Read it in this chapter…", (4,))
    assert said(first, DraftClaim("IV is read there", (4,))) == "Read it in this chapter… IV is read there."
    assert (
        said(DraftClaim("It is for 14", (2,)), DraftClaim("days or more", (2,)))
        == "It is for 14. days or more."
    )
    fenced = said(DraftClaim("See <!-- this.", (1,)), DraftClaim("Or 14 --> that.", (2,)))
    assert fenced is not None
    assert check_numbers(fenced, SNIPPETS).is_supported


PARTS = st.sampled_from(
    [
        "299 kr",
        "14 days",
        "349 kr",
        "14",
        "days",
        "chapter",
        "IV",
        "3-5",
        "minus",
        "<!--",
        "-->",
        "`",
        "| 9 |",
        "1.",
        "**",
    ]
)
CLAIM_TEXTS = st.lists(PARTS, min_size=1, max_size=6).map(" ".join)
DRAWN = st.builds(DraftClaim, CLAIM_TEXTS, st.lists(st.integers(1, 5), max_size=3).map(tuple))


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(DRAWN, max_size=6))
def test_what_is_rendered_stands(claims: Sequence[DraftClaim]) -> None:
    """Whatever the claims, the text passes as a whole on its citations, and each claim is said or dropped."""
    rendered = render_claims(claims, HITS)
    if rendered.text is not None:
        assert check_numbers(rendered.text.text, rendered.text.citations, fill=0).is_supported
    assert len(rendered.dropped) <= len(claims)
    assert (rendered.text is None) is (len(rendered.dropped) == len(claims))
