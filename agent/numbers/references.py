"""Resolves character references (`&#57;`, `&frac12;`), and tells which are written with digits.

Whether a reference is resolved depends on the program that shows the text: a browser resolves numeric ones, and some
names, also without the semicolon; Markdown only with it; plain text shows them as they are written. So a text is read
with all of them resolved, and those that are written with digits are reported, because the character (a tab, a letter,
an invisible one) need not be a part of any number.
"""

import html
from dataclasses import dataclass
from html.entities import html5
from typing import Final

AFTER_AMPERSAND: Final = (
    r"(?:\#[0-9]{1,40}(?![0-9])|\#[xX][0-9a-fA-F]{1,40}(?![0-9a-fA-F])|[a-zA-Z][a-zA-Z0-9]{1,31});?"
)
"""Regex of the characters after a reference's `&`; names have at most 31 letters, and more digits are no character."""

_NONE = frozenset(("", "\x00", "\ufffd"))  # the results of a number that stands for no character


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference that is written with digits, at `start` to `end` of the original text.

    `closed`: it ends in a semicolon; without one, only some programs resolve it.
    """

    start: int
    end: int
    closed: bool


def resolve_reference(written: str) -> tuple[str, int]:
    """Resolve the reference in characters that match "&" and `AFTER_AMPERSAND`.

    Return the resulting text and the number of characters that are the reference; 0 when there is none, and the text is
    unchanged.
    """
    if written[1] == "#":
        becomes = html.unescape(written)
        return (written, 0) if becomes in _NONE else (becomes, len(written))
    for size in range(len(written), 2, -1):  # the longest name at their start, as in a browser
        if (becomes := html5.get(written[1:size], "")) != "":
            return becomes + written[size:], size
    return written, 0
