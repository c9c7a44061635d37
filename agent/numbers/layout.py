"""Finds list markers, and the language of a line.

A list marker is layout rather than a number when it counts up from 1 in its list; `bullets` renders such lists with
"- ". In a source every marker at the start of a line is layout and supports nothing.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from agent.text.words import FUNCTION_WORDS

from .language_tables import AND, COUNTINGS, OR, TO, either, pattern, unite_words

_STEP: Final = unite_words(lambda each: each.labels.step)
STEPS: Final = _STEP | unite_words(lambda each: each.labels.steps)
"""The names of steps of instructions, before their number."""
_WRITTEN: Final = [form for word in STEPS for form in (word, word.capitalize())]
_INSTEAD: Final = {
    word: (each.labels.that_step, each.labels.those_steps)
    for each in COUNTINGS.values()
    for word in each.labels.step | each.labels.steps
}

_MARKER = re.compile(
    r"(?P<indent>[ \t]{0,40})(?P<lead>(?:[-*+>][ \t]{1,4}){0,3}(?:#{1,6}[ \t]{1,4})?)"
    r"(?:(?P<open>\*\*|__)?(?P<number>\d{1,3})[.)](?P<close>\*\*|__)?(?=[ \t\n]|$)[ \t]{0,8}"
    r"|(?P<bold>\*\*|__)?(?P<word>"
    + pattern(_STEP, [form for word in _STEP for form in (word.capitalize(), word.upper())])
    + r") (?P<step>\d{1,3})(?![\w%]|[.,]\d)"
    r"(?:(?P<tail>[ \t]?[.:)-])(?=[ \t\n*_]|$))?"
    r"(?P<unbold>\*\*|__)?[ \t]{0,8})"
)
_MENTION = re.compile(
    rf"\b({pattern(_WRITTEN)}) (\d{{1,3}})"
    rf"(?:(?: ?[-–] ?| (?:{pattern(AND, OR, TO)}) )(\d{{1,3}}))?(?![\w%]|[.,:/–-]?\d)"
)


_FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,30}\]")
MOST = 10_000
"""Markers; a text with more keeps them, and each counts as a number."""


@dataclass(frozen=True, slots=True)
class Marker:
    """One list marker: offsets of its characters, its `number`, and whether it was "Step n"."""

    start: int
    end: int
    number: int
    step: bool
    text: str


def markers(text: str) -> tuple[Marker, ...]:
    """Return the markers at line starts of `text` that count up from 1, in order; () with more than `MOST`."""
    found = _all_markers(text, MOST + 1)
    return tuple(_counting(found)) if len(found) <= MOST else ()


def _all_markers(text: str, most: int = -1) -> "list[re.Match[str]]":
    found: list[re.Match[str]] = []
    at = 0
    while len(found) != most:
        match = _MARKER.match(text, at)
        if match is not None:
            found.append(match)
        at = text.find("\n", at) + 1
        if at == 0:
            break
    return found


def _counting(found: "list[re.Match[str]]") -> list[Marker]:
    """Select the markers that start a list or continue one at their indentation."""
    kept: list[Marker] = []
    last: dict[tuple[int, bool], int] = {}
    for match in found:
        step = match["number"] is None
        number = int(match["step"] if step else match["number"])
        place = (len(match["indent"].expandtabs(4)), step)
        on = any(number == n + 1 and key[1] == step for key, n in last.items())
        if number != 1 and not on:
            continue
        last[place] = number
        start = match.end("lead") if match["lead"] else match.end("indent")
        kept.append(Marker(start, match.end(), number, step, match.group()))
    return kept


def without_markers(text: str) -> str:
    """Blank a source's markers at line starts and its marks of footnotes; offsets stay the same."""
    if "[^" in text:
        text = _FOOTNOTE.sub(lambda mark: " " * len(mark[0]), text)
    if "\n" not in text and _MARKER.match(text) is None:
        return text
    pieces: list[str] = []
    done = 0
    for match in _all_markers(text):
        group = "step" if match["number"] is None else "number"
        pieces += (text[done : match.start(group)], "." * len(match[group]))
        done = match.end(group)
    return "".join(pieces) + text[done:] if pieces else text


def bullets(text: str) -> str:
    """Render the list markers of `text` as "- ", and mentions such as "step 3" without the number of a marker.

    A heading "Step 1: Open" becomes a bullet too. A mention of a step that has no marker is left as it is.
    """
    kept = markers(text)
    if not kept:
        return text
    steps = {marker.number for marker in kept}
    pieces: list[str] = []
    done = 0
    for marker in kept:
        pieces += (_mentions(text[done : marker.start], steps), _bullet(text, marker))
        done = marker.end
    return "".join(pieces) + _mentions(text[done:], steps)


def _bullet(text: str, marker: Marker) -> str:
    line = text.rfind("\n", 0, marker.start) + 1
    lead = text[line : marker.start].strip()
    opens = marker.text.count("**") % 2 == 1 or marker.text.count("__") % 2 == 1
    mark = ("**" if "**" in marker.text else "__") if opens else ""
    blank = text[marker.end : marker.end + 1] in ("", "\n")
    return mark if lead else ("-" if blank and not mark else "- ") + mark


