"""What every kind of vectors has in common: which texts it reads, and that rows are 1 long."""

import numpy as np

from ..config import EMBED_TEXT_MAX
from ..ports.embed import Vectors


def readable(text: str) -> str:
    """Return what is read of a text: its first EMBED_TEXT_MAX characters, and "" when they are white space.

    Halves of characters, which no tokenizer takes and no UTF-8 holds, become question marks.
    """
    text = text[:EMBED_TEXT_MAX]
    if text.isspace():
        return ""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def unit(rows: Vectors) -> Vectors:
    """Return rows made 1 long, in place; one that is all zeros stays."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, np.newaxis]
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows


class Rows:
    """The vectors of some words as they are (implements `agent.ports.embed.HeldWords`)."""

    def __init__(self, rows: Vectors) -> None:
        self._rows = rows

    def cosines(self, row: Vectors) -> Vectors:
        """Return the cosine of each with a row."""
        found: Vectors = self._rows @ row
        return found
