"""The sources of an answer that grows text by text: numbered by section, each with the parts of the answer it holds.

Strategy: a section gets its number when a part of the answer is first taken from it, so that a client can show the
number behind that part while the answer is streamed, and finds the same number in the response. Marks are no part of
the text: the joined deltas and the text of the response stay the verified text.
"""

from collections.abc import Iterable
from itertools import repeat
from typing import TypeAlias

from ..grounding.citations import Span, source_of
from ..ports.brain import VerifiedText
from ..ports.search import Snippet
from ..protocol.outbound_frame import Citation

SourceMark: TypeAlias = tuple[int, tuple[int, ...]]
"""A place in a text, in code points, and the numbers of the sources that hold the part which ends there."""


class CitedSources:
    """The citations of the texts of one answer, each once, in the order of their first citation."""

    __slots__ = ("_length", "_numbers", "_snippets", "_spans")

    def __init__(self, texts: Iterable[VerifiedText] = ()) -> None:
        self._length = 0  # of the texts so far, in code points
        self._snippets: dict[object, Snippet] = {}
        self._spans: dict[object, list[Span]] = {}
        self._numbers: dict[tuple[str, ...], int] = {}  # by section
        for text in texts:
            self.add_text(text)

    def add_text(self, text: VerifiedText) -> tuple[SourceMark, ...]:
        """Add the next text of the answer; return the marks in it."""
        marks: dict[int, list[Snippet]] = {}
        for snippet, places in zip(text.citations, text.places or repeat(()), strict=False):
            source = source_of(snippet)
            self._snippets.setdefault(source, snippet)
            spans = self._spans.setdefault(source, [])
            for start, end in places:
                spans.append((self._length + start, self._length + end))
                marks.setdefault(end, []).append(snippet)
        self._length += len(text.text)
        return tuple(
            [(end, tuple(dict.fromkeys(map(self._number_section, marks[end])))) for end in sorted(marks)]
        )

    def _number_section(self, snippet: Snippet) -> int:
        return self._numbers.setdefault((snippet.file, *snippet.headings), len(self._numbers) + 1)

    def collect(self) -> tuple[Citation, ...]:
        """Return the citations; sections that no part of the answer was taken from are numbered last."""
        return tuple(
            [
                Citation(
                    file=each.file,
                    snippet=each.text,
                    lines=(each.first, each.last),
                    heading=" › ".join(each.headings) or None,
                    source=self._number_section(each),
                    spans=tuple(self._spans[source]),
                    when=each.when or None,
                    by=each.by or None,
                )
                for source, each in self._snippets.items()
            ]
        )
