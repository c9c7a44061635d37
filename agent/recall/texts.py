"""Many texts in one piece of memory: half the size that short ones take as objects of their own."""

from array import array
from typing import Final

_GONE: Final = b"\xff"  # no byte of UTF-8


class Texts:
    """Texts by number, 0 on. For one thread to add to, which others may look at meanwhile."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._ends = array("Q", [0])

    def __len__(self) -> int:
        """Return how many there are, also of what is gone."""
        return len(self._ends) - 1

    def __getitem__(self, at: int) -> str:
        """Return a text, made anew; "" of one that is gone. Raises IndexError after the last one."""
        held = self._bytes[self._ends[at] : self._ends[at + 1]]
        return "" if held[:1] == _GONE else held.decode(errors="surrogatepass")

    def append(self, text: str) -> None:
        """Add a text."""
        self._bytes += text.encode(errors="surrogatepass")
        self._ends.append(len(self._bytes))

    def empty(self, at: int) -> None:
        """Write over a text, whose letters are not here any more then."""
        begin, end = self._ends[at], self._ends[at + 1]
        self._bytes[begin:end] = _GONE * (end - begin)
