"""Shows some lines of a knowledge-base file and their surroundings, as the index holds them.

Strategy: nothing is read from the disk. The view has the lines that the snippets of the file's sections cite, put in
order again, and no other text: lines in no snippet (front matter, tags, blank lines) are not shown. A line of several
sentences may be in several snippets, each with a part of the line; these parts follow each other under one line number.
The view is bounded, and marks where it was cut. Pure, and linear in the size of the view.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agent.numbers.number_tokens import tokens
from agent.ports.search import Passage, Snippet

SOURCE_CHARACTERS = 24_000  # of a file that are shown at once

BEFORE = SOURCE_CHARACTERS // 3
"""Characters of the same heading that are shown before the first of the lines."""


@dataclass(slots=True, kw_only=True)
class ViewLine:
    """A line, or a part of a long one. `line`: its number, from 1; `None` for the header of a table, above its rows.

    `kind`: paragraph, item, row, code or quote. `cited`: the line is among the requested ones, or the header above one.
    `numbers`: the start and end of each number in the `text` of a cited line. `header`: the table's header, for a row.
    """

    line: int | None
    text: str
    kind: str
    header: str = ""
    cited: bool = False
    numbers: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class ViewSection:
    """The lines under one heading path. `headings`: outermost first."""

    headings: tuple[str, ...]
    pieces: list[ViewLine] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView:
    """The shown part of a file.

    `lines`: the first and the last requested line; `None` for the whole file. `parts`: in the order of the file.
    `above`: whether lines above the view under the same heading were cut off. `below`: the line at which the view was
    cut off, or `None`. `whole`: whether the view is the whole file.
    """

    file: str
    lines: tuple[int, int] | None
    parts: tuple[ViewSection, ...]
    above: bool
    below: int | None
    whole: bool


def view_source(passages: Sequence[Passage], lines: tuple[int, int] | None = None) -> FileView | None:
    """Return a file around some lines, or from its beginning; `None` when the index holds none of those lines.

    `passages`: all sections of one file, in its order. `lines`: first and last, from 1, inclusive.
    """
    if not passages:
        return None
    first, end = 0, len(passages)
    above = False
    if lines is not None:
        places = [number for number, each in enumerate(passages) if _has_lines(each, lines)]
        if not places:
            return None
        first = _find_start(passages, places[0])
        above = first > 0 and passages[first - 1].headings == passages[first].headings
        end = _find_end(passages, places[-1])
    parts, below = _cut_sections(passages[first:end], lines)
    if not parts:
        return None
    whole = (first, end, below) == (0, len(passages), None)
    return FileView(file=passages[0].file, lines=lines, parts=parts, above=above, below=below, whole=whole)


def _has_lines(passage: Passage, lines: tuple[int, int]) -> bool:
    return any(each.first <= lines[1] and each.last >= lines[0] for each in passage.snippets)


def _find_start(passages: Sequence[Passage], place: int) -> int:
    """Return the index of the first section to show, of those with the heading of the section at `place`."""
    left = BEFORE
    headings = passages[place].headings
    while place > 0 and passages[place - 1].headings == headings:
        left -= sum(len(snippet.text) for snippet in passages[place - 1].snippets)
        if left < 0:
            break
        place -= 1
    return place


def _find_end(passages: Sequence[Passage], place: int) -> int:
    """Return the index after the last section with the heading of the section at `place`."""
    headings = passages[place].headings
    while place < len(passages) and passages[place].headings == headings:
        place += 1
    return place


def _cut_sections(
    passages: Sequence[Passage], lines: tuple[int, int] | None
) -> tuple[tuple[ViewSection, ...], int | None]:
    """Return the sections up to `SOURCE_CHARACTERS`, and the line at which they were cut, or `None`."""
    parts: list[ViewSection] = []
    left = SOURCE_CHARACTERS
    for passage in passages:
        if not parts or parts[-1].headings != passage.headings:
            parts.append(ViewSection(passage.headings))
        pieces = parts[-1].pieces
        for piece in _find_new_lines(passage.snippets, pieces):
            left -= len(piece.text)
            if left < 0 and pieces:
                below = piece.line or passage.snippets[0].first
                return _mark_cited(parts, lines), below
            pieces.append(piece)
    return _mark_cited(parts, lines), None


def _find_new_lines(snippets: Sequence[Snippet], before: Sequence[ViewLine]) -> Iterator[ViewLine]:
    """Yield the lines of some snippets that are not in `before`, each once."""
    for snippet in snippets:
        texts = snippet.text.split("\n")
        lines = snippet.last - snippet.first + 1
        header = ""
        if snippet.kind == "row" and len(texts) == lines + 1:
            header = texts.pop(0)
            if not before or before[-1].header != header:
                yield ViewLine(line=None, text=header, kind="row", header=header)
        if len(texts) != lines:  # the snippet's text is not that of its lines
            texts = [" ".join(texts)]
        for number, text in enumerate(texts, snippet.first):
            if text.strip() and not _is_known(number, text, before):
                yield ViewLine(line=number, text=text, kind=snippet.kind, header=header)


def _is_known(line: int, text: str, before: Sequence[ViewLine]) -> bool:
    """Tell whether `text` of a line is in `before`; an earlier part that it contains is replaced by it."""
    for piece in reversed(before):
        if piece.line is not None and piece.line < line:
            return False
        if piece.line == line:
            if text in piece.text:
                return True
            if piece.text in text:
                piece.text = text
                return True
    return False


def _mark_cited(parts: Sequence[ViewSection], lines: tuple[int, int] | None) -> tuple[ViewSection, ...]:
    """Return the parts that are not empty, with the requested lines marked as cited."""
    for part in parts if lines is not None else ():
        header: ViewLine | None = None
        for piece in part.pieces:
            if piece.line is None:
                header = piece
            elif lines is not None and lines[0] <= piece.line <= lines[1]:
                _mark_line(piece)
                if header is not None and header.header == piece.header and not header.cited:
                    _mark_line(header)
    return tuple([part for part in parts if part.pieces])


def _mark_line(piece: ViewLine) -> None:
    """Mark a line as cited, with its numbers; an address is left out, since people do not read it as a number."""
    found = tokens(piece.text, source=True)
    piece.cited = True
    piece.numbers = tuple([(token.start, token.end) for token in found if "://" not in token.text])
