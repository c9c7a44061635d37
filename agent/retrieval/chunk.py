"""Cuts a markdown file into passages by heading, and those into snippets that can be cited.

Strategy: the parser gives each block its lines (`blocks`), and a snippet is lines of one block as they stand in the
file (`cut`). A list item, a table row and a paragraph are blocks of their own. What a block cannot say by itself (the
headings above, the header of its table, the line that leads into its list) is kept beside it as context, for the
search to find it by, and bounded, since it is kept with every row. Lines are split at \\n, \\r\\n and \\r, as markdown
splits them. A file costs time and memory in proportion to its size, up to the bounds in `config`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.config import CONTEXT_CHARACTERS, FILE_LINES, PASSAGE_SNIPPETS
from agent.ports.search import Lang, Passage, Snippet
from agent.text.language import language

from .blocks import Block, clipped, sections
from .cut import spans
from .effort import Effort, TooMuch
from .load import Document, Skipped

_LANGUAGE_FOLDERS: dict[str, Lang] = {"en": "en", "sv": "sv"}


@dataclass(frozen=True, slots=True)
class Piece:
    """A snippet and what the search needs to know of it.

    above: what its whole file or chapter is about: the file's name and the outer headings.
    context: what it is itself about: its own heading, its table's header, the line that leads into its list.
    searchable: False for a line that only names others (a table's header without a number in it).
    """

    snippet: Snippet
    passage: Passage
    above: str
    context: str
    searchable: bool


def pieces_of(document: Document, effort: Effort | None = None) -> tuple[Piece, ...] | Skipped:
    """Return the pieces of a document, or why it is left out: it is over a bound.

    Raises `agent.retrieval.effort.GivenUp` when `effort` was given up.
    """
    try:
        return chunk(document.file, document.text, effort)
    except TooMuch as bound:
        return Skipped(document.file, str(bound))


def chunk(file: str, text: str, effort: Effort | None = None) -> tuple[Piece, ...]:
    """Return the pieces of one file, in its order; every line with content is in exactly one of them, or in parts.

    file: its name as it will be cited. text: its content; front matter, headings without a number, fences, rules,
    comments, link definitions and what is no text (`cut`) are no content.
    Raises `agent.retrieval.effort.TooMuch` for a file over FILE_LINES or FILE_SECONDS, and `GivenUp` when `effort`
    was given up.
    """
    effort = effort or Effort()
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if len(lines) > FILE_LINES:
        raise TooMuch(f"has more than {FILE_LINES} lines; split it")
    with effort.one_file():
        return tuple(_pieces(file, _without_front_matter(lines), effort))


def _pieces(file: str, lines: Sequence[str], effort: Effort) -> list[Piece]:
    told = _folder_language(file)
    main = told or language("\n".join(lines)) or "en"
    title = re.sub(r"[\W_]+", " ", file.rsplit("/", 1)[-1].removesuffix(".md"))
    pieces: list[Piece] = []
    for section in sections(lines, effort):
        lang = told or language("\n".join(_text(lines, block) for block in section.blocks)) or main
        above = clipped(" . ".join((title, *section.headings[:-1])), CONTEXT_CHARACTERS)
        own = "".join(f"{heading} . " for heading in section.headings[-1:])
        for stretch in _stretches(file, lines, section.blocks, effort):
            headers = dict.fromkeys(header for _, _, header in stretch if header)
            passage = Passage(
                file, section.headings, lang, tuple([snippet for snippet, _, _ in stretch]), tuple(headers)
            )
            pieces += [
                Piece(snippet, passage, above, own + block.context, block.searchable)
                for snippet, block, _ in stretch
            ]
    return pieces


_Cut = tuple[Snippet, Block, Snippet | None]
"""A snippet, its block, and the header of the table that it is a row of."""


def _stretches(file: str, lines: Sequence[str], blocks: Sequence[Block], effort: Effort) -> list[list[_Cut]]:
    """Return the snippets of a section, in stretches of at most PASSAGE_SNIPPETS."""
    stretches: list[list[_Cut]] = [[]]
    header: Snippet | None = None
    for block in blocks:
        for span in spans(lines, block.first, block.last, effort):
            snippet = Snippet(file, span.text, span.first + 1, span.last)
            if block.header < 0:
                header = None
            elif header is None or header.first != block.header + 1:
                header = snippet
            if len(stretches[-1]) == PASSAGE_SNIPPETS:
                stretches.append([])
            stretches[-1].append((snippet, block, header))
    return stretches


def _text(lines: Sequence[str], block: Block) -> str:
    return "\n".join(lines[block.first : block.last])


def _folder_language(file: str) -> Lang | None:
    """Return the language that the innermost folder named for one says a file is in."""
    folders = reversed(file.lower().split("/")[:-1])
    return next((_LANGUAGE_FOLDERS[folder] for folder in folders if folder in _LANGUAGE_FOLDERS), None)


def _without_front_matter(lines: Sequence[str]) -> list[str]:
    """Return the lines with a front matter block blanked, so that the others keep their numbers."""
    if lines and lines[0].rstrip() == "---":
        for index, line in enumerate(lines[1:], 1):
            if line.rstrip() in ("---", "..."):
                return [""] * (index + 1) + list(lines[index + 1 :])
    return list(lines)
