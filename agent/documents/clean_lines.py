"""The lines of a markdown file without tags and marks, and the facts learned from the removed markup."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from .headings import TitleScope

_CLOSE_BY = 50  # lines after a tag among which its content must begin


@dataclass(slots=True, kw_only=True)
class Clean:
    """Pure markdown and the facts learned from the removed markup. All lines are counted from 0.

    `lines`: as many as the file has. `fences`: first and last line of fenced code. `edges`: lines before which a
    paragraph must end. `scopes`: titles over lines. `indents`: (first, last, columns), the indentation of a component's
    content. `begins`: lines after which a component's content begins. `wholes`: (first, last, source) of elements for
    the HTML reader. `attribute_texts`: (first, last, text) of components without content whose attributes hold text.
    `labels`: the labels of link definitions. `cuts`: lines at which the text can be cut without a change of meaning.
    `list_cuts`: those of `cuts` that are inside a list.
    """

    lines: list[str]
    fences: list[tuple[int, int]] = field(default_factory=list)
    edges: set[int] = field(default_factory=set)
    scopes: list[TitleScope] = field(default_factory=list)
    indents: list[tuple[int, int, int]] = field(default_factory=list)
    wholes: list[tuple[int, int, str]] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    attribute_texts: list[tuple[int, int, str]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)
    list_cuts: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Where:
    """The lines of a tag. `starts`, `ends`: only tags stand before it on `first`, or after it on `last`."""

    first: int
    last: int
    starts: bool
    ends: bool


@dataclass(slots=True)
class _OpenTag:
    name: str
    where: Where
    title: str


class Components:
    """The stack of open tags that have content; it records their scopes and indents in a `Clean`."""

    def __init__(self, lines: Sequence[str], clean: Clean) -> None:
        self._lines = lines
        self._clean = clean
        self._open: list[_OpenTag] = []
        self._waiting: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    def begin(self, name: str, where: Where, title: str = "") -> None:
        """Open a tag that waits for its end tag. `title`: the heading over its content."""
        self._open.append(_OpenTag(name, where, title if where.starts else ""))
        self._waiting[name] = self._waiting.get(name, 0) + 1

    def title(self, name: str, title: str, line: int) -> None:
        """Set the title of the innermost open element if it is a `name`; else let `title` hold from `line` on."""
        if self._open and self._open[-1].name.lower() == name:
            self._open[-1].title = title
        else:
            self._clean.scopes.append(TitleScope(line, 0, title))

    def end(self, name: str, where: Where) -> None:
        """Close the tag `name` and every tag inside it. An end tag without an open tag is ignored."""
        if not self._waiting.get(name):
            return
        while True:
            tag = self._open.pop()
            self._waiting[tag.name] -= 1
            self._close_tag(tag, where)
            if tag.name == name:
                return

    def finish(self) -> None:
        """Let the titles of tags that were never closed hold as bold lines do."""
        self._clean.scopes += (TitleScope(tag.where.first, 0, tag.title) for tag in self._open if tag.title)
        self._clean.scopes.sort(key=lambda scope: scope.first)

    def _close_tag(self, tag: _OpenTag, end: Where) -> None:
        begin = tag.where
        apart = begin.starts and (end.ends or begin.ends)
        if apart:
            self._clean.edges |= {begin.first, end.last + 1}
            if tag.title:
                self._clean.scopes.append(TitleScope(begin.first, end.last, tag.title))
        if begin.starts and begin.ends and end.first > begin.last + 1:
            base = columns(self._lines[begin.first])
            for line in range(begin.last + 1, min(end.first, begin.last + _CLOSE_BY)):
                if self._lines[line].strip():
                    more = columns(self._lines[line]) - base
                    if more > 0:
                        self._clean.indents.append((begin.last + 1, end.first - 1, more))
                    return


def columns(line: str) -> int:
    """Return the indentation of `line` in columns; a tab reaches to the next multiple of 4."""
    blank = line[: len(line) - len(line.lstrip(" \t"))]
    return len(blank.expandtabs(4)) if "\t" in blank else len(blank)
