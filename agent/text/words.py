"""Words of a text: how they are cut, which of them carry grammar only, and the pieces a text is streamed in.

Strategy: a word is a run of letters and digits, with apostrophes kept inside it ("don't"); text is composed
(NFC) and case-folded first, so that a letter with a mark compares equal however it was typed. Function words are
those of every language there is (`agent.lang`), since a text may quote another; everything that has to tell grammar
from content reads them here.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from agent.lang import LANGUAGES

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_PIECE = re.compile(r"\S+\s*|\s+")
_APOSTROPHES = "’‘ʼ´"
_MARKS = 30  # marks in a row that are put in their order together
_MARK_RUN = re.compile(rf"[^\w\s\x00-\x7f]{{{_MARKS + 1},}}")  # no combining mark is a letter or a digit

FUNCTION_WORDS: Final = frozenset().union(*[each.writing.function_words for each in LANGUAGES.values()])
"""Words that carry grammar and no subject in one of the languages, case-folded."""

SMALL: Final = "a-z" + "".join(
    sorted({letter for each in LANGUAGES.values() for letter in each.writing.letters})
)
"""The small letters of all languages, for a class of a pattern."""


def composed(text: str) -> str:
    """Return `text` composed (NFC), a long run of marks in stretches of _MARKS; linear in the text.

    Putting a run of marks in their order takes time in the square of its length. No writing needs more than 30 on one
    letter (Unicode's stream-safe text format, UAX 15).
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
    """Return `text` composed (`composed`), case-folded and with one kind of apostrophe."""
    if text.isascii():
        return text.lower()
    for mark in _APOSTROPHES:
        text = text.replace(mark, "'")
    return composed(text).casefold()


def without_nul(text: str) -> str:
    """Return a text in which each U+0000 is a U+FFFD (see `agent.protocol.nul`)."""
    return text.replace("\0", "\ufffd")


def words(text: str) -> list[str]:
    """Return the words of `text` in order, folded; digits count as letters, marks between words are dropped."""
    return _WORD.findall(fold(text))


def replaced(text: str, by: Callable[[str], str]) -> str:
    """Return `text` with each word for which `by` gives another, called with the word folded, replaced by that."""

    def instead(match: re.Match[str]) -> str:
        word = fold(match.group())
        other = by(word)
        return match.group() if other == word else other

    return _WORD.sub(instead, text)


def deltas(text: str) -> list[str]:
    """Return `text` in pieces of one word and the white space after it.

    Joined, the pieces are exactly `text`; white space before the first word is a piece of its own, and an
    empty text has none.
    """
    return _PIECE.findall(text)
