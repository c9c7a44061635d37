"""Finds the ends of sentences, for pages, drafts and snippets alike.

Strategy: a sentence ends at one of the marks . ! ? … with any closing quotes or brackets after it, when white space
follows and then something that can begin a sentence: a letter that is not a small letter, a digit, an opening quote
or bracket, or marks of emphasis. A full stop after an abbreviation of any language, after an initial, or after the
number of a list item does not end a sentence. In a text whose lines stand for themselves, such as rows and list
items, each line is cut alone (`find_line_sentences`). Linear in the text.
"""

import re
from collections.abc import Iterator
from typing import Final

from agent.lang import LANGUAGES

_END: Final = re.compile(r"[.!?…][\"'”’»)\]*_`]*+(\s++)(?=[\"'“‘«(\[*_`]{0,3}([^\W_]))")
_LINE: Final = re.compile(r"[^\n]+")
_ABBREVIATIONS: Final = frozenset().union(*[each.writing.abbreviations for each in LANGUAGES.values()])
_LAST_WORD: Final = re.compile(r"[^\s(\[\"'“‘«]+$")
_ABBREVIATION_MAX: Final = 16  # characters before a full stop that are searched for an abbreviation


def find_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each sentence of `text`, without the white space around it."""
    at = 0
    for end, start in (*find_borders(text), (len(text), 0)):
        rest = text[at:end].lstrip()
        if rest:
            first = end - len(rest)
            yield first, first + len(rest.rstrip())
        at = start


def find_borders(text: str, first: int = 0, last: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield (end of a sentence, start of the next one) for each border between `first` and `last`.

    The first character of the next sentence must be in range: `last` lies behind it. None stands for the end of the
    text.
    """
    if not ("." in text or "!" in text or "?" in text or "…" in text):  # as in most rows and headings
        return
    for match in _END.finditer(text, first, len(text) if last is None else last):
        end, start = match.span(1)
        if not match[2].islower() and not (text[end - 1] == "." and is_inner_stop(text, end - 1)):
            yield end, start


def find_line_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each sentence of each line of `text`, without the white space around it."""
    for line in _LINE.finditer(text):
        at = line.start()
        for start, end in find_sentences(line.group()):
            yield at + start, at + end


def is_inner_stop(text: str, stop: int) -> bool:
    """Tell whether the full stop at `stop` belongs to an abbreviation, an initial or a lone number."""
    word = _LAST_WORD.search(text, max(0, stop - _ABBREVIATION_MAX), stop)
    if word is None:
        return False
    last = word.group().casefold()
    return (
        last in _ABBREVIATIONS
        or (len(last) == 1 and last.isalpha())
        or (word.start() == 0 and last.isdigit())
    )
