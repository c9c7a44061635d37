"""Reads DOCX with python-docx: headings, paragraphs, lists and tables by their styles.

Strategy: the body is read in its order. Such a file has no lines, so one paragraph or one row of a table counts as a
line. Headers, footers, comments and pictures are left out. The archive is measured before it is unpacked.
"""

import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import docx
from docx.document import Document as Body
from docx.oxml.ns import qn
from docx.oxml.table import CT_Row, CT_Tbl
from docx.oxml.text.paragraph import CT_P
from docx.table import Table, _Cell
from docx.text.paragraph import Paragraph

from .blocks import Document, Unreadable
from .builder import TOP_LEVEL, BlockBuilder, BlockPlace, LeadText, TableRow
from .front_matter import language_of
from .plain_lines import plain_line
from .rows import Cell, Grid, GridCell, join_header
from .step_counter import StepCounter

_UNPACKED = 64 * 1024 * 1024  # bytes
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_QUOTE = re.compile(r"quote", re.IGNORECASE)
_CODE = re.compile(r"code|preformatted|macro", re.IGNORECASE)
_LIST = re.compile(r"list (?:bullet|number|paragraph)?\s*(\d)?", re.IGNORECASE)
_DEEPEST = 9
_PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/picture}pic"


def read_docx(file: str, data: bytes, step_counter: StepCounter) -> Document:
    """Read a DOCX file. Raises `Unreadable`, `GivenUp`, and any exception of python-docx."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except zipfile.BadZipFile:
        raise Unreadable("is not a DOCX file") from None
    if size > _UNPACKED:
        raise Unreadable(f"unpacks to more than {_UNPACKED} bytes")
    step_counter.check()
    body = docx.Document(io.BytesIO(data))
    step_counter.check()
    core = body.core_properties
    reader = _DocxReader(step_counter)
    reader.run(body)
    builder = reader.builder
    document = builder.make_document(
        file,
        reader.lines,
        title=reader.title or builder.headings.first_of_level_1 or plain_line(core.title or ""),
        description=plain_line(core.subject or ""),
        lang=language_of(core.language or ""),
    )
    return replace(document, pictures=sum(1 for _ in body.element.body.iter(_PICTURE)))


class _DocxReader:
    """The pass over the body of one document, which collects its lines and blocks."""

    def __init__(self, step_counter: StepCounter) -> None:
        self.builder = BlockBuilder(step_counter)
        self.lines: list[str] = []
        self.title = ""
        self._items: list[BlockPlace] = []  # the place of an item, by its depth in the open list
        self._group = 0
        self._styles: dict[str | None, str] = {}
        self._lead = LeadText()

    def run(self, body: Body) -> None:
        """Read the XML elements of `body`: they hold facts that python-docx's paragraphs and tables do not show."""
        for element in body.element.body.inner_content_elements:
            self.builder.step_counter.count_step()
            if isinstance(element, CT_Tbl):
                self._table(element, body)
            else:
                self._paragraph(element, body)

    def _style(self, element: CT_P, paragraph: Paragraph) -> str:
        """Return the name of a paragraph's style. Cached, since python-docx searches all styles each time."""
        known = self._styles.get(element.style)
        if known is None:
            known = (paragraph.style.name if paragraph.style else "") or ""
            self._styles[element.style] = known
        return known

    def _line(self, text: str) -> int:
        """Add a line and return its number."""
        self.lines.append(" ".join(text.split()))
        return len(self.lines)

    def _paragraph(self, element: CT_P, body: Body) -> None:
        paragraph = Paragraph(element, body)
        text = paragraph.text
        if not text.strip():
            return
        style = self._style(element, paragraph)
        heading = _HEADING.match(style)
        if _CODE.search(style):
            self._code(text)
            return
        line = self._line(text)
        if heading or style == "Title":
            self._items = []
            self._lead.set_text("")
            if heading:
                self.builder.add_heading(min(int(heading[1]), 6), text)
            else:
                self.title = self.title or plain_line(text)
            return
        depth = _list_depth(element, style)
        if depth is not None:
            self._item(text, line, depth)
            return
        self._items = []
        kind = "quote" if _QUOTE.search(style) else "paragraph"
        self._lead.set_text(self.builder.add_text("quote" if kind == "quote" else "paragraph", [text], line))

    def _code(self, text: str) -> None:
        lines = text.split("\n")
        first = len(self.lines) + 1
        self.lines += lines
        self.builder.add_code(lines, first, BlockPlace(TOP_LEVEL.parents_under(self._lead.text)))
        self._lead.set_text("")

    def _item(self, text: str, line: int, depth: int) -> None:
        if not self._items:
            self._group = self.builder.start_group()
            self._items = [BlockPlace(TOP_LEVEL.parents_under(self._lead.introduction), self._group)]
            self._lead.set_text("")
        depth = min(depth, len(self._items) - 1)
        place = self._items[depth]
        item_text = self.builder.add_text("item", [text], line, place)
        self._items[depth + 1 :] = [BlockPlace(place.parents_under(item_text), self._group, depth + 1)]

    def _table(self, element: CT_Tbl, body: Body) -> None:
        self._items = []
        place = BlockPlace(TOP_LEVEL.parents_under(self._lead.introduction), self.builder.start_group())
        self._lead.set_text("")
        grid = Grid()
        rows, table = element.tr_lst, Table(element, body)
        above: dict[int, str] = {}
        head: list[list[GridCell]] = []
        header_line = 0
        for index, row in enumerate(rows):
            self.builder.step_counter.count_step()
            texts = _cells(row, table, above)
            line = self._line(" | ".join(text for text, _ in texts))
            cells = grid.fill_row([Cell((plain_line(text),), line, columns) for text, columns in texts])
            if index == 0 and len(rows) > 1 and _has_header(element):
                head, header_line = [cells], line
            else:
                self.builder.add_row(TableRow(cells, join_header(head), header_line), line, line, place)


