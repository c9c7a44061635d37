"""The index of one snapshot of the knowledge base, in memory: sections to rank, and the words of their statements.

Strategy: each section is one document of tantivy (BM25) with the headings above it counted twice, in two fields: the
stems of its language, and 4-grams, which find compounds and inflections that stemming misses. Queries are built from
terms, never parsed, so no character of a question can be an operator. The rarest terms of a query are taken first and
the rest dropped when the posting lists together get long: that bounds the time of a search on a large index, and
leaves out only what tells least. Beside it stand the words of each statement by number, for what looks closely.

An index is never changed after it is built: when files change, the next one is built beside it. It takes over
tantivy's segments (a searcher keeps those it began with) and copies the tables in Python, which takes milliseconds.
A number is never given to a second section. BM25's counts still know what is gone, until tantivy merges it away.
"""

import math
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import tantivy

from agent.lang import Lang
from agent.ports.search import Passage
from agent.text.stems import stem
from agent.text.words import replaced

from .base import GRAM, GRAM_FIELD, SCHEMA, Base, Section, leads_of, opened
from .effort import Effort
from .postings import NUMBERS, array_of
from .terms import FileTerms, SectionTerms, terms_of

_HEADINGS = 2  # times that the words of the headings are counted, where those of the text are counted once
_TERMS = 64  # of a query, per arm
_TERMS_KEPT = 8192  # terms of questions that are known, some 0.5 KB each
_HEAP_SMALL = 15_000_000  # bytes; tantivy's least for one thread
_HEAP_LARGE = 120_000_000
_LARGE = 2_000  # sections from which the larger heap pays
_STEM_POSTINGS = 10_000  # entries of posting lists that a search of stems reads
_GRAM_POSTINGS = 12_000  # and one of 4-grams, of which a query has many more
_SCANNED = 8  # entries of a list that are read in the time in which one is looked up in a long one
_SURELY = 0.85  # how surely a word must be stood for by another, such as a synonym, to be looked up by it too
_SATURATED = 2.2  # k1 + 1 of BM25: what a term's weight grows towards


@dataclass(frozen=True, slots=True)
class Found:
    """What one arm found: section number -> BM25 score, best first. most: of a section that is full of every term."""

    scores: Mapping[int, float]
    most: float


