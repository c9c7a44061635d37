"""The lines of a markdown file without tags and marks, and the facts learned from the removed markup."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from .headings import TitleScope

_CLOSE_BY = 50  # lines after a tag among which its content must begin


@dataclass(slots=True, kw_only=True)
class CleanMarkdown:
    """Pure markdown and the facts learned from the removed markup. All lines are counted from 0.

    `lines`: as many as the file has. `fences`: first and last line of fenced code. `edges`: lines before which a
    paragraph must end. `scopes`: titles over lines. `indents`: (first, last, columns), the indentation of a
    component's content. `content_starts`: lines after which a component's content begins. `html_elements`: (first,
    last, source) of elements for the HTML reader. `attribute_texts`: (first, last, text) of components without
    content whose attributes hold text. `labels`: the labels of link definitions. `cuts`: lines at which the text can
    be cut without a change of meaning. `list_cuts`: those of `cuts` that are inside a list.
    """

    lines: list[str]
    fences: list[tuple[int, int]] = field(default_factory=list)
    edges: set[int] = field(default_factory=set)
    scopes: list[TitleScope] = field(default_factory=list)
    indents: list[tuple[int, int, int]] = field(default_factory=list)
    html_elements: list[tuple[int, int, str]] = field(default_factory=list)
    content_starts: list[int] = field(default_factory=list)
    attribute_texts: list[tuple[int, int, str]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)
    list_cuts: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class TagLines:
    """The lines of a tag, from `first` to `last`.

    `starts_line`: only tags stand before it on `first`. `ends_line`: only tags stand after it on `last`.
    """

    first: int
    last: int
    starts_line: bool
    ends_line: bool


@dataclass(slots=True)
class _OpenTag:
    name: str
    lines: TagLines
    title: str


class Components:
    """The stack of open tags that have content; it records their scopes and indents in a `CleanMarkdown`."""

    def __init__(self, lines: Sequence[str], clean: CleanMarkdown) -> None:
        self._lines = lines
        self._clean = clean
        self._open: list[_OpenTag] = []
        self._open_counts: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    def open_tag(self, name: str, lines: TagLines, title: str = "") -> None:
        """Open a tag that waits for its end tag. `title`: the heading over its content."""
        self._open.append(_OpenTag(name, lines, title if lines.starts_line else ""))
        self._open_counts[name] = self._open_counts.get(name, 0) + 1

    def set_title(self, name: str, title: str, line: int) -> None:
        """Set the title of the innermost open element if it is a `name`; else let `title` hold from `line` on."""
        if self._open and self._open[-1].name.lower() == name:
            self._open[-1].title = title
        else:
            self._clean.scopes.append(TitleScope(line, 0, title))

    def close_tag(self, name: str, end: TagLines) -> None:
        """Close the tag `name` and every tag inside it. An end tag without an open tag is ignored."""
        if not self._open_counts.get(name):
            return
        while True:
            tag = self._open.pop()
            self._open_counts[tag.name] -= 1
            self._record_content(tag, end)
            if tag.name == name:
                return

    def close_all(self) -> None:
        """Let the titles of tags that were never closed hold as bold lines do."""
        self._clean.scopes += (TitleScope(tag.lines.first, 0, tag.title) for tag in self._open if tag.title)
        self._clean.scopes.sort(key=lambda scope: scope.first)

    def _record_content(self, tag: _OpenTag, end: TagLines) -> None:
        """Record the title and the indentation of the content between `tag` and its end tag."""
        begin = tag.lines
        apart = begin.starts_line and (end.ends_line or begin.ends_line)
        if apart:
            self._clean.edges |= {begin.first, end.last + 1}
            if tag.title:
                self._clean.scopes.append(TitleScope(begin.first, end.last, tag.title))
        if begin.starts_line and begin.ends_line and end.first > begin.last + 1:
            base = indent_width(self._lines[begin.first])
            for line in range(begin.last + 1, min(end.first, begin.last + _CLOSE_BY)):
                if self._lines[line].strip():
                    more = indent_width(self._lines[line]) - base
                    if more > 0:
                        self._clean.indents.append((begin.last + 1, end.first - 1, more))
                    return


def indent_width(line: str) -> int:
    """Return the indentation of `line` in columns; a tab reaches to the next multiple of 4."""
    blank = line[: len(line) - len(line.lstrip(" \t"))]
    return len(blank.expandtabs(4)) if "\t" in blank else len(blank)
