"""The data of an index, and the opening of tantivy for it, in memory or in a folder that outlives the process.

Strategy: each section is one document of tantivy. Beside it stand the words of each statement by number, for the
close look at the best sections (`signals`). A section has no object that the garbage collector visits, since a
knowledge base has many thousands.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import msgspec
import tantivy

from agent.lang import LANGUAGES
from agent.lexical import fields
from agent.lexical.fields import schema_of
from agent.lexical.lexicon import Lexicon
from agent.lexical.postings import NUMBERS, array_of
from agent.ports.search import Passage

GRAM_FIELD = "grams"


class IndexedSection(msgspec.Struct, frozen=True, eq=False, gc=False, kw_only=True):
    """A passage with the numbers of its words, each once in a statement.

    `file`: the number of its file. `leads`: the words of the line that each statement hangs under; statements under
    the same line share one array. `marks`: for each statement, bits of `HOLDS`, `LEADS`, `ASKS` and `CODE` (`terms`).
    The other fields are arrays as bytes, since the garbage collector visits arrays.
    """

    passage: Passage
    file: int
    headings_held: bytes
    own_held: bytes
    ends_held: bytes
    leads: "tuple[array[int], ...]"
    marks: bytes

    @property
    def headings(self) -> "array[int]":
        """Return the words of its headings."""
        return array_of(self.headings_held)

    @property
    def own(self) -> "array[int]":
        """Return the words of its statements, one statement after the other."""
        return array_of(self.own_held)

    @property
    def ends(self) -> "array[int]":
        """Return the end of each statement's words in `own`."""
        return array_of(self.ends_held)


_NONE = array(NUMBERS)


@lru_cache(maxsize=1024)
def _no_leads(statements: int) -> "tuple[array[int], ...]":
    return (_NONE,) * statements


def leads_of(held: Sequence[bytes], led: bytes) -> "tuple[array[int], ...]":
    """Return the words of the line that each statement hangs under.

    `held`: the words of each such line, as bytes. `led`: the place in `held` for each statement, as bytes.
    """
    if not any(held):
        return _no_leads(len(led) // _NONE.itemsize)
    leads = [array_of(each) if each else _NONE for each in held]
    return tuple([leads[at] for at in array_of(led)])


class IndexPlace(Protocol):
    """A folder of this process for tantivy's files, which exists as long as this object."""

    @property
    def path(self) -> Path:
        """Return its path."""
        ...


@dataclass(slots=True)
class IndexData:
    """The data of an index.

    `sections`: by number; None where the file is gone. `files`: file name -> number. `lexicon`: the words of the
    sections. `place`: of tantivy's files; None is in memory.
    """

    tantivy: tantivy.Index
    sections: list[IndexedSection | None] = field(default_factory=list)
    lexicon: Lexicon = field(default_factory=Lexicon)
    files: dict[str, int] = field(default_factory=dict)
    place: IndexPlace | None = None

    def copy(self) -> "IndexData":
        """Return a copy that can be changed; tantivy and the structures of `lexicon` that only grow are shared."""
        return IndexData(self.tantivy, list(self.sections), self.lexicon.copy(), dict(self.files), self.place)


SCHEMA = schema_of(terms=list(LANGUAGES), grams=[GRAM_FIELD], names=["file"], numbers=["number"])
"""Fields of a section: its stems in each language, its 4-grams, its file and its number."""


def open_section_index(place: IndexPlace | None = None) -> tantivy.Index:
    """Return tantivy's index in `place`, created where there is none; in memory without `place`.

    Raises ValueError or OSError.
    """
    return fields.open_index(SCHEMA, None if place is None else place.path)
