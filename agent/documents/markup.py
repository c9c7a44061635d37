"""Takes tags, comments, expressions and template marks out of markdown. The text inside them stays.

Strategy: one pass over the whole source, from one place where markup may begin to the next, past fences and code
spans. Removed markup leaves its line breaks behind, so that every line keeps its number. The markdown parser that runs
after this pass sees only markdown. The effect of a tag on the lines around the tag is recorded in a `Clean`.

Each handler of `Markup` gets the offset at which its markup may begin, and returns the offset at which the pass goes
on.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from html import escape
from itertools import accumulate

from .clean_lines import Clean, Components, Where, columns
from .step_counter import StepCounter
from .tags import INLINE, NON_TEXT, READ, Braces, Tag, literal, sentence, tag_at

_TICKS = re.compile(r"`+")
_BORDER = re.compile(r"\n(?=[ \t>]*(?:\n|[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|\||:::|`{3,}|~{3,}))")


class Spans:
    """The code spans of a source, read paragraph by paragraph, since a span does not reach beyond its paragraph."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._end = 0
        self._runs: dict[int, list[int]] = {}

    def after(self, at: int) -> int:
        """Return the offset after the span that begins at `at`, or after the run of backticks if no span begins."""
        if at >= self._end:
            self._load(at)
        run = _TICKS.match(self._source, at)
        if run is None:
            return at + 1
        length = run.end() - at
        runs = self._runs.get(length, [])
        after = bisect_right(runs, at)
        return runs[after] + length if after < len(runs) else run.end()

    def _load(self, at: int) -> None:
        border = _BORDER.search(self._source, at)
        self._end = border.end() if border else len(self._source)
        self._runs = {}
        for run in _TICKS.finditer(self._source, at, self._end):
            self._runs.setdefault(run.end() - run.start(), []).append(run.start())


_BEGINS = re.compile(
    r"import\s+(?:[\w*{$][^\n]*?\sfrom\s+)?['\"]|import\s+(?:[\w$]+\s*,\s*)?\{[^}\n]*$"
    r"|export\s+(?:(?:const|let|var|function|async|class)\s+[\w$*\[{]|default\s+(?:function|async|class|[({\[\"'`])|[{*])",
    re.MULTILINE,
)
_SIGNS = re.compile(r"[()\[\]{}]")
_LINES = 400
_UNCLOSED = 20


