"""The scan behind `numbers.tokens`: one pass over one text.

Most words say nothing about numbers, so the pass goes from one place of interest to the next: each digit run,
numeric symbol, URL, and each occurrence of the few words that `classify` knows.
"""

import re
from collections.abc import Iterator
from typing import Final

from . import identifiers
from .normalise import SYMBOLS
from .number_words import classify
from .shortcuts import count_at, span_at
from .tokens import Token
from .word_rows import WordRows

TOO_MANY: Final = 10_000
"""Tokens; a text with more is read no further, and its last token is unread with the value "too many"."""

_WORDS: Final = re.compile(r"[^\W\d_]++")
_RUNS: Final = re.compile(r"\w++")
_DIGITS: Final = re.compile(r"[0-9]++")
_SYMBOLS: Final = re.compile(rf"[{SYMBOLS}\u20e3]++")
_SCAN: Final = re.compile(rf"[^\W\d_]++|\d++|[{SYMBOLS}\u20e3]++")
_FEW: Final = 24
"""Different words up to which each is searched for on its own."""


_silent: set[str] = set()
"""Words known to say nothing about numbers; a cache, emptied when it holds `_KEPT`."""
_KEPT: Final = 65_536


def _telling(found: set[str]) -> list[str]:
    """Return the words that say something about numbers."""
    known = []
    for word in found - _silent:
        if classify(word) is not None:
            known.append(word)
        elif len(word) < 40:
            if len(_silent) >= _KEPT:
                _silent.clear()
            _silent.add(word)
    return known


class Scanner(WordRows):
    """Reads one text; `read` may be called once."""

    __slots__ = ()

    def read(self) -> tuple[Token, ...]:
        """Return the tokens of the text."""
        if self.plain.spoilt:
            self.exact("unread", 0, len(self.s), "too many")
            return tuple(self.found)
        s = self.s
        links = {
            start: (end, url) for start, end, url in identifiers.urls(s) if any(c.isnumeric() for c in url)
        }
        for start, end in self._places(links):
            if start < self.at:
                continue
            self._read_at(start, end, links)
            if len(self.found) > TOO_MANY:
                last = self.found[-1]
                self.found[-1] = Token(last.text, "unread", "too many", last.start, last.end)
                break
        if not self.plain.hidden:
            return tuple(self.found)
        for hidden in self.plain.hidden:
            key = f"id {hidden.text.casefold()}"
            needs = () if self.source else ((key,),)
            gives = (key,) if self.source else ()
            self.found.append(
                Token(hidden.text, "unread", hidden.text, hidden.start, hidden.end, needs, gives)
            )
        return tuple(sorted(self.found, key=lambda token: token.start))

    def _places(self, links: dict[int, tuple[int, str]]) -> Iterator[tuple[int, int]]:
        """Return where something about numbers begins: offsets in order."""
        s = self.s
        known = _telling({*(_WORDS if "_" in s else _RUNS).findall(s)})
        if len(known) > _FEW:
            return (match.span() for match in _SCAN.finditer(s))
        self.months = any(classify(word).sort == "month" for word in known)  # type: ignore[union-attr]
        places = [match.span() for match in _DIGITS.finditer(s)]
        if not self.plain.ordinary:
            places += (match.span() for match in _SYMBOLS.finditer(s))
        for word in known:
            size = len(word)
            at = s.find(word)
            while at >= 0:
                end = at + size
                if not (at and s[at - 1].isalpha()) and not (end < len(s) and s[end].isalpha()):
                    places.append((at, end))
                at = s.find(word, end)
        places += ((start, start + 1) for start in links)
        places.sort()
        return iter(places)

    def _read_at(self, start: int, end: int, links: dict[int, tuple[int, str]]) -> None:
        """Read the token that begins at a place of interest, if one does."""
        if start in links:
            self.url(start, *links[start])
            return
        text = self.s[start:end]
        if text[0].isdecimal():
            count = count_at(self.s, start, self.at)
            if count is not None:
                self.amount(count, start)
                return
            span = None if self.months else span_at(self.s, start, self.at)
            if span is not None:
                self.span(*span, start)
                return
            self.look(start)
            self.digits(start, end)
        elif text[0].isalpha() or text[0].isnumeric():
            word = classify(text)
            if word is not None:
                self.look(start)
                self.word(word, start, end, text)
        else:
            self.symbol(text, start, end)
