"""What a file of the knowledge base says at some lines and around them, as the index holds it.

Strategy: nothing is read from the disk. The lines are those that the snippets of the file's sections cite, put in order
again: what is in no snippet (front matter, tags, blank lines) is not shown, and nothing else can be. A line of several
sentences may be told by several snippets, each with a part of it; those parts follow each other under one number. What
is shown has a bound, and says where it was cut. Pure, and linear in what is shown.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agent.config import SOURCE_CHARACTERS
from agent.numbers.read import tokens
from agent.ports.search import Passage, Snippet

BEFORE = SOURCE_CHARACTERS // 3
"""Characters of the same heading that are shown before the first of the lines."""


@dataclass(slots=True)
class Piece:
    """A line, or a part of a long one. line: its number, from 1; None for the header of a table, above its rows.

    kind: paragraph, item, row, code or quote. cited: it is one of those that were asked for, or the header above one.
    numbers: where in `text` each number of a cited one begins and ends. header: of a row, that of its table.
    """

    line: int | None
    text: str
    kind: str
    header: str = ""
    cited: bool = False
    numbers: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class Part:
    """What stands under one heading path, outermost first."""

    headings: tuple[str, ...]
    pieces: list[Piece] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class View:
    """What is shown of a file.

    lines: the first and the last one that were asked for; None for the whole file. parts: in the order of the file.
    above: whether something above it under the same heading was cut off. below: the line at which it was cut off, or
    None. whole: whether this is all of the file.
    """

    file: str
    lines: tuple[int, int] | None
    parts: tuple[Part, ...]
    above: bool
    below: int | None
    whole: bool


def view(passages: Sequence[Passage], lines: tuple[int, int] | None = None) -> View | None:
    """Return a file around some lines, or from its beginning; None when nothing is held of those lines.

    passages: all sections of one file, in its order. lines: first and last, from 1, inclusive.
    """
    if not passages:
        return None
    first, end = 0, len(passages)
    above = False
    if lines is not None:
        places = [number for number, each in enumerate(passages) if _holds(each, lines)]
        if not places:
            return None
        first = _start(passages, places[0])
        above = first > 0 and passages[first - 1].headings == passages[first].headings
        end = _end(passages, places[-1])
    parts, below = _parts(passages[first:end], lines)
    if not parts:
        return None
    whole = (first, end, below) == (0, len(passages), None)
    return View(passages[0].file, lines, parts, above, below, whole)


def _holds(passage: Passage, lines: tuple[int, int]) -> bool:
    return any(each.first <= lines[1] and each.last >= lines[0] for each in passage.snippets)


def _start(passages: Sequence[Passage], place: int) -> int:
    """Return from which section on those of the same heading are shown."""
    left = BEFORE
    headings = passages[place].headings
    while place > 0 and passages[place - 1].headings == headings:
        left -= sum(len(snippet.text) for snippet in passages[place - 1].snippets)
        if left < 0:
            break
        place -= 1
    return place


def _end(passages: Sequence[Passage], place: int) -> int:
    """Return behind which section those of the same heading end."""
    headings = passages[place].headings
    while place < len(passages) and passages[place].headings == headings:
        place += 1
    return place


def _parts(passages: Sequence[Passage], lines: tuple[int, int] | None) -> tuple[tuple[Part, ...], int | None]:
    """Return sections up to the bound, and the line at which they were cut."""
    parts: list[Part] = []
    left = SOURCE_CHARACTERS
    for passage in passages:
        if not parts or parts[-1].headings != passage.headings:
            parts.append(Part(passage.headings))
        pieces = parts[-1].pieces
        for piece in _pieces(passage.snippets, pieces):
            left -= len(piece.text)
            if left < 0 and pieces:
                below = piece.line or passage.snippets[0].first
                return _told(parts, lines), below
            pieces.append(piece)
    return _told(parts, lines), None


def _pieces(snippets: Sequence[Snippet], before: Sequence[Piece]) -> Iterator[Piece]:
    """Yield the lines of some snippets that are new, each once; what comes again is in `before`."""
    for snippet in snippets:
        texts = snippet.text.split("\n")
        lines = snippet.last - snippet.first + 1
        header = ""
        if snippet.kind == "row" and len(texts) == lines + 1:
            header = texts.pop(0)
            if not before or before[-1].header != header:
                yield Piece(None, header, "row", header)
        if len(texts) != lines:  # it is told in other words than its lines
            texts = [" ".join(texts)]
        for number, text in enumerate(texts, snippet.first):
            if text.strip() and not _known(number, text, before):
                yield Piece(number, text, snippet.kind, header)


def _known(line: int, text: str, before: Sequence[Piece]) -> bool:
    """Tell whether a line, or this part of it, is there; a part that it holds whole makes way for it."""
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


def _told(parts: Sequence[Part], lines: tuple[int, int] | None) -> tuple[Part, ...]:
    """Return the parts in which there is something, with what was asked for marked."""
    for part in parts if lines is not None else ():
        header: Piece | None = None
        for piece in part.pieces:
            if piece.line is None:
                header = piece
            elif lines is not None and lines[0] <= piece.line <= lines[1]:
                _mark(piece)
                if header is not None and header.header == piece.header and not header.cited:
                    _mark(header)
    return tuple([part for part in parts if part.pieces])


def _mark(piece: Piece) -> None:
    """Mark a line as one that was asked for. An address is read as a number, and is none for a person."""
    found = tokens(piece.text, source=True)
    piece.cited = True
    piece.numbers = tuple([(token.start, token.end) for token in found if "://" not in token.text])
