"""Character references (`&#57;`, `&frac12;`): what each becomes, and which are written with digits.

Whether one is resolved depends on who shows the text: a browser resolves numeric ones, and some names, also without
the semicolon; Markdown only with it; plain text shows them as they are written. So a text is read with all of them
resolved, and those that are written with digits are told, because what one becomes (a tab, a letter, nothing that
shows) need not be a part of any number.
"""

import html
from dataclasses import dataclass
from html.entities import html5
from typing import Final

AFTER_AMPERSAND: Final = (
    r"(?:\#[0-9]{1,40}(?![0-9])|\#[xX][0-9a-fA-F]{1,40}(?![0-9a-fA-F])|[a-zA-Z][a-zA-Z0-9]{1,31});?"
)
"""Regex of what may follow the `&` of a reference; names have at most 31 letters, and more digits are no character."""

_NONE = frozenset(("", "\x00", "\ufffd"))  # what a number that stands for no character becomes


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference that is written with digits, at `start` to `end` of the original text.

    closed: whether it ends in a semicolon, without which only some resolve it.
    """

    start: int
    end: int
    closed: bool


def resolved(written: str) -> tuple[str, int]:
    """Return what characters that match "&" and `AFTER_AMPERSAND` become, and how many of them are the reference.

    None of them are when there is no such reference: then nothing changes.
    """
    if written[1] == "#":
        becomes = html.unescape(written)
        return (written, 0) if becomes in _NONE else (becomes, len(written))
    for size in range(len(written), 2, -1):  # the longest name that they begin with, as a browser takes it
        if (becomes := html5.get(written[1:size], "")) != "":
            return becomes + written[size:], size
    return written, 0
