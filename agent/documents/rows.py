"""Rows of tables: cells that may span, the header above them, and the text of a row.

Strategy: rows arrive as cells with their lines; spans are filled, so that each row has a value under each header. The
rows of a header are joined into one name for each column. Limits keep spans from multiplying without end.
"""

from collections.abc import Sequence
from dataclasses import dataclass

_COLUMNS = 200  # of a row; cells beyond these have no header
_DOWN = 5_000  # rows that one cell may span
_FILLED = 20_000  # cells that the spans of one table may add
_NAME = 80  # characters of a header's cell in a row's text; the whole is in `Block.header`


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as it is written.

    `lines`: its text; `first`: the line of the first; `across`, `down`: the span; `heads`: `th`.
    """

    lines: tuple[str, ...]
    first: int
    across: int = 1
    down: int = 1
    heads: bool = False


@dataclass(frozen=True, slots=True)
class Filled:
    """One place in a row: plain text, and the line it begins at; 0 when it is repeated from an earlier row."""

    text: str
    line: int


class Grid:
    """The spans of one table, filled row by row from top to bottom."""

    def __init__(self) -> None:
        self._down: dict[int, tuple[int, str]] = {}  # column -> rows still to fill, text
        self._left = _FILLED

    def row(self, cells: Sequence[Cell]) -> list[Filled]:
        """Return the places of a row, of which `cells` stand in the file."""
        filled: list[Filled] = []
        for cell in cells:
            self._come_down(filled)
            text = " ".join(line for line in cell.lines if line)
            across = min(max(cell.across, 1), max(_COLUMNS - len(filled), 1), max(self._left, 1))
            self._left -= across - 1
            for _ in range(across):
                if cell.down > 1 and len(filled) < _COLUMNS:
                    self._down[len(filled)] = (min(cell.down, _DOWN) - 1, text)
                filled.append(Filled(text, cell.first))
        self._come_down(filled)
        return filled

    def _come_down(self, filled: list[Filled]) -> None:
        while self._left > 0 and (waiting := self._down.pop(len(filled), None)):
            rows, text = waiting
            if rows > 1:
                self._down[len(filled)] = (rows - 1, text)
            self._left -= 1
            filled.append(Filled(text, 0))


def join_header(rows: Sequence[Sequence[Filled]]) -> tuple[str, ...]:
    """Join the rows of a header into one name for each column; () when none has a text."""
    names: list[list[str]] = [[] for _ in range(max(map(len, rows), default=0))]
    for row in rows:
        for column, place in enumerate(row):
            if place.text and place.text not in names[column][-1:]:
                names[column].append(place.text)
    header = tuple(" ".join(name) for name in names)
    return header if any(header) else ()


def row_text(
    places: Sequence[Filled], header: Sequence[str], first: int, last: int
) -> tuple[str, tuple[int, ...]]:
    """Return a row as "first cell; header: cell; ...", and the offset in it of each of the lines `first` to `last`."""
    names = [name if len(name) <= _NAME else "" for name in header]
    parts: list[str] = []
    begins: dict[int, int] = {}
    length = 0
    for column, place in enumerate(places):
        if not place.text:
            continue
        name = names[column] if 0 < column < len(names) else ""
        part = f"{name}{' ' if name.endswith(':') else ': '}{place.text}" if name else place.text
        if place.line:
            begins.setdefault(place.line, length)
        parts.append(part)
        length += len(part) + 2
    starts = [0] * (last - first + 1)
    for line, at in begins.items():
        if first <= line <= last:
            starts[line - first] = at
    for index in range(1, len(starts)):
        starts[index] = max(starts[index], starts[index - 1])
    return "; ".join(parts), tuple(starts)
