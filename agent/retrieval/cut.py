"""What is shown of lines to cite a statement in them: the lines, or the part of a long one that holds it.

Strategy: the words of the statement are looked for in their order, since marks, addresses and tags may stand between
them. A part begins and ends between two words, and never where a number could be read otherwise by what is left of
it: it must hold no number that its line does not. What is no text is in no snippet: a `data:` URI, a run of letters
and digits as long as base64 is, and what has no place to be cut.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from agent.config import SNIPPET_CHARACTERS
from agent.numbers.number_words import classify
from agent.numbers.read import tokens
from agent.numbers.token import Key
from agent.text.sentences import borders

from .effort import Effort

_NO_TEXT = 200  # characters of a run that no word is as long as

_BLOB = re.compile(
    r"data:[\w.+-]{1,100}/[\w.+-]{1,100}[;,][^\s\"'<>()]*"
    rf"|(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{{{_NO_TEXT},}}"
)
_NEXT_SPACE = re.compile(r"\s")
_SPACE = re.compile(r"\s(?=\S)")
_MARK = re.compile(r"[,;|{}\[\]()<>\"](?=\S)")  # others may stand within a name or a number
_EDGE = re.compile(r"[\s,;|{}\[\]()<>\"']")  # before and after what is no text
_WORD_AFTER = re.compile(r"\W{0,9}\d")  # a number right behind it may be a part of it
_WORD_BEFORE = re.compile(r"(\w+)\W*\Z")
_WORD = re.compile(r"\w+")
_APART = frozenset(("", *"!?;|}]>"))  # between two numbers, these leave each as it is
_NEAR = 80  # characters that are looked at on either side of a cut

_LINE = 700  # characters of lines up to which a snippet shows them whole
_REACH = 200  # characters between two words of a statement in its line: addresses, tags
_AHEAD = 4000  # characters after the last statement in which the next one begins


class Lines:
    """What is cited of the lines of a file. Statements are asked for in their order, which keeps this linear."""

    def __init__(self, lines: Sequence[str], effort: Effort) -> None:
        self._lines = lines
        self._effort = effort
        self._first = 0  # line of the last statement, and where in it the next one may begin
        self._at = 0

    def whole(self, first: int, last: int, most: int = SNIPPET_CHARACTERS) -> str:
        """Return the lines `first` to `last` (from 1, inclusive), or as much as can be cited of them."""
        text = "\n".join(self._lines[first - 1 : last])
        if len(text) <= most and not _inlined(text):
            return text
        return next(parts(text.replace("\n", " "), self._effort, most), "")

    def around(self, first: int, last: int, said: str) -> str:
        """Return the lines as they stand, or where they are long the part of them that `said` was read from.

        The statement itself where that cannot be told, or is no text.
        """
        text = "\n".join(self._lines[first - 1 : last])
        if len(text) <= _LINE and not _inlined(text):
            return text
        if first != self._first:
            self._first, self._at = first, 0
        place = _place(text, said, self._at)
        if place is None:
            return said
        self._at = place[1]
        wide = _widened(text, *place, self._effort)
        found = text[wide[0] : wide[1]] if wide else ""
        return found if found and not _inlined(found) else said


def holds(text: str, said: str) -> bool:
    """Tell whether a text shows every word of a statement."""
    return said in text or set(_WORD.findall(said)) <= set(_WORD.findall(text))


def _inlined(text: str) -> bool:
    """Tell whether there is something in a text that is none."""
    return (len(text) >= _NO_TEXT or "data:" in text) and _BLOB.search(text) is not None


def _place(text: str, said: str, at: int) -> tuple[int, int] | None:
    """Return where the words of `said` stand in `text` from `at` on, in their order and one soon after the other."""
    words = _WORD.findall(said)
    until = at + _AHEAD
    start = text.find(words[0], at, until) if words else -1
    while start >= 0:
        end = start + len(words[0])
        for word in words[1:]:
            found = text.find(word, end, end + _REACH + len(word))
            if found < 0:
                break
            end = found + len(word)
        else:
            return start, end
        if end - start > _REACH:  # it has begun here, and goes on in a way that is not seen
            return start, min(len(text), start + 2 * len(said))
        start = text.find(words[0], start + 1, until)
    return None


def _widened(text: str, start: int, end: int, effort: Effort) -> tuple[int, int] | None:
    """Return a place that begins and ends between two words, where no number is cut in two; None when it gets long."""
    least = end - SNIPPET_CHARACTERS
    while start > 0 and not (text[start - 1].isspace() and _apart(text, start)):
        run = text[max(0, least - 1) : start].rsplit(None, 1)[-1:]
        start -= len(run[0]) if run and not text[start - 1].isspace() else 1
        effort.look()
        if start < least:
            return None
    most = start + SNIPPET_CHARACTERS
    while end < len(text) and not (text[end - 1].isspace() and _apart(text, end)):
        space = _NEXT_SPACE.search(text, end, most)
        end = space.end() if space else len(text)
        effort.look()
        if end > most:
            return None
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def parts(line: str, effort: Effort, most: int = SNIPPET_CHARACTERS) -> Iterator[str]:
    """Yield the parts of a line that can be cited, in their order, each at most `most` characters long."""
    at = 0
    for blob in _BLOB.finditer(line):
        if blob.start() < at:
            continue
        end = blob.start()
        if at < end and (_EDGE.match(line, end - 1) is None or _numbered(line, end)):
            end = _last_place(line, at, end, effort) or at
        yield from _texts(line, at, end, effort, most)
        at = blob.end()
        if at < len(line) and (_EDGE.match(line, at) is None or _WORD_AFTER.match(line, at)):
            at = _next_place(line, at, len(line), effort)
    yield from _texts(line, at, len(line), effort, most)


def _texts(line: str, start: int, end: int, effort: Effort, most: int) -> Iterator[str]:
    """Yield the parts of a stretch of text."""
    while start < end:
        reach = min(start + most, end)
        cut = end if reach == end else _last_place(line, start, reach, effort)
        if cut is not None:
            text = line[start:cut].strip()
            if _WORD.search(text):
                yield text
        else:  # too long for a snippet and not to be cut: no text
            cut = _next_place(line, reach, end, effort)
        start = cut


def _last_place(line: str, start: int, reach: int, effort: Effort) -> int | None:
    """Return the best place to cut between `start` and `reach`; None when there is none."""
    near = (start + reach) // 2
    for pattern in (None, _SPACE, _MARK):
        effort.look()
        # A match needs to see what follows it.
        if pattern is None:
            places = [begins for _, begins in borders(line, near, reach + 1)]
        else:
            places = [found.end() for found in pattern.finditer(line, start, reach + 1)]
        for at in reversed(places):
            if start < at <= reach and _apart(line, at):
                return at
    return None


def _next_place(line: str, start: int, end: int, effort: Effort) -> int:
    """Return the first place to cut from `start` on, `end` when there is none."""
    for found in _SPACE.finditer(line, start, end):
        effort.look()
        if _apart(line, found.end()):
            return found.end()
    return end


def _apart(line: str, at: int) -> bool:
    """Tell whether what stands before and after `at` says the same numbers when each is read alone."""
    if line[at].isnumeric() and line[max(0, at - _NEAR) : at].rstrip()[-1:] not in _APART:
        return False
    after = _WORD.match(line, at, at + _NEAR)
    if after is not None and classify(after.group()) is not None and _numbered(line, at):
        return False  # the same answer as below, sooner
    left, right = line[max(0, at - _NEAR) : at], line[at : at + _NEAR]
    return _read_apart(left, right)


@lru_cache(maxsize=256)  # where one statement ends another begins, so each place is asked about twice
def _read_apart(left: str, right: str) -> bool:
    """Tell whether two neighbours say the same numbers as both together."""
    return _numbers(left) + _numbers(right) == _numbers(left + right)


def _numbers(text: str) -> list[tuple[Key, ...]]:
    """Return what each number of a text, as a source, gives."""
    return [token.gives for token in tokens(text, source=True)]


def _numbered(line: str, at: int) -> bool:
    """Tell whether the last word before `at` is a number, or ends in one."""
    before = _WORD_BEFORE.search(line[max(0, at - _NEAR) : at])
    return before is not None and (before[1][-1].isnumeric() or classify(before[1]) is not None)
