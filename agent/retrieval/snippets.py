"""Cuts snippets: the lines that show a statement, or the part of a long line that holds it.

Strategy: the words of the statement are searched for in their order, since marks, addresses and tags may stand
between them. A part begins and ends between two words, and never where the rest of a number could be read as another
number: a snippet must hold no number that its line does not. Blobs are in no snippet: a `data:` URI, a run of letters
and digits as long as base64, and text without a place to cut it.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from agent.numbers.number_tokens import tokens
from agent.numbers.number_words import classify
from agent.numbers.token import Key
from agent.text.sentences import find_borders

from .effort import Effort

SNIPPET_CHARACTERS = 3000  # of one snippet; a longer line is cited in parts

_NO_TEXT = 200  # characters of a run from which it cannot be a word

_BLOB = re.compile(
    r"data:[\w.+-]{1,100}/[\w.+-]{1,100}[;,][^\s\"'<>()]*"
    rf"|(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{{{_NO_TEXT},}}"
)
_NEXT_SPACE = re.compile(r"\s")
_SPACE = re.compile(r"\s(?=\S)")
_MARK = re.compile(r"[,;|{}\[\]()<>\"](?=\S)")  # other marks may stand within a name or a number
_EDGE = re.compile(r"[\s,;|{}\[\]()<>\"']")  # characters that may stand before and after a blob
_WORD_AFTER = re.compile(r"\W{0,9}\d")  # a number right behind a blob may be a part of it
_WORD_BEFORE = re.compile(r"(\w+)\W*\Z")
_WORD = re.compile(r"\w+")
_APART = frozenset(("", *"!?;|}]>"))  # between two numbers, these change neither
_NEAR = 80  # characters on either side of a cut that are examined

_LINE = 700  # characters up to which a snippet shows whole lines
_REACH = 200  # most characters between two words of a statement in its line, such as addresses and tags
_AHEAD = 4000  # characters after a statement in which the next one must begin


class CitableLines:
    """The citable lines of a file. Statements must be cited in their order, which keeps the work linear."""

    def __init__(self, lines: Sequence[str], effort: Effort) -> None:
        self._lines = lines
        self._effort = effort
        self._first = 0  # first line of the last statement
        self._at = 0  # offset in that line from which the next statement may begin

    def cite_lines(self, first: int, last: int, most: int = SNIPPET_CHARACTERS) -> str:
        """Return the lines `first` to `last` (from 1, inclusive), or as much of them as can be cited."""
        text = "\n".join(self._lines[first - 1 : last])
        if len(text) <= most and not _has_blob(text):
            return text
        return next(split_line(text.replace("\n", " "), self._effort, most), "")

    def cite_statement(self, first: int, last: int, statement: str) -> str:
        """Return the lines `first` to `last`, or the part of long lines from which `statement` was read.

        Return `statement` itself when that part is not found or holds a blob.
        """
        text = "\n".join(self._lines[first - 1 : last])
        if len(text) <= _LINE and not _has_blob(text):
            return text
        if first != self._first:
            self._first, self._at = first, 0
        place = _find_words(text, statement, self._at)
        if place is None:
            return statement
        self._at = place[1]
        wide = _widen(text, *place, self._effort)
        part = text[wide[0] : wide[1]] if wide else ""
        return part if part and not _has_blob(part) else statement


def shows_statement(text: str, statement: str) -> bool:
    """Tell whether `text` shows every word of `statement`."""
    return statement in text or _words_in(text).issuperset(_WORD.findall(statement))


@lru_cache(maxsize=16)  # the statements of a paragraph are often shown by the same lines
def _words_in(text: str) -> frozenset[str]:
    """Return the words of `text`."""
    return frozenset(_WORD.findall(text))


def _has_blob(text: str) -> bool:
    """Tell whether `text` holds a blob, which is no text. Only a long run between white space needs the search."""
    long = len(text) >= _NO_TEXT and max(map(len, text.split()), default=0) >= _NO_TEXT
    return (long or "data:" in text) and _BLOB.search(text) is not None


def _find_words(text: str, statement: str, at: int) -> tuple[int, int] | None:
    """Return the span of the words of `statement` in `text` from `at` on, in order and with small gaps, or None."""
    words = _WORD.findall(statement)
    until = at + _AHEAD
    start = text.find(words[0], at, until) if words else -1
    while start >= 0:
        end = start + len(words[0])
        for word in words[1:]:
            next_at = text.find(word, end, end + _REACH + len(word))
            if next_at < 0:
                break
            end = next_at + len(word)
        else:
            return start, end
        if (
            end - start > _REACH
        ):  # the statement begins at `start`, and continues in a form that this search cannot follow
            return start, min(len(text), start + 2 * len(statement))
        start = text.find(words[0], start + 1, until)
    return None


def _widen(text: str, start: int, end: int, effort: Effort) -> tuple[int, int] | None:
    """Widen a span to borders between two words that cut no number; return None when it gets too long."""
    least = end - SNIPPET_CHARACTERS
    while start > 0 and not (text[start - 1].isspace() and _can_cut(text, start)):
        run = text[max(0, least - 1) : start].rsplit(None, 1)[-1:]
        start -= len(run[0]) if run and not text[start - 1].isspace() else 1
        effort.check()
        if start < least:
            return None
    most = start + SNIPPET_CHARACTERS
    while end < len(text) and not (text[end - 1].isspace() and _can_cut(text, end)):
        space = _NEXT_SPACE.search(text, end, most)
        end = space.end() if space else len(text)
        effort.check()
        if end > most:
            return None
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def split_line(line: str, effort: Effort, most: int = SNIPPET_CHARACTERS) -> Iterator[str]:
    """Yield the parts of a line that can be cited, in their order, each at most `most` characters long."""
    at = 0
    for blob in _BLOB.finditer(line):
        if blob.start() < at:
            continue
        end = blob.start()
        if at < end and (_EDGE.match(line, end - 1) is None or _ends_in_number(line, end)):
            end = _find_last_cut(line, at, end, effort) or at
        yield from _split_text(line, at, end, effort, most)
        at = blob.end()
        if at < len(line) and (_EDGE.match(line, at) is None or _WORD_AFTER.match(line, at)):
            at = _find_next_cut(line, at, len(line), effort)
    yield from _split_text(line, at, len(line), effort, most)


def _split_text(line: str, start: int, end: int, effort: Effort, most: int) -> Iterator[str]:
    """Yield the parts of a stretch of text without blobs."""
    while start < end:
        reach = min(start + most, end)
        cut = end if reach == end else _find_last_cut(line, start, reach, effort)
        if cut is not None:
            text = line[start:cut].strip()
            if _WORD.search(text):
                yield text
        else:  # too long for a snippet and without a place to cut: a blob
            cut = _find_next_cut(line, reach, end, effort)
        start = cut


def _find_last_cut(line: str, start: int, reach: int, effort: Effort) -> int | None:
    """Return the best place to cut between `start` and `reach`, or None."""
    near = (start + reach) // 2
    for pattern in (None, _SPACE, _MARK):
        effort.check()
        # A match looks at the character after it.
        if pattern is None:
            places = [begins for _, begins in find_borders(line, near, reach + 1)]
        else:
            places = [match.end() for match in pattern.finditer(line, start, reach + 1)]
        for at in reversed(places):
            if start < at <= reach and _can_cut(line, at):
                return at
    return None


def _find_next_cut(line: str, start: int, end: int, effort: Effort) -> int:
    """Return the first place to cut from `start` on, or `end` without such a place."""
    for match in _SPACE.finditer(line, start, end):
        effort.check()
        if _can_cut(line, match.end()):
            return match.end()
    return end


def _can_cut(line: str, at: int) -> bool:
    """Tell whether the texts before and after `at` hold the same numbers when each is read alone."""
    if line[at].isnumeric() and line[max(0, at - _NEAR) : at].rstrip()[-1:] not in _APART:
        return False
    after = _WORD.match(line, at, at + _NEAR)
    if after is not None and classify(after.group()) is not None and _ends_in_number(line, at):
        return False  # the same answer as below, at less cost
    left, right = line[max(0, at - _NEAR) : at], line[at : at + _NEAR]
    return _reads_same_apart(left, right)


@lru_cache(
    maxsize=256
)  # each place is tested twice, as the end of one statement and the beginning of the next
def _reads_same_apart(left: str, right: str) -> bool:
    """Tell whether two neighbouring texts hold the same numbers as both together."""
    return _numbers_in(left) + _numbers_in(right) == _numbers_in(left + right)


def _numbers_in(text: str) -> list[tuple[Key, ...]]:
    """Return the readings of each number of `text`, read as a source."""
    return [token.gives for token in tokens(text, source=True, rates=False)]


def _ends_in_number(line: str, at: int) -> bool:
    """Tell whether the last word before `at` is a number or ends in one."""
    before = _WORD_BEFORE.search(line[max(0, at - _NEAR) : at])
    return before is not None and (before[1][-1].isnumeric() or classify(before[1]) is not None)
