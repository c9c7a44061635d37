"""The verdict on a draft: citations first, then every number against them alone."""

import pytest

from agent.grounding.evidence import evidence_of
from agent.grounding.verify import check_numbers, confidence_of, snippets_of, verify, verify_in_steps
from agent.ports.search import Hit, Passage, Snippet


def hit(text: str, score: float = 0.8, first: int = 1, file: str = "kb/a.md") -> Hit:
    """Return a hit on a snippet of one or more lines."""
    snippet = Snippet(file=file, text=text, first=first, last=first + text.count("\n"))
    return Hit(snippet, Passage(file, ("A",), "en", (snippet,)), score)


def test_passes_with_citations() -> None:
    """A supported draft becomes a text that cites the snippet which holds its number."""
    hits = [
        hit("Shipping is free.", 0.9),
        hit("Basic costs 149 kr.", 0.7, 2),
        hit("x", 0.3, 3),
        hit("y", 0.2, 4),
    ]
    verdict = verify("Basic costs 149 kr.", hits)
    assert verdict.text is not None
    assert verdict.text.text == "Basic costs 149 kr."
    assert [c.first for c in verdict.text.citations] == [2]
    assert [(c.text, c.kind, c.value, c.supported_by) for c in verdict.checks] == [
        ("149 kr", "money", "149 SEK", 0)
    ]
    assert verdict.text.blocked is None


def test_blocks_and_says_where() -> None:
    """A draft with an unsupported number has no text, and tells which number and where."""
    draft = "Basic costs 149 kr. Premium costs 999 kr."
    verdict = verify(draft, [hit("Basic costs 149 kr.")])
    assert verdict.text is None
    assert not verdict.is_supported
    assert [draft[c.start : c.end] for c in verdict.unsupported_checks] == ["999 kr"]
    assert [t.value for t in verdict.refused] == ["999 SEK"]


def test_no_hits_support_nothing() -> None:
    """Without hits a draft without numbers passes and one with a number does not."""
    assert verify("Hello.", []).text is not None
    assert verify("Hello 5.", []).text is None


def test_duplicates_are_cited_once() -> None:
    """The same snippet found twice is one citation."""
    verdict = verify("149 kr", [hit("149 kr"), hit("149 kr"), hit("x", first=9)])
    assert [c.first for c in verdict.citations] == [1]


def test_statements_of_the_same_lines_are_one_citation() -> None:
    """Two sentences that stand in the same lines are cited with the same lines, and so once."""
    lines = "The trial is free. It takes\n14 days and ends by itself."
    found = [
        Snippet(file="kb/a.md", text=lines, first=3, last=4, plain_text=said)
        for said in ("The trial is free.", "It takes 14 days and ends by itself.")
    ]
    hits = [Hit(each, Passage("kb/a.md", (), "en", tuple(found)), 0.9) for each in found]
    verdict = verify("The trial is free. It takes 14 days and ends by itself.", hits)
    assert verdict.citations == (found[0],)
    assert [each.supported_by for each in verdict.checks] == [0]


def test_cites_what_the_answer_uses() -> None:
    """The snippet that says most of each sentence, be it one or many; and one hit at least, whatever it says."""
    hits = [
        hit("The trial is free.", first=1),
        hit("Batteries last three years.", first=2),
        hit("The keypad takes two batteries, type AA.", first=3),
        hit("A siren costs 449 kr.", first=4),
    ]
    assert [c.first for c in verify("A siren costs 449 kr.", hits).citations] == [4]
    assert [c.first for c in verify("The trial is free.", hits).citations] == [1]
    answer = "The keypad takes two batteries. A siren costs 449 kr. Hello there! The trial is free."
    assert [c.first for c in verify(answer, hits).citations] == [1, 3, 4]
    assert [c.first for c in verify("Hello there!", hits).citations] == [1]


def test_a_citations_heading_is_evidence() -> None:
    """A number that only a heading holds is supported where the citation shows it, and refused where it does not."""
    shows = Snippet(
        file="kb/a.md",
        text="The siren has a new battery.",
        first=5,
        last=5,
        headings=("Changes", "Version 2.5"),
    )
    hides = Snippet(file="kb/a.md", text="The siren has a new battery.", first=5, last=5)
    said = "Since version 2.5 the siren has a new battery."
    passage = Passage("kb/a.md", ("Changes", "Version 2.5"), "en", (shows,))
    assert verify(said, [Hit(shows, passage, 0.9)]).text is not None
    assert [t.text for t in verify(said, [Hit(hides, passage, 0.9)]).refused] == ["2.5"]


def test_a_heading_and_a_line_make_no_number_together() -> None:
    """Neither what ends a snippet nor what begins its headings goes on in the other."""
    apart = Snippet(
        file="kb/a.md", text="It takes 14", first=2, last=2, headings=("kr and more", "Level 2", "50 or so")
    )
    hit = Hit(apart, Passage("kb/a.md", apart.headings, "en", (apart,)), 0.9)
    assert verify("It takes 14.", [hit]).is_supported
    for said in ("It takes 14 kr.", "It is level 250.", "It is level 2.50.", "It takes 14-50."):
        assert not verify(said, [hit]).is_supported, said


def test_two_numbers_in_two_snippets() -> None:
    """Each number may stand in a citation of its own; no number is put together from two."""
    hits = [hit("9 dagar"), hit("99 kr", first=2)]
    assert [c.supported_by for c in verify("9 dagar, 99 kr", hits).checks] == [0, 1]
    assert verify("999 kr", hits).text is None


def test_a_range_needs_one_snippet() -> None:
    """Two lone numbers make a range only within one snippet."""
    assert verify("149–299 kr", [hit("149 kr. 299 kr.")]).text is not None
    assert verify("149–299 kr", [hit("149 kr."), hit("299 kr.", first=2)]).text is None


