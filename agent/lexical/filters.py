"""Builds filters: conditions on a document beside the terms of a search, such as scopes and ranges of numbers.

Strategy: a `Filter` is a query of tantivy that only admits or excludes a document, so a score is the same as it would
be without the filter.
"""

from collections.abc import Iterable
from typing import TypeAlias

import tantivy

Filter: TypeAlias = tantivy.Query

_MOST = 2**64 - 1  # the largest value of a field of numbers


def name_filter(schema: tantivy.Schema, field: str, *names: str) -> Filter:
    """Return a filter for documents with one of `names` in the name field `field`."""
    return any_filter([tantivy.Query.term_query(schema, field, name, index_option="basic") for name in names])


def range_filter(schema: tantivy.Schema, field: str, first: int = 0, last: int = _MOST) -> Filter:
    """Return a filter for documents with a number from `first` to `last`, both included, in the field `field`."""
    return tantivy.Query.range_query(schema, field, tantivy.FieldType.Unsigned, first, last)


def any_filter(filters: Iterable[Filter]) -> Filter:
    """Return a filter for documents that at least one of `filters` admits; without `filters` it admits none."""
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, each) for each in filters])
