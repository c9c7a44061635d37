"""Turns markdown-it's tokens into blocks, each with its parents.

Strategy: one walk over the tokens with a stack of the open lists, items and quotes. Titles of components, whole
elements of HTML and the texts of attributes are inserted by their lines.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from markdown_it.token import Token

from .blocks import Kind
from .builder import TOP_LEVEL, BlockBuilder, BlockPlace, LeadText, TableRow
from .clean_lines import CleanMarkdown
from .grammar import split_cells
from .headings import TitleScope
from .html import read_part
from .inline import Inline
from .plain_lines import plain_line
from .rows import GridCell, join_header

_BOLD = re.compile(r"(\*\*|__)(?!\s)[^\n]{1,300}?(?<!\s)\1[ \t]*:?")
_BOLD_THEN_TEXT = re.compile(r"(?:\*\*|__)(?!\s)[^\n]{1,300}(?:[?:.](?:\*\*|__)|(?:\*\*|__)[?:])[ \t]*\\?$")
_TASK = re.compile(r"\[[ xX]\](?=\s)")
_NAMES = 3  # items that name a record ...
_NAME = 120  # ... and characters of one
_HEADING = 240  # characters; a longer text above a line of dashes is a paragraph above a rule


@dataclass(slots=True)
class _Level:
    """An open list, item or quote. `place`: the place of its content. `mark`: the heading depth before it."""

    kind: str
    place: BlockPlace
    fresh: bool = False
    mark: int = 0


@dataclass(slots=True)
class _Event:
    line: int
    happen: Callable[[], None]


class _NamedRecord:
    """A record among several that rules separate: a short list names it, and the text after the list describes it.

    Components that list properties have this form: the list `- name` and `- type`, then the meaning. Without the list
    as a parent, that text would lack its subject.
    """

    def __init__(self) -> None:
        self._open = False
        self._names: list[str] = []
        self.parents: tuple[str, ...] = ()

    def begin(self) -> None:
        """Begin a possible record, at a component or a rule."""
        self._open, self._names, self.parents = True, [], ()

    def add_item(self, text: str, depth: int) -> None:
        """Add an item of a list to the names of the record."""
        if self._open:
            self._names.append(text)
            self._open = depth == 0 and len(self._names) <= _NAMES and len(text) <= _NAME

    def end_list(self) -> None:
        """End the list: the blocks that follow hang under its items."""
        if self._open and self._names:
            self.parents = tuple(self._names)
        self._open = False

    def end(self) -> None:
        """End the record, at a heading or at anything but a list at its beginning."""
        self._open, self.parents = False, ()


class Outline:
    """The tokens of one document, as blocks of a `BlockBuilder`."""

    def __init__(self, builder: BlockBuilder, inline: Inline, clean: CleanMarkdown) -> None:
        self._builder = builder
        self._inline = inline
        self._levels: list[_Level] = []
        self._lead = LeadText()
        self._first = 0
        self._list: _Level | None = None  # the last outermost list
        self._goes_on = False
        self._record = _NamedRecord()
        events = [
            *(_Event(scope.first, partial(self._enter_scope, scope)) for scope in clean.scopes),
            *(_Event(element[0], partial(self._read_element, *element)) for element in clean.html_elements),
            *(_Event(each[0], partial(self._add_text, *each)) for each in clean.attribute_texts),
            *(_Event(line, self._record.begin) for line in clean.content_starts),
        ]
        self._events = sorted(events, key=lambda event: event.line, reverse=True)

    def add_tokens(self, tokens: Sequence[Token], first: int, *, goes_on: bool) -> None:
        """Read the tokens of the next part, whose lines count from `first` (from 0).

        `goes_on`: the part begins with an item of the list that the part before ended with.
        """
        self._first = first
        self._goes_on = goes_on
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token.map:
                self._insert_until(token.map[0] + first)
            match token.type:
                case "paragraph" | "heading":
                    self._read_text(token, token)
                case "heading_open":
                    self._read_text(token, tokens[at + 1])
                    at += 2
                case "fence" | "code_block":
                    self._add_code(token)
                case "table":
                    self._read_table(token)
                case "bullet_list_open" | "ordered_list_open":
                    self._open_list()
                case "list_item_open":
                    self._levels.append(_Level("item", self._place(), fresh=True))
                case "blockquote_open":
                    mark = self._builder.headings.depth
                    self._levels.append(_Level("quote", self._place(), mark=mark))
                case "bullet_list_close" | "ordered_list_close" | "list_item_close" | "blockquote_close":
                    self._close_level()
                case "hr":
                    self._lead.set_text("")
                    self._record.begin()
            at += 1

    def finish(self) -> None:
        """Insert everything that stands after the last token."""
        self._insert_until(1 << 62)
        self._builder.release_bold_line()

    # --- events by line

    def _insert_until(self, line: int) -> None:
        while self._events and self._events[-1].line <= line:
            self._events.pop().happen()

    def _enter_scope(self, scope: TitleScope) -> None:
        title = plain_line(self._inline.plain(scope.title))
        last = scope.last + 1 if scope.last else 0
        self._builder.release_bold_line()
        self._builder.headings.close_before(scope.first + 1)
        self._builder.add_title(TitleScope(scope.first + 1, last, title))

    def _read_element(self, first: int, last: int, source: str) -> None:
        place = BlockPlace(self._place().parents_under(self._lead.introduction))
        read_part(source, first + 1, self._builder, self._inline.plain, place)

    def _add_text(self, first: int, last: int, text: str) -> None:
        self._builder.add_text("paragraph", [self._inline.plain(text), *[""] * (last - first)], first + 1)

    # --- lists and quotes

    def _place(self) -> BlockPlace:
        if self._levels:
            return self._levels[-1].place
        return BlockPlace(self._record.parents) if self._record.parents else TOP_LEVEL

    def _open_list(self) -> None:
        outer = self._place()
        if self._goes_on and self._list and not self._levels:
            self._goes_on = False
            self._levels.append(self._list)
            return
        lists = sum(level.kind == "list" for level in self._levels)
        parents = outer.parents_under(self._lead.introduction)
        self._levels.append(
            _Level("list", BlockPlace(parents, outer.group or self._builder.start_group(), lists))
        )

    def _close_level(self) -> None:
        level = self._levels.pop()
        if level.kind == "list" and not self._levels:
            self._list = level
            self._record.end_list()
        self._lead.set_text("")
        if level.kind == "quote":
            self._builder.release_bold_line()
            self._builder.headings.close_to(level.mark)

    # --- blocks

    def _read_text(self, token: Token, content: Token) -> None:
        assert content.map is not None
        first = content.map[0] + self._first + 1
        source = content.content
        inner = self._levels[-1] if self._levels else None
        if token.type != "paragraph" and len(source) <= _HEADING and (not inner or inner.kind == "quote"):
            self._lead.set_text("")
            if not inner:
                self._record.end()
                self._builder.add_heading(int(token.tag[1:]), " ".join(self._inline.lines(source)))
                return
        outside = inner is None or inner.kind == "quote"
        if outside and self._read_bold(source, first, "quote" if inner else "paragraph"):
            return
        kind: Kind = "paragraph"
        if inner and inner.kind == "quote":
            kind = "quote"
        elif inner and inner.fresh:
            kind, inner.fresh = "item", False
            if match := _TASK.match(source):
                source = source[match.end() :]
        text = self._builder.add_text(kind, self._inline.lines(source), first, self._place())
        if text:
            if not inner and not self._record.parents:
                self._record.end()
            if kind == "item" and inner:
                self._record.add_item(text, inner.place.depth)
                inner.place = BlockPlace(
                    inner.place.parents_under(text), inner.place.group, inner.place.depth
                )
                self._lead.set_text("")
            else:
                self._lead.set_text(text)

    def _read_bold(self, source: str, first: int, kind: Kind) -> bool:
        """Handle a paragraph that is a bold line, or begins with one, as a heading. Return whether it was one."""
        if source[:2] not in ("**", "__"):
            return False
        line, _, rest = source.partition("\n")
        lines = self._inline.lines(line)
        if not rest and _BOLD.fullmatch(line) and line.count(line[:2]) == 2:
            self._builder.hold_bold_line(lines, first, kind)
            self._lead.set_text("")
            return True
        if rest and _BOLD_THEN_TEXT.fullmatch(line) and line.count(line[:2]) == 2:
            self._builder.hold_bold_line(lines, first, kind)
            self._lead.set_text(
                self._builder.add_text(kind, self._inline.lines(rest), first + 1, self._place())
            )
            return True
        return False

    def _add_code(self, token: Token) -> None:
        assert token.map is not None
        fenced = token.type == "fence"
        lines = token.content.split("\n")
        if lines and not lines[-1]:
            del lines[-1]
        first = token.map[0] + self._first + (2 if fenced else 1)
        place = self._place()
        self._builder.add_code(lines, first, BlockPlace(place.parents_under(self._lead.text), place.group))
        self._lead.set_text("")

    def _read_table(self, token: Token) -> None:
        place = BlockPlace(self._place().parents_under(self._lead.introduction), self._builder.start_group())
        names = [self._inline.plain(name) for name in split_cells(token.meta["header"])]
        assert token.map is not None
        line = token.map[0] + self._first + 1
        header = join_header([[GridCell(plain_line(name), line) for name in names]])
        for at, row in token.meta["rows"]:
            line_of_row = at + self._first + 1
            row_cells = [
                GridCell(plain_line(self._inline.plain(cell)), line_of_row) for cell in split_cells(row)
            ]
            self._builder.add_row(TableRow(row_cells, header, line), line_of_row, line_of_row, place)
        self._lead.set_text("")
