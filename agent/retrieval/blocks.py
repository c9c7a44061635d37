"""The block structure of a markdown text, as runs of lines: sections of paragraphs, list items and table rows.

Strategy: markdown-it finds the blocks and nothing else of it is used, so its tokens are taken one by one as it makes
them and none is kept: a row costs as much in a long table as in a short one, and a cell costs no memory. It is given
the beginning of a long line only, which tells what block the line belongs to. What a block cannot say by itself (the
header of its table, the line that leads into its list) is noted when it goes by.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from agent.config import CONTEXT_CHARACTERS, HEADING_CHARACTERS

from .effort import Effort

_LINE_READ = 4_000  # characters of a line that tell what block it belongs to
_NUMBERED_HEADING = re.compile(r"^[\s#>*-]*(?:\d+(?:\.\d+)*[.)]?(?:\s|$))?")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"[*`_]{1,3}(?=\S)|(?<=\S)[*`_]{1,3}")


@dataclass(frozen=True, slots=True)
class Block:
    """A run of lines (first counted from 0, last not included) that belongs together.

    context: what it is about beside its own words. searchable: False for a line that only names others (a table's
    header without a number in it). header: the line of the header of the table that this is a row of; -1: of none.
    """

    first: int
    last: int
    context: str = ""
    searchable: bool = True
    header: int = -1


@dataclass(slots=True)
class Section:
    """The blocks under one heading. headings: those above them, outermost first."""

    headings: tuple[str, ...] = ()
    blocks: list[Block] = field(default_factory=list)


def sections(lines: Sequence[str], effort: Effort) -> list[Section]:
    """Return the sections of a text that have content, in their order; linear in the text.

    Fences, rules, comments, link definitions and headings without a number are no content.
    Raises what `effort.look` raises.
    """
    walk = _Walk(lines)
    source = "\n".join(line[:_LINE_READ].replace("\0", "\ufffd") for line in lines)
    state = _State(source, walk, effort)
    _PARSER.block.tokenize(state, state.line, state.lineMax)
    state.finish()
    return [section for section in walk.sections if section.blocks]


def clipped(text: str, size: int) -> str:
    """Return the beginning of a text, at most `size` characters of it, cut between two words."""
    return text if len(text) <= size else text[:size].rpartition(" ")[0] or text[:size]


class _State(StateBlock):
    """The parser's state, which hands each token on when the parser has gone on to the next, and keeps none."""

    def __init__(self, source: str, walk: "_Walk", effort: Effort) -> None:
        super().__init__(source, _PARSER, {}, [])
        self.effort = effort
        self._walk = walk
        self._pushed: Token | None = None

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        """Return a new token, which the parser fills in."""
        self.effort.look()
        self.finish()
        self._pushed = super().push(ttype, tag, nesting)
        self.tokens.clear()
        return self._pushed

    def finish(self) -> None:
        """Hand on the last token."""
        if self._pushed is not None:
            self._walk.take(self._pushed)


def _look(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Look whether to go on: a rule that stands before all others, so at each line, and never applies."""
    assert isinstance(state, _State)
    state.effort.look()
    return False


_PARSER = MarkdownIt("commonmark").enable("table")
_PARSER.block.ruler.before(
    "table", "look", _look, {"alt": ["paragraph", "reference", "blockquote", "list"]}
)  # fmt: skip


class _Walk:
    """Makes blocks of the parser's tokens, in the order in which they come."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.sections = [Section()]
        self._lines = lines
        self._path: list[tuple[int, str]] = []  # the headings above, by their depth
        self._opened: Token | None = None  # a heading or a paragraph, whose text comes next
        self._item = -1  # level of the list item that was opened just now
        self._said: tuple[int, str] = (-1, "")  # level and text of the paragraph that was closed just now
        self._leads: dict[int, str] = {}  # by the level of a list
        self._head: int | None = None  # line of the header of the table, while that goes by
        self._cells: list[str] = []
        self._header = (-1, "")  # line and text of the last table's header

    def take(self, token: Token) -> None:
        """Take the next token."""
        item, self._item = self._item, -1
        said = self._said
        if token.type != "paragraph_close":
            self._said = (-1, "")
        match token.type:
            case "heading_open" | "paragraph_open":
                self._opened = token
                self._item = item
            case "inline":
                self._text(token.content, item)
            case "bullet_list_open" | "ordered_list_open":
                self._leads[token.level] = _lead(said[1]) if said[0] == token.level else ""
            case "list_item_open":
                self._item = token.level
            case "thead_open" if token.map:
                self._head, self._cells = token.map[0], []
            case "thead_close":
                assert self._head is not None
                self._header = (self._head, clipped(" . ".join(self._cells), CONTEXT_CHARACTERS))
                self._head = None
            case "tr_open" | "fence" | "code_block" | "html_block":
                self._block(token)

    def _text(self, content: str, item: int) -> None:
        """Take the text of a heading, a paragraph or a cell; `item`: of the list item that it begins, its level."""
        opened, self._opened = self._opened, None
        if opened is None:
            if self._head is not None and sum(map(len, self._cells)) < CONTEXT_CHARACTERS:
                self._cells.append(_plain(content))
            return
        assert opened.map is not None
        first, last = opened.map
        if opened.type == "paragraph_open":
            self._said = (opened.level, content)
            self._add(Block(first, last, self._leads.get(item - 1, "") if item > 0 else ""))
            return
        last -= 1 if opened.markup in ("=", "-") else 0  # the line drawn under a heading is not part of it
        if opened.level:  # inside a list or a quotation: a line like any other
            self._add(Block(first, last))
            return
        depth = int(opened.tag[1:])
        self._path = [entry for entry in self._path if entry[0] < depth]
        self._path.append((depth, _plain(content)))
        self.sections.append(Section(tuple(name for _, name in self._path if name)))
        if _tells_a_number(self._lines[first:last]):
            self._add(Block(first, last))

    def _block(self, token: Token) -> None:
        """Take a block that is one token."""
        if token.map is None:
            return
        first, last = token.map
        match token.type:
            case "tr_open" if self._head is not None:
                self._add(Block(first, last, "", _tells_a_number(self._lines[first:last]), first))
            case "tr_open":
                self._add(Block(first, last, self._header[1], header=self._header[0]))
            case "fence":
                end = self._lines[last - 1].strip(" \t>")
                self._add(Block(first + 1, last - (last - first > 1 and end.startswith(token.markup))))
            case "code_block":
                self._add(Block(first, last))
            case "html_block" if not token.content.lstrip().startswith("<!--"):
                self._add(Block(first, last))

    def _add(self, block: Block) -> None:
        self.sections[-1].blocks.append(block)


def _lead(content: str) -> str:
    """Return the text of a paragraph that leads into a list, or ""."""
    return _plain(content[-HEADING_CHARACTERS:]) if content.rstrip().endswith(":") else ""


def _tells_a_number(lines: Sequence[str]) -> bool:
    """Return whether a heading or header holds a digit that is not the number of its chapter."""
    text = " ".join(lines)
    return any(mark.isdigit() for mark in _NUMBERED_HEADING.sub("", text, count=1))


def _plain(text: str) -> str:
    """Return the beginning of a text without the marks of emphasis, code and links, on one line."""
    text = clipped(text, 2 * CONTEXT_CHARACTERS)
    return clipped(" ".join(_EMPHASIS.sub("", _LINK.sub(r"\1", text)).split()), HEADING_CHARACTERS)
