"""Says which rows a search may find, and with which fields the index stores a row so that it can tell.

Strategy: a feed is the kind of rows that one index holds. Rows of conversations and memory (`SCOPES`) are found by the
scope of a search. Rows of branched stories (`LINEAGES`) have a place, which is their branch, and a seq in it; a search
names a lineage, pairs of a place and the last seq of it that counts. Place and seq are one number in the index, so that
a pair is one range of it.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

import tantivy

from agent.lexical.fields import schema_of
from agent.lexical.filters import Filter, any_filter, name_filter, range_filter
from agent.ports.conversation import Scope
from agent.ports.recall import Reach

from .place_directory import REACHES, reach_name
from .rows import FOR_EVER, RecallRows, item_end

WORDS: Final = "words"
GRAMS: Final = "grams"
ROW: Final = "row"
"""The field of a document's row."""
SEQ_BITS: Final = 32
SEQ_MAX: Final = (1 << SEQ_BITS) - 1
"""The largest seq of a row; in a lineage, the last seq of a place that counts as a whole."""

Lineage: TypeAlias = tuple[tuple[int, int], ...]
"""Pairs of a place and its last seq that counts, inclusive; each place once."""


class Feed(Protocol):
    """The kind of rows of an index: their fields beside words and 4-grams. Hashable."""

    def __hash__(self) -> int:
        """Return the hash."""
        ...

    @property
    def schema(self) -> tantivy.Schema:
        """The fields of an index."""
        ...

    def add_fields(self, document: tantivy.Document, rows: RecallRows, row: int) -> None:
        """Add the fields of `row` to its document."""
        ...

    def validity_filters(self, at: int) -> list[Filter]:
        """Return the filters for rows that are valid at the time `at`."""
        ...


class SearchBounds(Protocol):
    """The rows that a search may find."""

    @property
    def key(self) -> Hashable:
        """The key of the counts of these rows, the same for all bounds that admit the same rows."""
        ...

    def filters(self) -> list[Filter]:
        """Return the filters that all admit a row within the bounds."""
        ...

    def test_of(self, rows: RecallRows) -> Callable[[int], bool] | None:
        """Return a test of whether one of `rows` is within the bounds; None where all are."""
        ...


class ScopeFeed:
    """Turns and items, which are found by their scope."""

    def __init__(self) -> None:
        self.schema = schema_of(
            terms=(WORDS,),
            grams=(GRAMS,),
            names=(ROW, *REACHES),
            numbers=("number", "valid_from", "valid_to"),
        )

    def add_fields(self, document: tantivy.Document, rows: RecallRows, row: int) -> None:
        """Add the names of the row's scope, and the time in which an item is valid."""
        item = rows.item(row)
        begins, ends = (0, FOR_EVER) if item is None else (item.valid_from, item_end(item))
        document.add_unsigned("valid_from", max(0, begins))
        document.add_unsigned("valid_to", max(0, ends))
        for reach, name in zip(REACHES, rows.whose.names(rows.place[row]), strict=True):
            document.add_text(reach, name)

    def validity_filters(self, at: int) -> list[Filter]:
        """Return the filters for turns, and for items that are valid at `at`."""
        return [
            range_filter(self.schema, "valid_from", 0, at),
            range_filter(self.schema, "valid_to", at + 1),
        ]


class LineageFeed:
    """Statements of branched stories, which are found by their place and seq."""

    def __init__(self) -> None:
        self.schema = schema_of(
            terms=(WORDS,), grams=(GRAMS,), names=(ROW,), numbers=("number",), ordered=("position",)
        )

    def add_fields(self, document: tantivy.Document, rows: RecallRows, row: int) -> None:
        """Add the position of the row."""
        document.add_unsigned("position", rows.place[row] << SEQ_BITS | rows.seq[row])

    def validity_filters(self, _: int) -> list[Filter]:
        """Return no filter: a statement is valid as long as it is there."""
        return []


SCOPES: Final = ScopeFeed()
LINEAGES: Final = LineageFeed()


@dataclass(frozen=True, slots=True)
class ReachBounds:
    """The turns and items in the reach of a search from `scope`."""

    reach: Reach
    scope: Scope

    @property
    def key(self) -> Hashable:
        """The reach with the name of the scope, which the threads of a user share."""
        return self.reach, reach_name(self.scope, self.reach)

    def filters(self) -> list[Filter]:
        """Return a filter by the name of the scope."""
        return [name_filter(SCOPES.schema, self.reach, reach_name(self.scope, self.reach))]

    def test_of(self, rows: RecallRows) -> Callable[[int], bool] | None:
        """Return a test by the place of a row."""
        places = rows.whose.view_of(self.reach, self.scope)[0]
        place = rows.place
        return None if len(places) == len(rows.whose.scopes) else lambda row: place[row] in places


@dataclass(frozen=True, slots=True)
class LineageBounds:
    """The statements of a lineage."""

    lineage: Lineage

    @property
    def key(self) -> Hashable:
        """The lineage."""
        return self.lineage

    def filters(self) -> list[Filter]:
        """Return a filter of one range of positions for each place."""
        ranges = [
            range_filter(
                LINEAGES.schema, "position", place << SEQ_BITS, place << SEQ_BITS | min(last, SEQ_MAX)
            )
            for place, last in self.lineage
            if last >= 0
        ]
        return [any_filter(ranges)]

    def test_of(self, rows: RecallRows) -> Callable[[int], bool]:
        """Return a test by the place and seq of a row."""
        ends = dict(self.lineage)
        place, seq = rows.place, rows.seq
        return lambda row: seq[row] <= ends.get(place[row], -1)
