"""Takes tags, comments, expressions and template marks out of markdown. The text inside them stays.

Strategy: one pass over the whole source, from one place where markup may begin to the next, past fences and code
spans. Removed markup leaves its line breaks behind, so that every line keeps its number. The markdown parser that runs
after this pass sees only markdown. The effect of a tag on the lines around the tag is recorded in a `CleanMarkdown`.

Each handler of `MarkupRemover` gets the offset at which its markup may begin, and returns the offset at which the pass
goes on.
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
# Elements that the reader of HTML gets unchanged.
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
_REACH = 4_000  # characters from the beginning of a template's mark, or of a heading's tag, to its end
_CONTEXT_LINES = 50  # before an indented line, that are searched for the list around it


class MarkupRemover:
    """The pass over one document."""

    def __init__(self, lines: Sequence[str], step_counter: StepCounter, *, mdx: bool) -> None:
        """Prepare for `lines`, with blank lines in place of the front matter.

        `mdx`: whether braces hold expressions.
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
        self._element_ends: dict[int, int] | None = None  # of `_HTML_ELEMENT`, by their begins
        self._closed_names: frozenset[str] | None = None
        self._line_text_end = (-1, 0)  # a line, and the offset after which only tags follow on it
        self._text_line = -1  # the last line with a text before a replacement
        self._output: list[str] = []
        self._copied = 0  # the end of the source that is in the output
        self._clean = CleanMarkdown(lines=[])
        self._components = Components(lines, self._clean)

    def remove_markup(self) -> CleanMarkdown:
        """Return the markdown that is left, and the facts learned from the removed markup."""
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
        self._output.append(self._source[self._copied :])
        self._clean.lines = "".join(self._output).split("\n")
        self._components.close_all()
        return self._clean

    # --- offsets and lines

    def _line_at(self, at: int) -> int:
        return bisect_right(self._line_starts, at) - 1

    def _replace(self, begin: int, end: int, new: str = "") -> int:
        """Replace the source from `begin` to `end` by `new`, keep its line breaks, and return `end`."""
        before = self._source[self._copied : begin]
        if (before.rsplit("\n", 1)[-1] + new).strip(" \t>"):
            self._text_line = self._line_at(begin)
        self._output += (before, new, "\n" * (self._source.count("\n", begin, end) - new.count("\n")))
        self._copied = end
        return end

    def _find(self, text: str, at: int) -> int:
        """Return the offset of `text` from `at` on, or -1. Repeating a failed search costs nothing."""
        if self._absent_from.get(text, len(self._source) + 1) <= at:
            return -1
        found = self._source.find(text, at)
        if found < 0:
            self._absent_from[text] = at
        return found

    def _tag_lines(self, begin: int, end: int) -> TagLines:
        """Return the lines of the tag from `begin` to `end`."""
        first, last = self._line_at(begin), self._line_at(end - 1)
        before = self._source[max(self._line_starts[first], self._copied) : begin]
        starts_line = self._text_line != first and not before.strip(" \t>")
        if self._line_text_end[0] != last:
            self._line_text_end = (last, self._line_starts[last] + _find_text_end(self._lines[last]))
        return TagLines(first, last, starts_line, end >= self._line_text_end[1])

    # --- code and statements

    def _skip_code(self, at: int) -> int:
        """Skip a fenced block of code or a code span."""
        run = _TICKS_OR_TILDES.match(self._source, at)
        if run is None:
            return at + 1
        line = self._line_at(at)
        mark, length = self._source[at], run.end() - at
        before = _BEFORE_FENCE.match(self._source, self._line_starts[line], at) if length > 2 else None
        is_fence = before is not None and before.end() == at
        info_has_mark = self._source.find(mark, run.end(), self._line_starts[line + 1]) >= 0
        if not is_fence or (info_has_mark and mark == "`"):
            return self._code_spans.find_end(at) if mark == "`" else run.end()
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
        """Return whether `at` is in a block of indented code (never in MDX or inside a component)."""
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
            comment_end = self._find("*/", at)
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
        close = self._find("`}", at + 2)
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
        """Remove a mark of liquid, jinja or hugo; its attributes that people read count as those of a component.

        `length`: the length of the opening mark. `closing`: the closing mark.
        """
        if _TEMPLATE_COMMENT.match(self._source, at):
            close = self._find("endcomment", at)
            close = self._find("%}", close) if close >= 0 else -1
        else:
            close = self._source.find(closing, at + length, at + _REACH)
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
        """Open the shortcode or template block `name`; one without an end is a component without content."""
        end = self._line_starts[lines.last + 1] - 1
        if any(self._find(f"{mark}{name}", end) >= 0 for mark in ("/", "/ ", "end")):
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
            close = self._find("-->", at)
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
        """Return whether `tag` is a placeholder such as `PORT=<port>`: no element, no component, and never closed."""
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
        """Remove the element that begins at `at` with its content, if the content is not markdown.

        Return the offset after the element, or 0 when its content is markdown.
        """
        name = tag.html_name
        if name in TEXTLESS_ELEMENTS:
            close = self._find(f"</{tag.name}", tag.end)
            end = self._source.find(">", close, close + _REACH) if close >= 0 else -1
            return self._replace(at, max(end + 1, tag.end))
        if _HTML_ELEMENT.match(self._source, at):
            end = self._find_element_end(at)
            if end > 0:
                lines = self._tag_lines(at, end)
                self._clean.html_elements.append((lines.first, lines.last, self._source[at:end]))
                return self._replace(at, end)
        heading = _HEADING.fullmatch(name)
        if heading or name == "summary":
            close = self._source.find(f"</{tag.name}>", tag.end, tag.end + _REACH)
            lines = self._tag_lines(at, tag.end)
            if close >= 0 and lines.starts_line:
                text = " ".join(_ANY_TAG.sub(" ", self._source[tag.end : close]).split())
                if not heading:
                    self._components.set_title("details", text, lines.first)
                marked = f"{'#' * int(heading[1])} {text}" if heading else ""
                return self._replace(at, close + len(tag.name) + 3, marked)
        return 0

    def _find_element_end(self, begin: int) -> int:
        """Return the offset after the `_HTML_ELEMENT` that begins at `begin`, or 0 when the element has no end."""
        if self._element_ends is None:
            self._element_ends = {}
            opened: dict[str, list[int]] = {}
            for match in _HTML_ELEMENT.finditer(self._source):
                begins = opened.setdefault(match[2].lower(), [])
                if not match[1]:
                    begins.append(match.start())
                elif begins:
                    end = self._source.find(">", match.end(), match.end() + _REACH)
                    self._element_ends[begins.pop()] = max(end + 1, match.end())
        return self._element_ends.get(begin, 0)


def _find_text_end(line: str) -> int:
    """Return the offset in `line` after which only tags follow."""
    tag_starts = {match.end(): match.start() for match in _ANY_TAG.finditer(line)}
    at = len(line)
    while True:
        text_end = len(line[:at].rstrip()) if at == len(line) or line[at - 1 : at].isspace() else at
        if text_end not in tag_starts:
            return text_end
        at = tag_starts[text_end]
