"""What the model is told after a draft that did not stand."""

import pytest

from agent.answering.prompts import (
    asks_back,
    explain_redraft,
    explain_unparsed,
    fit_hits,
    make_instructions,
    strip_ask_mark,
)
from agent.config import CHARACTERS_PER_TOKEN
from agent.numbers.number_tokens import tokens
from agent.ports.draft import DraftForm
from agent.ports.search import Hit, Lang, Passage, Snippet


def added(draft: str, wrong: str, lang: Lang = "en") -> list[str]:
    """Return the sentences quoted, when every token whose text is in `wrong` was refused."""
    text = explain_redraft(lang, draft, [token for token in tokens(draft) if token.text in wrong.split("|")])
    _, *quoted = text.split("\n")
    return [line.removeprefix("- ") for line in quoted]


def test_only_the_sentences_that_failed_are_quoted() -> None:
    """A sentence without a refused number is not repeated."""
    draft = "It is 299 kr. Delivery takes 14 days! Call us.\nOr wait 20 days"
    assert added(draft, "14 days|20 days") == ["Delivery takes [...]!", "Or wait [...]"]


def test_every_number_is_taken_out() -> None:
    """Also numbers that were right, and those written as words."""
    assert added("Pay 299 kr in fourteen days.", "299 kr") == ["Pay [...] in [...]."]


def test_a_sentence_is_quoted_once_and_few_are() -> None:
    """Two refused numbers of a sentence quote it once; three sentences are enough."""
    assert added("It is 299 kr or 349 kr.", "299 kr|349 kr") == ["It is [...] or [...]."]
    many = " ".join(f"In {name} it is {n} kr." for n, name in enumerate("abcdef", 110))
    assert len(added(many, "|".join(f"{n} kr" for n in range(110, 116)))) == 3


def test_a_long_sentence_is_cut() -> None:
    """A sentence without an end does not fill the prompt."""
    assert len(added("It is 299 kr " + "and on " * 500, "299 kr")[0]) <= 300


@pytest.mark.parametrize("lang", ["en", "sv"])
@pytest.mark.parametrize("form", ["text", "claims"])
@pytest.mark.parametrize("clarify", [True, False])
def test_the_instructions_hold_no_number(lang: Lang, form: DraftForm, clarify: bool) -> None:
    """Nothing that the model is told could be repeated as a number."""
    assert not tokens(make_instructions(lang, form, clarify))
    assert not tokens(explain_redraft(lang, "It is 299 kr.", tokens("It is 299 kr.")))
    assert not tokens(explain_unparsed(lang))


def test_the_model_is_told_to_ask_back_when_it_may() -> None:
    """Not when that is turned off, and not when claims are asked for, which state what is known."""
    assert "ASK:" in make_instructions("en") and "ASK:" in make_instructions("sv")  # noqa: PT018
    assert "ASK:" not in make_instructions("en", clarify=False)
    assert "ASK:" not in make_instructions("sv", "claims")
    assert "JSON" in make_instructions("sv", "claims")


@pytest.mark.parametrize(
    ("draft", "without"),
    [
        ("ASK: Which plan?", "Which plan?"),
        ("\nASK:Which plan?", "Which plan?"),
        ("I am not sure. ASK: Which plan?", "I am not sure. ASK: Which plan?"),
        ("The mark is ASK: 5", "The mark is ASK: 5"),
        ("TASK: no", "TASK: no"),
        ("You may ask: no", "You may ask: no"),
    ],
)
def test_the_mark_of_a_question_back_is_taken_off(draft: str, without: str) -> None:
    """At the start, and nowhere else: further on it may be quoted from anywhere."""
    assert strip_ask_mark(draft) == without
    assert asks_back(draft) is (draft != without)


def test_the_evidence_keeps_to_its_budget() -> None:
    """The lowest-ranked snippets are left out first; the best one stays, and no budget is no limit."""
    snippets = [
        Snippet(file="kb/a.md", text="x" * CHARACTERS_PER_TOKEN * size, first=1, last=1)
        for size in (4, 3, 2, 1)
    ]
    hits = [Hit(each, Passage("kb/a.md", (), "en", tuple(snippets)), 0.9) for each in snippets]
    assert [len(fit_hits(hits, budget)) for budget in (0, 1, 4, 6, 7, 8, 9, 10, 99)] == [
        4,
        1,
        1,
        1,
        2,
        2,
        3,
        4,
        4,
    ]
    assert fit_hits(hits, 7) == tuple(hits[:2])
    assert fit_hits((), 7) == ()