class Statements:
    """Finds the ends of the import and export statements of one document."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._unclosed = 0

    def after(self, first: int) -> int:
        """Return the line after the statement that begins on line `first`; `first` when none begins there.

        A statement reaches to the end of its paragraph, and beyond while its brackets are open. After many statements
        that never close, no more are found in the document: the search for their ends would take too long.
        """
        if self._unclosed > _UNCLOSED or not _BEGINS.match(self._lines[first]):
            return first
        depth = blank = 0
        last = min(len(self._lines), first + _LINES)
        for line in range(first, last):
            if not self._lines[line].strip():
                if depth <= 0:
                    return line
                blank = blank or line
            depth += sum(1 if sign in "([{" else -1 for sign in _SIGNS.findall(self._lines[line][:2_000]))
        if depth <= 0:
            return last
        self._unclosed += 1
        return blank or last


_HIT = re.compile(r"[`~<{\[\\]")
_BEGINS_TAG = re.compile(r"<[A-Za-z/!>]")
_RUN = re.compile(r"`+|~+")
_NOTE = re.compile(r"\[\^[^\]\s]{1,60}\]")
_STATEMENT = re.compile(r"^(?:import|export)\b", re.MULTILINE)
_BEFORE_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*")
_WHOLE = re.compile(
    r"<(/?)(table|ul|ol|dl|pre)(?=[\s/>])", re.IGNORECASE
)  # elements that the reader of HTML gets unchanged
_HEADING = re.compile(r"h([1-6])")
_COMPONENT = re.compile(r"[A-Z][\w.]*[a-z]")
_ANY_TAG = re.compile(r"</?[A-Za-z][^<>]{0,2000}>")
_CLOSING = re.compile(r"</([A-Za-z][\w.-]*)")
_TEMPLATES = (("{{<", ">}}"), ("{{%", "%}}"), ("{{", "}}"), ("{%", "%}"))
_COMMENTED = re.compile(r"\{%-?\s*comment\b")
_ATTRIBUTE_LIST = re.compile(r"\{:?[ \t]*[.#][\w:-][^{}\n]{0,200}\}|\{:[^{}\n]{0,200}\}|\{#[^{}\n]{1,200}#\}")
_CALLED = re.compile(r"-?\s*(/\s*|end(?=[a-z]))?([A-Za-z][\w/-]{0,60})")
_NAMED = re.compile(rf"\b({'|'.join(sorted(READ))})\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_LIST = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)]|\[\^[^\]]+\]:|!!!|\?\?\?\+?|===|:::+)(?:[ \t]|$)")
_REACH = 4_000  # characters from the beginning of a template's mark, or of a heading's tag, to its end
_CONTEXT = 50  # lines before an indented line that are searched for the list around it


class Markup:
    """The pass over one document."""

    def __init__(self, lines: Sequence[str], step_counter: StepCounter, *, mdx: bool) -> None:
        """Prepare for `lines`, with blank lines in place of the front matter.

        `mdx`: whether braces hold expressions.
        """
        self._lines = lines
        self._source = "\n".join(lines)
        self._begins = [0, *accumulate(len(line) + 1 for line in lines)]
        self._step_counter = step_counter
        self._mdx = mdx
        self._braces = Braces(self._source)
        self._spans = Spans(self._source)
        self._statements = Statements(lines)
        self._none_after: dict[str, int] = {}
        self._wholes: dict[int, int] | None = None
        self._closing: frozenset[str] | None = None
        self._tail = (-1, 0)
        self._text_on = -1
        self._out: list[str] = []
        self._copied = 0
        self._clean = Clean(lines=[])
        self._components = Components(lines, self._clean)

    def run(self) -> Clean:
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
            hit = _HIT.search(self._source, at)
            place = hit.start() if hit else len(self._source)
            while statements and statements[-1] <= place:
                begin = statements.pop()
                if begin >= at:
                    at = self._remove_statement(begin)
            if not hit:
                break
            self._step_counter.count_step()
            if at <= place:
                at = handlers[hit.group()](place)
        self._out.append(self._source[self._copied :])
        self._clean.lines = "".join(self._out).split("\n")
        self._components.finish()
        return self._clean

    # --- places

    def _line_at(self, at: int) -> int:
        return bisect_right(self._begins, at) - 1

    def _replace(self, first: int, end: int, instead: str = "") -> int:
        """Replace the source from `first` to `end` by `instead`, keep its line breaks, and return `end`."""
        before = self._source[self._copied : first]
        if (before.rsplit("\n", 1)[-1] + instead).strip(" \t>"):
            self._text_on = self._line_at(first)
        self._out += (before, instead, "\n" * (self._source.count("\n", first, end) - instead.count("\n")))
        self._copied = end
        return end

    def _find(self, text: str, at: int) -> int:
        """Return the offset of `text` from `at` on, or -1. Repeating a failed search costs nothing."""
        if self._none_after.get(text, len(self._source) + 1) <= at:
            return -1
        place = self._source.find(text, at)
        if place < 0:
            self._none_after[text] = at
        return place

    def _lines_between(self, first: int, end: int) -> Where:
        """Return the lines of the source from `first` to `end`."""
        line, last = self._line_at(first), self._line_at(end - 1)
        before = self._source[max(self._begins[line], self._copied) : first]
        starts = self._text_on != line and not before.strip(" \t>")
        if self._tail[0] != last:
            self._tail = (last, self._begins[last] + _text_end(self._lines[last]))
        return Where(line, last, starts, end >= self._tail[1])

    # --- code and statements

    def _skip_code(self, at: int) -> int:
        """Skip a fenced block of code or a code span."""
        run = _RUN.match(self._source, at)
        if run is None:
            return at + 1
        line = self._line_at(at)
        mark, length = self._source[at], run.end() - at
        before = _BEFORE_FENCE.match(self._source, self._begins[line], at) if length > 2 else None
        fences = before is not None and before.end() == at
        info_has_mark = self._source.find(mark, run.end(), self._begins[line + 1]) >= 0
        if not fences or (info_has_mark and mark == "`"):
            return self._spans.after(at) if mark == "`" else run.end()
        close = re.compile(rf"^[ \t>]*{mark}{{{length},}}[ \t]*$", re.MULTILINE)
        end = close.search(self._source, self._begins[line + 1]) if line + 1 < len(self._lines) else None
        self._clean.fences.append((line, self._line_at(end.end()) if end else len(self._lines) - 1))
        return end.end() if end else len(self._source)

    def _remove_statement(self, at: int) -> int:
        """Remove an import or export statement."""
        line = self._line_at(at)
        after = self._statements.after(line)
        return self._replace(at, self._begins[after] - 1) if after > line else at

    def _remove_footnote_mark(self, at: int) -> int:
        """Remove the mark of a footnote."""
        match = _NOTE.match(self._source, at)
        if not match:
            return at + 1
        defines = self._source.startswith(":", match.end())
        if defines and not self._source[self._begins[self._line_at(at)] : at].strip(" \t>"):
            return match.end()
        return self._replace(at, match.end())

    def _is_in_code(self, at: int) -> bool:
        """Return whether `at` is in a block of indented code (never in MDX or inside a component)."""
        line = self._line_at(at)
        if self._mdx or self._components or columns(self._lines[line]) < 4:
            return False
        for above in range(line - 1, max(-1, line - _CONTEXT), -1):
            text = self._lines[above]
            if text.strip() and columns(text) < 4:
                return above < line - 1 and not _LIST.match(text)
        return True

    # --- braces

    def _remove_braces(self, at: int) -> int:
        if self._source.startswith("{/*", at):
            close = self._find("*/", at)
            end = self._source.find("}", close, close + 20) if close >= 0 else -1
            if end >= 0:
                return self._replace(at, end + 1)
        if self._source.startswith("{`", at):
            return self._replace_literal(at)
        if match := _ATTRIBUTE_LIST.match(self._source, at):
            return self._replace(at, match.end())
        if self._mdx:
            end = self._braces.end(at)
            return self._replace(at, end + 1, literal(self._source[at + 1 : end])) if end > 0 else at + 1
        for begin, mark in _TEMPLATES:
            if self._source.startswith(begin, at) and not self._is_in_code(at):
                return self._remove_template(at, len(begin), mark)
        return at + 1

    def _replace_literal(self, at: int) -> int:
        """Replace {`...`} by its content: text on one line, code on several."""
        close = self._find("`}", at + 2)
        if close < 0:
            return at + 2
        inside = self._source[at + 2 : close]
        if "\n" not in inside:
            return self._replace(at, close + 2, inside)
        self._record_code(at + 2, close)
        return self._replace(at, close + 2)

    def _record_code(self, first: int, end: int) -> None:
        """Record the source from `first` to `end` as code."""
        source = f"<pre>{escape(self._source[first:end], quote=False)}</pre>"
        self._clean.wholes.append((self._line_at(first), self._line_at(end), source))

    def _remove_template(self, at: int, length: int, mark: str) -> int:
        """Remove a mark of liquid, jinja or hugo; its attributes that people read count as those of a component."""
        if _COMMENTED.match(self._source, at):
            close = self._find("endcomment", at)
            close = self._find("%}", close) if close >= 0 else -1
        else:
            close = self._source.find(mark, at + length, at + _REACH)
        if close < 0:
            return at + length
        end = close + len(mark)
        called = _CALLED.match(self._source, at + length, close)
        if called and mark != "}}":
            self._handle_shortcode(
                called[1], called[2], self._lines_between(at, end), _NAMED.findall(self._source, at, close)
            )
        return self._replace(at, end)

    def _handle_shortcode(
        self, closing: str, name: str, where: Where, attributes: Sequence[tuple[str, str, str]]
    ) -> None:
        """Open or close a shortcode or block of a template.

        `closing`: the characters that mark an end ("/" or "end"), else "". `attributes`: as pairs of a name and a value
        in double or single quotes.
        """
        if closing:
            self._components.end(f"{{{name}", where)
            return
        text = sentence([(key, double or single) for key, double, single in attributes])
        end = self._begins[where.last + 1] - 1
        if any(self._find(f"{sign}{name}", end) >= 0 for sign in ("/", "/ ", "end")):
            self._components.begin(f"{{{name}", where, text)
        elif text and where.starts and where.ends:
            self._clean.attribute_texts.append((where.first, where.last, text))

    # --- tags

    def _remove_tag(self, at: int) -> int:
        if not _BEGINS_TAG.match(self._source, at):
            return at + 1
        if self._source.startswith("<!--", at):
            close = self._find("-->", at)
            return self._replace(at, close + 3) if close >= 0 else at + 4
        if self._source.startswith(("<>", "</>"), at):
            return self._replace(at, self._source.index(">", at) + 1) if self._mdx else at + 2
        tag = tag_at(self._source, at, self._braces)
        if tag is None or self._is_placeholder(tag) or self._is_in_code(at):
            return at + 1
        name = tag.html
        for first, end in tag.codes:
            self._record_code(first, end)
        if name in INLINE:
            return self._replace(at, tag.end)
        if not tag.closing and not tag.alone:
            end = self._remove_element(at, tag)
            if end:
                return end
        where = self._lines_between(at, tag.end)
        if tag.closing:
            self._components.end(tag.name, where)
        elif tag.alone and tag.texts and where.starts and where.ends:
            self._clean.attribute_texts.append((where.first, where.last, sentence(tag.texts)))
        elif not tag.alone and name not in ("br", "img", "hr"):
            self._components.begin(tag.name, where, sentence(tag.texts) if not name else "")
            if not name and where.starts and where.ends:
                self._clean.begins.append(where.last)
        return self._replace(at, tag.end, "" if where.starts else " ")

    def _is_placeholder(self, tag: Tag) -> bool:
        """Return whether `tag` is a placeholder such as `PORT=<port>`: no element, no component, and never closed."""
        if tag.html or tag.closing or tag.alone or not tag.bare or _COMPONENT.match(tag.name):
            return False
        if self._closing is None:
            self._closing = frozenset(_CLOSING.findall(self._source))
        return tag.name not in self._closing

    def _remove_element(self, at: int, tag: Tag) -> int:
        """Remove the element that begins at `at` with its content, if the content is not markdown.

        Return the offset after the element, or 0 when its content is markdown.
        """
        name = tag.html
        if name in NON_TEXT:
            close = self._find(f"</{tag.name}", tag.end)
            end = self._source.find(">", close, close + _REACH) if close >= 0 else -1
            return self._replace(at, max(end + 1, tag.end))
        if _WHOLE.match(self._source, at):
            end = self._find_whole_end(at)
            if end > 0:
                where = self._lines_between(at, end)
                self._clean.wholes.append((where.first, where.last, self._source[at:end]))
                return self._replace(at, end)
        heading = _HEADING.fullmatch(name)
        if heading or name == "summary":
            close = self._source.find(f"</{tag.name}>", tag.end, tag.end + _REACH)
            where = self._lines_between(at, tag.end)
            if close >= 0 and where.starts:
                text = " ".join(_ANY_TAG.sub(" ", self._source[tag.end : close]).split())
                if not heading:
                    self._components.title("details", text, where.first)
                marked = f"{'#' * int(heading[1])} {text}" if heading else ""
                return self._replace(at, close + len(tag.name) + 3, marked)
        return 0

    def _find_whole_end(self, at: int) -> int:
        """Return the offset after the element that begins at `at`, or 0 when the element has no end."""
        if self._wholes is None:
            self._wholes = {}
            waiting: dict[str, list[int]] = {}
            for match in _WHOLE.finditer(self._source):
                begins = waiting.setdefault(match[2].lower(), [])
                if not match[1]:
                    begins.append(match.start())
                elif begins:
                    end = self._source.find(">", match.end(), match.end() + _REACH)
                    self._wholes[begins.pop()] = max(end + 1, match.end())
        return self._wholes.get(at, 0)


def _text_end(line: str) -> int:
    """Return the offset in `line` after which only tags follow."""
    ends = {match.end(): match.start() for match in _ANY_TAG.finditer(line)}
    at = len(line)
    while True:
        text = len(line[:at].rstrip()) if at == len(line) or line[at - 1 : at].isspace() else at
        if text not in ends:
            return text
        at = ends[text]
