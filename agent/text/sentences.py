"""Where the sentences of a text end: the one place that cuts them, for pages, drafts and snippets alike.

Strategy: a sentence ends at a mark of its own (. ! ? …), with whatever closes after it, when white space follows and
then something that can begin a sentence: a letter that is not a small one, a digit, an opening quote or bracket, marks
of emphasis. A full stop after an abbreviation of any language, an initial or the number of a list does not end one.
Where a text has lines of its own, such as rows and list items, each is cut by itself (`by_line`). Linear in the text.
"""

import re
from collections.abc import Iterator
from typing import Final

from agent.lang import LANGUAGES

_END: Final = re.compile(r"[.!?…][\"'”’»)\]*_`]*+(\s++)(?=[\"'“‘«(\[*_`]{0,3}([^\W_]))")
_LINE: Final = re.compile(r"[^\n]+")
_SHORT: Final = frozenset().union(*[each.writing.abbreviations for each in LANGUAGES.values()])
_LAST_WORD: Final = re.compile(r"[^\s(\[\"'“‘«]+$")
_REACH: Final = 16  # characters in which an abbreviation before a full stop stands


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each sentence of `text` begins and ends, white space around it left out."""
    at = 0
    for end, start in borders(text):
        yield from _trimmed(text, at, end)
        at = start
    yield from _trimmed(text, at, len(text))


def borders(text: str, first: int = 0, last: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield where a sentence ends and where the next one begins, for each two of them between `first` and `last`.

    What begins must be seen: `last` is behind the first character of it. None is the end of the text.
    """
    for match in _END.finditer(text, first, len(text) if last is None else last):
        end, start = match.span(1)
        if not match[2].islower() and not (text[end - 1] == "." and carries_on(text, end - 1)):
            yield end, start


def by_line(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each sentence of each line of `text` begins and ends, white space around it left out."""
    for line in _LINE.finditer(text):
        for start, end in sentences(line.group()):
            yield line.start() + start, line.start() + end


def carries_on(text: str, stop: int) -> bool:
    """Return whether the full stop at `stop` belongs to an abbreviation, an initial or a lone number."""
    word = _LAST_WORD.search(text, max(0, stop - _REACH), stop)
    if word is None:
        return False
    last = word.group().casefold()
    return last in _SHORT or (len(last) == 1 and last.isalpha()) or (word.start() == 0 and last.isdigit())


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    text = text[start:end]
    rest = text.lstrip()
    if rest:
        start += len(text) - len(rest)
        yield start, start + len(rest.rstrip())
