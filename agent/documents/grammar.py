"""The block structure of markdown: markdown-it's rules, with our own rule for tables.

Strategy: markdown-it's block rules are used with four changes. HTML and link definitions are removed before. A
paragraph is one token, and its end is looked for once (`_text`). A table is one token with its rows as they are
written, since three tokens a cell are most of the time and memory of a large table, and cells beyond the header's are
text too. A step is counted before each block and at each line of a paragraph (`StepCounter`), so that reading can be
cancelled there.
"""

import logging
import re
from collections.abc import Sequence
from itertools import accumulate
from typing import cast

from markdown_it import MarkdownIt
from markdown_it.common.utils import mdTrim
from markdown_it.parser_block import RuleFuncBlockType
from markdown_it.rules_block import StateBlock, blockquote, fence, heading, hr, list_block
from markdown_it.token import Token

from .clean_lines import CleanMarkdown, indent_width
from .step_counter import StepCounter

# At debug level markdown-it logs a line for each rule it tries.
logging.getLogger("markdown_it").setLevel(logging.WARNING)

_DELIMITERS = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*+)*+\|?")
_PIPE = re.compile(r"(?<!\\)\|")
_CELLS = 1_000  # of a table's line
_NESTING = 100  # markdown-it's levels: a list in a list takes two


