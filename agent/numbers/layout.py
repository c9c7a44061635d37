"""Finds the marks of a text that are layout, not numbers: list markers, and marks that count an answer's sources.

Strategy: two passes that are independent of each other, each by one regular expression.

- A list marker is layout when it counts up from 1 in its list; `render_bullets` renders such lists with "- ". In a
  source every marker at the start of a line is layout and supports nothing.
- A mark such as `[1]` or `(source 2)` in an answer names one of its sources. `remove_source_marks` removes it, unless
  it may be a number of the text: one beyond the sources, in code, before a noun, or beside the same word in a source.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from agent.text.words import FUNCTION_WORDS

from .language_tables import AND, COUNTINGS, OR, TO, either, pattern, unite_words

_STEP_WORDS: Final = unite_words(lambda each: each.labels.step_words)
STEPS: Final = _STEP_WORDS | unite_words(lambda each: each.labels.plural_step_words)
"""The names of steps of instructions, before their number."""
_MARKED_STEPS: Final = [form for word in _STEP_WORDS for form in (word, word.capitalize(), word.upper())]
_STEP_FORMS: Final = [form for word in STEPS for form in (word, word.capitalize())]
_STEP_PHRASES: Final = {
    word: (each.labels.that_step, each.labels.those_steps)
    for each in COUNTINGS.values()
    for word in each.labels.step_words | each.labels.plural_step_words
}
"""By the name of a step: the phrases in place of "step 3" and of "steps 3 to 5"."""

_MARKER: Final = re.compile(
    rf"(?=[ \t\d*+>#_{''.join(sorted({form[0] for form in _MARKED_STEPS}))}-])"  # most lines begin with another
    r"(?P<indent>[ \t]{0,40})(?P<lead>(?:[-*+>][ \t]{1,4}){0,3}(?:#{1,6}[ \t]{1,4})?)"
    r"(?:(?P<open>\*\*|__)?(?P<number>\d{1,3})[.)](?P<close>\*\*|__)?(?=[ \t\n]|$)[ \t]{0,8}"
    r"|(?P<bold>\*\*|__)?(?P<word>" + pattern(_MARKED_STEPS) + r") (?P<step>\d{1,3})(?![\w%]|[.,]\d)"
    r"(?:(?P<tail>[ \t]?[.:)-])(?=[ \t\n*_]|$))?"
    r"(?P<unbold>\*\*|__)?[ \t]{0,8})"
)
_MENTION: Final = re.compile(
    rf"\b({pattern(_STEP_FORMS)}) (\d{{1,3}})"
    rf"(?:(?: ?[-–] ?| (?:{pattern(AND, OR, TO)}) )(\d{{1,3}}))?(?![\w%]|[.,:/–-]?\d)"
)
_FOOTNOTE: Final = re.compile(r"\[\^[^\]\s]{1,30}\]")
_MOST_MARKERS: Final = 10_000  # a text with more keeps them, and each counts as a number


@dataclass(frozen=True, slots=True)
class ListMarker:
    """One list marker, such as "2." or "Step 2:". `start`, `end`: offsets of its characters, which `text` holds."""

    start: int
    end: int
    number: int
    text: str


def _find_counting_markers(text: str) -> tuple[ListMarker, ...]:
    """Return the markers at line starts that count up from 1, in order; () with more than `_MOST_MARKERS`."""
    matches = _match_markers(text, _MOST_MARKERS + 1)
    if len(matches) > _MOST_MARKERS:
        return ()
    counting: list[ListMarker] = []
    last: dict[tuple[int, bool], int] = {}  # the last number at an indentation, of steps and of others
    for match in matches:
        is_step = match["number"] is None
        number = int(match["step"] if is_step else match["number"])
        continues = any(number == n + 1 and of_steps == is_step for (_, of_steps), n in last.items())
        if number != 1 and not continues:
            continue
        last[len(match["indent"].expandtabs(4)), is_step] = number
        start = match.end("lead") if match["lead"] else match.end("indent")
        counting.append(ListMarker(start, match.end(), number, match.group()))
    return tuple(counting)


def _match_markers(text: str, most: int = -1) -> list[re.Match[str]]:
    """Match the markers at line starts, with any numbers, up to `most` of them; -1 for no limit."""
    matches: list[re.Match[str]] = []
    at = 0
    while len(matches) != most:
        match = _MARKER.match(text, at)
        if match is not None:
            matches.append(match)
        at = text.find("\n", at) + 1
        if at == 0:
            break
    return matches


def blank_markers(text: str) -> str:
    """Blank a source's markers at line starts and its marks of footnotes; offsets stay the same."""
    if "[^" in text:
        text = _FOOTNOTE.sub(lambda mark: " " * len(mark[0]), text)
    if "\n" not in text and _MARKER.match(text) is None:
        return text
    pieces: list[str] = []
    copied = 0
    for match in _match_markers(text):
        group = "step" if match["number"] is None else "number"
        pieces += (text[copied : match.start(group)], "." * len(match[group]))
        copied = match.end(group)
    return "".join(pieces) + text[copied:] if pieces else text


