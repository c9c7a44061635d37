"""Reads PDF with PDFium (pypdfium2), and joins its lines of text into paragraphs by their layout.

Strategy: PDFium gives a page's text in lines, and for each letter its place and size. Most letters have the size of
the running text: larger ones make a heading. A paragraph ends where the distance to the next line grows, where a
line begins with a bullet, and where a line has gaps like a table's. `Document.lines` are the lines of all pages, and
`Document.pages` tells the page of each.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from threading import Lock

import pypdfium2
from pypdfium2 import raw

from .blocks import PAGES_READ, Document, Unreadable
from .builder import TOP_LEVEL, BlockBuilder, BlockPlace, LeadText, TableRow
from .plain_lines import has_text, plain_line, without_blobs
from .rows import GridCell, join_header
from .step_counter import StepCounter

_CHARACTERS = 8_000_000  # of a document
_HEADING = 1.15  # times the size of the running text
_SAME = 1.12  # most times that the letters of one line of a paragraph are larger than those of another line
_LONGEST = 160  # characters of a heading
_APART = 1.45  # times the usual distance between lines
_GAP = 1.6  # times the height of a line: a larger space parts two of its pieces
_PIECES = 60  # of a line; a line with more is a drawing
_ITEM = re.compile(r"\s*(?:[-•‣▪●◦–·*]|\d{1,3}[.)]|[a-z]\))\s+(?=\S)")
_DIGIT = re.compile(r"\d")
_BULLET = re.compile(r"\s*[^\w\s(]")
# PDFium joins a word that a line's end breaks, and puts one of these characters between the parts.
_SOFT = re.compile("[\u00ad\ufffe\x02]")
_LEADERS = re.compile(r"(?:\. ?){5}[\divxlc]*$")  # from an entry of a table of contents to its page
_REPEATED = 3  # pages with the same first or last line except for its digits: a header or footer
_DIGITS = re.compile(r"\d+|^[ivxlc]+$")
_ONE_AT_A_TIME = Lock()  # PDFium keeps global state


@dataclass(frozen=True, slots=True)
class _PdfLine:
    """A line of a page.

    `size`: the size of its letters. `bottom`: its lower edge on the page. `cells`: the pieces of a line with gaps,
    else ().
    """

    text: str
    page: int
    size: float
    bottom: float
    cells: tuple[str, ...]


def read_pdf(file: str, data: bytes, step_counter: StepCounter) -> Document:
    """Read a PDF file. Raises `Unreadable`, `GivenUp`, and any exception of PDFium."""
    with _ONE_AT_A_TIME:
        try:
            pdf = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            locked = "password" in str(error).lower()
            raise Unreadable("needs a password" if locked else "is not a PDF file that can be read") from None
        try:
            title = plain_line(pdf.get_metadata_value("Title"))
            count = len(pdf)
            lines = list(_read_lines(pdf, step_counter))
        finally:
            pdf.close()
    if not lines:
        raise Unreadable("holds no text (scanned pages need OCR first)")
    builder = BlockBuilder(step_counter)
    _Paragraphs(builder, lines).run()
    document = builder.make_document(
        file,
        [line.text for line in lines],
        title=builder.headings.first_of_level_1 or title,
        pages=[line.page for line in lines],
    )
    return replace(document, page_count=count)


def _read_lines(pdf: pypdfium2.PdfDocument, step_counter: StepCounter) -> Iterator[_PdfLine]:
    """Yield the lines that have a text, page by page."""
    total = 0
    for number in range(min(len(pdf), PAGES_READ)):
        step_counter.check()
        page = pdf[number]
        try:
            text = page.get_textpage()
            try:
                total += text.count_chars()
                if total > _CHARACTERS:
                    raise Unreadable(f"holds more than {_CHARACTERS} characters")
                yield from _read_page(text, number + 1, step_counter)
            finally:
                text.close()
        finally:
            page.close()


def _read_page(text: pypdfium2.PdfTextPage, number: int, step_counter: StepCounter) -> Iterator[_PdfLine]:
    at = 0
    for piece in re.split("(\r\n|\r|\n)", text.get_text_range()):
        begin, at = at, at + len(piece)
        plain = " ".join(without_blobs(_SOFT.sub("", piece)).split())
        if not plain:
            continue
        step_counter.count_step()
        first = begin + len(piece) - len(piece.lstrip())
        last = begin + len(piece.rstrip()) - 1
        _, bottom, _, top = text.get_charbox(last)
        # A bullet may be larger than its line.
        size = float(raw.FPDFText_GetFontSize(text, last)) or top - bottom
        yield _PdfLine(
            plain, number, round(size, 1), bottom, _read_cells(text, first, last - first + 1, size)
        )


def _read_cells(text: pypdfium2.PdfTextPage, first: int, length: int, size: float) -> tuple[str, ...]:
    """Return the pieces of a line that stand far from each other, as in a table; () when there is only one."""
    count = text.count_rects(first, length)
    if not 1 < count < _PIECES:
        return ()
    rects = sorted(text.get_rect(index) for index in range(count))
    groups = [rects[:1]]
    for left, right in pairwise(rects):
        if right[0] - left[2] > _GAP * size:
            groups.append([])
        groups[-1].append(right)
    if len(groups) < 2:
        return ()
    bounds = [tuple(zip(*group, strict=True)) for group in groups]
    texts = [
        text.get_text_bounded(min(left), min(bottom), max(right), max(top))
        for left, bottom, right, top in bounds
    ]
    return tuple(plain_line(cell) for cell in texts)


class _Paragraphs:
    """The lines of one document, joined into paragraphs."""

    def __init__(self, builder: BlockBuilder, lines: list[_PdfLine]) -> None:
        self._builder = builder
        self._lines = lines
        sizes: Counter[float] = Counter()
        for line in lines:
            sizes[line.size] += len(line.text)
        self._size = sizes.most_common(1)[0][0]
        larger = sorted((size for size in sizes if size > self._size * _HEADING), reverse=True)
        self._levels = {size: min(index + 1, 6) for index, size in enumerate(larger)}
        steps = [
            above.bottom - below.bottom
            for above, below in pairwise(lines)
            if above.page == below.page
            and above.size == below.size == self._size
            and above.bottom > below.bottom
        ]
        self._step = median(steps) if steps else 0.0
        self._outside = _find_outside(lines)
        self._lead = LeadText()
        self._group = 0
        self._base = TOP_LEVEL

    def run(self) -> None:
        """Add the blocks of all lines to the builder."""
        at = 0
        while at < len(self._lines):
            if at in self._outside:
                at += 1
                continue
            end = self._read_table(at)
            if end > at:
                at = end
                continue
            end = at + 1
            while (
                end < len(self._lines)
                and end not in self._outside
                and self._belong_together(self._lines[end - 1], self._lines[end])
            ):
                end += 1
            self._add_block(at, end)
            at = end

    def _belong_together(self, above: _PdfLine, below: _PdfLine) -> bool:
        """Return whether two lines belong to one paragraph."""
        if above.cells or below.cells or not _are_alike(above.size, below.size) or _ITEM.match(below.text):
            return False
        if above.page != below.page:
            return below.text[:1].islower() and not above.text.endswith((".", "!", "?", ":"))
        return (
            above.bottom > below.bottom
            and above.bottom - below.bottom <= max(self._step, above.size) * _APART
        )

    def _read_table(self, first: int) -> int:
        """Add lines that all have the same number of pieces as a table; return the line after it."""
        end, columns = first, len(self._lines[first].cells)
        while columns and end < len(self._lines) and len(self._lines[end].cells) == columns:
            end += 1
        if end - first < 2:
            return first
        lines = self._lines[first:end]
        rows = [
            [GridCell(cell, first + index + 1) for cell in line.cells] for index, line in enumerate(lines)
        ]
        head = [] if any(map(_DIGIT.search, lines[0].cells)) else [rows[0]]
        place = BlockPlace(TOP_LEVEL.parents_under(self._lead.introduction), self._builder.start_group())
        for index, row in enumerate(rows[len(head) :], first + len(head) + 1):
            self._builder.add_row(TableRow(row, join_header(head), first + 1), index, index, place)
        self._lead.set_text("")
        return end

    def _add_block(self, first: int, end: int) -> None:
        texts = [line.text for line in self._lines[first:end]]
        item = _ITEM.match(texts[0])
        level = None if item and _BULLET.match(texts[0]) else self._levels.get(self._lines[first].size)
        if level and sum(map(len, texts)) <= _LONGEST and has_text("".join(texts)):
            self._builder.add_heading(level, " ".join(texts))
            self._lead.set_text("")
            self._group = 0
            return
        if item and not self._lines[first].cells:
            if not self._group:
                self._group = self._builder.start_group()
                self._base = BlockPlace(TOP_LEVEL.parents_under(self._lead.introduction), self._group)
            texts[0] = texts[0][item.end() :]
            self._builder.add_text("item", rejoin_words(texts), first + 1, self._base)
            self._lead.set_text("")
            return
        self._group = 0
        self._lead.set_text(self._builder.add_text("paragraph", rejoin_words(texts), first + 1))


def _are_alike(size: float, other_size: float) -> bool:
    """Return whether two sizes may occur in one paragraph: names in another type are often a little smaller."""
    return max(size, other_size) <= _SAME * min(size, other_size)


def _find_outside(lines: list[_PdfLine]) -> set[int]:
    """Return the indices of lines outside the text: headers and footers of pages, entries of a table of contents."""
    edges = [
        index
        for index, line in enumerate(lines)
        if not 0 < index < len(lines) - 1
        or line.page != lines[index - 1].page
        or line.page != lines[index + 1].page
    ]
    counts = Counter(_DIGITS.sub("", lines[index].text) for index in edges)
    repeated = {index for index in edges if counts[_DIGITS.sub("", lines[index].text)] >= _REPEATED}
    return repeated | {index for index, line in enumerate(lines) if _LEADERS.search(line.text)}


def rejoin_words(texts: list[str]) -> list[str]:
    """Rejoin words that a hyphen breaks at a line's end; the whole word goes on the first of the two lines."""
    whole = list(texts)
    for index in range(len(whole) - 1):
        following = whole[index + 1]
        if following[:1].islower() and whole[index][-1:] == "-" and whole[index][-2:-1].islower():
            end, _, rest = following.partition(" ")
            whole[index] = whole[index][:-1] + end
            whole[index + 1] = rest
    return whole
