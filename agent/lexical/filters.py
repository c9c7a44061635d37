"""What a document must be for a search to find it, whatever its terms: scopes, and ranges of numbers.

Strategy: a filter is a query of tantivy that says yes or no and counts nothing, so that a score is what it would be
without it.
"""

from collections.abc import Iterable
from typing import TypeAlias

import tantivy

Filter: TypeAlias = tantivy.Query

_MOST = 2**64 - 1  # what a field of numbers holds


def named(schema: tantivy.Schema, field: str, *names: str) -> Filter:
    """Return what lets those through whose name, in a field of names, is one of these."""
    return any_of([tantivy.Query.term_query(schema, field, name, index_option="basic") for name in names])


def between(schema: tantivy.Schema, field: str, first: int = 0, last: int = _MOST) -> Filter:
    """Return what lets those through whose number, in a field of numbers, is from `first` to `last`, both included."""
    return tantivy.Query.range_query(schema, field, tantivy.FieldType.Unsigned, first, last)


def any_of(filters: Iterable[Filter]) -> Filter:
    """Return what lets through what one of these does; nothing where there are none."""
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, each) for each in filters])
