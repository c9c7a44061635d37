"""Searches one state of an index term by term (BM25), and tells documents by their numbers.

Strategy: queries are built from terms, never parsed, so no character of a question can be an operator. The rarest terms
of a query are taken first and the rest dropped when the posting lists together get long: that bounds the time of a
search on a large index, and leaves out only what tells least.

A searcher keeps the state that it began with, whatever is written after it. BM25's counts still know what was deleted,
until tantivy merges it away.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tantivy

from .filters import Filter
from .queries import Term

_TERMS = 64  # of a query
_TERMS_KEPT = 8192  # terms of questions that are known, some 0.5 KB each
_SATURATED = 2.2  # k1 + 1 of BM25: what a term's weight grows towards


@dataclass(frozen=True, slots=True)
class Found:
    """What was found: document number -> BM25 score, best first. most: of a document that is full of every term."""

    scores: Mapping[int, float]
    most: float


class Searcher:
    """Searches an index as it is now. numbers: the field of numbers below 2^32 that documents are told by."""

    def __init__(self, index: tantivy.Index, numbers: str = "number") -> None:
        index.reload()
        self.schema: tantivy.Schema = index.schema
        self._searcher = index.searcher()
        self._numbers = numbers
        self._terms: dict[Term, tuple[int, tantivy.Query]] = {}

    @property
    def documents(self) -> int:
        """Return how many documents there are."""
        return int(self._searcher.num_docs)

    def frequency(self, term: Term) -> int:
        """Return in how many documents a term stands."""
        return self._term(term)[0]

    def count(self, must: Sequence[Filter], term: Term | None = None) -> int:
        """Return how many documents all filters let through, of those that hold a term. Some 20 µs."""
        queries = [*must] if term is None else [*must, self._term(term)[1]]
        query = tantivy.Query.boolean_query([(tantivy.Occur.Must, each) for each in queries])
        found: Any = self._searcher.search(query, 1, count=True)  # its types lack the count
        return int(found.count)

    def best(
        self,
        terms: Iterable[Term],
        limit: int,
        budget: int,
        weights: Mapping[Term, float] | None = None,
        must: Sequence[Filter] = (),
    ) -> Found:
        """Return the `limit` best documents for terms, each there once, within a budget of entries of posting lists.

        weights: what a term counts, 1 where it is not named. must: the filters that all let a document through.
        """
        known = self._term
        counted = sorted([(*known(each), each) for each in terms], key=_rarest)
        total = max(1, self._searcher.num_docs)
        clauses: list[tuple[tantivy.Occur, tantivy.Query]] = []
        postings = 0
        most = 0.0
        should = tantivy.Occur.Should
        for frequency, query, term in counted:
            weight = weights.get(term, 1.0) if weights else 1.0
            most += weight * math.log(1 + (total - frequency + 0.5) / (frequency + 0.5)) * _SATURATED
            if not frequency or len(clauses) >= _TERMS:
                continue
            postings += frequency
            if clauses and postings > budget:
                continue
            clauses.append((should, query if weight == 1.0 else tantivy.Query.boost_query(query, weight)))
        if not clauses:
            return Found({}, most)
        query = tantivy.Query.boolean_query(clauses)
        if must:
            filters = [tantivy.Query.const_score_query(each, 0.0) for each in must]
            query = tantivy.Query.boolean_query([(tantivy.Occur.Must, each) for each in (query, *filters)])
        hits = self._searcher.search(query, limit, count=False).hits
        numbers: Any = self._searcher.fast_field_values(self._numbers, [at for _, at in hits])
        return Found(dict(zip(numbers, [score for score, _ in hits], strict=True)), most)

    def _term(self, term: Term) -> tuple[int, tantivy.Query]:
        """Return in how many documents a term stands, and what finds it; kept, since nothing of it changes."""
        known = self._terms.get(term)
        if known is None:
            if len(self._terms) >= _TERMS_KEPT:
                self._terms.clear()
            field, text = term
            found = tantivy.Query.term_query(self.schema, field, text, index_option="freq")
            known = self._terms[term] = self._searcher.doc_freq(field, text), found
        return known


def _rarest(counted: tuple[int, tantivy.Query, Term]) -> tuple[int, Term]:
    """Return what terms are sorted by."""
    return counted[0], counted[2]
