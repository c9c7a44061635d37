"""From a file's bytes to its sections, within the bounds of one file."""

from collections.abc import Callable

from agent.config import FILE_LINES
from agent.documents import Document, Unreadable, read
from agent.ports.search import Passage

from .effort import Effort, TooMuch
from .load import Skipped, Source
from .sections import sections


def document_of(source: Source, effort: Effort | None = None) -> Document | Skipped:
    """Return a file as blocks of plain text, or why it is left out: it cannot be read, or is over a bound.

    Raises `agent.errors.GivenUp` when `effort` was given up. Looks at the time only within `Effort.one_file`.
    """
    effort = effort or Effort()

    def given_up() -> bool:
        effort.look()
        return False

    try:
        document = read(source.file, source.data, given_up)
    except (TooMuch, Unreadable) as reason:
        return Skipped(source.file, str(reason))
    if len(document.lines) > FILE_LINES:
        return Skipped(source.file, f"has more than {FILE_LINES} lines; split it")
    return document


def passages_of(source: Source, effort: Effort | None = None) -> tuple[Passage, ...] | Skipped:
    """Return the sections of a file, in its order, or why it is left out.

    Raises `agent.errors.GivenUp` when `effort` was given up.
    """
    read = read_whole(source, effort)
    return read if isinstance(read, Skipped) else read[1]


def read_whole(
    source: Source,
    effort: Effort | None = None,
    document_of: Callable[[Source, Effort], Document | Skipped] = document_of,
) -> tuple[Document, tuple[Passage, ...]] | Skipped:
    """Return a file and its sections, or why it is left out. document_of: reads it. Raises as `passages_of` does."""
    effort = effort or Effort()
    try:
        with effort.one_file():
            document = document_of(source, effort)
            return document if isinstance(document, Skipped) else (document, sections(document, effort))
    except TooMuch as bound:
        return Skipped(source.file, str(bound))
