"""Cutting documents into sections and statements: what stands together, what can be cited, and with what above it."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.ports.search import Snippet
from agent.retrieval.sections import (
    CONTEXT_CHARACTERS,
    PASSAGE_SNIPPETS,
    SECTION_CHARACTERS,
    SNIPPET_LINES,
    STATEMENT_CHARACTERS,
)
from agent.retrieval.snippets import SNIPPET_CHARACTERS

from . import sections, statements

PRICES = """# Prices

Intro here.

## Plans

| Plan | Price per month |
| --- | --- |
| Basic | 149 kr |
| Standard | 299 kr |

The plan includes:

- the app
- support, which
  is free
  - by phone

### More

Text.
"""


def find(text: str, said: str) -> Snippet:
    """Return the statement that begins so."""
    return next(snippet for snippet in statements(text) if snippet.plain_text.startswith(said))


def test_sections_follow_the_headings() -> None:
    """A section is the part under one heading and knows the headings above it."""
    found = sections(PRICES, "kb/pricing.md")
    assert [section.headings for section in found] == [
        ("Prices",), ("Prices", "Plans"), ("Prices", "Plans", "More"),
    ]  # fmt: skip
    assert [len(section.snippets) for section in found] == [1, 6, 1]
    assert {section.file for section in found} == {"kb/pricing.md"}
    assert all(snippet.headings == section.headings for section in found for snippet in section.snippets)


def test_headings_are_plain_text() -> None:
    """Marks of emphasis, code and links are not part of a heading."""
    assert sections("# The *best* [plan](x.md) `now`\ntext")[0].headings == ("The best plan now",)


def test_a_row_is_shown_after_its_header_and_says_what_its_cells_are() -> None:
    """Its lines are its own; the header itself is no statement."""
    row = find(PRICES, "Standard")
    assert row == Snippet(
        file="kb/a.md",
        text="| Plan | Price per month |\n| Standard | 299 kr |",
        first=10,
        last=10,
        plain_text="Standard; Price per month: 299 kr",
        kind="row",
        lead="",
        headings=("Prices", "Plans"),
    )
    assert not [snippet for snippet in statements(PRICES) if snippet.first == 7]


def test_an_item_knows_what_leads_to_it() -> None:
    """The line before its list, an inner one the item that it is part of; one of two lines is cited with both."""
    item, inner = find(PRICES, "support"), find(PRICES, "by phone")
    assert (item.text, item.plain_text) == ("- support, which\n  is free", "support, which is free")
    assert (item.kind, item.lead, inner.lead) == ("item", "The plan includes:", "support, which is free")


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        ("Both:\n\n- one\n  - inner\n- two\n", "Both:"),
        ("Both:\n\n- one\n\n  Inner:\n  - inner\n", "Inner:"),
        ("Both:\n\n***\n\n- one\n", ""),
        ("Both:\n\n> - one\n", "Both:"),
        ("Both.\n\n- one\n", ""),
    ],
)
def test_an_item_is_led_into_by_the_line_before_its_own_list(text: str, lead: str) -> None:
    """Also the one after an inner list, and by no line before something else."""
    assert statements(text)[-1].lead == lead


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\n", [(1, 1, "one")]),
        ("One is.\nTwo\nis. Three is.\n", [(1, 1, "One is."), (2, 3, "Two is."), (3, 3, "Three is.")]),
        ("one\ntwo\nthree\nfour\n", [(1, 3, "one two three four")]),
        ("a\r\nb\r\n\r\nc\rd\n", [(1, 2, "a b"), (4, 5, "c d")]),
        ("```\none\n\ntwo\nthree\n```\nafter\n", [(2, 4, "one\n\ntwo"), (5, 5, "three"), (7, 7, "after")]),
        ("---\ntitle: 3\n---\n# H\ntext\n", [(5, 5, "text")]),
        ("> quoted\n> twice\n", [(1, 2, "quoted twice")]),
        ("1. one\n   - inner\n2. two\n", [(1, 1, "one"), (2, 2, "inner"), (3, 3, "two")]),
        ("| A |\n| - |\n| b |\n", [(3, 3, "b")]),
        ("# Only\n## headings\n", []),
        ("***\n\n[a]: http://x\n", []),
        ("", []),
    ],
)
def test_a_statement_is_a_sentence_an_item_a_row_or_code(
    text: str, expected: list[tuple[int, int, str]]
) -> None:
    """With the one to three lines that it stands on; what is no content is none."""
    assert [(each.first, each.last, each.plain_text) for each in statements(text)] == expected


def test_a_long_part_is_cut_where_a_paragraph_ends() -> None:
    """Into sections of one heading path, in the order of the file, none much longer than the bound."""
    paragraphs = [f"Paragraph {n}. " + "It says a few things about zebras. " * 8 for n in range(30)]
    found = sections("# Zebras\n\n" + "\n\n".join(paragraphs))
    assert len(found) > 3
    assert {section.headings for section in found} == {("Zebras",)}
    firsts = [[snippet.first for snippet in section.snippets] for section in found]
    assert all(one[-1] < other[0] for one, other in pairwise(firsts))
    for section in found:
        assert sum(len(snippet.plain_text) for snippet in section.snippets) <= SECTION_CHARACTERS


@pytest.mark.parametrize("marks", ["- ", "| "])
def test_a_list_stays_whole_with_what_leads_to_it(marks: str) -> None:
    """Where the section is full before it, the line that leads into it goes with it."""
    end = " |" if marks == "| " else ""
    rows = [f"{marks}zebra number {n} of them all{end}" for n in range(20)]
    header = ["| which |", "| --- |"] if end else []
    filler = [f"Filler {n} says little about anything that is asked here." for n in range(24)]
    text = "\n\n".join([*filler, "These there are:", "\n".join([*header, *rows])])
    before, after = sections(text)
    assert [snippet.plain_text for snippet in before.snippets] == filler
    assert [snippet.plain_text.split()[0] for snippet in after.snippets] == ["These", *["zebra"] * 20]


def test_a_longer_list_is_cut_between_its_items() -> None:
    """What a turn looks through of one section is bounded, in statements too."""
    found = sections("Them:\n\n" + "".join(f"- zebra number {n}\n" for n in range(400)))
    assert len(found) > 3
    assert sum(len(section.snippets) for section in found) == 401
    assert {snippet.lead for section in found for snippet in section.snippets[1:]} == {"Them:"}
    short = sections("Them:\n\n" + "- z\n" * 400)
    assert max(len(section.snippets) for section in short) == PASSAGE_SNIPPETS


def test_a_paragraph_on_one_line_is_several_statements() -> None:
    """Each is shown as that part of its line which it was read from, marks and addresses as they stand."""
    sentences = [
        f"Zebra **{n}** lives [in a house](http://example.com/{n}) with {n} doors." for n in range(40)
    ]
    found = statements(" ".join(sentences))
    assert [snippet.text for snippet in found] == sentences
    assert found[7].plain_text == "Zebra 7 lives in a house with 7 doors."
    assert {(snippet.first, snippet.last) for snippet in found} == {(1, 1)}


def test_a_short_line_is_shown_whole() -> None:
    """What stands beside a statement on its line helps to read it."""
    one, two = statements("A zebra eats. It costs 5 kr.")
    assert one.text == two.text == "A zebra eats. It costs 5 kr."
    assert (one.plain_text, two.plain_text) == ("A zebra eats.", "It costs 5 kr.")


def test_a_sentence_on_more_lines_than_are_shown_is_shown_in_plain_words() -> None:
    """A snippet shows every word of its statement; its lines are the first three."""
    (found,) = statements("A zebra\n**eats**\ngrass\nall day\n")
    assert (found.text, found.first, found.last) == ("A zebra eats grass all day", 1, 3)


def test_an_endless_sentence_is_several_statements() -> None:
    """Each is bounded, and nothing of it is lost."""
    text = "zebra, okapi and quagga " * 400
    found = statements(text)
    assert all(len(each.plain_text) <= STATEMENT_CHARACTERS for each in found)
    assert all(len(each.text) <= SNIPPET_CHARACTERS for each in found)
    assert " ".join(each.plain_text for each in found).split() == text.split()


def test_a_row_with_many_words_is_several_statements() -> None:
    """Each shows all its words, also those of a header that is too long to be shown."""
    name = "name " * 200
    found = statements(f"| {name} | b |\n| --- | --- |\n| x | {'zebra ' * 500}|\n")
    assert len(found) > 2
    for each in found:
        assert len(each.text) <= SNIPPET_CHARACTERS
        assert set(each.plain_text.split()) <= set(each.text.split())


def test_what_stands_above_a_statement_is_bounded() -> None:
    """A lead and headings as long as the file are not kept with each of its items."""
    name = "name " * 2000
    for each in statements(f"# {name}\n\n{name}:\n\n- one\n- two\n"):
        assert len(each.lead) <= CONTEXT_CHARACTERS
        assert all(len(heading) <= 200 for heading in each.headings)


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("kb/sv/a.md", "| A | 299 kr |\n| --- | --- |\n| B | 3 |", "sv"),
        ("kb/en/a.md", "Detta är svenska.", "en"),
        ("kb/a.md", "---\nlang: sv-SE\n---\nDetta 5.", "sv"),
        ("kb/en/a.md", "---\nlang: sv\n---\n5", "sv"),
        ("kb/a.md", "Detta är svenska.", "sv"),
        ("kb/a.md", "299 kr", "en"),
        ("kb/a.md", "Det här är på svenska.\n\n# X\n\n299 kr", "sv"),
        (
            "kb/a.md",
            "Det här är på svenska, och det är det mesta också.\n\n# X\n\nThis part is in English.",
            "en",
        ),
    ],
)
def test_the_language_of_a_section(file: str, text: str, expected: str) -> None:
    """Front matter says it, else the folder, else the section, else its file, else it is English."""
    assert sections(text, file)[-1].lang == expected


BLOCKS = st.sampled_from(
    [
        "word", "A sentence. And more.", "# Title", "## Part 2", "- item", "  - nested item", "1. first", "> quote",
        "| a | b |", "| --- | --- |", "| 1 | 2 |", "```", "    code", "---", "===", "", "<p>", "Lead:",
        "\u2028odd\x0bspace\x0c", "\ttab",
    ]
)  # fmt: skip


@given(st.lists(st.tuples(BLOCKS, st.sampled_from(["\n", "\r\n", "\r"])), max_size=40))
@example([("- # x", "\n"), ("===", "\n")])
@example([("a", "\r"), ("b", "\r\n"), ("", "\r"), ("c", "\n")])
def test_snippets_are_lines_at_their_numbers(rows: list[tuple[str, str]]) -> None:
    """One to three of them, in order, a row after its header's line; what stands on more is told in plain words."""
    text = "".join(line + end for line, end in rows)
    lines = re.split(r"\r\n|\r|\n", text)
    last = 0
    for snippet in statements(text):
        shown = "\n".join(lines[snippet.first - 1 : snippet.last])
        header, _, row = snippet.text.partition("\n")
        if snippet.text == snippet.plain_text != shown:
            assert not set(snippet.plain_text.split()) <= set(shown.split())
        else:
            assert snippet.text == shown or (snippet.kind == "row" and row == shown and header in lines)
        assert 1 <= snippet.last - snippet.first + 1 <= SNIPPET_LINES
        assert last <= snippet.first
        last = snippet.first


@given(st.lists(BLOCKS.filter(lambda line: line not in ("---", "===", "<p>")), max_size=40))
def test_no_word_is_lost(lines: list[str]) -> None:
    """Every word of the file is said by a statement, or is a heading or a table's header."""
    text = "\n".join(lines)
    found = statements(text)
    told = " ".join(
        [*(f"{each.plain_text} {each.lead} {each.text}" for each in found), "Title Part Lead | a b"]
    )
    assert set(re.findall(r"\w+", text)) - {"2", "1"} <= set(re.findall(r"\w+", told))
