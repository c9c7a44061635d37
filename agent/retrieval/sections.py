"""Cuts a document into sections, which are ranked and given whole, and sections into statements, which are matched.

Strategy: a section is the text under one heading path, up to a bound, cut where a paragraph, a list or a table ends.
A statement is a sentence, a list item or a table's row: the least that can answer a question and be cited. Its
snippet is one to three lines as they stand in the file (a row after the line of its header). Where a line is long, as
in files with one line for each paragraph, the snippet is the part of the line that the statement was read from
(`cut`). A snippet shows every word of its statement: where three lines do not, it is the statement in plain words.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby

from agent.documents import Block, Document
from agent.lang import DEFAULT, LANGUAGES, Lang
from agent.ports.search import Passage, Snippet
from agent.text.language import detect_language
from agent.text.sentences import find_sentences

from .effort import Effort
from .snippets import CitableLines, shows_statement, split_line

SNIPPET_LINES = 3  # of one snippet
PASSAGE_SNIPPETS = 200  # a part of a file under one heading that has more is several passages
CONTEXT_CHARACTERS = 400  # of the line that leads into a list

SECTION_CHARACTERS = 1600
"""Characters from which a section is cut, at a natural border."""

STATEMENT_CHARACTERS = 1200
"""Characters from which a sentence becomes several statements."""

_HEADER = 400  # characters of a table's header that are shown before a row
_CODE_LINES = 3
_BLOCKS = 40  # blocks of a document that decide its language
_WORDS = 20_000  # characters of a text that decide its language


def cut_sections(document: Document, effort: Effort | None = None) -> tuple[Passage, ...]:
    """Return the sections of a document, in its order; each holds at least one statement.

    Raises as `effort.check` does.
    """
    effort = effort or Effort()
    declared = _declared_language(document)
    main = declared  # read when a section does not show its language
    lines = CitableLines(document.lines, effort)
    found: list[Passage] = []
    for path, blocks in groupby(document.blocks, key=lambda block: block.path):
        headings = tuple([heading for heading in path if heading])
        for part in _split_blocks(list(blocks)):
            snippets = [
                snippet
                for block in part
                for snippet in _cut_statements(block, headings, document.file, lines, effort)
            ]
            if not snippets:
                continue
            lang = declared or _detect_language(part) or (main := main or language_of(document))
            for at in range(0, len(snippets), PASSAGE_SNIPPETS):
                found.append(
                    Passage(document.file, headings, lang, tuple(snippets[at : at + PASSAGE_SNIPPETS]))
                )
    return tuple(found)


def language_of(document: Document) -> Lang:
    """Return the language of a document."""
    return _declared_language(document) or _detect_language(document.blocks[:_BLOCKS]) or DEFAULT


def _detect_language(blocks: Sequence[Block]) -> Lang | None:
    """Return the language of some blocks by their first words, or None."""
    return detect_language(" ".join([block.text[:_WORDS] for block in blocks])[:_WORDS])


def _declared_language(document: Document) -> Lang | None:
    """Return the language by the front matter, else by the innermost folder named for a language."""
    folders = reversed(document.file.lower().split("/")[:-1])
    own = document.lang.lower()[:2]
    return own if own in LANGUAGES else next((folder for folder in folders if folder in LANGUAGES), None)


def _split_blocks(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Yield the blocks of one path in parts of about `SECTION_CHARACTERS`.

    A list or a table is split only when it is longer; a line that leads into one stays with it.
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


def _cut_statements(
    block: Block, headings: tuple[str, ...], file: str, lines: CitableLines, effort: Effort
) -> Iterator[Snippet]:
    """Yield the statements of a block."""
    effort.check()
    lead = block.parents[-1][:CONTEXT_CHARACTERS] if block.parents else ""
    if block.kind == "code":
        for first in range(block.first, block.last + 1, _CODE_LINES):
            last = min(first + _CODE_LINES - 1, block.last)
            text = lines.cite_lines(first, last)
            if text.strip():
                yield Snippet(
                    file=file,
                    text=text,
                    first=first,
                    last=last,
                    plain_text=text.strip("\n"),
                    kind="code",
                    lead=lead,
                    headings=headings,
                )
        return
    header = ""
    if 0 < block.header_line != block.first:
        header = lines.cite_lines(block.header_line, block.header_line, _HEADER) + "\n"
    whole = block.kind == "row" and len(block.text) <= STATEMENT_CHARACTERS
    for start, end in ((0, len(block.text)),) if whole else _find_statements(block.text, effort):
        statement = block.text[start:end]
        first = block.first + max(0, bisect_right(block.starts, start) - 1)
        last = block.first + max(0, bisect_right(block.starts, end - 1) - 1)
        last = min(last, first + SNIPPET_LINES - 1)
        text = header + lines.cite_statement(first, last, statement)
        if not shows_statement(
            text, statement
        ):  # the statement or its header stands on more lines than are shown
            text = statement
        yield Snippet(
            file=file,
            text=text,
            first=first,
            last=last,
            plain_text=statement,
            kind=block.kind,
            lead=lead,
            headings=headings,
        )


def _find_statements(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the span of each statement of a text: its sentences, long ones in parts."""
    for start, end in find_sentences(text):
        effort.check()
        if end - start <= STATEMENT_CHARACTERS:
            yield start, end
            continue
        for part in split_line(text[start:end], effort, STATEMENT_CHARACTERS):
            start = text.find(part, start, end)
            yield start, start + len(part)
            start += len(part)