def _cells(row: CT_Row, table: Table, above: dict[int, str]) -> Sequence[tuple[str, int]]:
    """Return the text of each cell of `row` with the number of columns it spans; a merged cell repeats the text above.

    `above`: the texts of the row above by their first columns; they are replaced by those of this row. The cells are
    read from the XML elements, since python-docx makes an object for each column that a cell claims to span.
    """
    cells: list[tuple[str, int]] = []
    texts: dict[int, str] = {}
    column = row.grid_before
    for cell in row.tc_lst:
        goes_on = cell.vMerge == "continue"
        texts[column] = text = above.get(column, "") if goes_on else _Cell(cell, table).text
        cells.append((text, cell.grid_span))
        column += cell.grid_span
    above.clear()
    above.update(texts)
    return cells


def _has_header(table: CT_Tbl) -> bool:
    """Return whether the first row of `table` is a header.

    Word writes this in `w:tblLook`; without it, a header is assumed.
    """
    properties = table.tblPr
    look = properties.find(qn("w:tblLook")) if properties is not None else None
    if look is None:
        return True
    first = look.get(qn("w:firstRow"))
    if first is not None:
        return first not in ("0", "false", "off")
    value = look.get(qn("w:val")) or ""
    return bool(int(value, 16) & 0x20) if re.fullmatch(r"[0-9A-Fa-f]{1,8}", value) else True


def _list_depth(paragraph: CT_P, style: str) -> int | None:
    """Return the depth of a paragraph in a list, `None` when it is not in one."""
    properties = paragraph.pPr
    numbers: Any = properties.numPr if properties is not None else None
    if numbers is not None and (numbers.numId is None or numbers.numId.val != 0):
        return min(numbers.ilvl.val if numbers.ilvl is not None else 0, _DEEPEST)
    match = _LIST.match(style)
    if match and style.lower() != "list paragraph":
        return min(int(match[1] or 1) - 1, _DEEPEST)
    return None
