r"""Converts a project's documents: from the uploaded bytes to a text that is stored, and from that text to sections.

Strategy: the stored form is text, so that an index can be built from it at any time without the reader of the
original format. An uploaded text stays as it is. A PDF, DOCX or HTML file is converted to a plain text in the form in
which plain texts are read here: headings underlined, items behind a dash, a table's row on a line of its own with the
names of its columns. Both ways meet in `passages_of_text`, so an upload is measured by the same sections that are
searched later.

Everything here blocks, and takes the time and memory that a hostile document makes it take: it is for a process that
can be killed (`foreign`), except for short texts.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from agent.documents import PAGES_READ, Block, Document, Unreadable, parse_document
from agent.errors import BadDocument
from agent.ports.projects import Category, DocumentText, ReadingReport
from agent.ports.search import Passage
from agent.text.words import replace_nul

from ..config import UPLOAD_MAX
from .effort import BoundExceeded, Effort
from .load import Skipped
from .sections import cut_sections
from .settings import FILE_LINES, FILE_SECONDS

UPLOAD_TEXT = 2 * 1024 * 1024  # of the text of an uploaded document, as UTF-8

_TEXT = frozenset(("text/plain", "text/markdown", "text/x-markdown"))
_BINARY = {
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "text/html": ".html",
}
_CONVERTED = {".pdf": ".pdf", ".docx": ".docx", ".html": ".html", ".htm": ".html"}
_UNTOLD = frozenset(("", "application/octet-stream"))  # types that say nothing: the file name decides
_MARKDOWN = frozenset((".md", ".markdown", ".mdx"))
_LINES = "=-~^#_"  # the underline of a heading, by level
_HEADING = 120  # most characters of a line that is read as a heading


def cite_document(category: Category, filename: str) -> str:
    """Return the citation of a document: docs/NAME, or docs/state/NAME for one that describes the present state."""
    return f"docs/state/{filename}" if category == "STATE" else f"docs/{filename}"


@dataclass(frozen=True, slots=True)
class UploadedText:
    """The text of an uploaded document. `pieces`: the number of sections it is cut into. `report`: counts the rest."""

    text: str
    pieces: int
    report: ReadingReport


def extract_text(filename: str, mime: str, data: bytes, effort: Effort | None = None) -> UploadedText:
    """Return the text of an uploaded document.

    `mime`: as it was sent, with its parameters. `data`: at most `UPLOAD_MAX` bytes. `effort`: may be given up.
    Raises `agent.errors.BadDocument`, which repeats nothing of the document, with one of these codes: `unsupported`
    (a kind that is not read here), `not_utf8`, `too_long` (its text, its lines, or the CPU that it takes), `empty`,
    and `unreadable` (a broken or protected file); and `agent.errors.GivenUp`.
    """
    effort = effort or Effort()
    if len(data) > UPLOAD_MAX:
        raise BadDocument("too_long", f"A document has at most {UPLOAD_MAX} bytes: split it.")
    suffix = _binary_suffix(filename, mime)
    try:
        with effort.limit_file():
            text, report = (
                _convert_to_text(suffix, data, effort) if suffix else (_decode_text(data), ReadingReport())
            )
            text = replace_nul(text)
            if len(text) > UPLOAD_TEXT or len(text.encode()) > UPLOAD_TEXT:
                raise BadDocument("too_long", f"A text has at most {UPLOAD_TEXT} bytes: split the document.")
            if not text.strip():
                raise BadDocument("empty", "The document holds no text.")
            pieces = len(_passages(DocumentText("", "FACTS", filename, text), effort))
            return UploadedText(text, pieces, report)
    except Unreadable as reason:
        raise BadDocument("unreadable", f"The document {reason}: save it anew, as another file.") from None
    except BoundExceeded:
        why = f"more than {FILE_LINES} lines, or takes more than {FILE_SECONDS:g} s to read"
        raise BadDocument("too_long", f"The document has {why}: split it.") from None


def passages_of_text(document: DocumentText, effort: Effort) -> tuple[Passage, ...] | Skipped:
    """Return the sections of a stored document, in its order, or why it is left out.

    Raises `agent.errors.GivenUp` when `effort` was given up.
    """
    try:
        with effort.limit_file():
            return _passages(document, effort)
    except (BoundExceeded, Unreadable) as reason:
        return Skipped(cite_document(document.category, document.filename), str(reason))


def _passages(document: DocumentText, effort: Effort) -> tuple[Passage, ...]:
    """Return the sections of a text, read as Markdown if its file name says so, else as plain text."""

    def given_up() -> bool:
        effort.check()
        return False

    if document.text.count("\n") > FILE_LINES:  # reading them takes seconds of CPU
        raise BoundExceeded(f"has more than {FILE_LINES} lines; split it")
    suffix = PurePosixPath(document.filename).suffix.lower()
    reader = suffix if suffix in _MARKDOWN else ".txt"
    parsed = parse_document(f"text{reader}", document.text.encode(), given_up)
    if len(parsed.lines) > FILE_LINES:
        raise BoundExceeded(f"has more than {FILE_LINES} lines; split it")
    return cut_sections(replace(parsed, file=cite_document(document.category, document.filename)), effort)


def _binary_suffix(filename: str, mime: str) -> str:
    """Return the suffix that selects the reader of a file that is converted, or "" for a text.

    Raises `BadDocument` for other kinds.
    """
    kind = mime.partition(";")[0].strip().lower()
    suffix = PurePosixPath(filename).suffix.lower()
    if kind in _TEXT:
        return ""
    if kind in _BINARY:
        return _BINARY[kind]
    if kind in _UNTOLD:
        if suffix in _CONVERTED:
            return _CONVERTED[suffix]
        if suffix in _MARKDOWN or suffix == ".txt":
            return ""
    raise _unsupported_error()


def _unsupported_error() -> BadDocument:
    return BadDocument("unsupported", "Send Markdown, HTML or plain text, or PDF or DOCX.")


def _decode_text(data: bytes) -> str:
    """Return an uploaded text as it is, without a byte order mark."""
    if len(data) > UPLOAD_TEXT:
        raise BadDocument("too_long", f"A text has at most {UPLOAD_TEXT} bytes: split the document.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadDocument("not_utf8", f"The document is not UTF-8 (byte {error.start}).") from None


def _convert_to_text(suffix: str, data: bytes, effort: Effort) -> tuple[str, ReadingReport]:
    """Return a PDF, DOCX or HTML file as a plain text, with the counts of what was read and left out."""

    def given_up() -> bool:
        effort.check()
        return False

    document = parse_document(f"file{suffix}", data, given_up)
    cut = max(0, document.page_count - PAGES_READ)
    blank = document.page_count - cut - len(set(document.pages))
    report = ReadingReport(document.page_count, blank, cut, document.pictures)
    return "\n".join(_text_lines(document)) + "\n", report


def _text_lines(document: Document) -> Iterator[str]:
    """Yield a document as lines of plain text."""
    path: tuple[str, ...] = ()
    if document.title and not any(block.path[:1] == (document.title,) for block in document.blocks[:1]):
        yield from (*_heading_lines(document.title, 0), "")
    group = 0
    for block in document.blocks:
        for level, heading in enumerate(block.path):
            if heading and block.path[: level + 1] != path[: level + 1]:
                yield from ("", *_heading_lines(heading, level), "")
        path = block.path
        if not (block.kind == "item" and block.group and block.group == group):
            yield ""
        group = block.group
        yield from _block_lines(block)


def _heading_lines(text: str, level: int) -> tuple[str, ...]:
    """Return a heading as a line and its underline.

    A long heading has no underline, since it would not be read as a heading.
    """
    if len(text) > _HEADING:
        return (text,)
    return (text, _LINES[min(level, len(_LINES) - 1)] * max(3, len(text)))


def _block_lines(block: Block) -> Iterator[str]:
    if block.kind == "item":
        yield f"{'  ' * block.depth}- {block.text}"
    else:
        yield block.text
