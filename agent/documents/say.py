"""Plain text out of a block's lines, with the offset at which each line begins."""

import re
from collections.abc import Sequence

_SPEAKS = re.compile(r"[^\W_]")
_UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff]")  # soft hyphens, and spaces without width
_LONG = 200  # characters of a run that no word, address or path reaches
# An image inside an address, or the like: bytes written as text.
_BLOB = re.compile(
    rf"data:[\w/+.-]{{0,80}}(?:;[\w=.-]{{0,80}}){{0,4}},\S*|[A-Za-z0-9+/_-]{{{_LONG},}}={{0,2}}"
)


def speaks(text: str) -> bool:
    """Return whether there is a letter or a digit in it."""
    return _SPEAKS.search(text) is not None


def without_blobs(line: str) -> str:
    """Return a line without data: addresses and long runs that look like base64."""
    if "data:" in line or (len(line) >= _LONG and max(map(len, line.split()), default=0) >= _LONG):
        return _BLOB.sub("", line)
    return line


def _plain(line: str) -> str:
    """Return a line with single spaces, without blobs and what is not seen."""
    if not line.isascii():
        line = _UNSEEN.sub("", line)
    return " ".join(without_blobs(line).split())


def said(lines: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """Return the lines as one text with single spaces, and for each the offset at which it begins there."""
    if len(lines) == 1:
        return _plain(lines[0]), (0,)
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for line in lines:
        plain = _plain(line)
        starts.append(length)
        if plain:
            parts.append(plain)
            length += len(plain) + 1
    text = " ".join(parts)
    return text, tuple(min(start, len(text)) for start in starts)


def verbatim(lines: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """Return lines of code as one text with their line breaks, and for each the offset at which it begins there."""
    kept = [without_blobs(line).rstrip() for line in lines]
    starts: list[int] = []
    length = 0
    for line in kept:
        starts.append(length)
        length += len(line) + 1
    return "\n".join(kept), tuple(starts)
