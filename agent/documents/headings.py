"""The headings above a place: headings of the format, titles of components, and lines that act as headings.

Strategy: one stack. A heading closes those of its own level and below. A component's title ("Can I get a refund?" on
something that folds) holds for the component's lines, and headings inside it end with it. A paragraph that is only
bold text holds until the next heading, bold line or end of the element around it.
"""

from dataclasses import dataclass

from .plain_lines import plain_line

_BOLD = 90  # ranks: a heading's rank is its level; no heading closes a title
_TITLE = 0
_DEEPEST = 32  # entries; no reader follows a longer path


@dataclass(frozen=True, slots=True)
class TitleScope:
    """A title that holds for the lines `first` to `last` (`last` 0: until a heading or bold line)."""

    first: int
    last: int
    title: str


@dataclass(frozen=True, slots=True)
class _HeadingEntry:
    rank: int
    text: str
    last: int = 0


class Headings:
    """The stack of headings of one document, fed in the order of its lines."""

    def __init__(self, title: str = "") -> None:
        """Start below `title`, the document's own; "" for none."""
        self._stack: list[_HeadingEntry] = [_HeadingEntry(_TITLE, title, 1 << 62)] if title else []
        self._path: tuple[str, ...] | None = None
        self.first_of_level_1 = ""

    @property
    def path(self) -> tuple[str, ...]:
        """The texts of the headings, outermost first; an entry that repeats the one before it is left out."""
        if self._path is None:
            path: list[str] = []
            for entry in self._stack:
                if entry.text and (not path or entry.text.casefold() != path[-1].casefold()):
                    path.append(entry.text)
            self._path = tuple(path)
        return self._path

    def open_heading(self, level: int, text: str) -> None:
        """Open a heading of level 1 to 6."""
        text = plain_line(text)
        if level == 1 and not self.first_of_level_1:
            self.first_of_level_1 = text
        self._close_rank(level)
        self._push(_HeadingEntry(level, text))

    def open_bold_line(self, text: str) -> None:
        """Open a line that acts as a heading."""
        self._close_rank(_BOLD)
        self._push(_HeadingEntry(_BOLD, text))

    def open_title(self, scope: TitleScope) -> None:
        """Open the title of a component."""
        if scope.last:
            self._push(_HeadingEntry(_TITLE, scope.title, scope.last))
        else:
            self.open_bold_line(scope.title)

    def close_before(self, line: int) -> None:
        """Close the components that end before `line`."""
        for index, entry in enumerate(self._stack):
            if entry.rank == _TITLE and entry.last < line:
                self._truncate(index)
                return

    @property
    def depth(self) -> int:
        """The number of open entries, for `close_to`."""
        return len(self._stack)

    def close_to(self, depth: int) -> None:
        """Close the entries beyond `depth`."""
        if len(self._stack) > depth:
            self._truncate(depth)

    def _close_rank(self, rank: int) -> None:
        at = len(self._stack)
        while at and self._stack[at - 1].rank >= rank:
            at -= 1
        self._truncate(at)

    def _push(self, entry: _HeadingEntry) -> None:
        if len(self._stack) < _DEEPEST:
            self._stack.append(entry)
            self._path = None

    def _truncate(self, at: int) -> None:
        del self._stack[at:]
        self._path = None
