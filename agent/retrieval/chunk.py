"""Cuts a markdown file into passages by heading, and those into snippets that can be cited.

Strategy: markdown-it gives each block its lines, and nothing else of it is used: a snippet is those lines, as they
stand in the file. A list item, a table row and a paragraph are blocks of their own; a block of more than three lines
is cut where a line ends a sentence, else after three. What a block cannot say by itself (the headings above, the
header of its table, the line that leads into its list) is kept beside it as context, for the search to find it by.
Lines are split as markdown-it splits them: at \\n, \\r\\n and \\r.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from agent.ports.search import Lang, Passage, Snippet
from agent.text.language import language

SNIPPET_LINES = 3

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_SENTENCE_END = re.compile(r"[.!?:…][\"'”’)\]*_`]*\s*$")
_NUMBERED_HEADING = re.compile(r"^[\s#>*-]*(?:\d+(?:\.\d+)*[.)]?(?:\s|$))?")
_LANGUAGE_FOLDERS: dict[str, Lang] = {"en": "en", "sv": "sv"}

# Only the block structure is read; the rules for what stands inside a line would be most of the work.
_PARSER = MarkdownIt("commonmark").enable("table").disable(["inline", "text_join"])


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


@dataclass(frozen=True, slots=True)
class _Block:
    """A run of lines (first counted from 0, last not included) that belongs together."""

    first: int
    last: int
    context: str = ""
    searchable: bool = True


def chunk(file: str, text: str) -> tuple[Piece, ...]:
    """Return the pieces of one file, in its order; every line with content is in exactly one of them.

    file: its name as it will be cited. text: its content; front matter, headings without a number, fences, rules,
    comments and link definitions are no content.
    """
    lines = _LINE_BREAK.split(text)
    source = "\n".join(_without_front_matter(lines))
    told = _folder_language(file)
    main = told or language(source) or "en"
    title = re.sub(r"[\W_]+", " ", file.rsplit("/", 1)[-1].removesuffix(".md"))
    pieces: list[Piece] = []
    for headings, blocks in _sections(_PARSER.parse(source), lines):
        lang = (
            told
            or language("\n".join("\n".join(lines[block.first : block.last]) for block in blocks))
            or main
        )
        snippets: list[Snippet] = []
        of: list[_Block] = []
        for block in blocks:
            for first, last in _cut(lines, block.first, block.last):
                snippets.append(Snippet(file, "\n".join(lines[first:last]), first + 1, last))
                of.append(block)
        passage = Passage(file, headings, lang, tuple(snippets))
        above = " . ".join((title, *headings[:-1]))
        own = "".join(f"{heading} . " for heading in headings[-1:])
        pieces.extend(
            Piece(snippet, passage, above, own + block.context, block.searchable)
            for snippet, block in zip(snippets, of, strict=True)
        )
    return tuple(pieces)


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


def _sections(
    tokens: Sequence[Token], lines: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], list[_Block]]]:
    """Yield each section that has content: the headings above it and its blocks."""
    path: list[tuple[int, str]] = []
    blocks: list[_Block] = []
    for index, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            if blocks:
                yield _names(path), blocks
            blocks = []
            depth = int(token.tag[1:])
            path = [entry for entry in path if entry[0] < depth]
            path.append((depth, _plain(tokens[index + 1].content)))
            if _tells_a_number(lines[token.map[0] : token.map[1]]):
                blocks.append(_Block(token.map[0], _heading_end(token)))
        else:
            blocks.extend(_block(tokens, index, lines))
    if blocks:
        yield _names(path), blocks


def _names(path: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    """Return the texts of the headings, those without any left out."""
    return tuple(name for _, name in path if name)


def _heading_end(token: Token) -> int:
    """Return the line after a heading's text; the line drawn under a heading is not part of it."""
    assert token.map is not None
    return token.map[1] - (1 if token.markup in ("=", "-") else 0)


def _block(tokens: Sequence[Token], index: int, lines: Sequence[str]) -> Iterator[_Block]:
    """Yield the block that the token opens, if it opens one with lines of its own."""
    token = tokens[index]
    if token.map is None:
        return
    first, last = token.map
    match token.type:
        case "paragraph_open":
            yield _Block(first, last, _lead(tokens, index, lines))
        case "heading_open":  # inside a list or a quotation: a line like any other
            yield _Block(first, _heading_end(token))
        case "tr_open":
            in_head = tokens[index - 1].type == "thead_open"
            yield _Block(
                first,
                last,
                "" if in_head else _table_header(tokens, index),
                _counts(lines, first, last, in_head),
            )
        case "fence":
            closed = last - first > 1 and lines[last - 1].strip(" \t>").startswith(token.markup)
            yield _Block(first + 1, last - 1 if closed else last)
        case "code_block":
            yield _Block(first, last)
        case "html_block" if not token.content.lstrip().startswith("<!--"):
            yield _Block(first, last)


def _counts(lines: Sequence[str], first: int, last: int, in_head: bool) -> bool:
    """Return whether a table row can answer anything: a header row only when it holds a number."""
    return not in_head or _tells_a_number(lines[first:last])


def _lead(tokens: Sequence[Token], index: int, lines: Sequence[str]) -> str:
    """Return the line that leads into the list that this paragraph is an item of, or ""."""
    if tokens[index].level == 0 or tokens[index - 1].type != "list_item_open":
        return ""
    level = 0
    for before in range(index - 1, -1, -1):
        token = tokens[before]
        if token.type.endswith("_list_open"):
            level = token.level
            index = before
            break
    if index and tokens[index - 1].type == "paragraph_close" and tokens[index - 1].level == level:
        lead = tokens[index - 2].content
        if lead.rstrip().endswith(":"):
            return _plain(lead)
    return ""


def _table_header(tokens: Sequence[Token], index: int) -> str:
    """Return the header cells of the table that the row at `index` stands in."""
    while tokens[index].type != "table_open":
        index -= 1
    cells: list[str] = []
    while tokens[index].type != "thead_close":
        if tokens[index].type == "inline":
            cells.append(_plain(tokens[index].content))
        index += 1
    return " . ".join(cells)


def _cut(lines: Sequence[str], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield spans of 1 to 3 lines that cover the lines with content, ending at a sentence's end where there is one."""
    while first < last:
        if not lines[first].strip():
            first += 1
            continue
        reach = first + 1
        while reach < last and reach - first < SNIPPET_LINES and lines[reach].strip():
            reach += 1
        end = reach
        if reach < last and lines[reach].strip():  # more follows: look for the last line that ends a sentence
            end = next((at for at in range(reach, first, -1) if _SENTENCE_END.search(lines[at - 1])), reach)
        yield first, end
        first = end


def _tells_a_number(lines: Sequence[str]) -> bool:
    """Return whether a heading or header holds a digit that is not the number of its chapter."""
    text = " ".join(lines)
    return any(mark.isdigit() for mark in _NUMBERED_HEADING.sub("", text, count=1))


def _plain(text: str) -> str:
    """Return text without the marks of emphasis, code and links, on one line."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return " ".join(re.sub(r"[*`_]{1,3}(?=\S)|(?<=\S)[*`_]{1,3}", "", text).split())
