"""The words of a file's sections, by number, as an index takes them.

Strategy: cutting and folding words is what indexing a section costs most, and depends on nothing but its file. So it
is done once a file, with numbers that count within that file, and an index only translates them into its own; what was
found can be kept beside the sections (`kept`). Function words have no number and are left out.
"""

from array import array
from collections.abc import Mapping, Sequence
from sys import intern

import msgspec

from agent.lexical.postings import NUMBERS
from agent.lexical.subject import is_function_word
from agent.ports.search import Passage, Snippet
from agent.text.words import words

from .asked import Kind, holds, may_count
from .effort import Effort

HOLDS: Mapping[Kind, int] = {"number": 1, "money": 2, "time": 4}
LEADS, ASKS, CODE = 8, 16, 32  # a statement ends in a colon, ends in a question mark, is code


class SectionTerms(msgspec.Struct, frozen=True, array_like=True):
    """The words of one section, by their numbers in `FileTerms.words`; each field but `marks` is an array as bytes.

    headings: the words above it, in order. said: those of what leads to its statements and of these, in order.
    own: of its statements, each once in a statement, one after the other; ends: where each one's end.
    leads: the words of each line that leads into something; led: the place in `leads` for each statement.
    marks: of each statement, bits of HOLDS, LEADS, ASKS and CODE.
    """

    headings: bytes
    said: bytes
    own: bytes
    ends: bytes
    leads: list[bytes]
    led: bytes
    marks: bytes


class FileTerms(msgspec.Struct, frozen=True, array_like=True):
    """The words of a file, folded, and its sections."""

    words: list[str]
    sections: list[SectionTerms]


def terms_of(passages: Sequence[Passage], effort: Effort) -> FileTerms:
    """Return the words of one file's sections. Raises what `effort.look` raises."""
    cut = _Cut()
    sections = []
    for passage in passages:
        effort.look()
        sections.append(_section(passage, cut))
    return FileTerms(cut.words, sections)


class _Cut:
    """Cuts texts into the numbers of their words."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._known: dict[str, int] = {}  # -1 for function words
        self._counting: set[str] = set()

    def __call__(self, text: str) -> list[int]:
        return self.counting(text)[0]

    def counting(self, text: str) -> tuple[list[int], bool]:
        """Return the numbers of the words of a text, and whether one of these counts something."""
        get, said = self._known.get, words(text)
        found = [at if (at := get(word)) is not None else self._learn(word) for word in said]
        counts = not self._counting.isdisjoint(said)
        return ([at for at in found if at >= 0] if -1 in found else found), counts

    def _learn(self, word: str) -> int:
        number = -1
        if may_count(word):
            self._counting.add(word)
        if not is_function_word(word):
            number = len(self.words)
            self.words.append(intern(word))  # one text for all files that have it: most have the same ones
        self._known[word] = number
        return number


def _section(passage: Passage, cut: _Cut) -> SectionTerms:
    said, own = array(NUMBERS), array(NUMBERS)
    ends, led = array(NUMBERS), array(NUMBERS)
    marks = bytearray()
    leads: dict[str, int] = {"": 0}
    led_by = [b""]
    for snippet in passage.snippets:
        at = leads.get(snippet.lead)
        if at is None:
            at = leads[snippet.lead] = len(led_by)
            above = cut(snippet.lead)
            led_by.append(_once(above))
            said.extend(above)
        numbers, counts = cut.counting(snippet.said)
        marks.append(_marks(snippet, counts))
        said.extend(numbers)
        own.extend(dict.fromkeys(numbers))
        ends.append(len(own))
        led.append(at)
    headings = array(NUMBERS, cut(" . ".join(passage.headings)))
    return SectionTerms(
        headings.tobytes(),
        said.tobytes(),
        own.tobytes(),
        ends.tobytes(),
        led_by,
        led.tobytes(),
        bytes(marks),
    )


def _once(numbers: Sequence[int]) -> bytes:
    return array(NUMBERS, dict.fromkeys(numbers)).tobytes()


def _marks(snippet: Snippet, counts: bool) -> int:
    """Return the marks of a statement. counts: a word of it has a number in it."""
    said = snippet.said
    marks = CODE if snippet.kind == "code" else sum([HOLDS[kind] for kind in holds(said)]) if counts else 0
    return marks | (LEADS if said.endswith(":") else ASKS if said.endswith("?") else 0)