def _mentions(text: str, steps: set[int]) -> str:
    """Render "step 3" without its number where the answer has that marker."""
    return _MENTION.sub(lambda m: _mention(m, steps), text)


def _mention(match: "re.Match[str]", steps: set[int]) -> str:
    if int(match[2]) not in steps or (match[3] is not None and int(match[3]) not in steps):
        return match[0]
    phrase = _INSTEAD[match[1].lower()][match[3] is not None]
    return phrase.capitalize() if match[1][0].isupper() else phrase


_SOURCES: Final = rf"(?:{either(lambda each: each.labels.sources)}|ref\.)"
_COUNT: Final = rf"\d{{1,2}}(?:(?:, ?| ?[-–] ?| (?:{pattern(AND)}|&) )\d{{1,2}}){{0,15}}"
_MARK: Final = re.compile(
    rf"[ \t]?(?:\[\^?(?:{_SOURCES} ?)?#?{_COUNT}\](?!\()|\({_SOURCES} ?#?{_COUNT}\)"
    rf"|(?<=[^\n])\({_COUNT}\)(?=[.,;:!?]|\s|$))",
    re.I,
)
_COUNTED: Final = re.compile(r"\d+")
_LAST_WORD: Final = re.compile(r"(\w++)\W*+\Z")
_NEXT_WORD: Final = re.compile(r"\s(\w+)")
_REACH: Final = 40
"""Characters beside a mark in which its neighbours are looked for."""


def without_source_marks(text: str, sources: int, texts: Iterable[str]) -> str:
    """Remove from an answer the marks that count its sources: `[1]`, `(source 2)`, or `(1)` behind a statement.

    `sources`: the number of sources; `texts`: their texts, read only when there is a mark. A mark that counts beyond
    the sources, that stands in code, or that stands beside the same word in a source, is left, and is a number. So is
    a number in parentheses before a noun: "within (5) days".
    """
    if not sources or ("[" not in text and "(" not in text):
        return text
    standing: frozenset[tuple[str, str]] | None = None
    pieces: list[str] = []
    done = ticks = 0
    for found in _MARK.finditer(text):
        start = found.start()
        ticks += text.count("`", done, start)
        counts = ticks % 2 == 0 and all(0 < int(n) <= sources for n in _COUNTED.findall(found.group()))
        if counts:
            if standing is None:
                standing = frozenset([place for source in texts for place in _find_marks(source)])
            counts = not _is_of_noun(found) and standing.isdisjoint(_name_neighbours(found))
        pieces += (text[done:start], "" if counts else found.group())
        done = found.end()
    return "".join(pieces) + text[done:] if pieces else text


def _find_marks(source: str) -> Iterator[tuple[str, str]]:
    """Yield the marks of a source, except those of footnotes, with the word before each and with the word behind it."""
    for found in _MARK.finditer(without_markers(source)):
        yield from _name_neighbours(found)


def _name_neighbours(found: "re.Match[str]") -> list[tuple[str, str]]:
    """Return a mark with the word before it, and with the word behind it; a word of grammar counts only alone."""
    text, start = found.string, found.start()
    mark = found.group().strip()
    before = _LAST_WORD.search(text[max(0, start - _REACH) : start])
    behind = _NEXT_WORD.match(text, found.end())
    named = [(before[1].lower(), mark)] if before is not None else []
    if behind is not None and (not named or behind[1].lower() not in FUNCTION_WORDS):
        named.append((mark, behind[1].lower()))
    return named


def _is_of_noun(found: "re.Match[str]") -> bool:
    """Tell whether a number that stands alone in parentheses counts the noun behind it."""
    behind = _NEXT_WORD.match(found.string, found.end())
    return (
        behind is not None
        and found.group().lstrip()[1].isdecimal()
        and found.group().lstrip()[0] == "("
        and behind[1].islower()
        and behind[1] not in FUNCTION_WORDS
    )


DECIMAL_MARKS: Final = {code: each.decimal for code, each in COUNTINGS.items()}
_LINE_WORDS: Final = {code: each.line_words for code, each in COUNTINGS.items()}
_WORD = re.compile(r"[^\W\d_]++")


class Lines:
    """Tells the language of the line around an offset, by its function words; each line is read once."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._starts = list(accumulate((len(line) + 1 for line in self._lines), initial=0))
        self._known: dict[int, str] = {}

    def language(self, at: int) -> str:
        """Return the code of the line's language, "" when no single language has the most function words."""
        index = bisect_right(self._starts, at) - 1
        if index not in self._known:
            words = _WORD.findall(self._lines[index].lower())
            said = {code: sum([w in its for w in words]) for code, its in _LINE_WORDS.items()}
            best = max(said, key=said.__getitem__)
            alone = sum([count == said[best] for count in said.values()]) == 1
            self._known[index] = best if alone else ""
        return self._known[index]
