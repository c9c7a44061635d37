"""What an index is made of, and how tantivy is opened for it: in memory, or in a folder that it can be found in again.

Strategy: each section is one document of tantivy. Beside it stand the words of each statement by number, for what
looks closely. A section has no object that a garbage collection looks at: a knowledge base has many thousands.
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


class Section(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A passage with its words, by number, each once in a statement.

    file: the number of its file. leads: the words of what each statement hangs under; those that hang under the same
    have one array. marks: of each statement, bits of HOLDS, LEADS, ASKS and CODE. The others are arrays as bytes, since
    garbage collections look at arrays.
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
        """Return the words of its statements, one after the other."""
        return array_of(self.own_held)

    @property
    def ends(self) -> "array[int]":
        """Return where the words of each statement end."""
        return array_of(self.ends_held)


_NONE = array(NUMBERS)


@lru_cache(maxsize=1024)
def _no_leads(statements: int) -> "tuple[array[int], ...]":
    return (_NONE,) * statements


def leads_of(held: Sequence[bytes], led: bytes) -> "tuple[array[int], ...]":
    """Return the words of what each statement hangs under. held: those; led: the place in `held` for each statement."""
    if not any(held):
        return _no_leads(len(led) // _NONE.itemsize)
    leads = [array_of(each) if each else _NONE for each in held]
    return tuple([leads[at] for at in array_of(led)])


class Place(Protocol):
    """A folder of this process's own, which is there for as long as this object."""

    @property
    def path(self) -> Path:
        """Return where it is."""
        ...


@dataclass(slots=True)
class Base:
    """sections: by number; None where the file is gone. files: their names, by number. lexicon: the words of sections.

    place: of tantivy's files; None is in memory.
    """

    tantivy: tantivy.Index
    sections: list[Section | None] = field(default_factory=list)
    lexicon: Lexicon = field(default_factory=Lexicon)
    files: dict[str, int] = field(default_factory=dict)
    place: Place | None = None

    def copy(self) -> "Base":
        """Return one that can be changed; tantivy and what is known of words are shared."""
        return Base(self.tantivy, list(self.sections), self.lexicon.copy(), dict(self.files), self.place)


SCHEMA = schema_of(terms=list(LANGUAGES), grams=[GRAM_FIELD], names=["file"], numbers=["number"])
"""The stems of each language, the 4-grams, and the section's file and number."""


def opened(place: Place | None = None) -> tantivy.Index:
    """Return tantivy's index in a folder, a new one where none is; None is in memory. Raises ValueError, OSError."""
    return fields.opened(SCHEMA, None if place is None else place.path)
