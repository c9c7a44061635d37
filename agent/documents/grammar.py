"""The block structure of markdown: markdown-it's rules, with tables of our own.

Strategy: markdown-it's block rules as they are, but for three. HTML and link definitions are gone before. A table is
one token with its rows as they stand, since three tokens a cell are most of the time and memory of a large table, and
cells beyond the header's are text too. And before each block, and at each line of a paragraph, the reader may be
given up.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import cast

from markdown_it import MarkdownIt
from markdown_it.parser_block import RuleFuncBlockType
from markdown_it.rules_block import StateBlock, blockquote, fence, heading, hr, list_block
from markdown_it.token import Token

from .breath import Breath
from .clean import Clean, columns

# At debug level it writes a line for each rule it tries.
logging.getLogger("markdown_it").setLevel(logging.WARNING)

_DELIMITERS = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*+)*+\|?")
_PIPE = re.compile(r"(?<!\\)\|")
_CELLS = 1_000  # of a table's line
_NESTING = 100  # markdown-it's levels: a list in a list takes two


def _breathe(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """A rule that matches nothing: it only asks whether to go on."""
    cast(Breath, state.env["breath"]).draw()
    return False


def _edge(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """A rule that ends a paragraph before lines that are known to begin another."""
    return silent and first + cast(int, state.env["first"]) in cast(Clean, state.env["clean"]).edges


def cells(line: str) -> list[str]:
    r"""Return the cells of a table's line; \| is a pipe in a cell. What is beyond _CELLS of them is one more."""
    line = line.strip()
    parts = _PIPE.split(line, _CELLS)
    if line.startswith("|"):
        del parts[0]
    if parts and line.endswith("|") and not line.endswith("\\|"):
        del parts[-1]
    return [part.replace("\\|", "|").strip() for part in parts]


def _table(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """A line of names, a line of dashes, and rows up to a blank line or another block."""
    if first + 1 >= end or state.sCount[first + 1] < state.blkIndent or state.is_code_block(first + 1):
        return False
    dashes = _line(state, first + 1)
    if "-" not in dashes or "|" not in dashes or not _DELIMITERS.fullmatch(dashes):
        return False
    head = _line(state, first)
    if "|" not in head:
        return False
    if silent:
        return True
    ends = state.md.block.ruler.getRules("blockquote")
    parent, state.parentType = state.parentType, "table"
    rows: list[tuple[int, str]] = []
    line = first + 2
    while line < end and state.sCount[line] >= state.blkIndent:
        text = _line(state, line)
        if not text or state.is_code_block(line) or any(rule(state, line, end, True) for rule in ends):
            break
        if "|" not in text and len(cells(head)) > 1:
            break
        _breathe(state, line, end, True)
        rows.append((line, text))
        line += 1
    state.parentType = parent
    token = state.push("table", "table", 0)
    token.map = [first, line]
    token.meta = {"header": head, "rows": rows}
    state.line = line
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip()


_BEGINS: Mapping[str, tuple[RuleFuncBlockType, frozenset[str], list[str]]] = {
    "fence": (fence, frozenset("`~"), ["paragraph", "reference", "blockquote", "list"]),
    "blockquote": (blockquote, frozenset(">"), ["paragraph", "reference", "blockquote", "list"]),
    "hr": (hr, frozenset("*-_"), ["paragraph", "reference", "blockquote", "list"]),
    "list": (list_block, frozenset("*-+0123456789"), ["paragraph", "reference", "blockquote"]),
    "heading": (heading, frozenset("#"), ["paragraph", "reference", "blockquote"]),
}
"""Rules of markdown-it with the characters that their blocks begin with, and the blocks that they end."""


def _only_at(rule: RuleFuncBlockType, begins: frozenset[str]) -> RuleFuncBlockType:
    """Return a rule that is tried only where its block can begin: most lines begin with a letter."""

    def tried(state: StateBlock, first: int, end: int, silent: bool) -> bool:
        at = state.bMarks[first] + state.tShift[first]
        return state.src[at : at + 1] in begins and rule(state, first, end, silent)

    return tried


def _parser(*without: str) -> MarkdownIt:
    off = ["html_block", "reference", *without]
    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable("table").disable(off)
    ruler = parser.block.ruler
    for name, (rule, begins, ends) in _BEGINS.items():
        ruler.at(name, _only_at(rule, begins), {"alt": ends})
    ruler.at("table", _table, {"alt": ["paragraph"]})
    ruler.before("table", "breathe", _breathe, {"alt": ["paragraph"]})
    ruler.before("table", "edge", _edge, {"alt": ["paragraph"]})
    return parser


_INDENTED_CODE = _parser()
_NO_INDENTED_CODE = _parser("code")


def parsed(
    lines: Sequence[str], first: int, clean: Clean, breath: Breath, *, indented_code: bool
) -> list[Token]:
    """Return markdown-it's tokens for a part of a document whose first line is `first`, from 0.

    Their lines count from the part's own. A token "table" has in `meta` its "header", and its "rows" with their lines.
    """
    parser = _INDENTED_CODE if indented_code else _NO_INDENTED_CODE
    tokens: list[Token] = []
    state = StateBlock("", parser, {"breath": breath, "clean": clean, "first": first}, tokens)
    _measure(state, lines, breath)
    parser.block.tokenize(state, 0, state.lineMax)
    return tokens


def _measure(state: StateBlock, lines: Sequence[str], breath: Breath) -> None:
    """Do what the state's constructor does with its source, where it would not stop for breath."""
    state.src = "\n".join(lines)
    state.bMarks = [0, *accumulate(len(line) + 1 for line in lines)]
    state.eMarks = [begin + len(line) for begin, line in zip(state.bMarks, lines, strict=False)]
    state.tShift = []
    state.sCount = []
    for line in lines:
        breath.draw()
        shift = len(line) - len(line.lstrip(" \t"))
        state.tShift.append(shift)
        state.sCount.append(columns(line) if shift else 0)
    state.bMarks[-1] = len(state.src)
    state.eMarks.append(len(state.src))
    state.tShift.append(0)
    state.sCount.append(0)
    state.bsCount = [0] * len(state.tShift)
    state.lineMax = len(lines)
