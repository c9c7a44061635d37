"""Collects the blocks of one document in order, for every reader.

Strategy: a reader reports each heading, paragraph, item or row with its lines. `Builder` makes a `Block` of it below
the current headings, and drops a text in which no letter or digit is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.text.sentences import find_sentences

from .blocks import Block, Kind, Unreadable
from .headings import Headings, TitleScope
from .plain_lines import has_text, join_code, join_lines
from .rows import Filled, row_text
from .step_counter import StepCounter

_PARENT = 300  # characters of a parent's text; more of it adds nothing
_PARENTS = 8  # the innermost parents are kept
_BLOCKS = (
    300_000  # of one document; a file of the largest size has them only when nearly every line is a letter
)


def _last_sentence(text: str) -> str:
    """Return the last sentence of `text`, "" when it has none."""
    return next((text[start:end] for start, end in reversed(list(find_sentences(text)))), "")


@dataclass(frozen=True, slots=True)
class BlockPlace:
    """The position of a block in a list or below a parent text; `Place()` is the top level.

    `parents`: the texts above it, outermost first. `group`: the number of its list or table. `depth`: its level in a
    list.
    """

    parents: tuple[str, ...] = ()
    group: int = 0
    depth: int = 0

    def below(self, text: str) -> tuple[str, ...]:
        """Return the `parents` of blocks that hang under `text` at this place."""
        return (*self.parents, text[:_PARENT].strip())[-_PARENTS:] if text else self.parents


NOWHERE = BlockPlace()


class Lead:
    """The text right before a place: lists, tables and code may hang under it."""

    def __init__(self) -> None:
        self.text = ""
        self._into = False

    def after(self, text: str) -> None:
        """Set `text` to a paragraph's text, or to the last sentence of a long one. "" clears it."""
        self.text = text if len(text) <= _PARENT else _last_sentence(text)[-_PARENT:]
        self._into = text.endswith(":")

    @property
    def line(self) -> str:
        """The text when it ends in ":" and so leads into the next block, else ""."""
        return self.text if self._into else ""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table, separate from its header.

    `places`: its cells with spans filled in. `header`: one name for each column. `header_line`: the line of the header.
    """

    places: Sequence[Filled]
    header: tuple[str, ...]
    header_line: int


class Builder:
    """The blocks of a document so far, and the headings above the next one."""

    def __init__(self, step_counter: StepCounter, title: str = "") -> None:
        self.step_counter = step_counter
        self.headings = Headings(title)
        self.blocks: list[Block] = []
        self._groups = 0
        self._bold: Block | None = None

    def group(self) -> int:
        """Return a new number for a list or table that begins."""
        self._groups += 1
        return self._groups

    def heading(self, level: int, text: str) -> None:
        """Open a heading of `level` 1 to 6."""
        self.settle()
        self.headings.heading(level, text)

    def enter(self, scope: TitleScope) -> None:
        """Open the title of a component, `scope`."""
        self.settle()
        self.headings.enter(scope)

    def bold(self, lines: Sequence[str], first: int, kind: Kind = "paragraph") -> None:
        """Hold back lines that act as a heading. They become a block of their own when no block follows them."""
        self.settle()
        text, starts = join_lines(lines)
        self._bold = Block(
            kind=kind,
            text=text,
            first=first,
            last=first + len(lines) - 1,
            path=self.headings.path,
            starts=starts,
        )

    def settle(self) -> None:
        """Turn a bold line that is still held back into a block."""
        if self._bold:
            if has_text(self._bold.text):
                self._append(self._bold)
            self._bold = None

    def text(self, kind: Kind, lines: Sequence[str], first: int, place: BlockPlace = NOWHERE) -> str:
        """Add a block of plain text and return its text, "" when it was empty.

        `lines`: one entry for each line of the file.
        """
        self.step_counter.count_step()
        text, starts = join_lines(lines)
        if not has_text(text):
            return ""
        self._add(kind, text, first, starts, place)
        return text

    def code(self, lines: Sequence[str], first: int, place: BlockPlace = NOWHERE) -> None:
        """Add a block of code, without the blank lines at its ends."""
        self.step_counter.count_step()
        begin, end = 0, len(lines)
        while begin < end and not lines[begin].strip():
            begin += 1
        while end > begin and not lines[end - 1].strip():
            end -= 1
        text, starts = join_code(lines[begin:end])
        if has_text(text):
            self._add("code", text, first + begin, starts, place)

    def row(self, row: TableRow, first: int, last: int, place: BlockPlace) -> None:
        """Add a row of a table that stands on the lines `first` to `last`."""
        self.step_counter.count_step()
        text, starts = row_text(row.places, row.header, first, last)
        if not has_text(text):
            return
        self._follow(first)
        self._append(
            Block(
                kind="row",
                text=text,
                first=first,
                last=last,
                path=self.headings.path,
                starts=starts,
                parents=place.parents,
                cells=tuple(cell.text for cell in row.places),
                header=row.header,
                header_line=row.header_line if row.header else 0,
                group=place.group,
            )
        )

    def _add(self, kind: Kind, text: str, first: int, starts: tuple[int, ...], place: BlockPlace) -> None:
        self._follow(first)
        self._append(
            Block(
                kind=kind,
                text=text,
                first=first,
                last=first + len(starts) - 1,
                path=self.headings.path,
                starts=starts,
                parents=place.parents,
                group=place.group,
                depth=place.depth if kind == "item" else 0,
            )
        )

    def _append(self, block: Block) -> None:
        if len(self.blocks) >= _BLOCKS:
            raise Unreadable(f"holds more than {_BLOCKS} paragraphs, items and rows")
        self.blocks.append(block)

    def _follow(self, line: int) -> None:
        """Turn a bold line that is held back into a heading, since a block follows it on `line`."""
        if self._bold:
            self.headings.bold(self._bold.text)
            self._bold = None
        self.headings.reach(line)
