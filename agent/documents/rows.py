"""Rows of tables: cells that may span, the header above them, and the text of a row.

Strategy: rows arrive as cells with their lines; spans are filled, so that each row has a value under each header. The
rows of a header are joined into one name for each column. Limits keep spans from multiplying without end.
"""

from collections.abc import Sequence
from dataclasses import dataclass

_COLUMNS = 200  # of a row; cells beyond these have no header
_MOST_ROWS = 5_000  # rows that one cell may span
_MOST_FILLS = 20_000  # cells that the spans of one table may add
_NAME_LENGTH = 80  # characters of a header's cell in a row's text; the whole is in `Block.header`


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as it is written: the texts of its lines, and the line of the file where it begins.

    `columns`, `rows`: its span.
    """

    lines: tuple[str, ...]
    first: int
    columns: int = 1
    rows: int = 1


@dataclass(frozen=True, slots=True)
class GridCell:
    """The text in one column of a row, and the line where it begins; 0 when it is repeated from an earlier row."""

    text: str
    line: int


class Grid:
    """The spans of one table, filled row by row from top to bottom."""

    def __init__(self) -> None:
        self._spans: dict[int, tuple[int, str]] = {}  # column -> rows still to fill, text
        self._fills_left = _MOST_FILLS

    def fill_row(self, cells: Sequence[Cell]) -> list[GridCell]:
        """Return one cell for each column of a row, of which `cells` stand in the file."""
        filled: list[GridCell] = []
        for cell in cells:
            self._repeat_spanning_cells(filled)
            text = " ".join(filter(None, cell.lines))
            columns = min(max(cell.columns, 1), max(_COLUMNS - len(filled), 1), max(self._fills_left, 1))
            self._fills_left -= columns - 1
            for _ in range(columns):
                if cell.rows > 1 and len(filled) < _COLUMNS:
                    self._spans[len(filled)] = (min(cell.rows, _MOST_ROWS) - 1, text)
                filled.append(GridCell(text, cell.first))
        self._repeat_spanning_cells(filled)
        return filled

    def _repeat_spanning_cells(self, filled: list[GridCell]) -> None:
        """Append to `filled` the texts of cells above that span the columns that come next."""
        while self._fills_left > 0 and (span := self._spans.pop(len(filled), None)):
            rows, text = span
            if rows > 1:
                self._spans[len(filled)] = (rows - 1, text)
            self._fills_left -= 1
            filled.append(GridCell(text, 0))


def join_header(rows: Sequence[Sequence[GridCell]]) -> tuple[str, ...]:
    """Join the rows of a header into one name for each column; () when none has a text."""
    names: list[list[str]] = [[] for _ in range(max(map(len, rows), default=0))]
    for row in rows:
        for column, cell in enumerate(row):
            if cell.text and cell.text not in names[column][-1:]:
                names[column].append(cell.text)
    header = tuple(" ".join(name) for name in names)
    return header if any(header) else ()


def row_text(
    cells: Sequence[GridCell], header: Sequence[str], first: int, last: int
) -> tuple[str, tuple[int, ...]]:
    """Return a row as "first cell; header: cell; ...", and the offset in it of each of the lines `first` to `last`."""
    names = [name if len(name) <= _NAME_LENGTH else "" for name in header]
    parts: list[str] = []
    offsets: dict[int, int] = {}
    length = 0
    for column, cell in enumerate(cells):
        if not cell.text:
            continue
        name = names[column] if 0 < column < len(names) else ""
        part = f"{name}{' ' if name.endswith(':') else ': '}{cell.text}" if name else cell.text
        if cell.line:
            offsets.setdefault(cell.line, length)
        parts.append(part)
        length += len(part) + 2
    starts = [0] * (last - first + 1)
    for line, at in offsets.items():
        if first <= line <= last:
            starts[line - first] = at
    for index in range(1, len(starts)):
        starts[index] = max(starts[index], starts[index - 1])
    return "; ".join(parts), tuple(starts)
