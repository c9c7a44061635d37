"""Candidates for opening questions: the questions that stand in the documents, in their own words."""

import pytest

from agent.grounding.openers import find_questions
from agent.ports.search import Lang, Passage, Snippet
from agent.retrieval.packed_sections import ShelvedStatements, shelve


def passage(heading: str, *statements: str, lang: Lang = "en") -> Passage:
    snippets = [Snippet(file="kb/a.md", text=each, first=1, last=1, plain_text=each) for each in statements]
    return Passage("kb/a.md", ("FAQ", heading), lang, tuple(snippets))


def texts(*passages: Passage, lang: Lang = "en") -> list[str]:
    return [each.text for each in find_questions(passages, lang)]


def test_headings_that_ask_are_taken_as_they_are() -> None:
    """Of the language alone, and with the section that should answer."""
    found = list(find_questions([passage("Can I return it by mail?"), passage("Who pays the return?")], "en"))
    assert [(each.text, each.headings[-1]) for each in found] == [("Who pays the return?",) * 2]
    assert texts(passage("Får jag tillbaka pengarna?", lang="sv"), lang="sv") == [
        "Får jag tillbaka pengarna?"
    ]
    assert texts(passage("Får jag tillbaka pengarna?", lang="sv")) == []


def test_no_heading_is_made_into_a_question() -> None:
    """A topic, an offer and an exclamation are none, and neither is a question that names nothing by itself."""
    for heading in (
        "Shipping",
        "Need help?",
        "Ready to order?",
        "Using a root domain?",
        "How does it work?",
        "Why?",
        "What about these plans?",
        "Villaägarna — What does a roof cost?",
        "What is new? And why?",
    ):
        assert texts(passage(heading)) == [], heading


def test_statements_that_ask_are_taken_where_another_follows() -> None:
    """With or without a mark, which is left out; the last statement of a section has no answer below it."""
    asked = passage("Payment", "Q: Which cards do you accept?", "A: Visa.", "Is cash accepted?", "No.")
    assert texts(asked) == ["Which cards do you accept?", "Is cash accepted?"]
    assert texts(passage("Payment", "We take cards.", "Which cards do you accept?")) == []
    assert texts(passage("Q. Which cards do you accept?")) == ["Which cards do you accept?"]


def test_statements_without_a_question_mark_are_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start would make objects of all statements of a large folder; those of a section that asks are found."""
    asks = shelve(passage("Payment", "Which cards do you accept?", "Visa."))
    tells = shelve(passage("Payment", "We take cards.", "Visa too."))
    loaded: list[object] = []
    load = ShelvedStatements.load_snippets

    def note(shelved: ShelvedStatements) -> tuple[Snippet, ...]:
        loaded.append(shelved)
        return load(shelved)

    monkeypatch.setattr(ShelvedStatements, "load_snippets", note)
    assert texts(tells, asks) == ["Which cards do you accept?"]
    assert loaded == [asks.held]


def test_no_question_holds_a_number_or_cannot_be_shown() -> None:
    """In digits or in words, of any script; a long one, and one with something that steers, are left out."""
    for heading in (
        "What happens after 30 days?",
        "Is it five kronor?",
        "Why are there ٣ plans?",
        "Why \x1b[2J plans?",
        "Which \u202e plans?",
        f"Is {'plan ' * 20}good?",
        "What is [X]?",
        "What is <b>plan</b>?",
    ):
        assert texts(passage(heading)) == [], heading
