"""Makes plain text of a block's lines, with the offset at which each line begins."""

import re
from collections.abc import Sequence

_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff]")  # soft hyphens, and spaces without width
_LONG = 200  # characters; no word, address or path is as long
# An image inside an address, or the like: bytes written as text.
_BLOB = re.compile(
    rf"data:[\w/+.-]{{0,80}}(?:;[\w=.-]{{0,80}}){{0,4}},\S*|[A-Za-z0-9+/_-]{{{_LONG},}}={{0,2}}"
)


def has_text(text: str) -> bool:
    """Return whether `text` holds a letter or a digit."""
    return _LETTER_OR_DIGIT.search(text) is not None


def without_blobs(line: str) -> str:
    """Return `line` without `data:` addresses and long runs that look like base64."""
    if "data:" in line or (len(line) >= _LONG and max(map(len, line.split()), default=0) >= _LONG):
        return _BLOB.sub("", line)
    return line


def plain_line(line: str) -> str:
    """Return `line` with single spaces, without blobs and invisible characters."""
    if not line.isascii():
        line = _UNSEEN.sub("", line)
    return " ".join(without_blobs(line).split())


def join_lines(lines: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """Join `lines` into one text with single spaces; return it with the offset of each line."""
    if len(lines) == 1:
        return plain_line(lines[0]), (0,)
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for line in lines:
        plain = plain_line(line)
        starts.append(length)
        if plain:
            parts.append(plain)
            length += len(plain) + 1
    text = " ".join(parts)
    return text, tuple(min(start, len(text)) for start in starts)


def join_code(lines: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """Join lines of code with their line breaks; return the text with the offset of each line."""
    kept = [without_blobs(line).rstrip() for line in lines]
    starts: list[int] = []
    length = 0
    for line in kept:
        starts.append(length)
        length += len(line) + 1
    return "\n".join(kept), tuple(starts)


def find_text_range(texts: Sequence[str]) -> tuple[int, int]:
    """Return the range of `texts`, as (begin, end), without the blank ones at both ends."""
    begin, end = 0, len(texts)
    while begin < end and not texts[begin].strip():
        begin += 1
    while end > begin and not texts[end - 1].strip():
        end -= 1
    return begin, end
