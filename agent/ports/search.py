"""What the knowledge base gives: snippets that can be cited, the passages they stand in, and hits."""

from dataclasses import dataclass
from typing import Literal, Protocol

Lang = Literal["en", "sv"]


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of one file that an answer may cite.

    file: "kb/" and the path below the knowledge-base folder, with forward slashes.
    text: 1 to 3 whole lines exactly as they stand in the file, joined by "\\n".
    first, last: line numbers in the file, counted from 1, both inclusive.
    """

    file: str
    text: str
    first: int
    last: int


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """The part of a file under one heading, or a stretch of PASSAGE_SNIPPETS of a longer one; equal to no other.

    headings: the headings above it, outermost first.
    lang: the language its text is in.
    snippets: its citable pieces, in the order of the file.
    headers: the header rows of the tables that its rows stand in, which may be those of an earlier stretch.
    """

    file: str
    headings: tuple[str, ...]
    lang: Lang
    snippets: tuple[Snippet, ...]
    headers: tuple[Snippet, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A snippet that a search found. `score` is 0..1, comparable within one search and against the floor."""

    snippet: Snippet
    passage: Passage
    score: float


class Retriever(Protocol):
    """Finds snippets. A search that finds nothing worth citing returns an empty tuple."""

    async def search(self, query: str, lang: Lang, limit: int) -> tuple[Hit, ...]:
        """Return the at most `limit` best hits, best first, each snippet once."""
        ...
