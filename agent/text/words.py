"""Cuts a text into words, folds them, and knows the function words of all languages.

Strategy: a word is a run of letters and digits, with the apostrophes inside it ("don't"). Text is first normalised
(NFC) and case-folded, so that a letter with a mark compares equal however it was typed. `FUNCTION_WORDS` holds those
of every language in `agent.lang`, since a text may quote another language; all code that tells grammar from content
reads them here.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from agent.lang import LANGUAGES

_WORD = re.compile(r"[^\W_]++(?:'[^\W_]++)*+")
_PIECE = re.compile(r"\S+\s*|\s+")
_APOSTROPHES = "’‘ʼ´"
_MARKS = 30  # combining marks in a row that are normalised together
_MARK_RUN = re.compile(rf"[^\w\s\x00-\x7f]{{{_MARKS + 1},}}")  # no combining mark is a letter or a digit

FUNCTION_WORDS: Final = frozenset().union(*[each.writing.function_words for each in LANGUAGES.values()])
"""Words that carry grammar and no subject in one of the languages, case-folded."""

SMALL: Final = "a-z" + "".join(
    sorted({letter for each in LANGUAGES.values() for letter in each.writing.letters})
)
"""The small letters of all languages, for a class of a pattern."""


def normalize_text(text: str) -> str:
    """Return `text` in NFC, a run of more than `_MARKS` combining marks in stretches; linear in the text.

    Ordering a run of marks takes time in the square of its length. No writing needs more than 30 marks on one letter
    (Unicode's stream-safe text format, UAX 15).
    """
    if text.isascii():
        return text
    pieces: list[str] = []
    at = 0
    for run in _MARK_RUN.finditer(text):
        for cut in range(run.start() + _MARKS, run.end(), _MARKS):
            pieces.append(text[at:cut])
            at = cut
    pieces.append(text[at:])
    return "".join([unicodedata.normalize("NFC", piece) for piece in pieces])


def fold(text: str) -> str:
    """Return `text` normalised (`normalize_text`), case-folded and with one kind of apostrophe."""
    if text.isascii():
        return text.lower()
    for mark in _APOSTROPHES:
        text = text.replace(mark, "'")
    return normalize_text(text).casefold()


def replace_nul(text: str) -> str:
    """Return `text` with each U+0000 replaced by U+FFFD (see `agent.protocol.nul`)."""
    return text.replace("\0", "\ufffd")


def split_words(text: str) -> list[str]:
    """Return the words of `text` in order, folded; digits count as letters, and marks between words are dropped."""
    return _WORD.findall(fold(text))


def replace_words(text: str, by: Callable[[str], str]) -> str:
    """Return `text` with each word replaced by `by(folded word)`, unless that is the folded word itself."""

    def instead(match: re.Match[str]) -> str:
        word = fold(match.group())
        other = by(word)
        return match.group() if other == word else other

    return _WORD.sub(instead, text)


def split_deltas(text: str) -> list[str]:
    """Return `text` in pieces of one word and the white space after it.

    Joined, the pieces are exactly `text`. White space before the first word is a piece of its own, and an empty text
    gives no pieces.
    """
    return _PIECE.findall(text)