def _count_step(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Count a step of the `StepCounter`, which may cancel the reading. This rule matches no block."""
    cast(StepCounter, state.env["step_counter"]).count_step()
    return False


def _end_paragraph(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Match, within a paragraph only, a line of `CleanMarkdown.edges`, so that the paragraph ends before the line."""
    return silent and first + cast(int, state.env["first"]) in cast(CleanMarkdown, state.env["clean"]).edges


def split_cells(line: str) -> list[str]:
    r"""Return the cells of a table's line; \| is a pipe in a cell. The text beyond `_CELLS` cells is one more cell."""
    line = line.strip()
    parts = _PIPE.split(line, _CELLS)
    if line.startswith("|"):
        del parts[0]
    if parts and line.endswith("|") and not line.endswith("\\|"):
        del parts[-1]
    return [part.replace("\\|", "|").strip() for part in parts]


def _table(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Match a table: a line of names, a line of dashes, and rows up to a blank line or another block."""
    if first + 1 >= end or state.sCount[first + 1] < state.blkIndent or state.is_code_block(first + 1):
        return False
    dashes = _line_text(state, first + 1)
    if "-" not in dashes or "|" not in dashes or not _DELIMITERS.fullmatch(dashes):
        return False
    head = _line_text(state, first)
    if "|" not in head:
        return False
    if silent:
        return True
    ends = state.md.block.ruler.getRules("blockquote")
    parent, state.parentType = state.parentType, "table"
    rows: list[tuple[int, str]] = []
    line = first + 2
    while line < end and state.sCount[line] >= state.blkIndent:
        text = _line_text(state, line)
        if not text or state.is_code_block(line) or any(rule(state, line, end, True) for rule in ends):
            break
        if "|" not in text and len(split_cells(head)) > 1:
            break
        _count_step(state, line, end, True)
        rows.append((line, text))
        line += 1
    state.parentType = parent
    token = state.push("table", "table", 0)
    token.map = [first, line]
    token.meta = {"header": head, "rows": rows}
    state.line = line
    return True


def _line_text(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip()


def _matches(
    rules: Sequence[RuleFuncBlockType], state: StateBlock, first: int, end: int, silent: bool
) -> bool:
    """Try some rules until one matches; return whether one did."""
    for rule in rules:  # noqa: SIM110 - a generator for each line would take longer than the rules
        if rule(state, first, end, silent):
            return True
    return False


def _underlined(state: StateBlock, line: int) -> int:
    """Return the level of the heading that `line` underlines, with `=` or `-` alone; 0 for another line."""
    text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip(" \t")
    if not text or text.strip(text[0]):
        return 0
    return 1 if text[0] == "=" else 2 if text[0] == "-" else 0


def _text(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Match a paragraph, or a heading above a line of `=` or `-`, as one token.

    markdown-it has a rule for each, which look for the end of the same text, and makes three tokens of it.
    """
    rules = state.md.block.ruler.getRules("paragraph")
    parent, state.parentType = state.parentType, "paragraph"
    line, level, block_indent, indents = first + 1, 0, state.blkIndent, state.sCount
    while line < end and not state.isEmpty(line):
        indent = indents[line]
        if indent - block_indent <= 3:  # else the line goes on with the paragraph, whatever it is
            if indent >= block_indent and (level := _underlined(state, line)):
                break
            if indent >= 0 and _matches(rules, state, line, end, True):
                break
        line += 1
    state.line = line + (level > 0)
    token = state.push("heading" if level else "paragraph", f"h{level}" if level else "p", 0)
    token.content = mdTrim(state.getLines(first, line, block_indent, False))
    token.map = [first, state.line]
    if level:
        state.parentType = parent
    return True


_BEGINS: Sequence[tuple[RuleFuncBlockType, str, bool]] = (
    (fence, "`~", True),
    (blockquote, ">", True),
    (hr, "*-_", True),
    (list_block, "*-+0123456789", False),
    (heading, "#", False),
)
"""Rules of markdown-it, the characters that their blocks begin with, and whether they end an item of a list."""


def _try_by_first_character(*rules: tuple[RuleFuncBlockType, str, bool]) -> RuleFuncBlockType:
    """Return one rule of several; each is tried only where its block can begin: most lines begin with a letter."""
    by_character: dict[str, list[RuleFuncBlockType]] = {}
    for rule, characters, _ in rules:
        for character in characters:
            by_character.setdefault(character, []).append(rule)

    def apply_rule(state: StateBlock, first: int, end: int, silent: bool) -> bool:
        at = state.bMarks[first] + state.tShift[first]
        possible = by_character.get(state.src[at : at + 1])
        return possible is not None and _matches(possible, state, first, end, silent)

    return apply_rule


_begin = _try_by_first_character(*_BEGINS)
_begin_in_list = _try_by_first_character(*[each for each in _BEGINS if each[2]])


def _end_item(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Match, where an item of a list goes on, a line that begins another block."""
    return silent and _begin_in_list(state, first, end, True)


def _make_parser(*without: str) -> MarkdownIt:
    replaced = ["fence", "blockquote", "hr", "list", "heading", "lheading"]
    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable("table")
    parser.disable(["html_block", "reference", *replaced, *without])
    ruler = parser.block.ruler
    ruler.at("table", _table, {"alt": ["paragraph"]})
    ruler.at("paragraph", _text)
    ruler.before("paragraph", "begin", _begin, {"alt": ["paragraph", "reference", "blockquote"]})
    ruler.before("paragraph", "end_item", _end_item, {"alt": ["list"]})
    ruler.before("table", "count_step", _count_step, {"alt": ["paragraph"]})
    ruler.before("table", "edge", _end_paragraph, {"alt": ["paragraph"]})
    return parser


_INDENTED_CODE = _make_parser()
_NO_INDENTED_CODE = _make_parser("code")


def parse_blocks(
    lines: Sequence[str], first: int, clean: CleanMarkdown, step_counter: StepCounter, *, indented_code: bool
) -> list[Token]:
    """Return markdown-it's tokens for a part of a document; `first` is the number of its first line, from 0.

    Lines of tokens count from the start of the part. A "table" token has `meta` with "header" and with "rows", which
    are (line, text). A "paragraph", or a "heading" above a line of marks, is one token with its `content`.
    `indented_code`: whether lines indented by four columns are code.
    """
    parser = _INDENTED_CODE if indented_code else _NO_INDENTED_CODE
    tokens: list[Token] = []
    state = StateBlock("", parser, {"step_counter": step_counter, "clean": clean, "first": first}, tokens)
    _measure(state, lines, step_counter)
    parser.block.tokenize(state, 0, state.lineMax)
    return tokens


def _measure(state: StateBlock, lines: Sequence[str], step_counter: StepCounter) -> None:
    """Set the fields that the constructor of `state` computes from its source, with pauses for `step_counter`."""
    state.src = "\n".join(lines)
    state.bMarks = [0, *accumulate(len(line) + 1 for line in lines)]
    state.eMarks = [begin + len(line) for begin, line in zip(state.bMarks, lines, strict=False)]
    state.tShift = []
    state.sCount = []
    for line in lines:
        step_counter.count_step()
        shift = len(line) - len(line.lstrip(" \t"))
        state.tShift.append(shift)
        state.sCount.append(indent_width(line) if shift else 0)
    state.bMarks[-1] = len(state.src)
    state.eMarks.append(len(state.src))
    state.tShift.append(0)
    state.sCount.append(0)
    state.bsCount = [0] * len(state.tShift)
    state.lineMax = len(lines)
