"""Turns HTML's tags into blocks.

Strategy: one stack holds the open elements, and a second stack the open elements that decide the kind of a text
(heading, item, term, quote, ...). Text is collected until a tag ends the paragraph. Text outside the page's own text
(navigation, headers, footers, forms, hidden elements) is not collected. End tags that HTML allows authors to leave out
are added.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from .blocks import Kind
from .builder import BlockBuilder, BlockPlace, LeadText
from .front_matter import language_of
from .headings import TitleScope
from .plain_lines import find_text_range, has_text, plain_line
from .tables import OpenCell, Table, TextPiece
from .tags import INLINE_ELEMENTS, TEXTLESS_ELEMENTS, split_names

Attributes: TypeAlias = list[tuple[str, str | None]]

_VOID_ELEMENTS = split_names("area base br col embed hr img input link meta param source track wbr")
_SKIPPED_ELEMENTS = TEXTLESS_ELEMENTS | split_names("nav footer select button textarea dialog datalist menu")
_SKIPPED_ROLES = split_names("navigation search contentinfo menu menubar toolbar dialog")
_SECTIONS = ("article", "main", "section", "dialog")  # a `header` inside these is text
_NAVIGATION = re.compile(r"nav|toc|sidebar|menu|breadcrumb", re.IGNORECASE)
_ANCHOR = re.compile(r"headerlink|hash-link|anchor", re.IGNORECASE)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_HEADING = re.compile(r"h([1-6])")
_IMPLIED_ENDS = {  # by tag: the open elements that it closes, and the elements beyond which none is closed
    "li": (("li",), ("ul", "ol", "menu")),
    "dt": (("dt", "dd"), ("dl",)),
    "dd": (("dt", "dd"), ("dl",)),
    "td": (("td", "th"), ("tr", "table")),
    "th": (("td", "th"), ("tr", "table")),
    "tr": (("tr",), ("table",)),
    "thead": (("thead", "tbody", "tfoot"), ("table",)),
    "tbody": (("thead", "tbody", "tfoot"), ("table",)),
    "tfoot": (("thead", "tbody", "tfoot"), ("table",)),
}
_SEARCHED = 200  # open elements that are searched for one to close
_LAST_LINE = 1 << 62  # beyond the end of any file


@dataclass(slots=True)
class _Context:
    """An open element that decides the kind of its text.

    `depth`: the number of open elements up to it. `is_empty`: it has no text yet. `heading_depth`: the depth of the
    headings before it.
    """

    kind: str
    depth: int
    place: BlockPlace
    is_empty: bool = True
    heading_depth: int = 0


class HtmlElements:
    """Adds the tags and texts of one source to a `BlockBuilder`, in their order.

    `plain`: removes the marks that a line of text has in the format around the HTML. `place`: the place of the source.
    """

    def __init__(self, builder: BlockBuilder, plain: Callable[[str], str], place: BlockPlace) -> None:
        self.title = ""
        self.description = ""
        self.lang = ""
        self._builder = builder
        self._plain = plain
        self._open: list[str] = []
        self._open_counts: Counter[str] = Counter()
        self._contexts = [_Context("", 0, place)]
        self._tables: list[tuple[int, Table]] = []  # each with the depth of its element
        self._skipped_depth = 0  # of the element whose content is left out; 0: none
        self._bold_depth = 0
        self._pieces: list[TextPiece] = []
        self._term: list[TextPiece] = []
        self._lead = LeadText()

    # --- events from the parser

    def open_element(self, name: str, attributes: Mapping[str, str | None], line: int) -> None:
        """Open an element for a start tag on `line`."""
        self._builder.step_counter.count_step()
        if name in _VOID_ELEMENTS:
            if not self._skipped_depth:
                self._read_void(name, attributes, line)
            return
        if not self._skipped_depth:
            self._close_implied(name)
        self._open.append(name)
        self._open_counts[name] += 1
        if self._skipped_depth:
            return
        if name == "html":
            self.lang = self.lang or language_of(attributes.get("lang") or "")
        if _is_outside_text(name, attributes):
            self._flush_text()
            self._skipped_depth = len(self._open)
        elif name in ("b", "strong"):
            self._bold_depth += 1
        elif name not in INLINE_ELEMENTS:
            self._flush_text()
            self._begin_element(name, attributes)

    def close_element(self, name: str) -> None:
        """Close the element `name`, and the elements in it that are still open."""
        self._builder.step_counter.count_step()
        if not self._open_counts[name]:
            return
        while True:
            popped = self._open.pop()
            self._open_counts[popped] -= 1
            self._leave_element(popped)
            if popped == name:
                return

    def add_text(self, text: str, line: int) -> None:
        """Collect `text`, which begins on `line`."""
        if self._skipped_depth:
            return
        self._builder.step_counter.count_step()
        lines = text.split("\n")
        cell = self._find_open_cell()
        if cell is None:
            self._pieces += enumerate(lines, line)
            return
        plain = [self._plain(each) for each in lines]
        cell.pieces += enumerate([*(f"{each} " for each in plain[:-1]), plain[-1]], line)
        if not self._bold_depth and text.strip():
            cell.bold = False

    def finish(self) -> None:
        """Close all elements at the end of the source."""
        while self._open:
            self._leave_element(self._open.pop())
        self._flush_text()

    # --- elements

    def _read_void(self, name: str, attributes: Mapping[str, str | None], line: int) -> None:
        """Read an element that has no content."""
        if name == "br":
            self.add_text(" ", line)
        elif name == "hr":
            self._flush_text()
        elif name == "meta":
            key = (attributes.get("name") or attributes.get("property") or "").lower()
            if key in ("description", "og:description"):
                self.description = self.description or plain_line(attributes.get("content") or "")

    def _close_implied(self, name: str) -> None:
        """Close the open elements whose end tag may be left out before the tag `name`."""
        if name not in INLINE_ELEMENTS and _HEADING.fullmatch(self._contexts[-1].kind):
            self.close_element(self._contexts[-1].kind)
        ended, beyond = _IMPLIED_ENDS.get(name, ((), ()))
        for element in self._open[: -_SEARCHED - 1 : -1] if ended else ():
            if element in beyond:
                return
            if element in ended:
                self.close_element(element)
                return

    def _begin_element(self, name: str, attributes: Mapping[str, str | None]) -> None:
        """Push the context, or begin the table or table part, that the element `name` opens."""
        context = self._contexts[-1]
        depth = len(self._open)
        if name == "table":
            self._begin_table(depth, context)
        elif self._tables and name in ("tr", "td", "th", "thead", "tbody", "tfoot"):
            self._read_table_tag(name, attributes)
        elif name in ("ul", "ol", "dl"):
            group = context.place.group or self._builder.start_group()
            level = context.place.depth + 1 if context.kind in ("li", "dd") else 0
            place = BlockPlace(context.place.parents_under(self._lead.introduction), group, level)
            self._contexts.append(_Context(name, depth, place))
        elif name in ("li", "dt", "dd", "blockquote", "summary", "title", "caption", "pre") or (
            _HEADING.fullmatch(name) and not self._tables and context.kind in ("", "details", "header")
        ):
            self._contexts.append(_Context(name, depth, context.place))
        elif name == "details" or (
            name == "header" and not any(self._open_counts[each] for each in _SECTIONS)
        ):
            heading_depth = self._builder.headings.depth
            self._contexts.append(_Context(name, depth, context.place, heading_depth=heading_depth))

    def _begin_table(self, depth: int, context: _Context) -> None:
        if self._tables and self._tables[-1][1].cell is not None:
            self._tables[-1][1].close_row()  # a table in a cell: the outer table is only layout
        place = BlockPlace(context.place.parents_under(self._lead.introduction))
        self._tables.append((depth, Table(self._builder, place)))
        self._lead.set_text("")

    def _read_table_tag(self, name: str, attributes: Mapping[str, str | None]) -> None:
        table = self._tables[-1][1]
        if name in ("td", "th"):
            table.open_cell(name, attributes)
        elif name == "tr":
            table.close_row()
        else:
            table.in_head = name == "thead"

    def _leave_element(self, name: str) -> None:
        """Leave `name`, the innermost element, which has just been popped."""
        depth = len(self._open) + 1
        if self._skipped_depth:
            if self._skipped_depth == depth:
                self._skipped_depth = 0
            return
        if name in ("b", "strong"):
            self._bold_depth -= 1
        elif name not in INLINE_ELEMENTS:
            self._flush_text()
        context = self._contexts[-1]
        if context.depth == depth and context.kind:
            self._leave_context(self._contexts.pop())
        if self._tables and self._tables[-1][0] == depth:
            self._tables.pop()[1].finish()
        elif self._tables and name == "tr":
            self._tables[-1][1].close_row()
        elif self._tables and name == "thead":
            self._tables[-1][1].in_head = False

    def _leave_context(self, context: _Context) -> None:
        if context.kind == "details":
            self._builder.release_bold_line()
            self._builder.headings.close_to(context.heading_depth)
        elif context.kind == "dl" and self._term:
            self._pieces, self._term = self._term, []
            self._flush_text()
        if context.kind in ("ul", "ol", "dl", "pre"):
            self._lead.set_text("")

    # --- text

    def _find_open_cell(self) -> OpenCell | None:
        """Return the table's cell that text goes into, or `None`; code in a cell becomes a block of its own."""
        in_code = self._contexts[-1].kind == "pre"
        return self._tables[-1][1].cell if self._tables and not in_code else None

    def _flush_text(self) -> None:
        """Turn the collected text into a block, a heading, a title or a term, by the element around it."""
        cell = self._find_open_cell()
        if cell is not None:
            cell.pieces.append((0, " "))
            return
        pieces, self._pieces = self._pieces, []
        context = self._contexts[-1]
        if context.kind == "pre":
            self._add_code(pieces, context)
            return
        pieces = _trim_pieces(pieces)
        if not pieces:
            return
        first = pieces[0][0]
        lines = [self._plain(line) for line in _join_by_line(pieces)]
        text = " ".join(lines)
        heading = _HEADING.fullmatch(context.kind)
        if heading:
            self._builder.add_heading(int(heading[1]), text)
            self._lead.set_text("")
        elif context.kind == "title":
            self.title = self.title or plain_line(text)
        elif context.kind == "summary":
            title = plain_line(text)
            if has_text(title):
                self._builder.add_title(TitleScope(first, _LAST_LINE, title))
        elif context.kind == "caption" and self._tables:
            self._tables[-1][1].set_caption(plain_line(text))
        elif context.kind == "dt":
            self._term += [*pieces, (pieces[-1][0], " ")]
        elif context.kind != "header":
            self._add_block(pieces, lines, context)

    def _add_block(self, pieces: list[TextPiece], lines: list[str], context: _Context) -> None:
        """Add a paragraph, quote or item; the first text of a description goes on its term's line."""
        kind: Kind = "quote" if context.kind == "blockquote" else "paragraph"
        if context.kind in ("li", "dd") and context.is_empty:
            kind = "item"
        if context.kind == "dd" and context.is_empty and self._term:
            term = _trim_pieces(self._term)
            ends_sentence = plain_line(" ".join(_join_by_line(term))).endswith((":", "?", "!", "."))
            pieces = [*term, (term[-1][0], " " if ends_sentence else ": "), *pieces]
            lines = [self._plain(line) for line in _join_by_line(pieces)]
            self._term = []
        context.is_empty = False
        text = self._builder.add_text(kind, lines, pieces[0][0], context.place)
        if kind == "item" and text:
            place = context.place
            context.place = BlockPlace(place.parents_under(text), place.group, place.depth)
        self._lead.set_text(text if kind == "paragraph" else "")

    def _add_code(self, pieces: list[TextPiece], context: _Context) -> None:
        if pieces:
            place = BlockPlace(context.place.parents_under(self._lead.text), context.place.group)
            self._builder.add_code(_join_by_line(pieces), pieces[0][0], place)


def _is_outside_text(name: str, attributes: Mapping[str, str | None]) -> bool:
    """Return whether an element is not part of the page's own text."""
    if (
        name in _SKIPPED_ELEMENTS
        or "hidden" in attributes
        or (attributes.get("role") or "") in _SKIPPED_ROLES
    ):
        return True
    if _HIDDEN.search(attributes.get("style") or ""):
        return True
    if name == "aside":
        class_and_id = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
        return _NAVIGATION.search(class_and_id) is not None
    return name == "a" and _ANCHOR.search(attributes.get("class") or "") is not None


def _trim_pieces(pieces: list[TextPiece]) -> list[TextPiece]:
    """Return `pieces` without the blank ones at both ends."""
    begin, end = find_text_range([text for _, text in pieces])
    return pieces[begin:end]


def _join_by_line(pieces: list[TextPiece]) -> list[str]:
    """Join the pieces of text by line, from the line of the first piece to that of the last one."""
    first = pieces[0][0]
    lines: list[list[str]] = [[] for _ in range(max(line for line, _ in pieces) - first + 1)]
    for line, text in pieces:
        lines[max(line - first, 0)].append(text)
    return ["".join(line) for line in lines]
