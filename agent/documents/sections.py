"""Cuts a long reStructuredText file into parts: docutils takes more than linear time for many sections in one source.

Strategy: a file is cut before titles, and each part begins with extra titles that bring docutils to the state at the
end of the previous part: first every style of title in the order in which they came, then those of the open sections.
"""

import re
from collections.abc import Sequence

MARK = "part-of-a-document"
"""The text of a title that stands for a title of a previous part."""

_PART = 50_000  # characters, at least
_ADORNMENT = re.compile(r"([^\w\s])\1{2,}[ \t]*")


def cut_parts(lines: Sequence[str]) -> list[tuple[int, list[str]]]:
    """Cut the lines into parts, each with the number of its first line from 0."""
    cuts = [0]
    size = 0
    for at, line in enumerate(lines):
        if size > _PART and _is_title(lines, at):
            cuts.append(at)
            size = 0
        size += len(line) + 1
    ends = [*cuts[1:], len(lines)]
    return [(first, list(lines[first:end])) for first, end in zip(cuts, ends, strict=True)]


def _is_title(lines: Sequence[str], at: int) -> bool:
    """Return whether a title begins on a line: a blank line before it, and a line of signs below its text."""
    if at == 0 or lines[at - 1].strip() or at + 2 >= len(lines):
        return False
    if _ADORNMENT.fullmatch(lines[at]):
        return bool(lines[at + 1].strip()) and lines[at + 2].rstrip() == lines[at].rstrip()
    return lines[at][:1].isalnum() and _ADORNMENT.fullmatch(lines[at + 1]) is not None


def titles_to(styles: Sequence[Sequence[str]], depth: int) -> list[str]:
    """Return lines that open `depth` titles in docutils, after `styles`, the styles of title seen so far."""
    lines: list[str] = []
    for style in [*styles, *styles[:depth]] if depth < len(styles) else styles:
        drawn = style[0] * (len(MARK) + 2)
        lines += [*([drawn] if len(style) > 1 else []), MARK, drawn, ""]
    return lines
