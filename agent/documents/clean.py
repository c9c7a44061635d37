"""What is known of a markdown file beside its text, once everything but markdown has been taken out of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from .headings import Scope

_CLOSE_BY = 50  # lines in which what a tag holds begins


@dataclass(slots=True)
class Clean:
    """Markdown without the rest; all lines are counted from 0.

    lines: as many as the file has. fences: first and last line of fenced code. edges: lines that a paragraph cannot
    go over into. scopes: titles over lines. indents: (first, last, columns) by which a component indents what it
    holds. begins: lines after which a component begins to hold something. wholes: (first, last, source) of elements
    for the reader of HTML. said: (first, last, text) of components that hold nothing and say something. labels: of
    the links that are defined. cuts: lines at which the text can be parted without a change of meaning. list_cuts:
    those of them that are inside a list.
    """

    lines: list[str]
    fences: list[tuple[int, int]] = field(default_factory=list)
    edges: set[int] = field(default_factory=set)
    scopes: list[Scope] = field(default_factory=list)
    indents: list[tuple[int, int, int]] = field(default_factory=list)
    wholes: list[tuple[int, int, str]] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    said: list[tuple[int, int, str]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)
    list_cuts: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Where:
    """The lines of a tag, and whether there is nothing but tags before and after it on them."""

    first: int
    last: int
    starts: bool
    ends: bool


@dataclass(slots=True)
class _Open:
    name: str
    where: Where
    title: str


class Components:
    """Tags that hold something, from their beginning to their end."""

    def __init__(self, lines: Sequence[str], clean: Clean) -> None:
        self._lines = lines
        self._clean = clean
        self._open: list[_Open] = []
        self._waiting: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    def begin(self, name: str, where: Where, title: str = "") -> None:
        """Meet a tag that waits for its end. title: what stands over what it holds."""
        self._open.append(_Open(name, where, title if where.starts else ""))
        self._waiting[name] = self._waiting.get(name, 0) + 1

    def title(self, name: str, title: str, line: int) -> None:
        """Give the innermost open element a title, when it is a `name`; else the lines from here on."""
        if self._open and self._open[-1].name.lower() == name:
            self._open[-1].title = title
        else:
            self._clean.scopes.append(Scope(line, 0, title))

    def end(self, name: str, where: Where) -> None:
        """Meet the end of a tag; one that nothing waits for means nothing."""
        if not self._waiting.get(name):
            return
        while True:
            tag = self._open.pop()
            self._waiting[tag.name] -= 1
            self._ended(tag, where)
            if tag.name == name:
                return

    def finish(self) -> None:
        """Let the titles of what never ended hold as bold lines do."""
        self._clean.scopes += (Scope(tag.where.first, 0, tag.title) for tag in self._open if tag.title)
        self._clean.scopes.sort(key=lambda scope: scope.first)

    def _ended(self, tag: _Open, end: Where) -> None:
        begin = tag.where
        apart = begin.starts and (end.ends or begin.ends)
        if apart:
            self._clean.edges |= {begin.first, end.last + 1}
            if tag.title:
                self._clean.scopes.append(Scope(begin.first, end.last, tag.title))
        if begin.starts and begin.ends and end.first > begin.last + 1:
            base = columns(self._lines[begin.first])
            for line in range(begin.last + 1, min(end.first, begin.last + _CLOSE_BY)):
                if self._lines[line].strip():
                    more = columns(self._lines[line]) - base
                    if more > 0:
                        self._clean.indents.append((begin.last + 1, end.first - 1, more))
                    return


def columns(line: str) -> int:
    """Return how far a line is indented; a tab reaches to the next multiple of 4."""
    blank = line[: len(line) - len(line.lstrip(" \t"))]
    return len(blank.expandtabs(4)) if "\t" in blank else len(blank)
