"""Claims: what parses, what checks out, and that what is rendered stands as a whole."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.config import DRAFT_MAX
from agent.grounding.claims import CLAIM, CLAIMS, EVIDENCE, Claim, parse, render
from agent.grounding.verify import check
from agent.ports.search import Hit, Passage, Snippet

TEXTS = (
    "Standard costs 299 kr per month.",
    "Returns are free for 14 days.",
    "Call 08-123 45 67.",
    "Fourteen shops and 3-5 days, chapter IV.",
)
SNIPPETS = tuple(Snippet("kb/a.md", text, at, at) for at, text in enumerate(TEXTS, 1))
PASSAGE = Passage("kb/a.md", ("A",), "en", SNIPPETS)
HITS = tuple(Hit(snippet, PASSAGE, 0.9) for snippet in SNIPPETS)
PRICE, RETURNS = Claim("It costs 299 kr", (1,)), Claim("You have 14 days.", (2,))
ONE = {"text": "It costs 299 kr", "evidence": [1]}


def said(*claims: Claim) -> str | None:
    text = render(claims, HITS).text
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
    assert parse(draft) == (PRICE, RETURNS)


@pytest.mark.parametrize("draft", ["[]", " ", "```\n[]\n```"])
def test_no_claims_are_claims(draft: str) -> None:
    """A model that claims nothing is understood."""
    assert parse(draft) == ()


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
    assert parse(draft) is None


# --- rendering


def test_claims_that_check_out_are_sentences() -> None:
    """They come in their order, each with an end, on the snippets that they name."""
    rendered = render([PRICE, RETURNS], HITS)
    assert rendered.text is not None
    assert rendered.text.text == "It costs 299 kr. You have 14 days."
    assert rendered.text.citations == SNIPPETS[:2]
    assert rendered.dropped == ()


@pytest.mark.parametrize(
    "wrong",
    [
        Claim("It costs 349 kr.", (1,)),
        Claim("It costs 299 kr.", (2,)),
        Claim("It costs 299 kr.", ()),
        Claim("It is nice.", ()),
        Claim("It costs 299 kr.", (1, 5)),
        Claim(" \n ", (1,)),
    ],
)
def test_a_claim_that_does_not_check_out_is_dropped(wrong: Claim) -> None:
    """A number that its own evidence does not hold, no evidence, or evidence that does not exist."""
    rendered = render([wrong, RETURNS], HITS)
    assert rendered.text is not None
    assert rendered.text.text == RETURNS.text
    assert rendered.dropped == (" ".join(wrong.text.split()),)
    alone = render([wrong], HITS)
    assert alone.text is None


def test_the_numbers_that_were_refused_are_told() -> None:
    """They keep a snippet that shows them out of a refusal."""
    assert [token.text for token in render([Claim("It costs 349 kr.", (1,))], HITS).refused] == ["349 kr"]


def test_a_claim_stays_in_its_line() -> None:
    """White space cannot make a list, a paragraph or a table of it."""
    assert said(Claim("It is so:\n1. 299\tkr\n\n", (1,))) is None  # "1." is a number when it is no marker
    assert said(Claim("It is so:\n- 299\tkr\n\n", (1,))) == "It is so: - 299 kr."


def test_no_number_arises_between_claims() -> None:
    """A claim that makes a number together with the one before it is dropped."""
    first = Claim("Read it in this chapter…", (4,))
    assert said(first, Claim("IV is read there", (4,))) == "Read it in this chapter… IV is read there."
    assert said(Claim("It is for 14", (2,)), Claim("days or more", (2,))) == "It is for 14. days or more."
    fenced = said(Claim("See <!-- this.", (1,)), Claim("Or 14 --> that.", (2,)))
    assert fenced is not None
    assert check(fenced, SNIPPETS).passed


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
DRAWN = st.builds(Claim, CLAIM_TEXTS, st.lists(st.integers(1, 5), max_size=3).map(tuple))


@settings(max_examples=150, deadline=None)
@given(st.lists(DRAWN, max_size=6))
def test_what_is_rendered_stands(claims: Sequence[Claim]) -> None:
    """Whatever the claims, the text passes as a whole on its citations, and each claim is said or dropped."""
    rendered = render(claims, HITS)
    if rendered.text is not None:
        assert check(rendered.text.text, rendered.text.citations, fill=0).passed
    assert len(rendered.dropped) <= len(claims)
    assert (rendered.text is None) is (len(rendered.dropped) == len(claims))
