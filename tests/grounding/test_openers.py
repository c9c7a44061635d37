"""Questions to begin with: the documents' own headings, without a number, each of which finds something."""

from agent.grounding.openers import OPENERS, find_openers
from agent.ports.search import Lang, Passage, Snippet

SNIPPET = Snippet(file="kb/a.md", text="x", first=1, last=1)


def passage(*headings: str, lang: Lang = "en") -> Passage:
    return Passage("kb/a.md", headings, lang, (SNIPPET,))


FAQ = [passage("FAQ", "Can I return it?"), passage("FAQ", "Who are you?"), passage("FAQ", "Why not now?")]


def test_headings_that_ask_come_first_and_topics_after_them() -> None:
    """Two and one, each once."""
    found = find_openers([*FAQ, *FAQ], ["Shipping", "Prices"], "en", lambda _: True)
    assert found == ("Can I return it?", "Who are you?", "What is there about Shipping?")
    assert len(found) == OPENERS
    assert find_openers((), ["Frakt"], "sv", lambda _: True) == ("Vad finns det om Frakt?",)


def test_no_question_holds_a_number_or_cannot_be_shown() -> None:
    """In digits or in words, of any script; a long one, and one with something that steers, are left out."""
    bad = [
        "What of 30 days?",
        "Is it five kronor?",
        "Why ٣ of them?",
        "Why \x1b[2J it?",
        f"Is {'x' * 80} it?",
        "Why?",
    ]
    topics = ["Top 10", "Two-factor login for three users", "\u202eSteering", "y" * 80, "Is it a question?"]
    assert find_openers([passage("A", each) for each in bad], topics, "en", lambda _: True) == ()


def test_a_question_that_finds_nothing_is_not_offered() -> None:
    """And only a few are tried; another language's headings are none."""
    tried: list[str] = []

    def found(question: str) -> bool:
        tried.append(question)
        return question.startswith("What is there about B")

    topics = ["A", "B", *(f"C{letter}" for letter in "abcdefghijkl")]
    assert find_openers([*FAQ, passage("FAQ", "Varför inte nu?", lang="sv")], topics, "en", found) == (
        "What is there about B?",
    )
    assert len(tried) == 8
    assert not any("Varför" in each for each in tried)
