"""The edits that rewrote a text, and the way back over them to the original offsets."""

from bisect import bisect_right
from typing import TypeAlias

REPAIRS = 50_000
"""Edits; a text that needs more is not read at all."""

Edit: TypeAlias = tuple[int, int, int, bool]
"""The length of the new characters, start and end of those replaced, and whether both match one to one."""


def back(starts: list[int], edits: list[Edit], at: int, last: bool) -> int:
    """Map one offset back over the edits of a pass; inside an edit, to its first original character.

    `last`: to its last original character instead.
    """
    index = bisect_right(starts, at) - 1
    if index < 0:
        return at
    length, begin, end, exact = edits[index]
    inside = at - starts[index]
    if inside < length:
        if exact and length == end - begin:
            return begin + inside
        return max(begin, end - 1) if last else begin
    return end + inside - length


class Edits:
    """The pieces of a text that is being rewritten, with the edits that lead back."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces: list[str] = []
        self.starts: list[int] = []
        self.edits: list[Edit] = []
        self.length = 0
        self.done = 0

    def put(self, start: int, end: int, new: str, exact: bool = True) -> None:
        """Replace the text from `start` to `end` by `new`. `exact`: equal lengths match one to one."""
        kept = self.text[self.done : start]
        self.pieces += (kept, new)
        self.length += len(kept)
        self.starts.append(self.length)
        self.edits.append((len(new), start, end, exact))
        self.length += len(new)
        self.done = end
        if len(self.starts) > REPAIRS:
            raise TooMany

    def finish(self) -> str:
        """Return the rewritten text."""
        self.pieces.append(self.text[self.done :])
        return "".join(self.pieces)


class TooMany(Exception):
    """The text needs more than `REPAIRS` edits."""
