"""The refusals: their words to the letter, and nothing of what they refuse."""

from dataclasses import replace

from agent.grounding.refusals import model_failed, no_sources, number_mismatch
from agent.grounding.verify import verify
from agent.lang import LANGUAGES
from agent.numbers.number_tokens import tokens
from agent.ports.brain import Blocked
from agent.ports.search import Hit, Passage, Snippet


def hits(*texts: str) -> list[Hit]:
    """Return hits on snippets of one line each, best first."""
    found = [
        Snippet(file="kb/a.md", text=text, first=line, last=line) for line, text in enumerate(texts, start=1)
    ]
    return [Hit(s, Passage("kb/a.md", (), "en", tuple(found)), 0.9 - 0.1 * i) for i, s in enumerate(found)]


def test_no_sources() -> None:
    """The words for an empty search are fixed, the missing full stop included."""
    en, sv = no_sources("en"), no_sources("sv")
    assert en.text == "I couldn't find any references to this in the knowledge base"
    assert sv.text == "Jag hittar inget stöd i kunskapsbasen."
    assert en.blocked is not None
    assert (en.blocked.code, en.citations, sv.citations) == ("no_sources", (), ())
    for lang in LANGUAGES:
        plain, leads = no_sources(lang), [no_sources(lang, "suggested"), no_sources(lang, "noted")]
        assert [each.text.endswith(f"\n\n{plain.text}") for each in leads] == [True, True]
        assert not [each for each in leads if tokens(each.text)]


def test_model_failed() -> None:
    """The words for a failed model are fixed."""
    en, sv = model_failed("en"), model_failed("sv")
    assert en.text == "I can't answer right now. Please try again."
    assert sv.text == "Jag kan inte svara just nu. Försök igen."
    assert sv.blocked is not None
    assert (sv.blocked.code, sv.citations) == ("model_failed", ())


def test_number_mismatch() -> None:
    """The words and the blocked message for a broken number rule are fixed; the best three hits are cited."""
    found = hits("a", "b", "c", "d")
    text = number_mismatch("en", found, ())
    assert text.text == "I cannot verify that"
    assert number_mismatch("sv", found, ()).text == "Jag kan inte verifiera det."
    assert text.blocked == Blocked("number_mismatch", "Verification failed: Number mismatch")
    assert [c.first for c in text.citations] == [1, 2, 3]
    assert text.confidence == "low"


def test_never_cites_the_refused_number() -> None:
    """A hit that shows the refused value in any form, also with another unit, is not cited."""
    found = hits("14 dagar", "9 kr", "fjorton", "14:00", "x", "12-14 kg")
    refused = verify("14 månader", found[:1]).refused
    cited = number_mismatch("sv", found, refused).citations
    assert [c.text for c in cited] == ["9 kr", "14:00", "x"]


def test_never_shows_the_refused_number_in_a_heading() -> None:
    """A hit whose headings show it is not cited either, since a citation shows them."""
    shows = Snippet(file="kb/a.md", text="a", first=1, last=1, headings=("Offers", "The 14 days of May"))
    other = Snippet(file="kb/a.md", text="a", first=1, last=1, headings=("Offers", "The 15 days of May"))
    passage = Passage("kb/a.md", (), "en", (shows, other))
    refused = verify("14 kr", []).refused
    assert number_mismatch("en", [Hit(each, passage, 0.9) for each in (shows, other)], refused).citations == (
        other,
    )


def test_cites_no_snippet_twice() -> None:
    """The same snippet found twice is one citation."""
    found = hits("a", "b")
    assert len(number_mismatch("en", [*found, *found], ()).citations) == 2
    same = [
        Hit(
            replace(each.snippet, first=1, last=1, text="a b", plain_text=each.snippet.text),
            each.passage,
            0.9,
        )
        for each in found
    ]
    assert len(number_mismatch("en", same, ()).citations) == 1
