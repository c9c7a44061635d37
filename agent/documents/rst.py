"""Reads reStructuredText.

Strategy: docutils makes the tree, without access to other files, without raw content, and with its messages switched
off; a walk over the tree makes the blocks. docutils knows the line of most nodes; the line of any other node is found
by searching for its text below the previous block. No transforms run: they serve publishing.

A long file is cut into parts (`cut_parts`), since docutils takes more than linear time for many sections in one source.
A file is cut before titles. Each part begins with extra titles (`open_titles`) that bring docutils to the state at the
end of the previous part: first every style of title in the order in which the styles came, then the titles of the open
sections.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser, states
from docutils.utils import new_document

from .blocks import Document, Kind
from .builder import TOP_LEVEL, BlockBuilder, BlockPlace, LeadText, TableRow
from .dialect import TITLE, register_names
from .headings import TitleScope
from .plain_lines import has_text, plain_line
from .rows import Cell, Grid, GridCell, join_header
from .source import decode_text, split_lines
from .step_counter import StepCounter

MARK = "part-of-a-document"
"""The text of a title that stands for a title of a previous part."""

_PART = 50_000  # characters, at least
_ADORNMENT = re.compile(r"([^\w\s])\1{2,}[ \t]*")


def cut_parts(lines: Sequence[str]) -> list[tuple[int, list[str]]]:
    """Cut the lines into parts, each with the number of its first line from 0."""
    cuts = [0]
    size = 0
    for at, line in enumerate(lines):
        if size > _PART and _is_title(lines, at):
            cuts.append(at)
            size = 0
        size += len(line) + 1
    ends = [*cuts[1:], len(lines)]
    return [(first, list(lines[first:end])) for first, end in zip(cuts, ends, strict=True)]


def _is_title(lines: Sequence[str], at: int) -> bool:
    """Return whether a title begins on a line: a blank line before it, and a line of signs below its text."""
    if at == 0 or lines[at - 1].strip() or at + 2 >= len(lines):
        return False
    if _ADORNMENT.fullmatch(lines[at]):
        return bool(lines[at + 1].strip()) and lines[at + 2].rstrip() == lines[at].rstrip()
    return lines[at][:1].isalnum() and _ADORNMENT.fullmatch(lines[at + 1]) is not None


def open_titles(styles: Sequence[Sequence[str]], depth: int) -> list[str]:
    """Return lines that open `depth` titles in docutils, after `styles`, the styles of title seen so far."""
    lines: list[str] = []
    for style in [*styles, *styles[:depth]] if depth < len(styles) else styles:
        drawn = style[0] * (len(MARK) + 2)
        lines += [*([drawn] if len(style) > 1 else []), MARK, drawn, ""]
    return lines


_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 5,
    "halt_level": 6,
    "warning_stream": False,
    "line_length_limit": 1 << 30,
    "syntax_highlight": "none",
    "strip_comments": True,
    "_disable_config": True,
}
_BREAKS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")  # docutils would end a line there
_LONGEST = 20_000  # characters of a paragraph; the marks inside a longer one take docutils too long
_AHEAD = 400  # lines that are searched for a text
_FOREVER = 1 << 62
_SILENT = (
    nodes.comment,
    nodes.substitution_definition,
    nodes.target,
    nodes.system_message,
    nodes.pending,
    nodes.raw,
    nodes.image,
    nodes.footnote_reference,
    nodes.citation_reference,
    nodes.label,
    nodes.decoration,
    nodes.meta,
)


def read_rst(file: str, data: bytes, step_counter: StepCounter) -> Document:
    """Read a reStructuredText file. Raises `Unreadable`, `GivenUp`, and any exception of docutils."""
    lines = split_lines(decode_text(data))
    register_names("\n".join(lines))
    builder = BlockBuilder(step_counter)
    walk = _Walk(builder, lines)
    styles: list[Sequence[str]] = []
    for first, part in cut_parts(lines):
        before = open_titles(styles, walk.depth)
        tree, styles = _parse_tree("\n".join([*before, *part]), step_counter)
        walk.run(tree, first - len(before))
    builder.release_bold_line()
    return builder.make_document(file, lines)


def _parse_tree(source: str, step_counter: StepCounter) -> tuple[nodes.document, list[Sequence[str]]]:
    """Return docutils' tree of `source`, and the styles of its titles."""
    settings = get_default_settings(Parser)
    for name, value in _SETTINGS.items():
        setattr(settings, name, value)
    tree = new_document("", settings)
    tree.note_source = lambda *_: step_counter.count_step()  # type: ignore[method-assign]
    inliner = states.Inliner()
    parse = inliner.parse
    styles: list[Sequence[str]] = []

    def parse_inline(text: str, lineno: int, memo: Any, parent: nodes.Element) -> Any:
        step_counter.check()
        nonlocal styles
        styles = memo.title_styles
        if len(text) > _LONGEST:
            return [nodes.Text(text)], []
        return parse(text, lineno, memo, parent)

    inliner.parse = parse_inline  # type: ignore[method-assign]
    Parser(inliner=inliner).parse(_BREAKS.sub(" ", source), tree)
    return tree, styles


