"""Where the sentences of a text end.

Strategy: a sentence ends at a mark of its own (. ! ? …), with whatever closes after it, when white space follows and
then something that can begin a sentence: a capital letter, a digit, an opening quote or bracket. A full stop after an
abbreviation, an initial or the number of a list does not end one. Linear in the text.
"""

import re
from collections.abc import Iterator
from typing import Final

from agent.lang import LANGUAGES

_END: Final = re.compile(r"[.!?…]+[\"'”’»)\]]*(\s+)(?=[\"'“‘«(\[]{0,3}[^\W_a-zåäöéü])")
_SHORT: Final = frozenset().union(*[each.writing.abbreviations for each in LANGUAGES.values()])
_LAST_WORD: Final = re.compile(r"[^\s(\[\"'“‘«]+$")
_REACH: Final = 16  # characters in which an abbreviation before a full stop stands


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each sentence of `text` begins and ends, white space around it left out."""
    at = 0
    for match in _END.finditer(text):
        end = match.start(1)
        if text[end - 1] == "." and _goes_on(text, end - 1):
            continue
        yield from _trimmed(text, at, end)
        at = match.end()
    yield from _trimmed(text, at, len(text))


def _goes_on(text: str, stop: int) -> bool:
    """Return whether the full stop at `stop` belongs to an abbreviation, an initial or a lone number."""
    word = _LAST_WORD.search(text, max(0, stop - _REACH), stop)
    if word is None:
        return False
    last = word.group().casefold()
    return last in _SHORT or (len(last) == 1 and last.isalpha()) or (word.start() == 0 and last.isdigit())


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end
