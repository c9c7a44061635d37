"""Reads a file into sections, within the bounds for one file."""

from collections.abc import Callable

from agent.documents import Document, Unreadable, parse_document
from agent.ports.search import Passage

from .effort import BoundExceeded, Effort
from .load import Skipped, SourceFile
from .sections import cut_sections
from .settings import FILE_LINES


def document_of(source: SourceFile, effort: Effort | None = None) -> Document | Skipped:
    """Return a file as blocks of plain text, or why it is left out: it is unreadable, or over a bound.

    Raises `agent.errors.GivenUp` when `effort` was given up. Bounds the time only within `Effort.limit_file`.
    """
    effort = effort or Effort()

    def given_up() -> bool:
        effort.check()
        return False

    try:
        document = parse_document(source.file, source.data, given_up)
    except (BoundExceeded, Unreadable) as reason:
        return Skipped(source.file, str(reason))
    if len(document.lines) > FILE_LINES:
        return Skipped(source.file, f"has more than {FILE_LINES} lines; split it")
    return document


def passages_of(source: SourceFile, effort: Effort | None = None) -> tuple[Passage, ...] | Skipped:
    """Return the sections of a file, in its order, or why it is left out.

    Raises `agent.errors.GivenUp` when `effort` was given up.
    """
    read = read_whole(source, effort)
    return read if isinstance(read, Skipped) else read[1]


def read_whole(
    source: SourceFile,
    effort: Effort | None = None,
    document_of: Callable[[SourceFile, Effort], Document | Skipped] = document_of,
) -> tuple[Document, tuple[Passage, ...]] | Skipped:
    """Return a file as blocks and its sections, or why it is left out.

    `document_of`: reads the file. Raises as `passages_of` does.
    """
    effort = effort or Effort()
    try:
        with effort.limit_file():
            document = document_of(source, effort)
            return document if isinstance(document, Skipped) else (document, cut_sections(document, effort))
    except BoundExceeded as bound:
        return Skipped(source.file, str(bound))
