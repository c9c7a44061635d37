"""Collects the blocks of one document in order, for every reader.

Strategy: a reader reports each heading, paragraph, item or row with its lines. `BlockBuilder` makes a `Block` of it
below the current headings, and drops a text in which no letter or digit is left. A bold line is held back until the
next call, which shows whether it acts as a heading (a block follows) or is a paragraph.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.text.sentences import find_sentences

from .blocks import Block, Document, Kind, Unreadable
from .headings import Headings, TitleScope
from .plain_lines import find_text_range, has_text, join_code, join_lines
from .rows import GridCell, row_text
from .step_counter import StepCounter

_PARENT_LENGTH = 300  # characters of a parent's text; more of it adds nothing
_MOST_PARENTS = 8  # the innermost parents are kept
_MOST_BLOCKS = 300_000  # of one document: a file of the largest size needs a letter a line to have more


@dataclass(frozen=True, slots=True)
class BlockPlace:
    """The position of a block in a list or below a parent text; `TOP_LEVEL` is outside of both.

    `parents`: the texts above it, outermost first. `group`: the number of its list or table. `depth`: its level in a
    list.
    """

    parents: tuple[str, ...] = ()
    group: int = 0
    depth: int = 0

    def parents_under(self, text: str) -> tuple[str, ...]:
        """Return the `parents` of blocks that hang under `text` at this place."""
        return (*self.parents, text[:_PARENT_LENGTH].strip())[-_MOST_PARENTS:] if text else self.parents


TOP_LEVEL = BlockPlace()


class LeadText:
    """The text right before a place: lists, tables and code may hang under it."""

    def __init__(self) -> None:
        self.text = ""
        self._introduces = False

    def set_text(self, text: str) -> None:
        """Set `text` to a paragraph's text, or to the last sentence of a long one. "" clears it."""
        self.text = text if len(text) <= _PARENT_LENGTH else _last_sentence(text)[-_PARENT_LENGTH:]
        self._introduces = text.endswith(":")

    @property
    def introduction(self) -> str:
        """The text when it ends in ":" and so introduces the next block, else ""."""
        return self.text if self._introduces else ""


def _last_sentence(text: str) -> str:
    """Return the last sentence of `text`, "" when it has none."""
    return next((text[start:end] for start, end in reversed(list(find_sentences(text)))), "")


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table, separate from its header.

    `cells`: one for each column, with spans filled in. `header`: one name for each column. `header_line`: the line of
    the header.
    """

    cells: Sequence[GridCell]
    header: tuple[str, ...]
    header_line: int


NO_ROW = TableRow((), (), 0)


class BlockBuilder:
    """The blocks of a document so far, and the headings above the next one."""

    def __init__(self, step_counter: StepCounter, title: str = "") -> None:
        self.step_counter = step_counter
        self.headings = Headings(title)
        self.blocks: list[Block] = []
        self._groups = 0
        self._bold_line: Block | None = None

    def make_document(
        self,
        file: str,
        lines: Sequence[str],
        *,
        title: str = "",
        description: str = "",
        lang: str = "",
        pages: Sequence[int] = (),
    ) -> Document:
        """Return the document of all blocks; without a `title` its first heading of level 1 is the title.

        The other arguments are those of `Document`.
        """
        return Document(
            file=file,
            title=title or self.headings.first_of_level_1,
            description=description,
            lang=lang,
            lines=tuple(lines),
            unit="page" if pages else "line",
            blocks=tuple(self.blocks),
            pages=tuple(pages),
        )

    def start_group(self) -> int:
        """Return a new number, for a list or table that begins."""
        self._groups += 1
        return self._groups

    def add_heading(self, level: int, text: str) -> None:
        """Open a heading of `level` 1 to 6."""
        self.release_bold_line()
        self.headings.open_heading(level, text)

    def add_title(self, scope: TitleScope) -> None:
        """Open the title of a component, `scope`."""
        self.release_bold_line()
        self.headings.open_title(scope)

    def hold_bold_line(self, lines: Sequence[str], first: int, kind: Kind = "paragraph") -> None:
        """Hold back bold lines. They become a heading when a block follows them, else a block of their own."""
        self.release_bold_line()
        text, starts = join_lines(lines)
        self._bold_line = self._make_block(kind, text, first, starts, TOP_LEVEL)

    def release_bold_line(self) -> None:
        """Add a bold line that is still held back as a block."""
        if self._bold_line:
            if has_text(self._bold_line.text):
                self._append(self._bold_line)
            self._bold_line = None

    def add_text(self, kind: Kind, lines: Sequence[str], first: int, place: BlockPlace = TOP_LEVEL) -> str:
        """Add a block of plain text and return its text, "" when it was empty.

        `lines`: one entry for each line of the file.
        """
        self.step_counter.count_step()
        text, starts = join_lines(lines)
        if not has_text(text):
            return ""
        self._open_headings(first)
        self._append(self._make_block(kind, text, first, starts, place))
        return text

    def add_code(self, lines: Sequence[str], first: int, place: BlockPlace = TOP_LEVEL) -> None:
        """Add a block of code, without the blank lines at its ends."""
        self.step_counter.count_step()
        begin, end = find_text_range(lines)
        text, starts = join_code(lines[begin:end])
        if has_text(text):
            self._open_headings(first + begin)
            self._append(self._make_block("code", text, first + begin, starts, place))

    def add_row(self, row: TableRow, first: int, last: int, place: BlockPlace) -> None:
        """Add a row of a table that stands on the lines `first` to `last`."""
        self.step_counter.count_step()
        text, starts = row_text(row.cells, row.header, first, last)
        if not has_text(text):
            return
        self._open_headings(first)
        self._append(self._make_block("row", text, first, starts, place, row))

    def _make_block(
        self,
        kind: Kind,
        text: str,
        first: int,
        starts: tuple[int, ...],
        place: BlockPlace,
        row: TableRow = NO_ROW,
    ) -> Block:
        return Block(
            kind=kind,
            text=text,
            first=first,
            last=first + len(starts) - 1,
            path=self.headings.path,
            starts=starts,
            parents=place.parents,
            cells=tuple(cell.text for cell in row.cells),
            header=row.header,
            header_line=row.header_line if row.header else 0,
            group=place.group,
            depth=place.depth if kind == "item" else 0,
        )

    def _append(self, block: Block) -> None:
        if len(self.blocks) >= _MOST_BLOCKS:
            raise Unreadable(f"holds more than {_MOST_BLOCKS} paragraphs, items and rows")
        self.blocks.append(block)

    def _open_headings(self, line: int) -> None:
        """Bring the headings to `line`, where a block begins: a bold line before it becomes its heading."""
        if self._bold_line:
            self.headings.open_bold_line(self._bold_line.text)
            self._bold_line = None
        self.headings.close_before(line)
