"""Searches the knowledge base: citable snippets, the passages that they stand in, and hits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from ..lang import Lang as Lang  # crosses this port with the rest
from .conversation import NO_SCOPE, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    r"""A statement of one file that an answer may cite: a sentence, a list item, a table's row or a few lines of code.

    `file` is "kb/" and the path below the knowledge-base folder, with forward slashes. `text` is 1 to 3 lines as they
    stand in the file, joined by "\n"; the part of a long line that holds the statement; a row after the line of its
    table's header. Where so few lines do not show all of it, plain words do. `first` and `last` are line numbers in the
    file, counted from 1, both inclusive; of a row, without its header's. `plain_text` is its content in plain words.
    `kind` is paragraph, item, row, code or quote. `lead` is the line, or the item, that it hangs under. `headings` are
    those above it, outermost first. `when` and `by` are the day (2026-05-03) and the speaker of a snippet from memory.
    """

    file: str
    text: str
    first: int
    last: int
    plain_text: str = ""
    kind: str = "paragraph"
    lead: str = ""
    headings: tuple[str, ...] = ()
    when: str = ""
    by: str = ""

    def __hash__(self) -> int:
        """Return the hash of the fields that tell most snippets apart; a turn asks for it some hundred times."""
        return hash((self.file, self.first, self.text))


class SnippetShelf(Protocol):
    """The statements of a section, in the form with the least memory."""

    def __len__(self) -> int:
        """Return the number of statements."""
        ...

    def load_snippets(self) -> tuple[Snippet, ...]:
        """Return the statements; some microseconds each time."""
        ...

    def may_hold(self, sign: str) -> bool:
        """Return false where no statement holds `sign`, without loading them."""
        ...


class Passage(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A section: the text under one heading of a file, or a part of it; equal to no other.

    A knowledge base has many thousands, so no garbage collection looks at them: none can be part of a cycle.

    `headings` are those above it, outermost first. `lang` is the language of its text. `held` holds its statements, in
    the order of the file, or the shelf that they are on.
    """

    file: str
    headings: tuple[str, ...]
    lang: Lang
    held: tuple[Snippet, ...] | SnippetShelf

    @property
    def snippets(self) -> tuple[Snippet, ...]:
        """Return its statements, in the order of the file."""
        return self.held if isinstance(self.held, tuple) else self.held.load_snippets()

    def may_hold(self, sign: str) -> bool:
        """Return false where no statement holds `sign`, for a shelf without reading the statements."""
        return isinstance(self.held, tuple) or self.held.may_hold(sign)


class Hit(msgspec.Struct, frozen=True):
    """A snippet that a search found. `score` is 0..1; that of the best hit is the certainty that it answers the
    question.

    `in_conversation` says that the conversation holds it already, so that the drafter does not repeat it; such hits
    come last.
    """

    snippet: Snippet
    passage: Passage
    score: float
    in_conversation: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A search over the documents.

    `text` is any text. `lang` is the question's; documents in it come first. `limit` bounds the statements. `before` is
    the question that this one may follow ("and the large one?"), or "". `scope` is the scope of the author.
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

    async def search_nearest(self, query: Query) -> tuple[Hit, ...]:
        """Return the statements nearest to a query, however unsure; for the operator, never for an answer."""
        ...

    def topics(self, lang: Lang) -> Sequence[str]:
        """Return the topics of the documents in `lang`, the largest first."""
        ...


class Library(Protocol):
    """The documents as they change."""

    async def load_snapshot(self) -> Retriever:
        """Return the present snapshot, once everything has been read. A cancel leaves nothing."""
        ...
