"""The sources of an answer: one number for each section, in the order of their use, and their parts of the text."""

from agent.ports.brain import Blocked, VerifiedText
from agent.ports.search import Snippet
from agent.session.cited_sources import CitedSources


def row(line: int, said: str, section: str = "Plans") -> Snippet:
    return Snippet(file="kb/a.md", text=said, first=line, last=line, plain_text=said, headings=(section,))


BASIC, STANDARD = row(3, "Basic costs 149 kr."), row(4, "Standard costs 299 kr.")
FREE, UNUSED = row(9, "Returns are free.", "Returns"), row(12, "Doors open at 8.", "Hours")


def taken(text: str, *cited: Snippet) -> VerifiedText:
    """Return a verified text, with the places at which it says the snippets."""
    places = tuple(
        ((text.index(each.plain_text), text.index(each.plain_text) + len(each.plain_text)),)
        if each.plain_text in text
        else ()
        for each in cited
    )
    return VerifiedText(text=text, citations=cited, confidence="high", places=places)


def test_a_section_has_one_number_and_what_the_answer_uses_is_counted_first() -> None:
    """However many of its lines are cited, and in whatever order."""
    text = "Returns are free. Standard costs 299 kr. Basic costs 149 kr."
    sources = CitedSources([taken(text, UNUSED, BASIC, STANDARD, FREE)])
    assert [(each.file, each.lines, each.source, each.spans) for each in sources.collect()] == [
        ("kb/a.md", (12, 12), 3, ()),
        ("kb/a.md", (3, 3), 2, ((41, 60),)),
        ("kb/a.md", (4, 4), 2, ((18, 40),)),
        ("kb/a.md", (9, 9), 1, ((0, 17),)),
    ]


def test_the_parts_are_counted_in_the_whole_text() -> None:
    """In code points, of an answer that is streamed text by text; a line that is cited again has both of its parts."""
    sources = CitedSources()
    assert sources.add_text(taken("🙂 Returns are free. ", FREE)) == ((19, (1,)),)
    assert sources.add_text(taken("Basic costs 149 kr. Returns are free.", BASIC, FREE)) == (
        (19, (2,)),
        (37, (1,)),
    )
    free, basic = sources.collect()
    assert (free.source, free.spans, basic.source, basic.spans) == (1, ((2, 19), (40, 57)), 2, ((20, 39),))


def test_a_refusal_takes_nothing_from_its_sources() -> None:
    """They are the nearest that there are, and none of its words is theirs."""
    sources = CitedSources()
    blocked = Blocked("number_mismatch", "No.")
    assert (
        sources.add_text(
            VerifiedText(text="Returns are free.", citations=(FREE,), confidence="low", blocked=blocked)
        )
        == ()
    )
    assert [(each.source, each.spans) for each in sources.collect()] == [(1, ())]
