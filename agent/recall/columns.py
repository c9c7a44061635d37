"""Holds texts and turn numbers in flat arrays: a tenth of the memory of lists and dictionaries."""

from array import array
from bisect import bisect_left
from typing import Final

NONE: Final = -1
"""In place of a row where there is none."""
_GONE: Final = b"\xff"  # no byte of UTF-8


class TextColumn:
    """Texts by number, from 0. One thread may add while others read."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._ends = array("Q", [0])

    def __len__(self) -> int:
        """Return the number of texts, including emptied ones."""
        return len(self._ends) - 1

    def __getitem__(self, at: int) -> str:
        """Return a text, decoded anew; "" for an emptied one. Raises IndexError beyond the last."""
        held = self._bytes[self._ends[at] : self._ends[at + 1]]
        return "" if held[:1] == _GONE else held.decode(errors="surrogatepass")

    def append(self, text: str) -> None:
        """Add a text."""
        self._bytes += text.encode(errors="surrogatepass")
        self._ends.append(len(self._bytes))

    def clear_text(self, at: int) -> None:
        """Overwrite a text, so that its bytes are gone from memory."""
        begin, end = self._ends[at], self._ends[at + 1]
        self._bytes[begin:end] = _GONE * (end - begin)


class TurnNumbers:
    """The rows of turns, by the numbers of the turns."""

    def __init__(self) -> None:
        self._numbers = array("q")  # ascending
        self._rows = array("I")

    def find(self, number: int) -> int:
        """Return the row of turn `number`, or NONE."""
        at = bisect_left(self._numbers, number)
        return self._rows[at] if at < len(self._numbers) and self._numbers[at] == number else NONE

    def add(self, number: int, row: int) -> None:
        """Add the row of turn `number`."""
        at = bisect_left(self._numbers, number)  # the end, nearly always
        self._numbers.insert(at, number)
        self._rows.insert(at, row)
