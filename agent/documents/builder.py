"""Collects the blocks of one document, in order, for every reader.

Strategy: a reader says what it meets (a heading, a paragraph, a row) with its lines; here it becomes a `Block` below
the headings that hold, or nothing where no letter or digit is left in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.text.sentences import sentences

from .breath import Breath
from .form import Block, Kind, Unreadable
from .headings import Headings, Scope
from .rows import Filled, row_text
from .say import said, speaks, verbatim

_PARENT = 300  # characters of a text that others hang under; more of it tells no more
_PARENTS = 8  # the innermost ones
_BLOCKS = (
    300_000  # of one document; a file of the largest size has them only when nearly every line is a letter
)


def _last_sentence(text: str) -> str:
    """Return the last sentence of a text; "" of one that has none."""
    return next((text[start:end] for start, end in reversed(list(sentences(text)))), "")


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a list, or below what, a block stands; the default is nowhere."""

    parents: tuple[str, ...] = ()
    group: int = 0
    depth: int = 0

    def below(self, text: str) -> tuple[str, ...]:
        """Return the parents of what hangs under `text` here."""
        return (*self.parents, text[:_PARENT].strip())[-_PARENTS:] if text else self.parents


NOWHERE = Place()


class Lead:
    """The text right before a place, which lists, tables and code may hang under."""

    def __init__(self) -> None:
        self.text = ""
        self._into = False

    def after(self, text: str) -> None:
        """Remember the text of a paragraph; of a long one its last sentence. "" forgets."""
        self.text = text if len(text) <= _PARENT else _last_sentence(text)[-_PARENT:]
        self._into = text.endswith(":")

    @property
    def line(self) -> str:
        """The text when it leads into what follows ("...:"), else ""."""
        return self.text if self._into else ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table that has been told apart from its header."""

    places: Sequence[Filled]
    header: tuple[str, ...]
    header_line: int


class Builder:
    """The blocks so far, and the headings that hold for the next one."""

    def __init__(self, breath: Breath, title: str = "") -> None:
        self.breath = breath
        self.headings = Headings(title)
        self.blocks: list[Block] = []
        self._groups = 0
        self._bold: Block | None = None

    def group(self) -> int:
        """Return the number of a list or table that begins."""
        self._groups += 1
        return self._groups

    def heading(self, level: int, text: str) -> None:
        """Go below a heading."""
        self.settle()
        self.headings.heading(level, text)

    def enter(self, scope: Scope) -> None:
        """Go below a component's title."""
        self.settle()
        self.headings.enter(scope)

    def bold(self, lines: Sequence[str], first: int, kind: Kind = "paragraph") -> None:
        """Take lines that act as a heading for what follows them; a block of their own when nothing does."""
        self.settle()
        text, starts = said(lines)
        self._bold = Block(kind, text, first, first + len(lines) - 1, self.headings.path, starts)

    def settle(self) -> None:
        """Make a bold line that nothing followed a block."""
        if self._bold:
            if speaks(self._bold.text):
                self._append(self._bold)
            self._bold = None

    def text(self, kind: Kind, lines: Sequence[str], first: int, place: Place = NOWHERE) -> str:
        """Add a block of plain text, one entry for each of its lines; return the text, "" when it was nothing."""
        self.breath.draw()
        text, starts = said(lines)
        if not speaks(text):
            return ""
        self._add(kind, text, first, starts, place)
        return text

    def code(self, lines: Sequence[str], first: int, place: Place = NOWHERE) -> None:
        """Add lines of code; blank ones at its ends are left out."""
        self.breath.draw()
        begin, end = 0, len(lines)
        while begin < end and not lines[begin].strip():
            begin += 1
        while end > begin and not lines[end - 1].strip():
            end -= 1
        text, starts = verbatim(lines[begin:end])
        if speaks(text):
            self._add("code", text, first + begin, starts, place)

    def row(self, row: Row, first: int, last: int, place: Place) -> None:
        """Add a row of a table that stands on the lines first..last."""
        self.breath.draw()
        text, starts = row_text(row.places, row.header, first, last)
        if not speaks(text):
            return
        self._follow(first)
        self._append(
            Block(
                "row",
                text,
                first,
                last,
                self.headings.path,
                starts,
                place.parents,
                tuple(cell.text for cell in row.places),
                row.header,
                row.header_line if row.header else 0,
                place.group,
            )
        )

    def _add(self, kind: Kind, text: str, first: int, starts: tuple[int, ...], place: Place) -> None:
        self._follow(first)
        self._append(
            Block(
                kind,
                text,
                first,
                first + len(starts) - 1,
                self.headings.path,
                starts,
                place.parents,
                group=place.group,
                depth=place.depth if kind == "item" else 0,
            )
        )

    def _append(self, block: Block) -> None:
        if len(self.blocks) >= _BLOCKS:
            raise Unreadable(f"holds more than {_BLOCKS} paragraphs, items and rows")
        self.blocks.append(block)

    def _follow(self, line: int) -> None:
        """Let a bold line that waits become a heading: a block follows it."""
        if self._bold:
            self.headings.bold(self._bold.text)
            self._bold = None
        self.headings.reach(line)
