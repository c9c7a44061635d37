"""Turns HTML's tags into blocks.

Strategy: one stack holds the open elements, and a second stack the open elements that decide the kind of a text
(heading, item, term, quote, ...). Text is collected until a tag ends the paragraph. Text outside the page's own text
(navigation, headers, footers, forms, hidden elements) is not collected. End tags that HTML allows authors to leave out
are added.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .blocks import Kind
from .builder import BlockPlace, Builder, Lead
from .front_matter import language_of
from .headings import TitleScope
from .plain_lines import has_text, join_lines
from .tables import Table
from .tags import INLINE, NON_TEXT, names

Attributes = list[tuple[str, str | None]]

_VOID = names("area base br col embed hr img input link meta param source track wbr")
_OUTSIDE = NON_TEXT | names("nav footer select button textarea dialog datalist menu")
_ROLES = names("navigation search contentinfo menu menubar toolbar dialog")
_BESIDE = re.compile(r"nav|toc|sidebar|menu|breadcrumb", re.IGNORECASE)
_ANCHOR = re.compile(r"headerlink|hash-link|anchor", re.IGNORECASE)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_HEADING = re.compile(r"h([1-6])")
_CLOSES = {  # by tag: the open elements that it closes, and the elements beyond which none is closed
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
_FAR = 200  # open elements that are searched for one to close
_FOREVER = 1 << 62


@dataclass(slots=True)
class _Context:
    """An open element that decides the kind of its text.

    `at`: the depth of the element among the open elements. `fresh`: the element has no text yet. `mark`: the heading
    depth before the element.
    """

    kind: str
    at: int
    place: BlockPlace
    fresh: bool = True
    mark: int = 0


class Elements:
    """The tags and texts of one source, in order, as blocks of a `Builder`."""

    def __init__(self, builder: Builder, plain: Callable[[str], str], place: BlockPlace) -> None:
        self.title = ""
        self.description = ""
        self.lang = ""
        self._builder = builder
        self._plain = plain
        self._open: list[str] = []
        self._count: dict[str, int] = {}
        self._contexts = [_Context("", 0, place)]
        self._tables: list[tuple[int, Table]] = []
        self._silent = 0  # depth of the element whose content is left out; 0: none
        self._bold = 0
        self._parts: list[tuple[int, str]] = []
        self._term: list[tuple[int, str]] = []
        self._lead = Lead()

    # --- events from the parser

    def start(self, name: str, attributes: Mapping[str, str | None], line: int) -> None:
        """Open an element for a start tag."""
        self._builder.step_counter.count_step()
        if name in _VOID:
            if not self._silent:
                self._read_void(name, attributes, line)
            return
        if not self._silent:
            self._close_implied(name)
        self._open.append(name)
        self._count[name] = self._count.get(name, 0) + 1
        if self._silent:
            return
        if name == "html":
            self.lang = self.lang or language_of(attributes.get("lang") or "")
        if self._is_outside(name, attributes):
            self._flush_text()
            self._silent = len(self._open)
        elif name in ("b", "strong"):
            self._bold += 1
        elif name not in INLINE:
            self._flush_text()
            self._begin_element(name, attributes)

    def end(self, name: str) -> None:
        """Close the element `name`, and the elements in it that are still open."""
        self._builder.step_counter.count_step()
        if not self._count.get(name):
            return
        while True:
            popped = self._open.pop()
            self._count[popped] -= 1
            self._leave_element(popped)
            if popped == name:
                return

    def data(self, text: str, line: int) -> None:
        """Collect `text`, which begins on `line`."""
        if self._silent:
            return
        self._builder.step_counter.count_step()
        parts = [(line + index, part) for index, part in enumerate(text.split("\n"))]
        cell = self._tables[-1][1].cell if self._tables else None
        if cell is not None and self._contexts[-1].kind != "pre":
            cell.parts += (
                (at, self._plain(part) + " ") if more else (at, self._plain(part))
                for at, part, more in _mark_breaks(parts)
            )
            if not self._bold and text.strip():
                cell.bold = False
        else:
            self._parts += parts

    def finish(self) -> None:
        """Close all elements at the end of the source."""
        while self._open:
            self._leave_element(self._open.pop())
        self._flush_text()

    # --- elements

    def _read_void(self, name: str, attributes: Mapping[str, str | None], line: int) -> None:
        if name == "br":
            self.data(" ", line)
        elif name == "hr":
            self._flush_text()
        elif name == "meta":
            key = (attributes.get("name") or attributes.get("property") or "").lower()
            if key in ("description", "og:description"):
                self.description = self.description or join_lines([attributes.get("content") or ""])[0]

    def _close_implied(self, name: str) -> None:
        """Close the open elements whose end tag may be left out before the tag `name`."""
        if name not in INLINE and _HEADING.fullmatch(self._contexts[-1].kind):
            self.end(self._contexts[-1].kind)
        ended, beyond = _CLOSES.get(name, ((), ()))
        for open_ in self._open[: -_FAR - 1 : -1] if ended else ():
            if open_ in beyond:
                return
            if open_ in ended:
                self.end(open_)
                return

    def _is_outside(self, name: str, attributes: Mapping[str, str | None]) -> bool:
        """Return whether an element is not part of the page's own text."""
        if name in _OUTSIDE or "hidden" in attributes or (attributes.get("role") or "") in _ROLES:
            return True
        if _HIDDEN.search(attributes.get("style") or ""):
            return True
        class_and_id = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
        if name == "aside":
            return _BESIDE.search(class_and_id) is not None
        return name == "a" and _ANCHOR.search(attributes.get("class") or "") is not None

    def _begin_element(self, name: str, attributes: Mapping[str, str | None]) -> None:
        context = self._contexts[-1]
        at = len(self._open)
        if name == "table":
            self._begin_table(at, context)
        elif self._tables and name in ("tr", "td", "th", "thead", "tbody", "tfoot"):
            self._read_table_tag(name, attributes)
        elif name in ("ul", "ol", "dl"):
            group = context.place.group or self._builder.group()
            depth = context.place.depth + 1 if context.kind in ("li", "dd") else 0
            self._contexts.append(
                _Context(name, at, BlockPlace(context.place.below(self._lead.line), group, depth))
            )
        elif name in ("li", "dt", "dd", "blockquote", "summary", "title", "caption", "pre") or (
            _HEADING.fullmatch(name) and not self._tables and context.kind in ("", "details", "header")
        ):
            self._contexts.append(_Context(name, at, context.place))
        elif name == "details" or (name == "header" and not self._within()):
            mark = self._builder.headings.depth()
            self._contexts.append(_Context(name, at, context.place, mark=mark))

    def _within(self) -> bool:
        """Return whether an element is open whose `header` is text, such as `article`."""
        return any(self._count.get(name) for name in ("article", "main", "section", "dialog"))

    def _begin_table(self, at: int, context: _Context) -> None:
        if self._tables and self._tables[-1][1].cell is not None:
            self._tables[-1][1].close_row()  # a table in a cell: the outer table is only layout
        self._tables.append((at, Table(self._builder, BlockPlace(context.place.below(self._lead.line)))))
        self._lead.after("")

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
        at = len(self._open) + 1
        if self._silent:
            if self._silent == at:
                self._silent = 0
            return
        if name in ("b", "strong"):
            self._bold -= 1
        elif name not in INLINE:
            self._flush_text()
        context = self._contexts[-1]
        if context.at == at and context.kind:
            self._contexts.pop()
            if context.kind == "details":
                self._builder.settle()
                self._builder.headings.back_to(context.mark)
            elif context.kind == "dl" and self._term:
                self._parts, self._term = self._term, []
                self._flush_text()
            if context.kind in ("ul", "ol", "dl", "pre"):
                self._lead.after("")
        if self._tables and self._tables[-1][0] == at:
            self._tables.pop()[1].finish()
        elif self._tables and name == "tr":
            self._tables[-1][1].close_row()
        elif self._tables and name == "thead":
            self._tables[-1][1].in_head = False

    # --- text

    def _flush_text(self) -> None:
        """Turn the collected text into a block, a heading, a title or a term, by the element around it."""
        if self._tables and self._tables[-1][1].cell is not None and self._contexts[-1].kind != "pre":
            self._tables[-1][1].cell.parts.append((0, " "))
            return
        parts, self._parts = self._parts, []
        context = self._contexts[-1]
        if context.kind == "pre":
            self._add_code(parts, context)
            return
        parts = _trim_parts(parts)
        if not parts:
            return
        first = parts[0][0]
        lines = [self._plain(line) for line in _join_by_line(parts)]
        heading = _HEADING.fullmatch(context.kind)
        if heading:
            self._builder.heading(int(heading[1]), " ".join(lines))
            self._lead.after("")
        elif context.kind == "title":
            self.title = self.title or join_lines([" ".join(lines)])[0]
        elif context.kind == "summary":
            title = join_lines([" ".join(lines)])[0]
            if has_text(title):
                self._builder.enter(TitleScope(first, _FOREVER, title))
        elif context.kind == "caption" and self._tables:
            self._tables[-1][1].caption(join_lines([" ".join(lines)])[0])
        elif context.kind == "dt":
            self._term += [*parts, (parts[-1][0], " ")]
        elif context.kind != "header":
            self._add_text(parts, lines, context)

    def _add_text(self, parts: list[tuple[int, str]], lines: list[str], context: _Context) -> None:
        kind: Kind = "quote" if context.kind == "blockquote" else "paragraph"
        if context.kind == "li" and context.fresh:
            kind = "item"
        elif context.kind == "dd" and context.fresh:
            kind = "item"
            if self._term:
                term = _trim_parts(self._term)
                end = join_lines(_join_by_line(term))[0]
                between = " " if end.endswith((":", "?", "!", ".")) else ": "
                parts = [*term, (term[-1][0], between), *parts]
                lines = [self._plain(line) for line in _join_by_line(parts)]
                self._term = []
        context.fresh = False
        text = self._builder.text(kind, lines, parts[0][0], context.place)
        if kind == "item" and text:
            place = context.place
            context.place = BlockPlace(place.below(text), place.group, place.depth)
        self._lead.after(text if kind == "paragraph" else "")

    def _add_code(self, parts: list[tuple[int, str]], context: _Context) -> None:
        if parts:
            place = BlockPlace(context.place.below(self._lead.text), context.place.group)
            self._builder.code(_join_by_line(parts), parts[0][0], place)


def _mark_breaks(parts: Sequence[tuple[int, str]]) -> list[tuple[int, str, bool]]:
    """Return the pieces of text, each with whether a line break follows it."""
    return [(line, text, index < len(parts) - 1) for index, (line, text) in enumerate(parts)]


def _trim_parts(parts: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return `parts` without the blank pieces at both ends."""
    begin, end = 0, len(parts)
    while begin < end and not parts[begin][1].strip():
        begin += 1
    while end > begin and not parts[end - 1][1].strip():
        end -= 1
    return parts[begin:end]


def _join_by_line(parts: Sequence[tuple[int, str]]) -> list[str]:
    """Join the pieces of text by line, from the line of the first piece to that of the last one."""
    first = parts[0][0]
    lines: list[list[str]] = [[] for _ in range(max(line for line, _ in parts) - first + 1)]
    for line, text in parts:
        lines[max(line - first, 0)].append(text)
    return ["".join(line) for line in lines]
