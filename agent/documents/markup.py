"""Removes tags, comments, expressions and template marks from markdown, and leaves the text inside them.

Strategy: one pass over the whole source goes from each place where markup may begin to the next, and skips fenced
blocks and code spans. Removed markup leaves its line breaks behind, so that every line keeps its number. The markdown
parser that runs after this pass sees only markdown; `CleanMarkdown` records the effects of tags on the lines around
them, such as the titles of components and the elements for the HTML reader.

Each handler of `MarkupRemover` takes the offset at which its markup may begin, and returns the offset from which the
pass continues. No search runs twice over the same text in vain, so that the pass stays linear in the source.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from html import escape
from itertools import accumulate

from .clean_lines import CleanMarkdown, Components, TagLines, indent_width
from .code_spans import CodeSpans, MdxStatements
from .step_counter import StepCounter
from .tags import (
    INLINE_ELEMENTS,
    TEXT_ATTRIBUTES,
    TEXTLESS_ELEMENTS,
    BracePairs,
    Tag,
    join_attribute_texts,
    parse_string,
    parse_tag,
)

_MARKUP_START = re.compile(r"[`~<{\[\\]")
_TAG_START = re.compile(r"<[A-Za-z/!>]")
_TICKS_OR_TILDES = re.compile(r"`+|~+")
_FOOTNOTE_MARK = re.compile(r"\[\^[^\]\s]{1,60}\]")
_STATEMENT = re.compile(r"^(?:import|export)\b", re.MULTILINE)
_BEFORE_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*")
# The HTML reader gets these elements unchanged.
_HTML_ELEMENT = re.compile(r"<(/?)(table|ul|ol|dl|pre)(?=[\s/>])", re.IGNORECASE)
_HEADING = re.compile(r"h([1-6])")
_COMPONENT = re.compile(r"[A-Z][\w.]*[a-z]")
_ANY_TAG = re.compile(r"</?[A-Za-z][^<>]{0,2000}>")
_END_TAG = re.compile(r"</([A-Za-z][\w.-]*)")
_TEMPLATE_MARKS = (("{{<", ">}}"), ("{{%", "%}}"), ("{{", "}}"), ("{%", "%}"))
_TEMPLATE_COMMENT = re.compile(r"\{%-?\s*comment\b")
_ATTRIBUTE_LIST = re.compile(r"\{:?[ \t]*[.#][\w:-][^{}\n]{0,200}\}|\{:[^{}\n]{0,200}\}|\{#[^{}\n]{1,200}#\}")
_SHORTCODE = re.compile(r"-?\s*(/\s*|end(?=[a-z]))?([A-Za-z][\w/-]{0,60})")
_SHORTCODE_ATTRIBUTE = re.compile(
    rf"\b({'|'.join(sorted(TEXT_ATTRIBUTES))})\s*=\s*(?:\"([^\"]*)\"|'([^']*)')"
)
_LIST_MARK = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)]|\[\^[^\]]+\]:|!!!|\?\?\?\+?|===|:::+)(?:[ \t]|$)")
_MARK_MAX = 4_000  # characters of a template mark, of a heading with its tags, or of an end tag
_CONTEXT_LINES = 50  # lines before an indented one that are searched for the list around it


class MarkupRemover:
    """Removes the markup of one document."""

    def __init__(self, lines: Sequence[str], step_counter: StepCounter, *, mdx: bool) -> None:
        """Prepare the pass over `lines`, which have blank lines in place of the front matter.

        `step_counter`: counts each place where markup may begin; it raises `GivenUp` when the document is no longer
        wanted. `mdx`: whether braces hold expressions.
        """
        self._lines = lines
        self._source = "\n".join(lines)
        self._line_starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self._step_counter = step_counter
        self._mdx = mdx
        self._braces = BracePairs(self._source)
        self._code_spans = CodeSpans(self._source)
        self._statements = MdxStatements(lines)
        self._absent_from: dict[str, int] = {}  # text -> the offset from which a search did not find it
        self._element_ends: dict[int, int] | None = None  # start of each `_HTML_ELEMENT` -> its end
        self._closed_names: frozenset[str] | None = None  # the names of all end tags
        self._tags_only_from = (-1, 0)  # a line, and the offset from which only tags stand on it
        self._last_text_line = -1  # the last line with text before or in a replacement
        self._output: list[str] = []
        self._copied_to = 0  # the end of the source that the output covers
        self._clean = CleanMarkdown(lines=[])
        self._components = Components(lines, self._clean)

    def remove_markup(self) -> CleanMarkdown:
        """Return the remaining markdown, with the facts that the removed markup stated. Can be called once."""
        handlers: dict[str, Callable[[int], int]] = {
            "`": self._skip_code,
            "~": self._skip_code,
            "<": self._remove_tag,
            "{": self._remove_braces,
            "[": self._remove_footnote_mark,
            "\\": lambda at: at + 2,
        }
        statements = [match.start() for match in _STATEMENT.finditer(self._source)]
        statements.reverse()
        at = 0
        while True:
            markup = _MARKUP_START.search(self._source, at)
            next_markup = markup.start() if markup else len(self._source)
            while statements and statements[-1] <= next_markup:
                begin = statements.pop()
                if begin >= at:
                    at = self._remove_statement(begin)
            if not markup:
                break
            self._step_counter.count_step()
            if at <= next_markup:
                at = handlers[markup.group()](next_markup)
        self._output.append(self._source[self._copied_to :])
        self._clean.lines = "".join(self._output).split("\n")
        self._components.close_all()
        return self._clean

    # --- offsets and lines

    def _line_at(self, at: int) -> int:
        """Return the number of the line that holds the offset `at`."""
        return bisect_right(self._line_starts, at) - 1

    def _replace(self, begin: int, end: int, new: str = "") -> int:
        """Replace the source from `begin` to `end` by `new` and the line breaks that `new` lacks; return `end`."""
        before = self._source[self._copied_to : begin]
        if (before.rsplit("\n", 1)[-1] + new).strip(" \t>"):
            self._last_text_line = self._line_at(begin)
        self._output += (before, new, "\n" * (self._source.count("\n", begin, end) - new.count("\n")))
        self._copied_to = end
        return end

    def _find_text(self, text: str, at: int) -> int:
        """Return the offset of `text` from `at` on, or -1. A failed search is not repeated."""
        if self._absent_from.get(text, len(self._source) + 1) <= at:
            return -1
        found = self._source.find(text, at)
        if found < 0:
            self._absent_from[text] = at
        return found

    def _tag_lines(self, begin: int, end: int) -> TagLines:
        """Return the lines of the tag from `begin` to `end`."""
        first, last = self._line_at(begin), self._line_at(end - 1)
        before = self._source[max(self._line_starts[first], self._copied_to) : begin]
        starts_line = self._last_text_line != first and not before.strip(" \t>")
        if self._tags_only_from[0] != last:
            self._tags_only_from = (last, self._line_starts[last] + _find_text_end(self._lines[last]))
        return TagLines(first, last, starts_line, end >= self._tags_only_from[1])

    # --- code and statements

    def _skip_code(self, at: int) -> int:
        """Skip a fenced block of code or a code span."""
        marks = _TICKS_OR_TILDES.match(self._source, at)
        if marks is None:
            return at + 1
        line = self._line_at(at)
        mark, length = self._source[at], marks.end() - at
        before = _BEFORE_FENCE.match(self._source, self._line_starts[line], at) if length > 2 else None
        is_fence = before is not None and before.end() == at
        info_has_mark = self._source.find(mark, marks.end(), self._line_starts[line + 1]) >= 0
        if not is_fence or (info_has_mark and mark == "`"):
            return self._code_spans.find_end(at) if mark == "`" else marks.end()
        closing = re.compile(rf"^[ \t>]*{mark}{{{length},}}[ \t]*$", re.MULTILINE)
        end = (
            closing.search(self._source, self._line_starts[line + 1]) if line + 1 < len(self._lines) else None
        )
        self._clean.fences.append((line, self._line_at(end.end()) if end else len(self._lines) - 1))
        return end.end() if end else len(self._source)

    def _remove_statement(self, at: int) -> int:
        """Remove an import or export statement."""
        line = self._line_at(at)
        end = self._statements.find_end(line)
        return self._replace(at, self._line_starts[end] - 1) if end > line else at

    def _remove_footnote_mark(self, at: int) -> int:
        """Remove the mark of a footnote, except where the footnote is defined."""
        match = _FOOTNOTE_MARK.match(self._source, at)
        if not match:
            return at + 1
        has_colon = self._source.startswith(":", match.end())
        if has_colon and not self._source[self._line_starts[self._line_at(at)] : at].strip(" \t>"):
            return match.end()
        return self._replace(at, match.end())

    def _is_in_code(self, at: int) -> bool:
        """Tell whether `at` is in a block of indented code, which neither MDX nor the inside of a component has."""
        line = self._line_at(at)
        if self._mdx or self._components or indent_width(self._lines[line]) < 4:
            return False
        for above in range(line - 1, max(-1, line - _CONTEXT_LINES), -1):
            text = self._lines[above]
            if text.strip() and indent_width(text) < 4:
                return above < line - 1 and not _LIST_MARK.match(text)
        return True

    # --- braces

    def _remove_braces(self, at: int) -> int:
        """Remove a comment, literal, attribute list, expression or template mark."""
        if self._source.startswith("{/*", at):
            comment_end = self._find_text("*/", at)
            end = self._source.find("}", comment_end, comment_end + 20) if comment_end >= 0 else -1
            if end >= 0:
                return self._replace(at, end + 1)
        if self._source.startswith("{`", at):
            return self._replace_literal(at)
        if match := _ATTRIBUTE_LIST.match(self._source, at):
            return self._replace(at, match.end())
        if self._mdx:
            end = self._braces.find_end(at)
            return self._replace(at, end + 1, parse_string(self._source[at + 1 : end])) if end > 0 else at + 1
        for opening, closing in _TEMPLATE_MARKS:
            if self._source.startswith(opening, at) and not self._is_in_code(at):
                return self._remove_template(at, len(opening), closing)
        return at + 1

    def _replace_literal(self, at: int) -> int:
        """Replace {`...`} by its content: text on one line, code on several."""
        close = self._find_text("`}", at + 2)
        if close < 0:
            return at + 2
        content = self._source[at + 2 : close]
        if "\n" not in content:
            return self._replace(at, close + 2, content)
        self._record_code(at + 2, close)
        return self._replace(at, close + 2)

    def _record_code(self, begin: int, end: int) -> None:
        """Record the source from `begin` to `end` as code."""
        element = f"<pre>{escape(self._source[begin:end], quote=False)}</pre>"
        self._clean.html_elements.append((self._line_at(begin), self._line_at(end), element))

    def _remove_template(self, at: int, length: int, closing: str) -> int:
        """Remove a mark of Liquid, Jinja or Hugo, and record the texts of a shortcode's attributes.

        `length`: the length of the opening mark. `closing`: the closing mark.
        """
        if _TEMPLATE_COMMENT.match(self._source, at):
            close = self._find_text("endcomment", at)
            close = self._find_text("%}", close) if close >= 0 else -1
        else:
            close = self._source.find(closing, at + length, at + _MARK_MAX)
        if close < 0:
            return at + length
        end = close + len(closing)
        shortcode = _SHORTCODE.match(self._source, at + length, close)
        if shortcode and closing != "}}":
            attributes = _SHORTCODE_ATTRIBUTE.findall(self._source, at, close)
            texts = [(name, double or single) for name, double, single in attributes]
            lines = self._tag_lines(at, end)
            if shortcode[1]:  # "/" or "end"
                self._components.close_tag(f"{{{shortcode[2]}", lines)
            else:
                self._open_shortcode(shortcode[2], lines, join_attribute_texts(texts))
        return self._replace(at, end)

    def _open_shortcode(self, name: str, lines: TagLines, text: str) -> None:
        """Open the shortcode or template block `name` as a component; without an end it has no content."""
        end = self._line_starts[lines.last + 1] - 1
        if any(self._find_text(f"{mark}{name}", end) >= 0 for mark in ("/", "/ ", "end")):
            self._components.open_tag(f"{{{name}", lines, text)
        else:
            self._record_attribute_texts(lines, text)

    def _record_attribute_texts(self, lines: TagLines, text: str) -> None:
        """Record the `text` of the attributes of a tag without content, if the tag is alone on its lines."""
        if text and lines.starts_line and lines.ends_line:
            self._clean.attribute_texts.append((lines.first, lines.last, text))

    # --- tags

    def _remove_tag(self, at: int) -> int:
        """Remove a comment, a tag, or an element whose content is not markdown."""
        if not _TAG_START.match(self._source, at):
            return at + 1
        if self._source.startswith("<!--", at):
            close = self._find_text("-->", at)
            return self._replace(at, close + 3) if close >= 0 else at + 4
        if self._source.startswith(("<>", "</>"), at):
            return self._replace(at, self._source.index(">", at) + 1) if self._mdx else at + 2
        tag = parse_tag(self._source, at, self._braces)
        if tag is None or self._is_placeholder(tag) or self._is_in_code(at):
            return at + 1
        for begin, end in tag.code_spans:
            self._record_code(begin, end)
        if tag.html_name in INLINE_ELEMENTS:
            return self._replace(at, tag.end)
        if not tag.is_end and not tag.is_self_closing:
            end = self._remove_element(at, tag)
            if end:
                return end
        lines = self._tag_lines(at, tag.end)
        self._record_tag(tag, lines)
        return self._replace(at, tag.end, "" if lines.starts_line else " ")

    def _record_tag(self, tag: Tag, lines: TagLines) -> None:
        """Open or close a component or block element, and record the texts of its attributes."""
        if tag.is_end:
            self._components.close_tag(tag.name, lines)
        elif tag.is_self_closing:
            self._record_attribute_texts(lines, join_attribute_texts(tag.texts))
        elif tag.html_name:
            if tag.html_name not in ("br", "img", "hr"):
                self._components.open_tag(tag.name, lines)
        else:
            self._components.open_tag(tag.name, lines, join_attribute_texts(tag.texts))
            if lines.starts_line and lines.ends_line:
                self._clean.content_starts.append(lines.last)

    def _is_placeholder(self, tag: Tag) -> bool:
        """Tell whether `tag` is a placeholder such as `PORT=<port>`: no element, no component, and never closed."""
        if (
            tag.html_name
            or tag.is_end
            or tag.is_self_closing
            or tag.has_attributes
            or _COMPONENT.match(tag.name)
        ):
            return False
        if self._closed_names is None:
            self._closed_names = frozenset(_END_TAG.findall(self._source))
        return tag.name not in self._closed_names

    def _remove_element(self, at: int, tag: Tag) -> int:
        """Remove the element that begins at `at`, if its content is not markdown.

        Return the offset after the element, or 0 if its content is markdown.
        """
        if tag.html_name in TEXTLESS_ELEMENTS:
            close = self._find_text(f"</{tag.name}", tag.end)
            end = self._source.find(">", close, close + _MARK_MAX) if close >= 0 else -1
            return self._replace(at, max(end + 1, tag.end))
        if _HTML_ELEMENT.match(self._source, at):
            end = self._find_element_end(at)
            if end > 0:
                lines = self._tag_lines(at, end)
                self._clean.html_elements.append((lines.first, lines.last, self._source[at:end]))
                return self._replace(at, end)
        heading = _HEADING.fullmatch(tag.html_name)
        if heading or tag.html_name == "summary":
            return self._replace_heading(at, tag, "#" * int(heading[1]) if heading else "")
        return 0

    def _replace_heading(self, at: int, tag: Tag, marks: str) -> int:
        """Replace a heading by a markdown heading with the `marks`, or a summary by the title of its component.

        Return the offset after the element, or 0 if it does not begin its line or has no end.
        """
        close = self._source.find(f"</{tag.name}>", tag.end, tag.end + _MARK_MAX)
        lines = self._tag_lines(at, tag.end)
        if close < 0 or not lines.starts_line:
            return 0
        text = " ".join(_ANY_TAG.sub(" ", self._source[tag.end : close]).split())
        if not marks:
            self._components.set_title("details", text, lines.first)
        return self._replace(at, close + len(tag.name) + 3, f"{marks} {text}" if marks else "")

    def _find_element_end(self, begin: int) -> int:
        """Return the offset after the `_HTML_ELEMENT` that begins at `begin`, or 0 if the element has no end."""
        if self._element_ends is None:
            self._element_ends = {}
            open_by_name: dict[str, list[int]] = {}
            for match in _HTML_ELEMENT.finditer(self._source):
                starts = open_by_name.setdefault(match[2].lower(), [])
                if not match[1]:
                    starts.append(match.start())
                elif starts:
                    end = self._source.find(">", match.end(), match.end() + _MARK_MAX)
                    self._element_ends[starts.pop()] = max(end + 1, match.end())
        return self._element_ends.get(begin, 0)


def _find_text_end(line: str) -> int:
    """Return the offset in `line` from which on only tags and white space stand."""
    tag_starts = {match.end(): match.start() for match in _ANY_TAG.finditer(line)}
    at = len(line)
    while True:
        text_end = len(line[:at].rstrip()) if at == len(line) or line[at - 1 : at].isspace() else at
        if text_end not in tag_starts:
            return text_end
        at = tag_starts[text_end]
