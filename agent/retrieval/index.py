"""The full-text index of one snapshot of the knowledge base, in memory: two arms, stems and character 4-grams.

Strategy: each searchable piece is one document of tantivy (BM25), with its context before it, so that a table row is
found by its heading and header. It has the stems of its words in the field of its language, and all its words in
one field of 4-grams, which finds compounds and inflections that stemming misses. Queries are built from terms, never
parsed, so no character of a question can be an operator. An index is never changed after it is built: a reload
builds another. The rarest terms of a query are taken first and the rest dropped when the posting lists together get
long: that bounds the time of a search on a large index, and leaves out only what tells least.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import tantivy

from agent.ports.search import Lang
from agent.text.words import words

from .chunk import Piece
from .tables import is_function_word, known_words
from .vocabulary import Vocabulary

LANGS: tuple[Lang, ...] = ("en", "sv")
GRAM = 4

_GRAM_FIELD = "grams"
_OWN = 2  # times that a piece's own words are counted, where those of its chapter are counted once
_TERMS = 64  # of a query, per arm
_HEAP_SMALL = 15_000_000  # bytes; tantivy's least for one thread
_HEAP_LARGE = 120_000_000
_LARGE = 5_000  # pieces from which the larger heap pays
_STEM_POSTINGS = 10_000  # entries of posting lists that a search of stems reads
_GRAM_POSTINGS = 6_000  # and one of 4-grams, of which a query has many more


@dataclass(frozen=True, slots=True)
class Found:
    """What one arm found: the number of a piece in `Index.pieces`, and its BM25 score."""

    piece: int
    score: float


class Index:
    """An immutable index over `pieces`; building it blocks."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self.pieces = tuple(piece for piece in pieces if piece.searchable)
        self.vocabularies: dict[Lang, Vocabulary] = {
            lang: Vocabulary(lang, known_words(lang)) for lang in LANGS
        }
        self.stems: list[str] = []  # per piece: its stems and those of its own context, each between spaces
        self.stems_above: list[str] = []  # per piece: those of what its file or chapter is about
        self._schema = _schema()
        index = tantivy.Index(self._schema)
        gram = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.ngram(GRAM, GRAM)).build()
        index.register_tokenizer("gram", gram)
        self._fill(index)
        index.reload()
        self._searcher = index.searcher()
        self._numbers = self._number()

    def _fill(self, index: tantivy.Index) -> None:
        """Write every piece, with one thread and a bounded heap."""
        writer = index.writer(_HEAP_LARGE if len(self.pieces) > _LARGE else _HEAP_SMALL, 1)
        known: dict[str, list[str]] = {}
        for number, piece in enumerate(self.pieces):
            lang = piece.passage.lang
            for text in (piece.above, piece.context):
                if text not in known:
                    known[text] = content_words(text)
            above, own = known[piece.above], known[piece.context] + content_words(piece.snippet.text)
            stems = self.vocabularies[lang].add(own + above)
            self.stems.append(f" {' '.join(stems[: len(own)])} ")
            self.stems_above.append(f" {' '.join(stems[len(own) :])} ")
            document = tantivy.Document()
            document.add_unsigned("number", number)
            document.add_text(lang, " ".join(stems[: len(own)] * _OWN + stems[len(own) :]))
            document.add_text(_GRAM_FIELD, f" {' '.join(own + above)} ")
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()

    def _number(self) -> "list[array[int]]":
        """Return the number of the piece at each address: one array per segment."""
        count = len(self.pieces)
        if not count:
            return []
        hits = self._searcher.search(
            tantivy.Query.all_query(), count, count=False, order_by_field="number", order=tantivy.Order.Asc
        ).hits
        numbers = [array("L", bytes(8 * count)) for _ in range(self._searcher.num_segments)]
        for number, (_, address) in enumerate(hits):
            numbers[address.segment_ord][address.doc] = number
        return numbers

    def by_stems(self, concepts: Sequence[Mapping[tuple[Lang, str], float]], limit: int) -> list[Found]:
        """Return the best pieces for concepts: weighted stems, of which the best one counts."""
        fields: list[dict[tuple[str, str], float]] = [
            {(lang, stem): weight for (lang, stem), weight in of.items()} for of in concepts
        ]
        return self._search(fields, limit, _STEM_POSTINGS)

    def by_grams(self, forms: Mapping[str, float], limit: int) -> list[Found]:
        """Return the best pieces for the 4-grams of weighted folded words."""
        grams: dict[str, float] = {}
        for word, weight in forms.items():
            for gram in grams_of(word):
                grams[gram] = max(weight, grams.get(gram, 0.0))
        return self._search(
            [{(_GRAM_FIELD, gram): weight} for gram, weight in grams.items()], limit, _GRAM_POSTINGS
        )

    def _search(
        self, concepts: Sequence[Mapping[tuple[str, str], float]], limit: int, budget: int
    ) -> list[Found]:
        """Return the best pieces for groups of weighted terms, within the budget of postings."""
        counted = []
        for concept in concepts:
            terms = [
                (field, term, weight, frequency)
                for (field, term), weight in concept.items()
                if (frequency := self._searcher.doc_freq(field, term))
            ]
            if terms:
                counted.append((sum(frequency for *_, frequency in terms), terms))
        counted.sort()
        clauses: list[tuple[tantivy.Occur, tantivy.Query]] = []
        postings = 0
        for frequency, terms in counted[:_TERMS]:
            postings += frequency
            if clauses and postings > budget:
                break
            queries = [self._term(field, term, weight) for field, term, weight, _ in terms]
            query = queries[0] if len(queries) == 1 else tantivy.Query.disjunction_max_query(queries)
            clauses.append((tantivy.Occur.Should, query))
        if not clauses:
            return []
        hits = self._searcher.search(tantivy.Query.boolean_query(clauses), limit, count=False).hits
        return [Found(self._numbers[at.segment_ord][at.doc], score) for score, at in hits]

    def _term(self, field: str, term: str, weight: float) -> tantivy.Query:
        """Return the query for one weighted term."""
        query = tantivy.Query.term_query(self._schema, field, term, index_option="freq")
        return query if weight == 1.0 else tantivy.Query.boost_query(query, weight)


def content_words(text: str) -> list[str]:
    """Return the folded words of a text that are function words in neither language."""
    return [word for word in words(text) if not is_function_word(word)]


def grams_of(word: str) -> list[str]:
    """Return the 4-grams of a word between spaces."""
    padded = f" {word} "
    return [padded[at : at + GRAM] for at in range(max(1, len(padded) - GRAM + 1))]


def _schema() -> tantivy.Schema:
    """Return the fields: one for the stems of each language, one for 4-grams, and the piece's number."""
    builder = tantivy.SchemaBuilder()
    for lang in LANGS:
        builder.add_text_field(lang, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field(_GRAM_FIELD, tokenizer_name="gram", index_option="freq")
    builder.add_unsigned_field("number", fast=True)
    return builder.build()
