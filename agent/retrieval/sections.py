"""Cuts a document into sections, which are ranked and given whole, and those into statements, which are matched.

Strategy: a section is what stands under one heading path, up to a bound, cut where a paragraph, a list or a table
ends. A statement is a sentence, a list item or a table's row: the least that can answer a question and be cited. Its
snippet is one to three lines as they stand in the file (a row's after its header's line); where a line is long, as in
files with one line a paragraph, it is that part of the line which the statement was read from (`cut`). A snippet shows
every word of its statement: where three lines do not, it is the statement in plain words.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby

from agent.config import CONTEXT_CHARACTERS, PASSAGE_SNIPPETS, SNIPPET_LINES
from agent.documents import Block, Document
from agent.lang import DEFAULT, LANGUAGES, Lang
from agent.ports.search import Passage, Snippet
from agent.text.language import language
from agent.text.sentences import sentences

from .cut import Lines, holds, parts
from .effort import Effort

SECTION_CHARACTERS = 1600
"""Of a section from which it is cut, at a natural border."""

STATEMENT_CHARACTERS = 1200
"""Of a sentence from which it is several statements."""

_HEADER = 400  # characters of a table's header that stand before its row
_CODE_LINES = 3
_BLOCKS = 40  # of a document whose words tell its language
_WORDS = 20_000  # characters of a text whose words tell its language


def sections(document: Document, effort: Effort | None = None) -> tuple[Passage, ...]:
    """Return the sections of a document, in its order; each holds at least one statement.

    Raises what `effort.look` raises.
    """
    effort = effort or Effort()
    told, main = _told(document), language_of(document)
    lines = Lines(document.lines, effort)
    found: list[Passage] = []
    for path, blocks in groupby(document.blocks, key=lambda block: block.path):
        headings = tuple([heading for heading in path if heading])
        for part in _parts(list(blocks)):
            snippets = [
                snippet
                for block in part
                for snippet in _statements(block, headings, document.file, lines, effort)
            ]
            if not snippets:
                continue
            lang = told or _spoken(part) or main
            for at in range(0, len(snippets), PASSAGE_SNIPPETS):
                found.append(
                    Passage(document.file, headings, lang, tuple(snippets[at : at + PASSAGE_SNIPPETS]))
                )
    return tuple(found)


def language_of(document: Document) -> Lang:
    """Return the language that a document is in."""
    return _told(document) or _spoken(document.blocks[:_BLOCKS]) or DEFAULT


def _spoken(blocks: Sequence[Block]) -> Lang | None:
    """Return the language that blocks are in, by their first words."""
    return language(" ".join([block.text[:_WORDS] for block in blocks])[:_WORDS])


def _told(document: Document) -> Lang | None:
    """Return the language that the front matter, else the innermost folder named for one, says."""
    folders = reversed(document.file.lower().split("/")[:-1])
    own = document.lang.lower()[:2]
    return own if own in LANGUAGES else next((folder for folder in folders if folder in LANGUAGES), None)


def _parts(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Yield the blocks of one path in parts of about SECTION_CHARACTERS.

    A list or a table is parted only when it is longer; a line that leads into one goes with it.
    """
    part: list[Block] = []
    size = 0
    for _, of in groupby(enumerate(blocks), key=lambda each: each[1].group or -each[0] - 1):
        unit = [block for _, block in of]
        length = sum(len(block.text) for block in unit)
        lead = len(part) > 1 and part[-1].text.endswith(":")
        if part and size + length > SECTION_CHARACTERS and not (lead and length <= SECTION_CHARACTERS):
            yield part
            part, size = [], 0
        elif lead and size + length > SECTION_CHARACTERS:
            *before, last = part
            yield before
            part, size = [last], len(last.text)
        for block in unit:
            if part and size + len(block.text) > SECTION_CHARACTERS and length > SECTION_CHARACTERS:
                yield part
                part, size = [], 0
            part.append(block)
            size += len(block.text)
    if part:
        yield part


def _statements(
    block: Block, headings: tuple[str, ...], file: str, lines: Lines, effort: Effort
) -> Iterator[Snippet]:
    """Yield the statements of a block."""
    effort.look()
    lead = block.parents[-1][:CONTEXT_CHARACTERS] if block.parents else ""
    if block.kind == "code":
        for first in range(block.first, block.last + 1, _CODE_LINES):
            last = min(first + _CODE_LINES - 1, block.last)
            text = lines.whole(first, last)
            if text.strip():
                yield Snippet(file, text, first, last, text.strip("\n"), "code", lead, headings)
        return
    header = ""
    if 0 < block.header_line != block.first:
        header = lines.whole(block.header_line, block.header_line, _HEADER) + "\n"
    whole = block.kind == "row" and len(block.text) <= STATEMENT_CHARACTERS
    for start, end in ((0, len(block.text)),) if whole else _said(block.text, effort):
        said = block.text[start:end]
        first = block.first + max(0, bisect_right(block.starts, start) - 1)
        last = block.first + max(0, bisect_right(block.starts, end - 1) - 1)
        last = min(last, first + SNIPPET_LINES - 1)
        text = header + lines.around(first, last, said)
        if not holds(text, said):  # it stands on more lines than are shown, or its header does
            text = said
        yield Snippet(file, text, first, last, said, block.kind, lead, headings)


def _said(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield where each statement of a text begins and ends: its sentences, long ones in parts."""
    for start, end in sentences(text):
        effort.look()
        if end - start <= STATEMENT_CHARACTERS:
            yield start, end
            continue
        for part in parts(text[start:end], effort, STATEMENT_CHARACTERS):
            start = text.find(part, start, end)
            yield start, start + len(part)
            start += len(part)
