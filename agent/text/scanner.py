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
    """Return the words that say something about numbers; of a run that holds digits, the letters between them."""
    known = []
    for word in found - _silent:
        if classify(word) is not None:
            if _DIGITS.search(word) is None:
                known.append(word)
            else:  # the digits are a place of their own
                known += [part for part in _WORDS.findall(word) if part not in found and classify(part)]
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
        self.found += [self._as_written(each.text, each.start, each.end) for each in self.plain.hidden]
        if self.plain.hidden:
            self.found.sort(key=lambda token: token.start)
        if self.plain.references:
            self._references()
        return tuple(self.found)

    def _as_written(self, text: str, start: int, end: int) -> Token:
        """Return the token of characters that only the same characters support, at offsets in the original."""
        key = f"id {text.casefold()}"
        needs, gives = ((), (key,)) if self.source else (((key,),), ())
        return Token(text, "unread", text, start, end, needs, gives)

    def _references(self) -> None:
        """See to it that what is written with digits counts, whatever it becomes.

        A character reference that is a part of no token is one itself; one that is left open, which some readers
        resolve and others do not, makes its token one that only the same characters support.
        """
        found = self.found
        added: list[Token] = []
        written = -1
        at, holder = 0, -1  # of the tokens that begin before a reference, the one that reaches farthest
        for each in self.plain.references:
            while at < len(found) and found[at].start <= each.start:
                holder = at if holder < 0 or found[at].end > found[holder].end else holder
                at += 1
            if holder < 0 or found[holder].end <= each.start:
                added.append(self._as_written(self.text[each.start : each.end], each.start, each.end))
            elif not each.closed and holder != written:
                token, written = found[holder], holder
                found[holder] = self._as_written(token.text, token.start, token.end)
        self.found = sorted([*found, *added], key=lambda token: token.start)

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