class Index:
    """An immutable index over `sections`; building it blocks.

    base: what it is made of. sections: by number; None where the file is gone. files: their names, by number.
    langs, file_of: of each section, its language and the number of its file, which a search asks of hundreds that it
    does not look at; None where the file is gone.
    """

    def __init__(
        self,
        passages: Iterable[Passage],
        *,
        after: "Index | None" = None,
        gone: Collection[str] = frozenset(),
        effort: Effort | None = None,
        terms: Mapping[str, FileTerms] | None = None,
        base: Base | None = None,
    ) -> None:
        """Index `passages`; with `after`, what that index holds too, without the sections of the files `gone`.

        passages: those of one file together. terms: the words of files, by name; those of others are cut here.
        base: what is built on, in place of `after`; it is this index's own from then on.
        `after` can be searched on as before, but there can be no second index after it, also when this one is not
        finished: it raises `agent.errors.GivenUp` when `effort` was given up.
        """
        effort = effort or Effort()
        self.base: Base = base or (after.base.copy() if after else Base(opened()))
        self.sections, self.alike, self.files = self.base.sections, self.base.alike, self.base.files
        added = list(passages)
        if added or gone:
            writer = self.base.tantivy.writer(_HEAP_LARGE if len(added) > _LARGE else _HEAP_SMALL, 1)
            self._forget(gone, writer)
            for file, its in groupby(added, key=lambda passage: passage.file):
                self._add_file(list(its), (terms or {}).get(file), effort, writer)
            effort.look()
            writer.commit()
            writer.wait_merging_threads()
            if after is None:
                self.alike.settle()
                self.base.holders.settle()
        self.base.tantivy.reload()
        self._searcher = self.base.tantivy.searcher()
        self._numbers = self._number()
        self._terms: dict[tuple[str, str], tuple[int, tantivy.Query]] = {}
        self.langs: list[Lang | None] = [
            None if each is None else each.passage.lang for each in self.sections
        ]
        self.file_of = array(NUMBERS, [0 if each is None else each.file for each in self.sections])

    @property
    def live(self) -> int:
        """Return how many sections there are."""
        return self.base.live

    def rarity(self, word: int | None) -> float:
        """Return how much a word tells: the logarithm of how many sections there are to each that holds it."""
        count = self.base.counts[word] if word is not None and word < len(self.base.counts) else 0
        return math.log(1 + self.live / (1 + count))

    def telling(self, word: str, general: int = 0) -> float:
        """Return how much a folded word of a question tells: its rarity here, and what it tells in any text.

        general: how many sections the latter counts as, beside those that there are. In few sections hardly a word is
        seen twice, so that a common one looks as rare as any other. Where nothing is known of words in general, rarity
        is all.
        """
        here = self.rarity(self.alike.number(word))
        anywhere = self.alike.telling(word) if general else None
        if anywhere is None:
            return here
        rarest = math.log(1 + self.live)  # that of a word which no section holds
        return (self.live * here + general * anywhere * rarest) / (self.live + general)

    def spelled_as(self, word: str) -> str:
        """Return the word that a folded word's letters are looked for as.

        Of one that no section holds it is the first one that one holds of those that the operator says it stands for.
        """
        if self._holds(self.alike.number(word)):
            return word
        return next(
            (self.alike.words[each] for each in self.alike.explained(word) if self._holds(each)), word
        )

    def reworded(self, text: str) -> str:
        """Return a text with the words of the documents in place of those that only the operator's synonyms explain."""
        return replaced(text, self.spelled_as)

    def _holds(self, word: int | None) -> bool:
        return word is not None and word < len(self.base.counts) and self.base.counts[word] > 0

    def surest(self, words: Mapping[int, float], among: Iterable[int]) -> dict[int, float]:
        """Return which of some living sections hold a word, anywhere in them, with how sure the first of these is.

        words: how sure each is, the surest first.
        """
        left, found = set(among), dict[int, float]()
        long = len(left) * _SCANNED
        for word, sure in words.items():
            holders = self.base.holders.get(word)
            if len(holders) <= long:
                here = left.intersection(holders)
            else:
                last = len(holders) - 1  # a later index may be adding some
                here = {each for each in left if holders[bisect_left(holders, each, 0, last)] == each}
            if here:
                found |= dict.fromkeys(here, sure)
                left -= here
        return found

    def _forget(self, gone: Collection[str], writer: tantivy.IndexWriter) -> None:
        """Take the sections of files out of the index and of what is known of words."""
        lost = {self.files[file] for file in gone if file in self.files}
        for number, section in enumerate(self.sections if lost else ()):
            if section is not None and section.file in lost:
                for word in _distinct(section):
                    self.base.counts[word] -= 1
                self.sections[number] = None
                self.base.live -= 1
        for file in gone:
            writer.delete_documents_by_term("file", file)

    def _add_file(
        self,
        passages: Sequence[Passage],
        terms: FileTerms | None,
        effort: Effort,
        writer: tantivy.IndexWriter,
    ) -> None:
        """Index the sections of one file. terms: its words, where they were cut before."""
        terms = terms or terms_of(passages, effort)
        numbers = self._known(terms.words)
        stemmed: dict[Lang, list[str]] = {}
        file = self.files.setdefault(passages[0].file, len(self.files))
        for passage, its in zip(passages, terms.sections, strict=True):
            effort.look()
            lang = passage.lang
            if lang not in stemmed:
                stemmed[lang] = [stem(lang, word) for word in terms.words]
            document = tantivy.Document()
            document.add_unsigned("number", len(self.sections))
            document.add_text("file", passage.file)
            counted = array_of(its.headings) * _HEADINGS + array_of(its.said)
            document.add_text(lang, " ".join(map(stemmed[lang].__getitem__, counted)))
            document.add_text(GRAM_FIELD, f" {' '.join(map(terms.words.__getitem__, counted))} ")
            writer.add_document(document)
            self._add(_section(passage, file, its, numbers))

    def _add(self, section: Section) -> None:
        counts, held = self.base.counts, _distinct(section)
        for word in held:
            counts[word] += 1
        self.base.holders.add(held, len(self.sections))
        self.sections.append(section)
        self.base.live += 1

    def _known(self, words: Sequence[str]) -> list[int]:
        """Return the numbers of words; those that are not known are made known."""
        numbers = self.alike.numbers(words)
        self.base.counts.extend([0] * (len(self.alike.words) - len(self.base.counts)))
        return numbers

    def _number(self) -> "list[array[int]]":
        """Return the number of the section at each address: one array per segment."""
        numbers = [array(NUMBERS) for _ in range(self._searcher.num_segments)]
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
                of.extend([0] * max(len(of), address.doc + 1 - len(of)))
            of[address.doc] = number
        return numbers

    def by_stems(self, said: Sequence[str], lang: Lang, limit: int) -> Found:
        """Return the best sections for the stems of folded words in one language, and of what surely means them."""
        known = self.alike.words
        stood_for = [
            known[at] for word in said for at, sure in self.alike.like(word).items() if sure > _SURELY
        ]
        stems = dict.fromkeys(stem(lang, word) for word in (*said, *stood_for))
        return self._search([(lang, each) for each in stems], limit, _STEM_POSTINGS)

    def by_grams(self, said: Sequence[str], limit: int) -> Found:
        """Return the best sections for the 4-grams of folded words."""
        grams = dict.fromkeys(gram for word in said for gram in grams_of(word))
        return self._search([(GRAM_FIELD, gram) for gram in grams], limit, _GRAM_POSTINGS)

    def _search(self, terms: Iterable[tuple[str, str]], limit: int, budget: int) -> Found:
        """Return the best sections for terms (field, term), within the budget of postings."""
        counted = sorted([(self._term(*each)[0], each) for each in terms])
        total = max(1, self._searcher.num_docs)
        clauses: list[tuple[tantivy.Occur, tantivy.Query]] = []
        postings = 0
        most = 0.0
        for frequency, term in counted:
            most += math.log(1 + (total - frequency + 0.5) / (frequency + 0.5)) * _SATURATED
            if not frequency or len(clauses) >= _TERMS:
                continue
            postings += frequency
            if clauses and postings > budget:
                continue
            clauses.append((tantivy.Occur.Should, self._term(*term)[1]))
        if not clauses:
            return Found({}, most)
        hits = self._searcher.search(tantivy.Query.boolean_query(clauses), limit, count=False).hits
        return Found({self._numbers[at.segment_ord][at.doc]: score for score, at in hits}, most)

    def _term(self, field: str, term: str) -> tuple[int, tantivy.Query]:
        """Return in how many sections a term stands, and what finds it; kept, since nothing of it changes."""
        known = self._terms.get((field, term))
        if known is None:
            if len(self._terms) >= _TERMS_KEPT:
                self._terms.clear()
            found = tantivy.Query.term_query(SCHEMA, field, term, index_option="freq")
            known = self._terms[field, term] = self._searcher.doc_freq(field, term), found
        return known


@lru_cache(maxsize=200_000)
def grams_of(word: str) -> tuple[str, ...]:
    """Return the 4-grams of a word between spaces."""
    padded = f" {word} "
    return tuple([padded[at : at + GRAM] for at in range(max(1, len(padded) - GRAM + 1))])


def _section(passage: Passage, file: int, terms: SectionTerms, numbers: Sequence[int]) -> Section:
    """Return a section by an index's numbers. numbers: of the words of its file."""

    def known(content: bytes) -> bytes:
        return array(NUMBERS, map(numbers.__getitem__, array_of(content))).tobytes() if content else content

    return Section(
        passage,
        file,
        array(NUMBERS, dict.fromkeys(array_of(known(terms.headings)))).tobytes(),
        known(terms.own),
        terms.ends,
        leads_of(list(map(known, terms.leads)), terms.led),
        terms.marks,
    )


def _distinct(section: Section) -> set[int]:
    """Return the words that stand anywhere in a section."""
    return {*section.headings, *section.own}.union(*section.leads)
