"""Reads plain text (.txt): paragraphs between blank lines, lists, and underlined headings.

Strategy: such a file has no markup, so only structure that every reader sees counts: a line above a line of dashes or
the like, and lines that begin with a bullet or a number.
"""

import re
from dataclasses import dataclass

from .blocks import Document
from .builder import TOP_LEVEL, BlockBuilder, BlockPlace, LeadText
from .clean_lines import indent_width
from .source import decode_text, split_lines
from .step_counter import StepCounter

_UNDERLINE = re.compile(r"[ \t]*(?:=+|-+|~+|\*+|\^+|#+|_+|—+)[ \t]*")
_ITEM = re.compile(r"[ \t]*(?:[-*+•‣▪●◦–]|\d{1,3}[.)]|\(?[a-z]\)|\(\d{1,3}\))[ \t]+(?=\S)")
_HEADING = 120  # characters
_DEEPEST = 12


@dataclass(slots=True)
class _ListItem:
    columns: int
    place: BlockPlace


class _TextReader:
    """The pass over the lines of one text."""

    def __init__(self, lines: list[str], step_counter: StepCounter) -> None:
        self.builder = BlockBuilder(step_counter)
        self._lines = lines
        self._levels: dict[str, int] = {}
        self._items: list[_ListItem] = []
        self._group = 0
        self._base: tuple[str, ...] = ()
        self._lead = LeadText()

    def run(self) -> None:
        """Add the blocks of all lines to the builder."""
        at = 0
        while at < len(self._lines):
            self.builder.step_counter.count_step()
            if not self._lines[at].strip() or _UNDERLINE.fullmatch(self._lines[at]):
                at += 1
            elif self._is_heading(at):
                self._items = []
                self._lead.set_text("")
                mark = self._lines[at + 1].strip()[0]
                level = self._levels.setdefault(mark, min(len(self._levels) + 1, 6))
                self.builder.add_heading(level, self._lines[at])
                at += 2
            else:
                at = self._paragraph(at)

    def _is_heading(self, at: int) -> bool:
        """Return whether the line at `at` stands alone above a line of signs."""
        if at + 1 >= len(self._lines) or (
            at and self._lines[at - 1].strip() and not _UNDERLINE.fullmatch(self._lines[at - 1])
        ):
            return False
        text, under = self._lines[at].strip(), self._lines[at + 1].strip()
        drawn = len(under) >= 3 and _UNDERLINE.fullmatch(under) is not None
        return drawn and len(text) <= _HEADING and len(under) * 2 >= len(text)

    def _paragraph(self, first: int) -> int:
        """Read a paragraph or an item; return the line after it."""
        item = _ITEM.match(self._lines[first])
        indent = indent_width(self._lines[first])
        at = first + 1
        while at < len(self._lines) and self._lines[at].strip() and not _ITEM.match(self._lines[at]):
            if self._is_heading(at) or _UNDERLINE.fullmatch(self._lines[at]):
                break
            self.builder.step_counter.count_step()
            at += 1
        lines = self._lines[first:at]
        if item:
            lines[0] = lines[0][item.end() :]
            self._item(lines, first, indent)
        else:
            while self._items and self._items[-1].columns >= indent:
                self._items.pop()
            place = self._items[-1].place if self._items else TOP_LEVEL
            self._lead.set_text(self.builder.add_text("paragraph", lines, first + 1, place))
        return at

    def _item(self, lines: list[str], first: int, indent: int) -> None:
        if not self._items:
            self._group = self.builder.start_group()
            self._base = TOP_LEVEL.parents_under(self._lead.introduction)
        while self._items and self._items[-1].columns >= indent:
            self._items.pop()
        outer = self._items[-1].place.parents if self._items else self._base
        place = BlockPlace(outer, self._group, len(self._items))
        text = self.builder.add_text("item", lines, first + 1, place)
        if len(self._items) < _DEEPEST:
            self._items.append(
                _ListItem(indent, BlockPlace(place.parents_under(text), self._group, len(self._items)))
            )


def read_text(file: str, data: bytes, step_counter: StepCounter) -> Document:
    """Read a text file. Raises `Unreadable`, and `GivenUp`."""
    lines = split_lines(decode_text(data))
    reader = _TextReader(lines, step_counter)
    reader.run()
    return reader.builder.make_document(file, lines)
