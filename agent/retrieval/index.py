"""The full-text index of one snapshot of the knowledge base, in memory: two arms, stems and character 4-grams.

Strategy: each searchable piece is one document of tantivy (BM25), with its context before it, so that a table row is
found by its heading and header. It has the stems of its words in the field of its language, and all its words in
one field of 4-grams, which finds compounds and inflections that stemming misses. Queries are built from terms, never
parsed, so no character of a question can be an operator. An index is never changed after it is built: a reload
builds another. The rarest terms of a query are taken first and the rest dropped when the posting lists together get
long: that bounds the time of a search on a large index, and leaves out only what tells least.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import tantivy

from agent.ports.search import Lang
from agent.text.words import FUNCTION_WORDS, words

from .chunk import Piece
from .vocabulary import Vocabulary

LANGS: tuple[Lang, ...] = ("en", "sv")
GRAM = 4

_GRAM_FIELD = "grams"
_HEAP_SMALL = 15_000_000  # bytes; tantivy's least for one thread
_HEAP_LARGE = 120_000_000
_LARGE = 5_000  # pieces from which the larger heap pays
_POSTINGS = 40_000  # entries of posting lists that one arm reads


@dataclass(frozen=True, slots=True)
class Found:
    """What one arm found: the number of a piece in `Index.pieces`, and its BM25 score."""

    piece: int
    score: float


class Index:
    """An immutable index over `pieces`; building it blocks."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self.pieces = tuple(piece for piece in pieces if piece.searchable)
        self.vocabularies: dict[Lang, Vocabulary] = {lang: Vocabulary(lang) for lang in LANGS}
        self.stems: list[str] = []  # per piece: its stems, each between spaces
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
        contexts: dict[tuple[str, Lang], list[str]] = {}
        for number, piece in enumerate(self.pieces):
            lang = piece.passage.lang
            key = (piece.context, lang)
            if key not in contexts:
                contexts[key] = content_words(piece.context)
            folded = contexts[key] + content_words(piece.snippet.text)
            stems = " ".join(self.vocabularies[lang].add(folded))
            self.stems.append(f" {stems} ")
            document = tantivy.Document()
            document.add_unsigned("number", number)
            document.add_text(lang, stems)
            document.add_text(_GRAM_FIELD, f" {' '.join(folded)} ")
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

    def by_stems(self, terms: Sequence[tuple[Lang, str, float]], limit: int) -> list[Found]:
        """Return the best pieces for weighted stems, each looked up in the field of its language."""
        return self._search([(lang, stem, weight) for lang, stem, weight in terms], limit)

    def by_grams(self, folded: Iterable[str], limit: int) -> list[Found]:
        """Return the best pieces for the 4-grams of folded words."""
        grams = dict.fromkeys(gram for word in folded for gram in grams_of(word))
        return self._search([(_GRAM_FIELD, gram, 1.0) for gram in grams], limit)

    def _search(self, terms: Iterable[tuple[str, str, float]], limit: int) -> list[Found]:
        """Return the best pieces for weighted terms of any field, within the budget of postings."""
        counted = sorted(
            (frequency, field, term, weight)
            for field, term, weight in terms
            if (frequency := self._searcher.doc_freq(field, term))
        )
        clauses: list[tuple[tantivy.Occur, tantivy.Query]] = []
        postings = 0
        for frequency, field, term, weight in counted:
            postings += frequency
            if clauses and postings > _POSTINGS:
                break
            query = tantivy.Query.term_query(self._schema, field, term, index_option="freq")
            if weight != 1.0:
                query = tantivy.Query.boost_query(query, weight)
            clauses.append((tantivy.Occur.Should, query))
        if not clauses:
            return []
        hits = self._searcher.search(tantivy.Query.boolean_query(clauses), limit, count=False).hits
        return [Found(self._numbers[at.segment_ord][at.doc], score) for score, at in hits]


def content_words(text: str) -> list[str]:
    """Return the folded words of a text that are function words in neither language."""
    return [word for word in words(text) if not is_function_word(word)]


def is_function_word(word: str) -> bool:
    """Return whether a folded word carries grammar only, in either language."""
    return word in FUNCTION_WORDS["en"] or word in FUNCTION_WORDS["sv"]


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
