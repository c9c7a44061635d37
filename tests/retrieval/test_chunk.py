"""Cutting markdown into passages and snippets: exact lines, each once, with the context to find them by."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.config import SNIPPET_LINES
from agent.retrieval.chunk import Piece, chunk


def spans(text: str, file: str = "kb/a.md") -> list[tuple[int, int]]:
    """Return the line numbers of the snippets of a text."""
    return [(piece.snippet.first, piece.snippet.last) for piece in chunk(file, text)]


def find(pieces: tuple[Piece, ...], start: str) -> Piece:
    """Return the piece whose text starts so."""
    return next(piece for piece in pieces if piece.snippet.text.startswith(start))


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

### More

Text.
"""


def test_passages_follow_the_headings() -> None:
    """A passage is the part under one heading and knows the headings above it."""
    passages = dict.fromkeys(piece.passage for piece in chunk("kb/pricing.md", PRICES))
    assert [passage.headings for passage in passages] == [
        ("Prices",),
        ("Prices", "Plans"),
        ("Prices", "Plans", "More"),
    ]
    assert [len(passage.snippets) for passage in passages] == [1, 6, 1]


def test_rows_and_items_are_snippets_of_their_own() -> None:
    """A table row and a list item are cited by themselves, an item of two lines with both."""
    texts = [piece.snippet.text for piece in chunk("kb/pricing.md", PRICES)]
    assert "| Standard | 299 kr |" in texts
    assert "- the app" in texts
    assert "- support, which\n  is free" in texts


def test_context_names_what_a_snippet_cannot() -> None:
    """A row has its header, an item the line that leads into its list, both their headings and the file's name."""
    pieces = chunk("kb/opening-hours.md", PRICES)
    row, item = find(pieces, "| Standard"), find(pieces, "- the app")
    assert (row.above, row.context) == ("opening hours . Prices", "Plans . Plan . Price per month")
    assert item.context == "Plans . The plan includes:"


def test_a_table_header_answers_only_with_a_number() -> None:
    """A header row can be cited but is not searched, unless it holds a number."""
    header = find(chunk("kb/a.md", PRICES), "| Plan |")
    assert not header.searchable
    assert find(chunk("kb/a.md", "| Price 2026 |\n| --- |\n| 3 |\n"), "| Price").searchable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\n", [(1, 1)]),
        ("one\ntwo\nthree\n", [(1, 3)]),
        ("one\ntwo\nthree\nfour\n", [(1, 3), (4, 4)]),
        ("one.\ntwo\nthree\nfour\n", [(1, 1), (2, 4)]),
        ("one\ntwo.\nthree\nfour\nfive.\n", [(1, 2), (3, 5)]),
        ("one\n\ntwo\n", [(1, 1), (3, 3)]),
        ("a\r\nb\r\n\r\nc\rd\n", [(1, 2), (4, 5)]),
        ("```\none\n\ntwo\nthree\nfour\nfive\n```\nafter\n", [(2, 2), (4, 6), (7, 7), (9, 9)]),
        ("~~~\nnever closed\n", [(2, 2)]),
        ("    code\n    more\n", [(1, 2)]),
        ("---\ntitle: 3\n---\n# H\ntext\n", [(5, 5)]),
        ("---\ntitle\n...\ntext\n", [(4, 4)]),
        ("---\nno end\n", [(2, 2)]),
        ("# 1. Chapter\n## Open 24 hours\ntext\n", [(2, 2), (3, 3)]),
        ("Price 5\n=======\ntext\n", [(1, 1), (3, 3)]),
        ("- # Heading in a list\n", [(1, 1)]),
        ("> quoted\n> twice\n", [(1, 2)]),
        ("1. one\n   - inner\n2. two\n", [(1, 1), (2, 2), (3, 3)]),
        ("<!-- note -->\n\n<div>\nhtml\n</div>\n", [(3, 5)]),
        ("***\n\n[a]: http://x\n", []),
        ("", []),
    ],
)
def test_the_lines_of_snippets(text: str, expected: list[tuple[int, int]]) -> None:
    """Blocks are cut to one to three lines, at a sentence's end where one is near; what is no content is left out."""
    assert spans(text) == expected


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("kb/sv/a.md", "| A | 299 kr |\n| --- | --- |\n| B | 3 |", "sv"),
        ("kb/en/a.md", "Detta är svenska.", "en"),
        ("kb/a.md", "Detta är svenska.", "sv"),
        ("kb/a.md", "| A | 299 kr |", "en"),
        ("kb/a.md", "Det här är på svenska.\n\n# X\n\n299 kr", "sv"),
        (
            "kb/a.md",
            "Det här är på svenska, och det är det mesta också.\n\n# X\n\nThis part is in English.",
            "en",
        ),
    ],
)
def test_the_language_of_a_passage(file: str, text: str, expected: str) -> None:
    """The folder says it, else the passage, else its file, else it is English."""
    assert chunk(file, text)[-1].passage.lang == expected


def test_headings_are_plain_text() -> None:
    """Marks of emphasis, code and links are not part of a heading."""
    assert chunk("kb/a.md", "# The *best* [plan](x.md) `now`\ntext")[0].passage.headings == (
        "The best plan now",
    )


BLOCKS = st.sampled_from(
    [
        "word",
        "A sentence.",
        "# Title",
        "## Part 2",
        "- item",
        "  - nested item",
        "1. first",
        "> quote",
        "| a | b |",
        "| --- | --- |",
        "| 1 | 2 |",
        "```",
        "    code",
        "---",
        "===",
        "",
        "<p>",
        "\u2028odd\x0bspace\x0c",
        "\ttab",
    ]
)


def lay(rows: list[tuple[str, str]]) -> tuple[str, list[str]]:
    """Return a text made of lines and line ends, and its lines."""
    text = "".join(line + end for line, end in rows)
    return text, re.split(r"\r\n|\r|\n", text)


@given(st.lists(st.tuples(BLOCKS, st.sampled_from(["\n", "\r\n", "\r"])), max_size=40))
@example([("- # x", "\n"), ("===", "\n")])
@example([("a", "\r"), ("b", "\r\n"), ("", "\r"), ("c", "\n")])
def test_no_line_is_doubled_or_misnumbered(rows: list[tuple[str, str]]) -> None:
    """Snippets are the file's lines at their numbers, one to three of them, in order, each in one snippet at most."""
    text, lines = lay(rows)
    covered: list[int] = []
    for piece in chunk("kb/a.md", text):
        snippet = piece.snippet
        assert snippet.text == "\n".join(lines[snippet.first - 1 : snippet.last])
        assert 1 <= snippet.last - snippet.first + 1 <= SNIPPET_LINES
        covered += range(snippet.first, snippet.last + 1)
    assert covered == sorted(set(covered))


@given(
    st.lists(st.tuples(BLOCKS.filter(lambda line: line not in ("---", "===")), st.just("\n")), max_size=40)
)
def test_no_line_is_lost(rows: list[tuple[str, str]]) -> None:
    """Where nothing underlines a heading or fences front matter, every line of text is in a snippet."""
    text, lines = lay(rows)
    covered = {
        at for piece in chunk("kb/a.md", text) for at in range(piece.snippet.first, piece.snippet.last + 1)
    }
    missed = {lines[at - 1].strip() for at in range(1, len(lines) + 1) if at not in covered}
    assert missed <= {"# Title", "", "```", "| --- | --- |", "===", "---"}
