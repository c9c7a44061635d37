"""The words of a file's sections, by number, as an index takes them.

Strategy: cutting and folding words is the largest cost of indexing a section, and depends on nothing but its file. So
it is done once for each file, with numbers that count within that file, and an index only translates them into its
own. The result can be kept beside the sections (`kept`). Function words have no number and are left out.
"""

from array import array
from collections.abc import Mapping, Sequence
from sys import intern

import msgspec

from agent.lexical.postings import NUMBERS
from agent.ports.search import Passage, Snippet
from agent.text.words import FUNCTION_WORDS, split_words

from .effort import Effort
from .parsed_question import Kind, find_kinds, has_number

HOLDS: Mapping[Kind, int] = {"number": 1, "money": 2, "time": 4}
LEADS, ASKS, CODE = 8, 16, 32  # the statement ends in a colon, ends in a question mark, is code


class SectionTerms(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """The words of one section, by their numbers in `FileTerms.words`; each field but `marks` is an array as bytes.

    `headings`: the words above it, in order. `said`: the words of the leading lines and of the statements, in order.
    `own`: the words of its statements, each once in a statement, one statement after the other; `ends`: the end of
    each statement in `own`. `leads`: the words of each leading line; `led`: the place in `leads` for each statement.
    `marks`: for each statement, bits of `HOLDS`, `LEADS`, `ASKS` and `CODE`.
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
    """Return the words of one file's sections. Raises as `effort.check` does."""
    cut = _WordNumbering()
    sections = []
    for passage in passages:
        effort.check()
        sections.append(_section_terms(passage, cut))
    return FileTerms(cut.words, sections)


class _WordNumbering(dict[str, int]):
    """The numbers of the words of one file, given when they are looked up; -1 for function words."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._counting: set[str] = set()

    def __missing__(self, word: str) -> int:
        number = -1
        if has_number(word):
            self._counting.add(word)
        if word not in FUNCTION_WORDS:
            number = len(self.words)
            self.words.append(intern(word))  # one string object for all files: most words stand in many
        self[word] = number
        return number

    def number_words(self, text: str) -> tuple[list[int], bool]:
        """Return the numbers of the words of a text, and whether one of the words is a number."""
        folded = split_words(text)
        found = list(map(self.__getitem__, folded))
        counts = not self._counting.isdisjoint(folded)
        return ([at for at in found if at >= 0] if -1 in found else found), counts


def _section_terms(passage: Passage, cut: _WordNumbering) -> SectionTerms:
    """Return the words of one section, numbered by `cut`."""
    said, own = array(NUMBERS), array(NUMBERS)
    ends, led = array(NUMBERS), array(NUMBERS)
    marks = bytearray()
    leads: dict[str, int] = {"": 0}
    led_by = [b""]
    for snippet in passage.snippets:
        at = leads.get(snippet.lead)
        if at is None:
            at = leads[snippet.lead] = len(led_by)
            above, _ = cut.number_words(snippet.lead)
            led_by.append(_distinct_bytes(above))
            said.extend(above)
        numbers, counts = cut.number_words(snippet.plain_text)
        marks.append(_marks_of(snippet, counts))
        said.extend(numbers)
        own.extend(dict.fromkeys(numbers))
        ends.append(len(own))
        led.append(at)
    headings = array(NUMBERS, cut.number_words(" . ".join(passage.headings))[0])
    return SectionTerms(
        headings=headings.tobytes(),
        said=said.tobytes(),
        own=own.tobytes(),
        ends=ends.tobytes(),
        leads=led_by,
        led=led.tobytes(),
        marks=bytes(marks),
    )


def _distinct_bytes(numbers: Sequence[int]) -> bytes:
    """Return each of `numbers` once, as the bytes of an array."""
    return array(NUMBERS, dict.fromkeys(numbers)).tobytes()


def _marks_of(snippet: Snippet, counts: bool) -> int:
    """Return the marks of a statement. `counts`: whether one of its words is a number."""
    statement = snippet.plain_text
    marks = (
        CODE
        if snippet.kind == "code"
        else sum([HOLDS[kind] for kind in find_kinds(statement)])
        if counts
        else 0
    )
    return marks | (LEADS if statement.endswith(":") else ASKS if statement.endswith("?") else 0)
