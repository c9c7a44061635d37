"""Searches one state of an index term by term (BM25), and identifies documents by their numbers.

Strategy: queries are built from terms, never parsed, so no character of a question can be an operator. The rarest
terms of a query are taken first, and the rest are dropped when their posting lists together get long. That bounds the
time of a search on a large index, and leaves out only the terms that tell least.

A `Searcher` keeps the state of the index that it was made with, whatever is written later. BM25's counts include
deleted documents until tantivy merges them away.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias

import tantivy

from .filters import Filter
from .queries import Term

_TERMS = 64  # of a query
_TERMS_KEPT = 8192  # cached terms of questions, some 0.5 KB each
_SATURATED = 2.2  # k1 + 1 of BM25: the limit of a term's weight


@dataclass(frozen=True, slots=True)
class RankedDocuments:
    """The documents that a search found. `scores`: document number -> BM25 score, best first.

    `most`: the score of an imagined document that is full of every term of the query.
    """

    scores: Mapping[int, float]
    most: float


class Searcher:
    """Searches an index as it is now. `numbers`: the field that identifies documents, by numbers below 2^32."""

    def __init__(self, index: tantivy.Index, numbers: str = "number") -> None:
        index.reload()
        self.schema: tantivy.Schema = index.schema
        self._searcher = index.searcher()
        self._numbers = numbers
        self._total = max(1, self._searcher.num_docs)
        self._terms: dict[Term, _KnownTerm] = {}

    @property
    def documents(self) -> int:
        """Return how many documents there are."""
        return int(self._searcher.num_docs)

    def frequency(self, term: Term) -> int:
        """Return how many documents hold `term`."""
        return self._look_up_term(term)[0]

    def count(self, must: Sequence[Filter], term: Term | None = None) -> int:
        """Return how many documents all filters of `must` admit, of those that hold `term`. Some 20 µs."""
        queries = [*must] if term is None else [*must, self._look_up_term(term)[2]]
        query = tantivy.Query.boolean_query([(tantivy.Occur.Must, each) for each in queries])
        found: Any = self._searcher.search(query, 1, count=True)  # tantivy's type stubs lack the count
        return int(found.count)

    def find_best(
        self,
        terms: Iterable[Term],
        limit: int,
        budget: int,
        weights: Mapping[Term, float] | None = None,
        must: Sequence[Filter] = (),
    ) -> RankedDocuments:
        """Return the `limit` best documents for `terms`, within a `budget` of entries of posting lists.

        `terms`: each once. `weights`: the factor of a term's score, 1 where it is not named. `must`: filters that
        must all admit a document.
        """
        known = self._look_up_term
        clauses: list[tuple[tantivy.Occur, tantivy.Query]] = []
        postings = 0
        most = 0.0
        should = tantivy.Occur.Should
        for frequency, term, query, best in sorted(map(known, terms)):  # no two terms are equal
            weight = weights.get(term, 1.0) if weights else 1.0
            most += weight * best
            if not frequency or len(clauses) >= _TERMS:
                continue
            postings += frequency
            if clauses and postings > budget:
                continue
            clauses.append((should, query if weight == 1.0 else tantivy.Query.boost_query(query, weight)))
        if not clauses:
            return RankedDocuments({}, most)
        query = tantivy.Query.boolean_query(clauses)
        if must:
            filters = [tantivy.Query.const_score_query(each, 0.0) for each in must]
            query = tantivy.Query.boolean_query([(tantivy.Occur.Must, each) for each in (query, *filters)])
        hits = self._searcher.search(query, limit, count=False).hits
        numbers: Any = self._searcher.fast_field_values(self._numbers, list(map(itemgetter(1), hits)))
        return RankedDocuments(dict(zip(numbers, map(itemgetter(0), hits), strict=True)), most)

    def _look_up_term(self, term: Term) -> "_KnownTerm":
        """Return the facts of a term, which are cached, since none of them changes."""
        known = self._terms.get(term)
        if known is None:
            if len(self._terms) >= _TERMS_KEPT:
                self._terms.clear()
            field, text = term
            query = tantivy.Query.term_query(self.schema, field, text, index_option="freq")
            frequency = self._searcher.doc_freq(field, text)
            best = math.log(1 + (self._total - frequency + 0.5) / (frequency + 0.5)) * _SATURATED
            known = self._terms[term] = (frequency, term, query, best)
        return known


_KnownTerm: TypeAlias = tuple[int, Term, tantivy.Query, float]
"""How many documents hold a term, the term, the query for it, and the most that it can add to a document's score.

Terms sort by rarity, the rarest first."""