def render_bullets(text: str) -> str:
    """Render the list markers of `text` as "- ", and mentions such as "step 3" without the number of a marker.

    A heading "Step 1: Open" becomes a bullet too. A mention of a step that has no marker is left as it is.
    """
    markers = _find_counting_markers(text)
    if not markers:
        return text
    steps = {marker.number for marker in markers}
    pieces: list[str] = []
    copied = 0
    for marker in markers:
        pieces += (_render_mentions(text[copied : marker.start], steps), _render_bullet(text, marker))
        copied = marker.end
    return "".join(pieces) + _render_mentions(text[copied:], steps)


def _render_bullet(text: str, marker: ListMarker) -> str:
    """Return "- " in place of `marker`, "" behind a mark of its own; emphasis that the marker opens stays open."""
    line = text.rfind("\n", 0, marker.start) + 1
    has_lead = bool(text[line : marker.start].strip())
    opens = marker.text.count("**") % 2 == 1 or marker.text.count("__") % 2 == 1
    emphasis = ("**" if "**" in marker.text else "__") if opens else ""
    is_empty = text[marker.end : marker.end + 1] in ("", "\n")
    return emphasis if has_lead else ("-" if is_empty and not emphasis else "- ") + emphasis


def _render_mentions(text: str, steps: set[int]) -> str:
    """Render "step 3" without its number where the answer has that marker."""

    def render(match: re.Match[str]) -> str:
        if int(match[2]) not in steps or (match[3] is not None and int(match[3]) not in steps):
            return match[0]
        phrase = _STEP_PHRASES[match[1].lower()][match[3] is not None]
        return phrase.capitalize() if match[1][0].isupper() else phrase

    return _MENTION.sub(render, text)


_SOURCES: Final = rf"(?:{either(lambda each: each.labels.sources)}|ref\.)"
_COUNT: Final = rf"\d{{1,2}}(?:(?:, ?| ?[-–] ?| (?:{pattern(AND)}|&) )\d{{1,2}}){{0,15}}"
_SOURCE_MARK: Final = re.compile(
    rf"[ \t]?(?:\[\^?(?:{_SOURCES} ?)?#?{_COUNT}\](?!\()|\({_SOURCES} ?#?{_COUNT}\)"
    rf"|(?<=[^\n])\({_COUNT}\)(?=[.,;:!?]|\s|$))",
    re.I,
)
_NUMBER: Final = re.compile(r"\d+")
_LAST_WORD: Final = re.compile(r"(\w++)\W*+\Z")
_NEXT_WORD: Final = re.compile(r"\s(\w+)")
_WORD_BEFORE_MAX: Final = 40  # characters before a mark in which the word beside it is looked for


def remove_source_marks(text: str, sources: int, texts: Iterable[str]) -> str:
    """Remove from an answer the marks that count its sources: `[1]`, `(source 2)`, or `(1)` behind a statement.

    `sources`: the number of sources; `texts`: their texts, read only when there is a mark. A mark that counts beyond
    the sources, that stands in code, or that stands beside the same word in a source, is left, and is a number. So is
    a number in parentheses before a noun: "within (5) days".
    """
    if not sources or ("[" not in text and "(" not in text):
        return text
    of_sources: frozenset[tuple[str, str]] | None = None
    pieces: list[str] = []
    copied = ticks = 0
    for mark in _SOURCE_MARK.finditer(text):
        start = mark.start()
        ticks += text.count("`", copied, start)
        counts = ticks % 2 == 0 and all(0 < int(n) <= sources for n in _NUMBER.findall(mark.group()))
        if counts:
            if of_sources is None:
                of_sources = frozenset([pair for source in texts for pair in _pair_source_marks(source)])
            counts = not _counts_noun(mark) and of_sources.isdisjoint(_pair_with_words(mark))
        pieces += (text[copied:start], "" if counts else mark.group())
        copied = mark.end()
    return "".join(pieces) + text[copied:] if pieces else text


def _pair_source_marks(source: str) -> Iterator[tuple[str, str]]:
    """Yield the marks of a source, except those of footnotes, with the word before each and with the word behind it."""
    for mark in _SOURCE_MARK.finditer(blank_markers(source)):
        yield from _pair_with_words(mark)


def _pair_with_words(match: re.Match[str]) -> list[tuple[str, str]]:
    """Return a mark with the word before it, and with the word behind it; a word of grammar counts only alone."""
    text, start = match.string, match.start()
    mark = match.group().strip()
    before = _LAST_WORD.search(text[max(0, start - _WORD_BEFORE_MAX) : start])
    behind = _NEXT_WORD.match(text, match.end())
    pairs = [(before[1].lower(), mark)] if before is not None else []
    if behind is not None and (not pairs or behind[1].lower() not in FUNCTION_WORDS):
        pairs.append((mark, behind[1].lower()))
    return pairs


def _counts_noun(match: re.Match[str]) -> bool:
    """Tell whether a number that stands alone in parentheses counts the noun behind it."""
    mark = match.group().lstrip()
    behind = _NEXT_WORD.match(match.string, match.end())
    return (
        behind is not None
        and mark[0] == "("
        and mark[1].isdecimal()
        and behind[1].islower()
        and behind[1] not in FUNCTION_WORDS
    )