class _Walk:
    """The trees of all parts of a document, in their order, as blocks of a `BlockBuilder`."""

    def __init__(self, builder: BlockBuilder, lines: Sequence[str]) -> None:
        self.depth = 0  # open sections at the end of the previous part
        self._builder = builder
        self._tree: nodes.document
        self._lines = lines
        self._offset = 0
        self._at = 1  # the line of the previous block
        self._level = 0
        self._quotes = 0
        self._lead = LeadText()
        self._readers: list[tuple[Any, Callable[[Any, BlockPlace], object]]] = [
            (nodes.section, self._read_section),
            (nodes.title, self._skip_node),
            (nodes.subtitle, self._skip_node),
            (nodes.paragraph, self._read_paragraph),
            (nodes.literal_block, self._read_code),
            (nodes.doctest_block, self._read_code),
            (nodes.math_block, self._read_code),
            (nodes.line_block, self._read_paragraph),
            (nodes.bullet_list, self._read_list),
            (nodes.enumerated_list, self._read_list),
            (nodes.definition_list, self._read_definitions),
            (nodes.field_list, self._read_definitions),
            (nodes.option_list, self._read_definitions),
            (nodes.table, self._read_table),
            (nodes.block_quote, self._read_quote),
            (nodes.rubric, self._read_rubric),
            (_SILENT, self._skip_node),
            (nodes.Element, self._read_children),
        ]

    def run(self, tree: nodes.document, offset: int) -> None:
        """Walk over the next tree, whose lines are `offset` less than the document's."""
        self._tree, self._offset = tree, offset
        self._read_children(tree, TOP_LEVEL)

    def _read_children(self, node: nodes.Element, place: BlockPlace) -> None:
        """Read the children of `node`, under the title of an admonition if it has one."""
        mark = self._builder.headings.depth
        title = node.get(TITLE) or next(
            (self._visible_text(child) for child in node.children if isinstance(child, nodes.title)), ""
        )
        titled = title and not isinstance(node, nodes.section | nodes.document)
        if titled:
            self._builder.add_title(TitleScope(1, _FOREVER, plain_line(title)))
        for child in node.children:
            self._read_node(child, place)
        if titled:
            self._builder.release_bold_line()
            self._builder.headings.close_to(mark)

    def _read_node(self, node: nodes.Node, place: BlockPlace) -> None:
        for types, read in self._readers:
            if isinstance(node, types):
                read(node, place)
                return

    def _skip_node(self, node: nodes.Node, place: BlockPlace) -> None:
        """Skip a node that holds no text."""

    def _read_section(self, node: nodes.section, place: BlockPlace) -> None:
        self._level += 1
        self._lead.set_text("")
        title = next(
            (self._visible_text(child) for child in node.children if isinstance(child, nodes.title)), ""
        )
        if title != MARK:
            self._builder.add_heading(min(self._level, 6), title)
        self.depth = self._level
        self._read_children(node, place)
        self._level -= 1

    def _read_rubric(self, node: nodes.rubric, place: BlockPlace) -> None:
        text, first = self._read_text(node)
        self._builder.hold_bold_line(text, first)

    def _read_paragraph(self, node: nodes.Element, place: BlockPlace, kind: Kind = "paragraph") -> str:
        lines, first = self._read_text(node)
        if kind == "paragraph" and self._quotes:
            kind = "quote"
        text = self._builder.add_text(kind, lines, first, place)
        self._lead.set_text(text if kind != "item" else "")
        return text

    def _read_quote(self, node: nodes.block_quote, place: BlockPlace) -> None:
        self._quotes += 1
        self._read_children(node, place)
        self._quotes -= 1

    def _read_code(self, node: nodes.Element, place: BlockPlace) -> None:
        lines = node.astext().split("\n")
        first = self._find_line(node, next((line for line in lines if line.strip()), ""))
        self._builder.add_code(lines, first, BlockPlace(place.parents_under(self._lead.text), place.group))
        self._lead.set_text("")

    def _read_list(self, node: nodes.Element, place: BlockPlace) -> None:
        group = place.group or self._builder.start_group()
        depth = place.depth + 1 if place.group else 0
        inner = BlockPlace(place.parents_under(self._lead.introduction), group, depth)
        self._lead.set_text("")
        for item in node.children:
            if isinstance(item, nodes.Element):
                self._read_item(item.children, inner)
        self._lead.set_text("")

    def _read_item(self, children: Sequence[nodes.Node], place: BlockPlace) -> None:
        """Read an item: its first paragraph, and the blocks that hang under it."""
        below = place
        for index, child in enumerate(children):
            if index == 0 and isinstance(child, nodes.paragraph):
                text = self._read_paragraph(child, place, "item")
                below = BlockPlace(place.parents_under(text), place.group, place.depth)
            else:
                self._read_node(child, below)

    def _read_definitions(self, node: nodes.Element, place: BlockPlace) -> None:
        """Read a list of terms and definitions: a term and its first paragraph are one item."""
        group = place.group or self._builder.start_group()
        inner = BlockPlace(place.parents_under(self._lead.introduction), group, place.depth)
        self._lead.set_text("")
        for entry in node.children:
            if not isinstance(entry, nodes.Element) or not entry.children:
                continue
            *terms, body = entry.children
            term = " ".join(self._visible_text(each) for each in terms)
            first = self._find_line(entry, term)
            rest = list(body.children) if isinstance(body, nodes.Element) else []
            if rest and isinstance(rest[0], nodes.paragraph):
                lines, line = self._read_text(rest.pop(0))
                between = " " if term.endswith((":", "?", "!", ".")) else ": "
                head = (
                    [term + between, *[""] * (line - first - 1)]
                    if line > first
                    else [term + between + lines.pop(0)]
                )
                text = self._builder.add_text("item", [*head, *lines], first, inner)
            else:
                text = self._builder.add_text("item", [term], first, inner)
            for child in rest:
                self._read_node(child, BlockPlace(inner.parents_under(text or term), group, inner.depth))

    # --- tables

    def _read_table(self, node: nodes.table, place: BlockPlace) -> None:
        title = next(
            (self._visible_text(child) for child in node.children if isinstance(child, nodes.title)), ""
        )
        lead = plain_line(title) or self._lead.introduction
        inner = BlockPlace(place.parents_under(lead), self._builder.start_group())
        self._lead.set_text("")
        grid = Grid()
        head: list[list[GridCell]] = []
        header_line = 0
        for row in node.findall(nodes.row):
            cells = [self._read_cell(entry) for entry in row.children if isinstance(entry, nodes.entry)]
            filled = [cell for cell in cells if any(cell.lines)]
            row_cells = grid.fill_row(cells)
            if not filled:
                continue
            first = min(cell.first for cell in filled)
            if isinstance(row.parent, nodes.thead):
                head.append(row_cells)
                header_line = header_line or first
                continue
            last = max(cell.first + len(cell.lines) - 1 for cell in filled)
            self._builder.add_row(
                TableRow(row_cells, join_header(head), header_line), first, max(first, last), inner
            )

    def _read_cell(self, entry: nodes.entry) -> Cell:
        lines: list[str] = []
        first = 0
        for leaf in entry.findall(lambda each: isinstance(each, nodes.paragraph | nodes.literal_block)):
            text, line = self._read_text(leaf)
            first = first or line
            lines += text
        plain = tuple(plain_line(line) for line in lines)
        return Cell(plain, first, entry.get("morecols", 0) + 1, entry.get("morerows", 0) + 1)

    # --- text and lines

    def _read_text(self, node: nodes.Node) -> tuple[list[str], int]:
        """Return the text of `node` by line, and its first line."""
        lines = self._visible_text(node).split("\n")
        first = self._find_line(node, next((line for line in lines if has_text(line)), ""))
        return lines[: max(1, len(self._lines) - first + 1)], first

    def _visible_text(self, node: nodes.Node) -> str:
        """Return the visible text of `node`."""
        if isinstance(node, nodes.Text | nodes.option_argument):
            return node.astext()
        if isinstance(node, nodes.substitution_reference):
            definition = self._tree.substitution_defs.get(node.get("refname", ""))
            return (
                "".join(map(self._simple_text, definition.children))
                if definition is not None
                else node.astext()
            )
        if isinstance(node, _SILENT):
            return ""
        between = "\n" if isinstance(node, nodes.line_block) else ""
        return between.join(self._visible_text(child) for child in node.children)

    def _simple_text(self, node: nodes.Node) -> str:
        return "" if isinstance(node, _SILENT) else node.astext()

    def _find_line(self, node: nodes.Node, text: str) -> int:
        """Return the line where `text` begins: docutils' line of `node` if the text stands there, else a line near."""
        words = text.split()[:2]
        stated = int(node.line) + self._offset if node.line else 0
        near = range(self._at, min(self._at + _AHEAD, len(self._lines) + 1))
        for line in (stated, stated + 1, *near):
            if self._at <= line <= len(self._lines) and all(word in self._lines[line - 1] for word in words):
                self._at = line
                return self._at
        return min(max(stated, self._at), len(self._lines))
