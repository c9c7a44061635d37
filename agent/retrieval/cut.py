"""Cuts lines into snippets: one to three whole lines, or a part of one line that is too long to be cited whole.

Strategy: lines that belong together are cut where one ends a sentence, else after three. A line of more than
SNIPPET_CHARACTERS is cut after a sentence, else between two words, else at a mark, and never where a number could
be read otherwise by what is left of it: a part must hold no number that its line does not. What is no text is in no
snippet: a `data:` URI, a run of letters and digits as long as base64 is, and what has no place to be cut.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.config import SNIPPET_CHARACTERS, SNIPPET_LINES
from agent.text.number_words import classify
from agent.text.numbers import tokens

from .effort import Effort

_NO_TEXT = 200  # characters of a run that no word is as long as

_SENTENCE_END = re.compile(r"[.!?:…][\"'”’)\]*_`]*\s*$")
_BLOB = re.compile(
    r"data:[\w.+-]{1,100}/[\w.+-]{1,100}[;,][^\s\"'<>()]*"
    rf"|(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{{{_NO_TEXT},}}"
)
_AFTER_SENTENCE = re.compile(r"[.!?…][\"'”’)\]*_`]*\s+(?=[^\W\d_])")
_SPACE = re.compile(r"\s+(?=\S)")
_MARK = re.compile(r"[,;|{}\[\]()<>\"](?=\S)")  # others may stand within a name or a number
_EDGE = re.compile(r"[\s,;|{}\[\]()<>\"']")  # before and after what is no text
_WORD_AFTER = re.compile(r"\W{0,9}\d")  # a number right behind it may be a part of it
_WORD_BEFORE = re.compile(r"(\w+)\W*\Z")
_WORD = re.compile(r"\w+")
_APART = frozenset(("", *"!?;|}]>"))  # between two numbers, these leave each as it is
_NEAR = 80  # characters that are looked at on either side of a cut


@dataclass(frozen=True, slots=True)
class Span:
    """Lines first (counted from 0) to last (not included), and the text of them that can be cited."""

    first: int
    last: int
    text: str


def spans(lines: Sequence[str], first: int, last: int, effort: Effort) -> Iterator[Span]:
    """Yield the snippets of the lines `first` to `last` (not included), in their order; no line is in two but in parts.

    Every line with text in it is in one, less what is no text. Raises what `effort.look` raises.
    """
    while first < last:
        effort.look()
        if not lines[first].strip():
            first += 1
        elif _too_long(lines[first]):
            yield from (Span(first, first + 1, part) for part in parts(lines[first], effort))
            first += 1
        else:
            end = _end(lines, first, last)
            yield Span(first, end, "\n".join(lines[first:end]))
            first = end


def _end(lines: Sequence[str], first: int, last: int) -> int:
    """Return where the snippet that begins with the line `first` ends."""
    reach = first + 1
    size = len(lines[first])
    while reach < last and reach - first < SNIPPET_LINES and lines[reach].strip():
        size += 1 + len(lines[reach])
        if size > SNIPPET_CHARACTERS or _too_long(lines[reach]):
            break
        reach += 1
    if reach < last and lines[reach].strip():  # more follows: look for the last line that ends a sentence
        return next((at for at in range(reach, first, -1) if _SENTENCE_END.search(lines[at - 1])), reach)
    return reach


def _too_long(line: str) -> bool:
    """Tell whether a line cannot be cited as it stands."""
    if len(line) > SNIPPET_CHARACTERS:
        return True
    return (len(line) >= _NO_TEXT or "data:" in line) and _BLOB.search(line) is not None


def parts(line: str, effort: Effort) -> Iterator[str]:
    """Yield the parts of a line that can be cited, in their order, each at most SNIPPET_CHARACTERS long."""
    at = 0
    for blob in _BLOB.finditer(line):
        if blob.start() < at:
            continue
        end = blob.start()
        if at < end and (_EDGE.match(line, end - 1) is None or _numbered(line, end)):
            end = _last_place(line, at, end, effort) or at
        yield from _texts(line, at, end, effort)
        at = blob.end()
        if at < len(line) and (_EDGE.match(line, at) is None or _WORD_AFTER.match(line, at)):
            at = _next_place(line, at, len(line), effort)
    yield from _texts(line, at, len(line), effort)


def _texts(line: str, start: int, end: int, effort: Effort) -> Iterator[str]:
    """Yield the parts of a stretch of text."""
    while start < end:
        reach = min(start + SNIPPET_CHARACTERS, end)
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
    for pattern, begin in ((_AFTER_SENTENCE, near), (_SPACE, start), (_MARK, start)):
        effort.look()
        # A match needs to see what follows it.
        places = [found.end() for found in pattern.finditer(line, begin, reach + 1)]
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
    return _numbers(left) + _numbers(right) == _numbers(left + right)


def _numbers(text: str) -> list[tuple[str, ...]]:
    """Return what each number of a text, as a source, gives."""
    return [token.gives for token in tokens(text, source=True)]


def _numbered(line: str, at: int) -> bool:
    """Tell whether the last word before `at` is a number, or ends in one."""
    before = _WORD_BEFORE.search(line[max(0, at - _NEAR) : at])
    return before is not None and (before[1][-1].isnumeric() or classify(before[1]) is not None)
