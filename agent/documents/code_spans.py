"""Finds where code ends in markdown: code spans, and the import and export statements of MDX."""

import re
from bisect import bisect_right
from collections.abc import Sequence

_TICKS = re.compile(r"`+")
_PARAGRAPH_END = re.compile(r"\n(?=[ \t>]*(?:\n|[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|\||:::|`{3,}|~{3,}))")


class CodeSpans:
    """The code spans of a source, read paragraph by paragraph, since a span does not reach beyond its paragraph."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._end = 0  # of the paragraph that is read
        self._runs: dict[int, list[int]] = {}  # the offsets of its runs of backticks, by their length

    def find_end(self, begin: int) -> int:
        """Return the offset after the span that begins at `begin`, or after the run of backticks that begins none."""
        if begin >= self._end:
            self._read_paragraph(begin)
        run = _TICKS.match(self._source, begin)
        if run is None:
            return begin + 1
        length = run.end() - begin
        runs = self._runs.get(length, [])
        following = bisect_right(runs, begin)
        return runs[following] + length if following < len(runs) else run.end()

    def _read_paragraph(self, begin: int) -> None:
        end = _PARAGRAPH_END.search(self._source, begin)
        self._end = end.end() if end else len(self._source)
        self._runs = {}
        for run in _TICKS.finditer(self._source, begin, self._end):
            self._runs.setdefault(run.end() - run.start(), []).append(run.start())


_STATEMENT_START = re.compile(
    r"import\s+(?:[\w*{$][^\n]*?\sfrom\s+)?['\"]|import\s+(?:[\w$]+\s*,\s*)?\{[^}\n]*$"
    r"|export\s+(?:(?:const|let|var|function|async|class)\s+[\w$*\[{]|default\s+(?:function|async|class|[({\[\"'`])|[{*])",
    re.MULTILINE,
)
_BRACKETS = re.compile(r"[()\[\]{}]")
_STATEMENT_LINES = 400  # of one statement at most
_STATEMENT_COLUMNS = 2_000  # characters of a line in which brackets are counted
_MOST_UNCLOSED = 20  # statements that never close, of a document


class MdxStatements:
    """Finds the ends of the import and export statements of one document."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._unclosed = 0

    def find_end(self, first: int) -> int:
        """Return the line after the statement that begins on line `first`; `first` when none begins there.

        A statement reaches to the end of its paragraph, and beyond while its brackets are open. After many statements
        that never close, no more are found in the document: the search for their ends would take too long.
        """
        if self._unclosed > _MOST_UNCLOSED or not _STATEMENT_START.match(self._lines[first]):
            return first
        depth = first_blank = 0
        last = min(len(self._lines), first + _STATEMENT_LINES)
        for line in range(first, last):
            if not self._lines[line].strip():
                if depth <= 0:
                    return line
                first_blank = first_blank or line
            brackets = _BRACKETS.findall(self._lines[line][:_STATEMENT_COLUMNS])
            depth += sum(1 if bracket in "([{" else -1 for bracket in brackets)
        if depth <= 0:
            return last
        self._unclosed += 1
        return first_blank or last
