"""The line-wise marks of markdown's dialects: admonitions, alerts, footnotes, link definitions, and indentation.

Strategy: one walk over the lines after the tags are gone. The content of a component, an admonition or a footnote is
moved back to the column of its mark, since four columns would make it code; the marks become blank, and their titles
become scopes over their lines. The walk also records the lines at which the text can be cut into parts.
"""

import re
from dataclasses import dataclass

from .clean_lines import CleanMarkdown, indent_width
from .headings import TitleScope
from .step_counter import StepCounter

_SPECIAL = re.compile(r"[ \t>]*(?:[:!?=]{3}|\*?\[)")
_COLONS = re.compile(r"[ \t>]*(:{3,})[ \t]*(.*)$")
_DIRECTIVE = re.compile(
    r"(?:[{]?[A-Za-z][\w-]*[}]?)?[ \t]*(?:\[([^\]]*)\])?[ \t]*(?:\{[^{}]*?(?:title=\"([^\"]*)\")?[^{}]*\})?[ \t]*(.*)$"
)
_ADMONITION = re.compile(
    r"[ \t]*(?:!!!|\?\?\?\+?)[ \t]++[\w-]++(?:[ \t]++[\w-]++)*+[ \t]*+(?:\"([^\"]*)\"[ \t]*+)?$"
)
_TAB = re.compile(r"[ \t]*===[!+]?[ \t]+\"([^\"]*)\"[ \t]*$")
_ALERT = re.compile(r"([ \t]*>[ \t]*)\[![\w-]{1,40}\][-+]?")
_FOOTNOTE = re.compile(r"([ \t>]*)\[\^[^\]\s]{1,60}\]:[ \t]*")
_DEFINITION = re.compile(
    r"[ \t>]*\[(?!\^)((?:[^\[\]\\]|\\.){1,999})\]:[ \t]*(?:<[^<>]*>|[^\s<]\S*)"
    r"(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t]*$"
)
_ABBREVIATION = re.compile(r"\*\[[^\]]+\]:[ \t]")
_BEGINS_LIST = re.compile(r"(?:>|(?:[-*+]|\d{1,9}[.)])[ \t])")
_PART = 24_000  # characters from one cut to the next, at least ...
_LONG_LIST = 100_000  # ... and when only a list stands between them


@dataclass(slots=True)
class _OpenMark:
    """A mark whose content is indented; it ends at a line that is not."""

    base: int
    first: int
    title: str
    columns: int


class Indents:
    """The walk over one document's lines; changes `clean` in place."""

    def __init__(self, clean: CleanMarkdown, step_counter: StepCounter) -> None:
        self._clean = clean
        self._step_counter = step_counter
        self._open: list[_OpenMark] = []
        self._colons: list[tuple[int, int, str]] = []  # first line, length, title
        self._last = 0  # line with a text

    def run(self) -> None:
        """Walk over all lines."""
        lines = self._clean.lines
        fences = iter(sorted(self._clean.fences))
        fence = next(fences, None)
        components = sorted(self._clean.indents, key=lambda indent: (indent[0], -indent[1]))
        inside: list[tuple[int, int]] = []  # last line, indent_width
        coming = size = more = 0
        for at, line in enumerate(lines):
            while coming < len(components) and components[coming][0] <= at:
                inside.append(components[coming][1:])
                more += components[coming][2]
                coming += 1
            while inside and inside[-1][0] < at:
                more -= inside.pop()[1]
            size += len(line) + 1
            if not line or line.isspace():
                continue
            self._step_counter.count_step()
            while fence and fence[1] < at:
                fence = next(fences, None)
            in_fence = fence is not None and fence[0] <= at
            if more:
                line = lines[at] = _dedent_line(line, more)
            if self._open:
                line = lines[at] = self._dedent(line)
            if not (fence and fence[0] < at <= fence[1]) and _SPECIAL.match(line):
                self._special(at, line)
            self._last = at
            if size > _PART and not (in_fence and fence and fence[0] < at) and self._can_cut(at, line, size):
                self._clean.cuts.append(at)
                size = 0
        self._close(0, all_=True)
        for first, _, title in self._colons:
            self._title(first, 0, title)
        self._clean.scopes.sort(key=lambda scope: scope.first)

    def _dedent(self, line: str) -> str:
        """Close the marks that end before `line`, and remove the indentation of those still open from it."""
        indent = indent_width(line)
        self._close(indent)
        if not self._open:
            return line
        return _dedent_line(line, sum(each.columns for each in self._open))

    def _close(self, indent: int, *, all_: bool = False) -> None:
        while self._open and (all_ or indent <= self._open[-1].base):
            each = self._open.pop()
            self._title(each.first, self._last, each.title)

    def _title(self, first: int, last: int, title: str) -> None:
        if title.strip():
            self._clean.scopes.append(TitleScope(first, last, title))

    def _special(self, at: int, line: str) -> None:
        """Handle a line that begins like a mark of one of the dialects."""
        lines = self._clean.lines
        if match := _COLONS.match(line):
            lines[at] = ""
            self._directive(at, len(match[1]), match[2].strip())
        elif match := _ADMONITION.match(line) or _TAB.match(line):
            lines[at] = ""
            self._indent(at, line, match[1] or "")
        elif match := _ALERT.match(line):
            lines[at] = match[1] + line[match.end() :]
            self._clean.edges.add(at + 1)
        elif match := _FOOTNOTE.match(line):
            lines[at] = match[1] + line[match.end() :]
            self._clean.edges.add(at)
            self._indent(at, line, "")
        elif _ABBREVIATION.match(line):
            lines[at] = ""
        elif match := _DEFINITION.match(line):
            lines[at] = ""
            self._clean.labels.append(match[1])

    def _indent(self, at: int, line: str, title: str) -> None:
        outer = sum(each.columns for each in self._open)
        if len(self._open) < 16:
            self._open.append(_OpenMark(indent_width(line) + outer, at, title, 4))

    def _directive(self, at: int, length: int, rest: str) -> None:
        """Open or close a block between colons."""
        if rest:
            match = _DIRECTIVE.match(rest)
            title = next((group for group in match.groups() if group), "") if match else ""
            self._colons.append((at, length, title))
        elif self._colons:
            first, _, title = self._colons.pop()
            self._title(first, at, title)

    def _can_cut(self, at: int, line: str, size: int) -> bool:
        """Return whether a line ends everything above it, or is an item of a very long list."""
        if self._open or line[0] in " \t":
            return False
        if line[0] == "#":
            return True
        if not _BEGINS_LIST.match(line):
            return not self._clean.lines[at - 1].strip()
        above = self._clean.lines[at - 1]
        same = above[:1] == line[0] or (above[:1].isdigit() and line[0].isdigit())
        if size > _LONG_LIST and line[0] != ">" and same and _BEGINS_LIST.match(above):
            self._clean.list_cuts.add(at)
            return True
        return False


def _dedent_line(line: str, more: int) -> str:
    """Return `line` without up to `more` columns of its indentation."""
    text = line.lstrip(" \t")
    return " " * max(0, indent_width(line) - more) + text
