"""Builds a table from its HTML tags: cells with their lines, spans, and the rows of the header."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from .builder import BlockBuilder, BlockPlace, TableRow
from .plain_lines import plain_line
from .rows import Cell, Grid, GridCell, join_header

_HEADER_ROWS_MAX = 4

TextPiece: TypeAlias = tuple[int, str]
"""A piece of text, after the line where it begins."""


@dataclass(slots=True)
class OpenCell:
    """A cell whose text is still arriving, as pieces with their lines."""

    is_header: bool
    columns: int
    rows: int
    pieces: list[TextPiece] = field(default_factory=list)
    bold: bool = True  # whether all of its text is bold


class Table:
    """One table of a page, from its first tag to its last.

    `cell`: the open cell, which takes text. `in_head`: whether the rows belong to a `thead`.
    """

    def __init__(self, builder: BlockBuilder, place: BlockPlace) -> None:
        """Begin a table at `place`; its rows get a group of their own."""
        self._builder = builder
        self._place = BlockPlace(place.parents, builder.start_group())
        self._grid = Grid()
        self._head: list[list[GridCell]] = []
        self._header: tuple[str, ...] = ()
        self._header_line = 0
        self._rows = 0
        self._cells: list[OpenCell] = []
        self.cell: OpenCell | None = None
        self.in_head = False

    def set_caption(self, text: str) -> None:
        """Let the rows hang under the caption `text`."""
        self._place = BlockPlace(self._place.parents_under(text), self._place.group)

    def open_cell(self, name: str, attributes: Mapping[str, str | None]) -> None:
        """Begin a cell."""
        self.cell = OpenCell(
            name == "th", _parse_span(attributes.get("colspan")), _parse_span(attributes.get("rowspan"))
        )
        self._cells.append(self.cell)

    def close_row(self) -> None:
        """End the row: add it to the header, or as a block. An empty row adds nothing."""
        cells, self._cells, self.cell = self._cells, [], None
        if not cells:
            return
        lines = [line for cell in cells for line, text in cell.pieces if text.strip()]
        row = self._grid.fill_row(
            [Cell((_cell_text(cell),), _first_line(cell), cell.columns, cell.rows) for cell in cells]
        )
        alone = len(cells) == 1 and all(cell.line for cell in row)
        if alone:  # one cell across the whole table
            row = row[:1]
        if not lines:
            return
        first, last = min(lines), max(lines)
        if self._is_header(cells):
            self._head.append(row)
            self._header = join_header(self._head)
            self._header_line = self._header_line or first
            return
        self._rows += 1
        self._builder.add_row(
            TableRow(row, () if alone else self._header, self._header_line), first, last, self._place
        )

    def finish(self) -> None:
        """End the table. The rows of a table with only a header become blocks too."""
        self.close_row()
        if self._head and not self._rows:
            for row in self._head:
                line = next((cell.line for cell in row if cell.line), self._header_line)
                self._builder.add_row(TableRow(row, (), 0), line, line, self._place)

    def _is_header(self, cells: list[OpenCell]) -> bool:
        if self._rows or len(self._head) >= _HEADER_ROWS_MAX:
            return False
        if self.in_head or all(cell.is_header for cell in cells):
            return True
        filled = [cell for cell in cells if any(text.strip() for _, text in cell.pieces)]
        return not self._head and len(filled) > 1 and all(cell.bold for cell in filled)


def _cell_text(cell: OpenCell) -> str:
    """Return the text of a cell on one line."""
    return plain_line("".join(text for _, text in cell.pieces))


def _first_line(cell: OpenCell) -> int:
    """Return the line where the text of a cell begins; 0 for an empty cell."""
    return next((line for line, text in cell.pieces if text.strip()), 0)


def _parse_span(value: str | None) -> int:
    """Return the columns or rows that an attribute states; 1 for an invalid one."""
    return int(value) if value and value.isascii() and value.isdigit() and len(value) < 5 else 1
