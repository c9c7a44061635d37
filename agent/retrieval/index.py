"""The full-text index of one snapshot of the knowledge base, in memory: two arms, stems and character 4-grams.

Strategy: each searchable piece is one document of tantivy (BM25), with its context before it, so that a table row is
found by its heading and header. It has the stems of its words in the field of its language, and all its words in
one field of 4-grams, which finds compounds and inflections that stemming misses. Queries are built from terms, never
parsed, so no character of a question can be an operator. The rarest terms of a query are taken first and the rest
dropped when the posting lists together get long: that bounds the time of a search on a large index, and leaves out
only what tells least.

An index is never changed after it is built: when files change, the next one is built beside it. It takes over
tantivy's segments (a searcher keeps those it began with) and copies the tables in Python, which takes milliseconds.
A number is never given to a second piece. BM25's counts still know what is gone, until tantivy merges it away.
"""

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import tantivy

from agent.ports.search import Lang
from agent.text.words import words

from .chunk import Piece
from .effort import Effort
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
    """An immutable index over `pieces`; building it blocks.

    pieces: by number; those of files that are gone are still among them, and never found. live: how many are not gone.
    """

    def __init__(
        self,
        pieces: Iterable[Piece],
        *,
        after: "Index | None" = None,
        gone: Collection[str] = frozenset(),
        effort: Effort | None = None,
    ) -> None:
        """Index `pieces`; with `after`, what that index holds too, without the pieces of the files `gone`.

        `after` can be searched on as before, but there can be no second index after it, also when this one is not
        finished: it raises `agent.retrieval.effort.GivenUp` when `effort` was given up.
        """
        effort = effort or Effort()
        self._schema: tantivy.Schema = after._schema if after else _schema()
        self._tantivy: tantivy.Index = after._tantivy if after else _tantivy(self._schema)
        self.pieces: tuple[Piece, ...] = after.pieces if after else ()
        # Per piece: its stems and those of its own context, each between spaces; "" when it is gone.
        self.stems: list[str] = list(after.stems) if after else []
        # And those of what its file or chapter is about.
        self.stems_above: list[str] = list(after.stems_above) if after else []
        self.vocabularies: dict[Lang, Vocabulary] = {
            lang: after.vocabularies[lang].copy() if after else Vocabulary(lang, known_words(lang))
            for lang in LANGS
        }
        self.live: int = after.live if after else 0
        added = [piece for piece in pieces if piece.searchable]
        writer = self._tantivy.writer(_HEAP_LARGE if len(added) > _LARGE else _HEAP_SMALL, 1)
        self._forget(gone, writer, effort)
        self._fill(added, writer, effort)
        for vocabulary in self.vocabularies.values():
            vocabulary.settle()
        effort.look()
        writer.commit()
        writer.wait_merging_threads()
        self._tantivy.reload()
        self._searcher = self._tantivy.searcher()
        self._numbers = self._number()

    def _forget(self, gone: Collection[str], writer: tantivy.IndexWriter, effort: Effort) -> None:
        """Take the pieces of files out of the index and of what is known of words."""
        lost: dict[Lang, list[list[str]]] = {lang: [] for lang in LANGS}
        for number, piece in enumerate(self.pieces if gone else ()):
            effort.look()
            if piece.snippet.file in gone and self.stems[number]:
                lost[piece.passage.lang].append((self.stems[number] + self.stems_above[number]).split())
                self.stems[number] = self.stems_above[number] = ""
                self.live -= 1
        for lang, stems in lost.items():
            self.vocabularies[lang].remove(stems)
        for file in gone:
            writer.delete_documents_by_term("file", file)

    def _fill(self, added: Sequence[Piece], writer: tantivy.IndexWriter, effort: Effort) -> None:
        """Write pieces, with one thread and a bounded heap."""
        known: dict[str, list[str]] = {}
        for number, piece in enumerate(added, len(self.pieces)):
            effort.look()
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
            document.add_text("file", piece.snippet.file)
            document.add_text(lang, " ".join(stems[: len(own)] * _OWN + stems[len(own) :]))
            document.add_text(_GRAM_FIELD, f" {' '.join(own + above)} ")
            writer.add_document(document)
        self.pieces += tuple(added)
        self.live += len(added)

    def _number(self) -> "list[array[int]]":
        """Return the number of the piece at each address: one array per segment."""
        numbers = [array("L") for _ in range(self._searcher.num_segments)]
        if not self.live:
            return numbers
        hits = self._searcher.search(
            tantivy.Query.all_query(),
            self.live,
            count=False,
            order_by_field="number",
            order=tantivy.Order.Asc,
        ).hits
        for number, address in hits:
            of = numbers[address.segment_ord]
            if address.doc >= len(of):
                of.extend(bytes(max(len(of), address.doc + 1 - len(of))))
            of[address.doc] = number
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


def _tantivy(schema: tantivy.Schema) -> tantivy.Index:
    """Return an empty index in memory."""
    index = tantivy.Index(schema)
    index.register_tokenizer("gram", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.ngram(GRAM, GRAM)).build())
    return index


def _schema() -> tantivy.Schema:
    """Return the fields: the stems of each language, the 4-grams, and the piece's file and number."""
    builder = tantivy.SchemaBuilder()
    for lang in LANGS:
        builder.add_text_field(lang, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field(_GRAM_FIELD, tokenizer_name="gram", index_option="freq")
    builder.add_text_field("file", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("number", fast=True)
    return builder.build()
