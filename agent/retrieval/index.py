"""The index of one snapshot, in memory: sections to rank, and the words of their statements.

Strategy: each section is one document of tantivy (BM25), with the headings above it counted twice, in two fields: the
stems of its language, and 4-grams (`agent.lexical.queries`). Beside it stand the words of each statement by number,
for the close look at the best sections (`signals`).

An index is never changed after it is built: when files change, the next one is built beside it. The next one takes
over tantivy's segments (a searcher keeps those it began with) and copies the tables in Python, which takes
milliseconds. A number is never given to a second section. BM25's counts include deleted sections until tantivy merges
them away.
"""

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby

import tantivy

from agent.lang import LANGUAGES, Lang
from agent.lexical.postings import NUMBERS, array_of
from agent.lexical.queries import GRAM_POSTINGS, STEM_POSTINGS, gram_terms, stem_terms
from agent.lexical.searcher import RankedDocuments, Searcher
from agent.lexical.stems import StemTable, stem
from agent.ports.search import Passage

from .base import GRAM_FIELD, IndexData, IndexedSection, leads_of, open_section_index
from .effort import Effort
from .terms import FileTerms, SectionTerms, terms_of

_HEADINGS = 2  # how often the words of the headings are counted, against once for those of the text
_HEAP_SMALL = 15_000_000  # bytes; tantivy's minimum for one thread
_HEAP_LARGE = 120_000_000
_LARGE = 2_000  # added sections from which the larger heap pays


class KnowledgeIndex:
    """An immutable index over `sections`; building it blocks.

    `base`: the data of the index. `sections`: by number; None where the file is gone. `files`: file name -> number.
    `lexicon`: the words of the sections, which are its documents. `langs`, `file_of`: the language and the file's
    number of each section, which a search needs of hundreds of sections that it does not look at; the language is
    None where the file is gone.
    """

    def __init__(
        self,
        passages: Iterable[Passage],
        *,
        after: "KnowledgeIndex | None" = None,
        gone: Collection[str] = frozenset(),
        effort: Effort | None = None,
        terms: Mapping[str, FileTerms] | None = None,
        base: IndexData | None = None,
    ) -> None:
        """Index `passages`; with `after`, also the sections of that index, without those of the files in `gone`.

        `passages`: those of one file together. `terms`: the words of files, by file name; those of other files are
        cut here. `base`: the data to build on in place of `after`; it belongs to this index from then on.
        `after` can be searched as before, but no second index can be built on it, even if building this one fails.
        Raises `agent.errors.GivenUp` when `effort` was given up.
        """
        effort = effort or Effort()
        self.base: IndexData = base or (after.base.copy() if after else IndexData(open_section_index()))
        self.sections, self.lexicon, self.files = self.base.sections, self.base.lexicon, self.base.files
        added = list(passages)
        if added or gone:
            writer = self.base.tantivy.writer(_HEAP_LARGE if len(added) > _LARGE else _HEAP_SMALL, 1)
            self._remove_files(gone, writer)
            stems = {lang: StemTable(lang) for lang in LANGUAGES}
            for file, of_file in groupby(added, key=lambda passage: passage.file):
                self._add_file(list(of_file), (terms or {}).get(file), stems, effort, writer)
            effort.check()
            writer.commit()
            writer.wait_merging_threads()
            if after is None:
                self.lexicon.compact()
        self._searcher = Searcher(self.base.tantivy)
        self.langs: list[Lang | None] = [
            None if each is None else each.passage.lang for each in self.sections
        ]
        self.file_of = array(NUMBERS, [0 if each is None else each.file for each in self.sections])

    @property
    def live(self) -> int:
        """Return how many sections there are."""
        return self.lexicon.live

    def _remove_files(self, gone: Collection[str], writer: tantivy.IndexWriter) -> None:
        """Remove the sections of the files `gone` from tantivy, the tables and the lexicon."""
        lost = {self.files[file] for file in gone if file in self.files}
        for number, section in enumerate(self.sections if lost else ()):
            if section is not None and section.file in lost:
                self.lexicon.remove_document(_distinct_words(section))
                self.sections[number] = None
        for file in gone:
            writer.delete_documents_by_term("file", file)

    def _add_file(
        self,
        passages: Sequence[Passage],
        terms: FileTerms | None,
        stems: Mapping[Lang, StemTable],
        effort: Effort,
        writer: tantivy.IndexWriter,
    ) -> None:
        """Index the sections of one file. `terms`: its words, where they were cut before. `stems`: of all files."""
        terms = terms or terms_of(passages, effort)
        numbers = self.lexicon.number_words(terms.words)
        stemmed: dict[Lang, list[str]] = {}
        file = self.files.setdefault(passages[0].file, len(self.files))
        for passage, section_terms in zip(passages, terms.sections, strict=True):
            effort.check()
            lang = passage.lang
            if lang not in stemmed:
                stemmed[lang] = stems[lang].find_stems(terms.words)
            document = tantivy.Document()
            document.add_unsigned("number", len(self.sections))
            document.add_text("file", passage.file)
            counted = array_of(section_terms.headings) * _HEADINGS + array_of(section_terms.said)
            document.add_text(lang, " ".join(map(stemmed[lang].__getitem__, counted)))
            document.add_text(GRAM_FIELD, f" {' '.join(map(terms.words.__getitem__, counted))} ")
            writer.add_document(document)
            self._add_section(_make_section(passage, file, section_terms, numbers))

    def _add_section(self, section: IndexedSection) -> None:
        self.lexicon.add_document(len(self.sections), _distinct_words(section))
        self.sections.append(section)

    def search_stems(self, words: Sequence[str], lang: Lang, limit: int) -> RankedDocuments:
        """Return the best sections by the stems of folded words in `lang`, and of words that surely mean the same."""
        return self._searcher.find_best(
            stem_terms(words, lang, self.lexicon.likeness, lang), limit, STEM_POSTINGS
        )

    def has_word(self, word: str, lang: Lang) -> bool:
        """Tell whether sections in `lang` hold a folded word, or another form of it."""
        return self._searcher.frequency((lang, stem(lang, word))) > 0

    def search_grams(self, words: Sequence[str], limit: int) -> RankedDocuments:
        """Return the best sections by the 4-grams of folded words."""
        return self._searcher.find_best(gram_terms(words, GRAM_FIELD), limit, GRAM_POSTINGS)


def _make_section(passage: Passage, file: int, terms: SectionTerms, numbers: Sequence[int]) -> IndexedSection:
    """Return `passage` with the numbers of the index. `numbers`: the number of each word of its file in the index."""

    def translate(content: bytes) -> bytes:
        return array(NUMBERS, map(numbers.__getitem__, array_of(content))).tobytes() if content else content

    return IndexedSection(
        passage=passage,
        file=file,
        headings_held=array(NUMBERS, dict.fromkeys(array_of(translate(terms.headings)))).tobytes(),
        own_held=translate(terms.own),
        ends_held=terms.ends,
        leads=leads_of(list(map(translate, terms.leads)), terms.led),
        marks=terms.marks,
    )


def _distinct_words(section: IndexedSection) -> set[int]:
    """Return the words that stand anywhere in a section."""
    return {*section.headings, *section.own}.union(*section.leads)
