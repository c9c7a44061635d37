"""What was checked is what is cited: each number stands in the very citation that is said to support it."""

from agent.grounding.verify import check_numbers, verify
from agent.numbers.number_tokens import TOO_MANY
from agent.ports.search import Hit, Passage, Snippet

TEXTS = (
    "Basic costs 101 kr.",
    "Plus costs 202 kr.",
    "Pro costs 303 kr.",
    "Max costs 404 kr.",
    "Ultra costs 505 kr.",
)


def hits() -> list[Hit]:
    """Five hits, a number in each."""
    snippets = tuple(
        Snippet(file="kb/a.md", text=text, first=line, last=line) for line, text in enumerate(TEXTS, 1)
    )
    passage = Passage("kb/a.md", ("Prices",), "en", snippets)
    return [Hit(snippet, passage, 0.9) for snippet in snippets]


def test_each_number_stands_in_the_citation_that_supports_it() -> None:
    """Also when the best hits are not the ones that hold the numbers."""
    verdict = verify("Basic costs 101 kr, Max 404 kr and Ultra 505 kr.", hits())
    assert verdict.text is not None
    cited = [each.text for each in verdict.text.citations]
    assert cited == [TEXTS[0], TEXTS[3], TEXTS[4]]
    assert len(verdict.checks) == 3
    for each in verdict.checks:
        assert each.supported_by in [place for place, text in enumerate(cited) if each.text in text]


def test_of_too_many_numbers_none_is_looked_at() -> None:
    """A text with more tokens than the limit is refused for that alone: nothing of it is checked or cited."""
    verdict = check_numbers("It costs 101 kr. " * (TOO_MANY + 1), [hit.snippet for hit in hits()])
    assert (verdict.is_supported, verdict.citations) == (False, ())
    assert [(each.kind, each.value) for each in verdict.checks] == [("unread", "too many")]
