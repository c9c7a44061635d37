"""Finds the ends of code spans in markdown."""

import re
from bisect import bisect_right

_TICKS = re.compile(r"`+")
_BORDER = re.compile(r"\n(?=[ \t>]*(?:\n|[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|\||:::|`{3,}|~{3,}))")


class Spans:
    """The runs of backticks of one paragraph at a time: a span does not reach beyond its paragraph."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._end = 0
        self._runs: dict[int, list[int]] = {}

    def after(self, at: int) -> int:
        """Return the offset after the span that begins at `at`, or after the run of backticks if none begins there."""
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
