"""Finds the places in a text that may show a number: digit runs, numeric symbols, URLs, and number words.

Most words say nothing about numbers, so the pass over a text goes from one place of interest to the next.
"""

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from .characters import SYMBOLS
from .number_words import NumberWord, classify
from .reader import NumberReader

_WORDS: Final = re.compile(r"[^\W\d_]++")
_RUNS: Final = re.compile(r"\w++")
_DIGITS: Final = re.compile(r"[0-9]++")
_SYMBOLS: Final = re.compile(rf"[{SYMBOLS}\u20e3]++")
_SCAN: Final = re.compile(rf"[^\W\d_]++|\d++|[{SYMBOLS}\u20e3]++")
_FEW: Final = 24
"""Different words; up to as many, each is searched for on its own."""

PLACES: Final = 100_000
"""Places; a text with more is not read."""
_silent: set[str] = set()
"""Pieces between white space that are known to hold no number word; a cache, emptied when it holds `_KEPT`."""
_KEPT: Final = 65_536
_LONGEST: Final = 40
"""Characters of a piece that may be in `_silent`."""


def _find_words(s: str) -> dict[str, NumberWord]:
    """Return the number words of a text. Of a word with digits, the parts between the digits are looked at."""
    known: dict[str, NumberWord] = {}
    for piece in {*s.split()} - _silent:
        said = _words_of(piece)
        known |= said
        if not said and len(piece) < _LONGEST:
            if len(_silent) >= _KEPT:
                _silent.clear()
            _silent.add(piece)
    return known


def _words_of(piece: str) -> dict[str, NumberWord]:
    """Return the number words of one piece."""
    known: dict[str, NumberWord] = {}
    for word in (_WORDS if "_" in piece else _RUNS).findall(piece):
        said = classify(word)
        if said is None:
            continue
        if _DIGITS.search(word) is None:
            known[word] = said
        else:  # the digits are a place of their own
            parts = ((part, classify(part)) for part in _WORDS.findall(word))
            known |= {part: said for part, said in parts if said is not None}
    return known


def _goes_on(char: str) -> bool:
    """Tell whether a word goes on at `char`: with a letter, or with a sign of numeric value that is no digit."""
    return char.isalpha() or (not char.isascii() and char.isnumeric())


def places(r: NumberReader, links: dict[int, tuple[int, str]]) -> Sequence[tuple[int, int]]:
    """Return the (start, end) of each place of interest in the plain text, in order.

    `links`: the URLs by their start. Sets `r.months` to whether the text may name a month.
    """
    s = r.s
    known = _find_words(s)
    if len(known) > _FEW:
        return [match.span() for match in islice(_SCAN.finditer(s), PLACES + 1)]
    r.months = any(word.sort == "month" for word in known.values())
    found = [match.span() for match in _DIGITS.finditer(s)]
    if not r.plain.is_unchanged:
        found += (match.span() for match in _SYMBOLS.finditer(s))
    for word in known:
        size = len(word)
        at = s.find(word)
        while at >= 0:
            end = at + size
            if not (at and s[at - 1].isalpha()) and not (end < len(s) and _goes_on(s[end])):
                found.append((at, end))
            at = s.find(word, end)
    found += ((start, start + 1) for start in links)
    found.sort()
    return found