def test_markers_become_bullets() -> None:
    """List markers are rendered as bullets, a heading of a step too, and a mention loses its number."""
    draft = "Do this:\n1. Open.\n2. Pay 149 kr.\n\nStep 1: Rest\n**Step 2:** Repeat step 1, steps 1 and 2.\n"
    verdict = verify(draft, [hit("149 kr")])
    expected = "Do this:\n- Open.\n- Pay 149 kr.\n\n- Rest\n- Repeat that step, those steps.\n"
    assert verdict.text is not None
    assert verdict.text.text == expected


@pytest.mark.parametrize(
    ("draft", "said"),
    [
        ("**1.** Bas\n**2.** Mer", "- Bas\n- Mer"),
        ("**1. Bas**\n**2. Mer**", "- **Bas**\n- **Mer**"),
        ("1) Bas\n  1) Mindre\n2) Mer", "- Bas\n  - Mindre\n- Mer"),
        ("## Steg 1\nÖppna", "## \nÖppna"),
        ("Gör om steg 1.\nSteg 1: Öppna", "Gör om det steget.\n- Öppna"),
        ("- 1. Bas", "- Bas"),
        ("7. Bas", "7. Bas"),
        ("1.5 kg\n12. december", "1.5 kg\n12. december"),
    ],
)
def test_layout(draft: str, said: str) -> None:
    """Only markers that count up from 1 are layout."""
    assert check_numbers(draft, ()).said == said


def test_confidence() -> None:
    """Confidence is high on a good score with words that the citations hold, low on either being poor."""
    cited = [Snippet(file="kb/a.md", text="The standard plan costs 149 kr each month", first=1, last=1)]
    said = "The standard plan costs 149 kr"
    assert confidence_of(said, cited, 0.9) == "high"
    assert confidence_of(said, cited, 0.4) == "med"
    assert confidence_of(said, cited, 0.1) == "low"
    assert confidence_of("Something entirely different altogether", cited, 0.9) == "low"
    assert confidence_of("149", cited, 0.9) == "high"
    assert verify(said, [hit(cited[0].text)], confidence="low").text is not None


@pytest.mark.parametrize(("file", "confidence"), [("kb/a.md", "high"), ("memory/i1", "med")])
def test_what_was_only_recalled_is_not_sure(file: str, confidence: str) -> None:
    """The score of memory tells that it was the message which was meant, and not that it answers."""
    text = verify("I live in Graz.", [hit("I live in Graz.", 0.95, file=file), hit("x", 0.2)]).text
    assert text is not None
    assert text.confidence == confidence


def test_passages_are_blocks() -> None:
    """Each block between blank lines is a snippet, with its lines."""
    found = snippets_of("a 1\nb\n\n\n c 2 \r\n\r\nd\n", "p")
    assert [(s.text, s.first, s.last) for s in found] == [("a 1\nb", 1, 2), (" c 2 ", 5, 5), ("d", 7, 7)]
    assert snippets_of(" \n\n ") == ()


def test_evidence_is_kept() -> None:
    """A snippet that was read before is not read again."""
    assert evidence_of("kept 42 kr") is evidence_of("kept 42 kr")


def test_headings_and_headers_cover_a_row() -> None:
    """What stands above a table's row counts for coverage, so that a row alone can make an answer sure."""
    row = "| Standard | 299 kr |"
    said = "The monthly subscription fee of the Standard plan is 299 kr."
    sure = []
    for shows, headings in ((f"| Plan | Monthly fee |\n{row}", ("Subscriptions",)), (row, ())):
        snippet = Snippet(file="kb/a.md", text=shows, first=5, last=5, kind="row", headings=headings)
        verdict = verify(said, [Hit(snippet, Passage("kb/a.md", headings, "en", (snippet,)), 0.9)])
        text = verdict.text
        assert text is not None
        sure.append(text.confidence)
    assert sure == ["high", "low"]


def test_a_verdict_reads_only_the_evidence_that_the_draft_uses() -> None:
    """The statement that a draft quotes is enough; a number that stands elsewhere has all of them read."""
    snippets = [
        Snippet(file="kb/a.md", text=text, first=1, last=1, plain_text=text)
        for text in ("Setup takes 2 days.", "Delivery costs 49 kr.", "Returns close after 30 nights.")
    ]
    hits = [Hit(each, Passage("kb/a.md", (), "en", tuple(snippets)), 0.9) for each in snippets]
    for draft, read in (("Delivery costs 49 kr.", 1), ("It is 30 nights.", 3), ("Delivery costs 50 kr.", 3)):
        assert len(list(verify_in_steps(draft, hits))) == read, draft
    assert [verify(each, hits).is_supported for each in ("It is 30 nights.", "Delivery costs 50 kr.")] == [
        True,
        False,
    ]


def test_rates_are_compared_from_the_first_snippet_that_states_one() -> None:
    """Also for numbers that were looked for in snippets without a rate before; those support any rate."""
    bare, monthly, yearly = (
        hit(text, first=line)
        for line, text in enumerate(
            ("Setup costs 99 kr.", "Basic costs 149 kr per month.", "Basic costs 149 kr per year."), 1
        )
    )
    said = "Setup costs 99 kr per month. Basic costs 149 kr per month."
    assert verify(said, [bare, monthly]).is_supported
    assert verify(said, [monthly, bare]).is_supported
    for hits in ([bare, yearly], [yearly, bare]):
        assert [(token.text, sorted(token.rate)) for token in verify(said, hits).refused] == [
            ("149 kr", ["month"])
        ]
