"""What the knowledge base gives: snippets that can be cited, the passages they stand in, and hits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from ..lang import Lang as Lang  # crosses this port with the rest
from .conversation import NO_SCOPE, Scope


@dataclass(frozen=True, slots=True)
class Snippet:
    """A statement of one file that an answer may cite: a sentence, a list item, a table's row or a few lines of code.

    file: "kb/" and the path below the knowledge-base folder, with forward slashes.
    text: 1 to 3 lines as they stand in the file, joined by "\\n"; the part of a long line that holds the statement; a
    row after the line of its table's header. What so few lines do not show is told in plain words.
    first, last: line numbers in the file, counted from 1, both inclusive; of a row, without its header's.
    said: what it says, in plain words. kind: paragraph, item, row, code or quote.
    lead: the line, or the item, that it hangs under. headings: those above it, outermost first. when, by: of what was
    said, the day (2026-05-03) and who said it.
    """

    file: str
    text: str
    first: int
    last: int
    said: str = ""
    kind: str = "paragraph"
    lead: str = ""
    headings: tuple[str, ...] = ()
    when: str = ""
    by: str = ""


class Shelf(Protocol):
    """The statements of a section, in whatever form they take least."""

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def made(self) -> tuple[Snippet, ...]:
        """Return them; some microseconds each time."""
        ...


class Passage(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A section: what stands under one heading of a file, or a part of that; equal to no other.

    A knowledge base has many thousands, so no garbage collection looks at them: none can be part of a cycle.

    headings: the headings above it, outermost first.
    lang: the language its text is in.
    held: its statements, in the order of the file, or the shelf that they are on.
    """

    file: str
    headings: tuple[str, ...]
    lang: Lang
    held: tuple[Snippet, ...] | Shelf

    @property
    def snippets(self) -> tuple[Snippet, ...]:
        """Return its statements, in the order of the file."""
        return self.held if isinstance(self.held, tuple) else self.held.made()


@dataclass(frozen=True, slots=True)
class Hit:
    """A snippet that a search found. `score` is 0..1: of the best one, how surely it answers the question.

    shown: whoever drafts has it before him in the conversation, and is not told it again; such hits come last.
    """

    snippet: Snippet
    passage: Passage
    score: float
    shown: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for.

    text: any text. lang: the question's; what the documents say in it comes first. limit: statements, at most.
    before: the question that it may follow ("and the large one?"), or "". scope: whose question it is.
    """

    text: str
    lang: Lang
    limit: int
    before: str = ""
    scope: Scope = NO_SCOPE


class Retriever(Protocol):
    """Finds snippets in one snapshot of the documents, which never changes."""

    async def search(self, query: Query) -> tuple[Hit, ...]:
        """Return the best statements, best first, each once; () when nothing is worth citing."""
        ...

    async def nearest(self, query: Query) -> tuple[Hit, ...]:
        """Return what a search comes nearest to, however unsure; for the operator, never for an answer."""
        ...

    def topics(self, lang: Lang) -> Sequence[str]:
        """Return what the documents of a language are about, the largest topic first."""
        ...


class Library(Protocol):
    """The documents as they change."""

    async def present(self) -> Retriever:
        """Return the present snapshot, once everything has been read. A cancel leaves nothing."""
        ...
