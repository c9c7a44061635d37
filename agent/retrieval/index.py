"""The index of one snapshot of the knowledge base, in memory: sections to rank, and the words of their statements.

Strategy: each section is one document of tantivy (BM25) with the headings above it counted twice, in two fields: the
stems of its language, and 4-grams (`agent.lexical.queries`). Beside it stand the words of each statement by number, for
what looks closely.

An index is never changed after it is built: when files change, the next one is built beside it. It takes over
tantivy's segments (a searcher keeps those it began with) and copies the tables in Python, which takes milliseconds.
A number is never given to a second section. BM25's counts still know what is gone, until tantivy merges it away.
"""

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby

import tantivy

from agent.lang import Lang
from agent.lexical.postings import NUMBERS, array_of
from agent.lexical.queries import GRAM_POSTINGS, STEM_POSTINGS, gram_terms, stem_terms
from agent.lexical.searcher import Found, Searcher
from agent.lexical.stems import stem
from agent.ports.search import Passage

from .base import GRAM_FIELD, Base, Section, leads_of, opened
from .effort import Effort
from .terms import FileTerms, SectionTerms, terms_of

_HEADINGS = 2  # times that the words of the headings are counted, where those of the text are counted once
_HEAP_SMALL = 15_000_000  # bytes; tantivy's least for one thread
_HEAP_LARGE = 120_000_000
_LARGE = 2_000  # sections from which the larger heap pays


class Index:
    """An immutable index over `sections`; building it blocks.

    base: what it is made of. sections: by number; None where the file is gone. files: their names, by number. lexicon:
    the words of the sections, which are its documents. langs, file_of: of each section, its language and the number of
    its file, which a search asks of hundreds that it does not look at; None where the file is gone.
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
        self.sections, self.lexicon, self.files = self.base.sections, self.base.lexicon, self.base.files
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
                self.lexicon.settle()
        self._searcher = Searcher(self.base.tantivy)
        self.langs: list[Lang | None] = [
            None if each is None else each.passage.lang for each in self.sections
        ]
        self.file_of = array(NUMBERS, [0 if each is None else each.file for each in self.sections])

    @property
    def live(self) -> int:
        """Return how many sections there are."""
        return self.lexicon.live

    def _forget(self, gone: Collection[str], writer: tantivy.IndexWriter) -> None:
        """Take the sections of files out of the index and of what is known of words."""
        lost = {self.files[file] for file in gone if file in self.files}
        for number, section in enumerate(self.sections if lost else ()):
            if section is not None and section.file in lost:
                self.lexicon.forget(_distinct(section))
                self.sections[number] = None
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
        numbers = self.lexicon.numbers(terms.words)
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
        self.lexicon.add(len(self.sections), _distinct(section))
        self.sections.append(section)

    def by_stems(self, said: Sequence[str], lang: Lang, limit: int) -> Found:
        """Return the best sections for the stems of folded words in one language, and of what surely means them."""
        return self._searcher.best(stem_terms(said, lang, self.lexicon.alike, lang), limit, STEM_POSTINGS)

    def holds(self, word: str, lang: Lang) -> bool:
        """Return whether sections of a language hold a folded word, or another form of it."""
        return self._searcher.frequency((lang, stem(lang, word))) > 0

    def by_grams(self, said: Sequence[str], limit: int) -> Found:
        """Return the best sections for the 4-grams of folded words."""
        return self._searcher.best(gram_terms(said, GRAM_FIELD), limit, GRAM_POSTINGS)


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
