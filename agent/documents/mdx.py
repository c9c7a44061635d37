"""Finds the import and export statements between the paragraphs of MDX."""

import re
from collections.abc import Sequence

_BEGINS = re.compile(
    r"import\s+(?:[\w*{$][^\n]*?\sfrom\s+)?['\"]|import\s+(?:[\w$]+\s*,\s*)?\{[^}\n]*$"
    r"|export\s+(?:(?:const|let|var|function|async|class)\s+[\w$*\[{]|default\s+(?:function|async|class|[({\[\"'`])|[{*])",
    re.MULTILINE,
)
_SIGNS = re.compile(r"[()\[\]{}]")
_LINES = 400
_UNCLOSED = 20


class Statements:
    """The search for the import and export statements of one document."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._unclosed = 0

    def after(self, first: int) -> int:
        """Return the line after the statement that begins on line `first`; `first` when none begins there.

        A statement goes on to the end of its paragraph, and beyond it while its brackets are open. A document with many
        statements that never close is treated as having none: looking for their ends would take too long.
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
