"""The block structure of markdown: where it is ours, it is markdown-it's."""

import random

from markdown_it import MarkdownIt

from agent.documents.clean_lines import CleanMarkdown
from agent.documents.grammar import parse_blocks
from agent.documents.step_counter import StepCounter

LINES = (
    *(
        "",
        "",
        "words",
        "more words  ",
        "  two in",
        "    four in",
        "\ttab",
        "===",
        "---",
        "--",
        "- - -",
        "=",
        "= =",
    ),
    *(
        "# one",
        "## two ##",
        "#none",
        "> quoted",
        ">",
        "- item",
        "* item",
        "+",
        "1. first",
        "2) second",
        "12. x",
    ),
    *("    # deep", "    - deep", "    ---"),
    *("  - inner", "   ---", "```", "~~~", "***", "- ---", "> - both", "- # head", "-", "   ===   ", "> ==="),
)


def read(text: str) -> list[tuple[str, object, str]]:
    """Return each block that holds something, with its lines and its content, as our parser reads it."""
    lines = text.split("\n")
    tokens = parse_blocks(
        lines, 0, CleanMarkdown(lines=lines), StepCounter(lambda: False), indented_code=True
    )
    return [
        (each.tag if each.type in ("paragraph", "heading") else each.type, each.map, each.content)
        for each in tokens
        if each.nesting == 0
    ]


def expected(text: str) -> list[tuple[str, object, str]]:
    """Return the same as markdown-it reads it."""
    parser = MarkdownIt("commonmark", {"maxNesting": 100}).disable(["html_block", "reference"])
    found: list[tuple[str, object, str]] = []
    opening: tuple[str, object, str] = ("", None, "")
    for token in parser.parse(text):
        if token.nesting == 1:
            opening = (token.tag, token.map, token.markup)
        elif token.nesting == 0:
            is_own = (
                token.type != "inline" or opening[2][:1] == "#"
            )  # a heading of one line has its three tokens
            found.append((token.type, token.map, token.content) if is_own else (*opening[:2], token.content))
    return found


def test_paragraphs_and_headings_end_where_those_of_markdown_it_do() -> None:
    """In lists and quotes, above lines of marks, and before lines that could begin another block."""
    rng = random.Random(5)
    for _ in range(3000):
        text = "\n".join(rng.choices(LINES, k=rng.randint(1, 9)))
        assert read(text) == expected(text), text
