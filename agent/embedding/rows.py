"""The rules for all kinds of vectors: the part of a text that is read, and rows of length 1."""

import numpy as np

from ..ports.embed import Vectors

EMBED_TEXT_MAX = 8_000  # characters of one text that are embedded


def readable(text: str) -> str:
    """Return the first `EMBED_TEXT_MAX` characters of `text`, "" when they are only white space.

    Lone surrogates, which neither a tokenizer nor UTF-8 takes, become question marks.
    """
    text = text[:EMBED_TEXT_MAX]
    if text.isspace():
        return ""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def unit(rows: Vectors) -> Vectors:
    """Scale rows to length 1, in place; a row of zeros stays."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, np.newaxis]
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows


class WordRows:
    """The vectors of some words, held as they are (implements `agent.ports.embed.HeldWords`)."""

    def __init__(self, rows: Vectors) -> None:
        self._rows = rows

    def cosines(self, row: Vectors) -> Vectors:
        """Return the cosine of each word with `row`."""
        found: Vectors = self._rows @ row
        return found
