"""Which headings stand above a place: those of the format, titles of components, and lines that act as headings.

Strategy: one stack. A heading closes those of its own level and below. A component's title ("Can I get a refund?" on
something that folds) holds for the component's lines, and headings inside it end with it. A paragraph that is only
bold text holds until the next heading, bold line or end of what it stands in.
"""

from dataclasses import dataclass

from .say import said

_BOLD = 90  # ranks: headings have their level; a title is never closed by one
_TITLE = 0
_DEEPEST = 32  # entries; nobody reads a longer path


@dataclass(frozen=True, slots=True)
class Scope:
    """A title that holds for the lines first..last (last 0: until a heading or bold line)."""

    first: int
    last: int
    title: str


@dataclass(frozen=True, slots=True)
class _Entry:
    rank: int
    text: str
    last: int = 0


class Headings:
    """The stack for one document, fed in the order of its lines."""

    def __init__(self, title: str = "") -> None:
        """title: the document's own, which stands above everything; "" for none."""
        self._stack: list[_Entry] = [_Entry(_TITLE, title, 1 << 62)] if title else []
        self._path: tuple[str, ...] | None = None
        self.first_of_level_1 = ""

    @property
    def path(self) -> tuple[str, ...]:
        """The texts, outermost first; one that repeats the entry before it is left out."""
        if self._path is None:
            path: list[str] = []
            for entry in self._stack:
                if entry.text and (not path or entry.text.casefold() != path[-1].casefold()):
                    path.append(entry.text)
            self._path = tuple(path)
        return self._path

    def heading(self, level: int, text: str) -> None:
        """Go below a heading of level 1 to 6."""
        text = said([text])[0]
        if level == 1 and not self.first_of_level_1:
            self.first_of_level_1 = text
        self._close(level)
        self._push(_Entry(level, text))

    def bold(self, text: str) -> None:
        """Go below a line that acts as a heading."""
        self._close(_BOLD)
        self._push(_Entry(_BOLD, text))

    def enter(self, scope: Scope) -> None:
        """Go below a component's title."""
        if scope.last:
            self._push(_Entry(_TITLE, scope.title, scope.last))
        else:
            self.bold(scope.title)

    def reach(self, line: int) -> None:
        """Leave the components that end before a line."""
        for index, entry in enumerate(self._stack):
            if entry.rank == _TITLE and entry.last < line:
                self._cut(index)
                return

    def depth(self) -> int:
        """Return a mark of the current place, for `back_to`."""
        return len(self._stack)

    def back_to(self, depth: int) -> None:
        """Leave what was entered since `depth` was taken."""
        if len(self._stack) > depth:
            self._cut(depth)

    def _close(self, rank: int) -> None:
        at = len(self._stack)
        while at and self._stack[at - 1].rank >= rank:
            at -= 1
        self._cut(at)

    def _push(self, entry: _Entry) -> None:
        if len(self._stack) < _DEEPEST:
            self._stack.append(entry)
            self._path = None

    def _cut(self, at: int) -> None:
        del self._stack[at:]
        self._path = None
