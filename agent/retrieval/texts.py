r"""Documents that a project was given: from the bytes that were sent to a text that is kept, and from that to sections.

Strategy: what is kept is text, so that an index can be built of it at any time without the reader that it first took.
Text that is sent stays as it is. Of a PDF or a DOCX file a plain text is written, in the way that plain texts are read
again here: headings underlined, items behind a dash, a table's row on a line of its own with the names of its columns.
Both ways meet in `passages_of_text`, so that what an upload is measured by is what is searched later.

Everything here blocks, and takes what a hostile document makes it take: it is for a process that can be killed
(`foreign`), but for texts that are short.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from agent.config import FILE_LINES, FILE_SECONDS, UPLOAD_MAX, UPLOAD_TEXT
from agent.documents import Block, Document, NotInstalled, Unreadable, read
from agent.errors import BadDocument
from agent.ports.projects import Category, DocumentText
from agent.ports.search import Passage
from agent.text.words import without_nul

from .effort import Effort, TooMuch
from .load import Skipped
from .sections import sections

_TEXT = frozenset(("text/plain", "text/markdown", "text/x-markdown"))
_BINARY = {
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
}
_UNTOLD = frozenset(("", "application/octet-stream"))  # whoever sent it did not know: the name tells
_MARKDOWN = frozenset((".md", ".markdown", ".mdx"))
_LINES = "=-~^#_"  # under a heading of each level
_HEADING = 120  # characters of a line that is read as a heading


def cited(category: Category, filename: str) -> str:
    """Return how a document is cited: docs/NAME, or docs/state/NAME of one that tells how things are just now."""
    return f"docs/state/{filename}" if category == "STATE" else f"docs/{filename}"


def text_of(filename: str, mime: str, data: bytes, effort: Effort | None = None) -> tuple[str, int]:
    """Return the text of a document that was sent, and into how many sections it is cut.

    mime: as it was told with it, its parameters too. data: at most UPLOAD_MAX bytes. effort: may be given up.
    Raises `agent.errors.BadDocument`, which repeats nothing of it, with one of these codes: `unsupported` (a kind that
    is not read here), `not_utf8`, `too_long` (its text, its lines, or the CPU that it takes), `empty`, and
    `unreadable` (a PDF or DOCX file that is broken); and `agent.errors.GivenUp`.
    """
    effort = effort or Effort()
    if len(data) > UPLOAD_MAX:
        raise BadDocument("too_long", f"A document has at most {UPLOAD_MAX} bytes: split it.")
    suffix = _binary(filename, mime)
    try:
        with effort.one_file():
            text = without_nul(_written(suffix, data, effort) if suffix else _decoded(data))
            if len(text) > UPLOAD_TEXT or len(text.encode()) > UPLOAD_TEXT:
                raise BadDocument("too_long", f"A text has at most {UPLOAD_TEXT} bytes: split the document.")
            if not text.strip():
                raise BadDocument("empty", "There is no text in the document.")
            return text, len(_passages(DocumentText("", "FACTS", filename, text), effort))
    except NotInstalled:
        raise _unsupported() from None
    except Unreadable:
        raise BadDocument(
            "unreadable", "The document cannot be read as the kind of file that it is."
        ) from None
    except TooMuch:
        why = f"more than {FILE_LINES} lines, or takes more than {FILE_SECONDS:g} s to read"
        raise BadDocument("too_long", f"The document has {why}: split it.") from None


def passages_of_text(document: DocumentText, effort: Effort) -> tuple[Passage, ...] | Skipped:
    """Return the sections of a document that is kept, in its order, or why it is left out.

    Raises `agent.errors.GivenUp` when `effort` was given up.
    """
    try:
        with effort.one_file():
            return _passages(document, effort)
    except (TooMuch, Unreadable) as reason:
        return Skipped(cited(document.category, document.filename), str(reason))


def _passages(document: DocumentText, effort: Effort) -> tuple[Passage, ...]:
    """Return the sections of a text, which is read as Markdown where its name says so, else as it stands."""

    def given_up() -> bool:
        effort.look()
        return False

    if document.text.count("\n") > FILE_LINES:  # to read them takes seconds, of everybody's time too
        raise TooMuch(f"has more than {FILE_LINES} lines; split it")
    suffix = PurePosixPath(document.filename).suffix.lower()
    reader = suffix if suffix in _MARKDOWN else ".txt"
    found = read(f"text{reader}", document.text.encode(), given_up)
    if len(found.lines) > FILE_LINES:
        raise TooMuch(f"has more than {FILE_LINES} lines; split it")
    return sections(replace(found, file=cited(document.category, document.filename)), effort)


def _binary(filename: str, mime: str) -> str:
    """Return the suffix of the reader of what is no text; "" for a text. Raises `BadDocument` for another kind."""
    kind = mime.partition(";")[0].strip().lower()
    suffix = PurePosixPath(filename).suffix.lower()
    if kind in _TEXT:
        return ""
    if kind in _BINARY:
        return _BINARY[kind]
    if kind in _UNTOLD:
        if suffix in _BINARY.values():
            return suffix
        if suffix in _MARKDOWN or suffix == ".txt":
            return ""
    raise _unsupported()


def _unsupported() -> BadDocument:
    return BadDocument("unsupported", "Send text/plain or text/markdown, or PDF or DOCX where that is read.")


def _decoded(data: bytes) -> str:
    """Return a text that was sent, as it is: its own bytes, but for a mark at its beginning."""
    if len(data) > UPLOAD_TEXT:
        raise BadDocument("too_long", f"A text has at most {UPLOAD_TEXT} bytes: split the document.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadDocument("not_utf8", f"The document is not UTF-8 (byte {error.start}).") from None


def _written(suffix: str, data: bytes, effort: Effort) -> str:
    """Return a PDF or DOCX file as a plain text."""

    def given_up() -> bool:
        effort.look()
        return False

    return "\n".join(_lines(read(f"file{suffix}", data, given_up))) + "\n"


def _lines(document: Document) -> Iterator[str]:
    """Yield a document as lines of plain text."""
    path: tuple[str, ...] = ()
    if document.title and not any(block.path[:1] == (document.title,) for block in document.blocks[:1]):
        yield from (*_heading(document.title, 0), "")
    group = 0
    for block in document.blocks:
        for level, heading in enumerate(block.path):
            if heading and block.path[: level + 1] != path[: level + 1]:
                yield from ("", *_heading(heading, level), "")
        path = block.path
        if not (block.kind == "item" and block.group and block.group == group):
            yield ""
        group = block.group
        yield from _block(block)


def _heading(text: str, level: int) -> tuple[str, ...]:
    if len(text) > _HEADING:
        return (text,)
    return (text, _LINES[min(level, len(_LINES) - 1)] * max(3, len(text)))


def _block(block: Block) -> Iterator[str]:
    if block.kind == "item":
        yield f"{'  ' * block.depth}- {block.text}"
    else:
        yield block.text
