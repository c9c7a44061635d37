"""What is shown of a file around cited lines: its sections' lines in order, each once, the cited ones marked."""

from hypothesis import given
from hypothesis import strategies as st

from agent.grounding.view import SOURCE_CHARACTERS, FileView, view_source
from agent.ports.search import Passage
from agent.retrieval.load import Skipped, SourceFile
from agent.retrieval.read import passages_of

PRICES = """\
---
title: Prices
secret: 4711
---
# Prices

All prices include 25 % VAT. They apply
from 1 March.

## Plans

<div class="x">

| Plan | Price |
| --- | --- |
| Basic | 149 kr |
| Standard | 299 kr |

</div>

## Fees

- A paper invoice costs 39 kr, see [fees](https://example.com/4711).
"""


def passages(text: str) -> tuple[Passage, ...]:
    found = passages_of(SourceFile.of("kb/a.md", text))
    assert not isinstance(found, Skipped)
    return found


def shown(text: str, lines: tuple[int, int] | None = None) -> FileView:
    found = view_source(passages(text), lines)
    assert found is not None
    return found


def told(found: FileView) -> list[tuple[int | None, str, bool]]:
    return [(piece.line, piece.text, piece.cited) for part in found.parts for piece in part.pieces]


def test_the_section_of_a_row_has_its_header_and_its_neighbours() -> None:
    """The row and the header of its table are marked, and in them the numbers."""
    found = shown(PRICES, (17, 17))
    assert [part.headings for part in found.parts] == [("Prices", "Plans")]
    assert told(found) == [
        (None, "| Plan | Price |", True),
        (16, "| Basic | 149 kr |", False),
        (17, "| Standard | 299 kr |", True),
    ]
    piece = found.parts[0].pieces[2]
    assert [piece.text[start:end] for start, end in piece.numbers] == ["299 kr"]
    assert (found.whole, found.above, found.below) == (False, False, None)


def test_a_sentence_over_two_lines_is_two_lines() -> None:
    """Each line is there once, whatever statements share it, and the neighbours of the cited ones are not marked."""
    assert told(shown(PRICES, (8, 8))) == [
        (7, "All prices include 25 % VAT. They apply", False),
        (8, "from 1 March.", True),
    ]


def test_the_whole_file_is_what_the_index_holds_of_it() -> None:
    """No front matter, no tags; nothing is marked. An address is no number for a person."""
    found = shown(PRICES)
    assert found.whole
    assert [line for line, _, _ in told(found)] == [7, 8, None, 16, 17, 23]
    assert "secret" not in str(found)
    assert not any(cited for _, _, cited in told(found))
    piece = shown(PRICES, (23, 23)).parts[0].pieces[0]
    assert [piece.text[start:end] for start, end in piece.numbers] == ["39 kr"]


def test_lines_without_a_statement_are_none() -> None:
    """Neither those of the front matter nor those behind the end."""
    for lines in ((1, 4), (9, 9), (19, 20), (24, 10**8)):
        assert view_source(passages(PRICES), lines) is None
    assert view_source(()) is None


def test_parts_of_a_long_line_follow_each_other_under_its_number() -> None:
    """None is lost, and none is told twice."""
    sentences = [
        f"Sentence number {number} says that part {number} costs {number} kr." for number in range(40)
    ]
    found = shown(" ".join(sentences), (1, 1))
    assert {line for line, _, _ in told(found)} == {1}
    joined = " ".join(text for _, text, _ in told(found))
    assert [joined.count(sentence) for sentence in sentences] == [1] * 40


def test_a_long_section_is_cut_around_the_lines_and_says_where() -> None:
    """What stands before them has a third of the room; the rest can be asked for by its line."""
    text = "# Long\n\n" + "".join(
        f"- Item {number} of many has some words to say.\n" for number in range(1500)
    )
    found = shown(text, (900, 902))
    assert found.above
    lines = [line or 0 for line, _, _ in told(found)]
    assert lines == list(range(lines[0], lines[-1] + 1))
    assert found.below == lines[-1] + 1
    assert [line for line, _, cited in told(found) if cited] == [900, 901, 902]
    assert sum(len(text) for _, text, _ in told(found)) <= SOURCE_CHARACTERS
    assert 900 - lines[0] > 100
    on = shown(text, (found.below, found.below))
    assert found.below in [line for line, _, _ in told(on)]
    whole = shown(text)
    assert (whole.whole, told(whole)[0][0]) == (False, 3)
    assert whole.below == (told(whole)[-1][0] or 0) + 1


LINES = st.sampled_from(
    [
        "# A",
        "## B",
        "Some words here. And 5 more",
        "- item 7 kr",
        "",
        "| a | b |",
        "|--|--|",
        "| 1 | 2 |",
        "```",
    ]
)


@given(st.lists(LINES, max_size=20).map("\n".join), st.integers(1, 20), st.integers(0, 3))
def test_what_a_statement_cites_is_marked_where_it_is_opened(text: str, first: int, more: int) -> None:
    """Whatever the file: each line of a snippet in reach is shown and marked, and no other line is."""
    lines = (first, first + more)
    held = passages(text)
    cited = [
        each for one in held for each in one.snippets if each.first <= lines[1] and each.last >= lines[0]
    ]
    found = view_source(held, lines)
    assert (found is None) == (not cited)
    marked = [] if found is None else [text for _, text, cited in told(found) if cited]
    for each in cited:
        own = each.text.split("\n")[-(each.last - each.first + 1) :]
        for number, line in enumerate(own, each.first):
            assert (
                not line.strip() or not lines[0] <= number <= lines[1] or any(line in one for one in marked)
            )
