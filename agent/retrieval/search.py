"""Search over one snapshot of the knowledge base, with a floor under which nothing counts as found.

Strategy: the words of the query become concepts (a word, the known words it may be misspelt from or made of, its
synonyms in the query). Both arms of the index propose candidates; their fused score orders them. Coverage, the share
of the concepts that a candidate holds, weighted by how rare each is, says whether a candidate is about the question
at all: BM25 alone cannot, since every query has a best hit. A concept that the index does not know counts as
missing, so a question about something else falls below the floor even when it shares a word with the knowledge base.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.ports.search import Hit, Lang, Passage
from agent.ports.work import RunSync
from agent.text.words import words

from . import load as loading
from . import rewrite as rewriting
from .chunk import chunk
from .fuse import fuse
from .index import LANGS, Index
from .load import Document, Skipped

FLOOR = 0.45
"""Least coverage of the best hit, 0..1: below it the search has found nothing (calibrated in tests/retrieval)."""

NEAR = 0.5
"""Least score of a further hit, as a share of the best one's."""

COVERAGE_WEIGHT = 0.4
"""Share of coverage in a hit's score; the fused rank scores have the rest."""

OTHER_LANGUAGE = 0.7
"""Factor for a hit in another language than the question's."""

SYNONYM = 0.9
"""How surely a synonym stands for the word that was asked."""

_CANDIDATES = 60
_UNKNOWN = 0.8  # weight of a concept the index does not know, where 1 is that of a stem in a single snippet


@dataclass(slots=True)
class _Concept:
    """One thing asked for: the stems in each language that stand for it, with how surely, and its weight."""

    stems: dict[tuple[Lang, str], float] = field(default_factory=dict)
    weight: float = _UNKNOWN

    def held_by(self, stems: str, lang: Lang) -> float:
        """Return how surely (0..1) a piece with these stems holds the concept."""
        return max(
            (sure for (of, stem), sure in self.stems.items() if of == lang and f" {stem} " in stems),
            default=0.0,
        )


class KnowledgeBase:
    """An immutable snapshot that can be searched: implements `agent.ports.search.Retriever`.

    passages: everything in it, in the order of the files. skipped: files that were left out, with the reason.
    """

    def __init__(self, index: Index, passages: Sequence[Passage], skipped: Sequence[Skipped] = ()) -> None:
        self.passages = tuple(passages)
        self.skipped = tuple(skipped)
        self._index = index

    @classmethod
    def build(cls, documents: Iterable[Document], skipped: Sequence[Skipped] = ()) -> "KnowledgeBase":
        """Chunk and index documents. Blocks for the time of it: some ms for a hundred files."""
        pieces = [piece for document in documents for piece in chunk(document.file, document.text)]
        passages = dict.fromkeys(piece.passage for piece in pieces)
        return cls(Index(pieces), tuple(passages), skipped)

    @property
    def snippets(self) -> int:
        """How many snippets can be found."""
        return len(self._index.pieces)

    def rewrite(self, question: str, lang: Lang) -> str:
        """Return the query for a question, spelt with the words of this knowledge base (see `rewrite.rewrite`)."""
        return rewriting.rewrite(question, lang, self._index.vocabularies[lang])

    async def search(self, query: str, lang: Lang, limit: int) -> tuple[Hit, ...]:
        """Return the at most `limit` best hits above the floor, best first; () when nothing is worth citing.

        Any text is a valid query. Runs inline without a checkpoint, in about a millisecond at most.
        """
        return self.find(query, lang, limit)

    def find(self, query: str, lang: Lang, limit: int, floor: float = FLOOR) -> tuple[Hit, ...]:
        """Do what `search` does, synchronously; `floor` is the least coverage, 0..1, and 0 ranks whatever matches."""
        said = rewriting.subject_words(words(query), lang)
        concepts, forms = self._concepts(list(dict.fromkeys(said)), lang)
        if not any(concept.stems for concept in concepts) or limit < 1:
            return ()
        terms = [(of, stem, sure) for concept in concepts for (of, stem), sure in concept.stems.items()]
        by_stems = [(found.piece, found.score) for found in self._index.by_stems(terms, _CANDIDATES)]
        by_grams = [(found.piece, found.score) for found in self._index.by_grams(forms, _CANDIDATES)]
        total = sum(concept.weight for concept in concepts)
        scored: list[tuple[float, float, int]] = []
        for piece, fused in fuse(by_stems, by_grams, lang).items():
            of = self._index.pieces[piece].passage.lang
            stems = self._index.stems[piece]
            coverage = sum(concept.weight * concept.held_by(stems, of) for concept in concepts) / total
            score = COVERAGE_WEIGHT * coverage + (1 - COVERAGE_WEIGHT) * fused
            scored.append((score if of == lang else score * OTHER_LANGUAGE, coverage, piece))
        scored.sort(key=lambda entry: (-entry[0], entry[2]))
        if not scored or max(coverage for _, coverage, _ in scored) < floor:
            return ()
        least = NEAR * scored[0][0] if floor else 0.0
        hits = [(score, piece) for score, coverage, piece in scored if score >= least and coverage >= floor]
        return tuple(self._hit(piece, score) for score, piece in hits[:limit])

    def _concepts(self, said: Sequence[str], lang: Lang) -> tuple[list[_Concept], list[str]]:
        """Return what the words ask for, and the forms of them that the 4-grams look for."""
        table = rewriting.synonyms(lang)
        concepts: list[_Concept] = []
        forms: list[str] = []
        of_group: dict[int, _Concept] = {}
        for word in said:
            variants = self._index.vocabularies[lang].variants(word)
            forms.extend(dict.fromkeys([word, *(variant.word for variant in variants[:2])]))
            group = next(
                (table.of[form] for form in (word, *(v.word for v in variants)) if form in table.of), None
            )
            concept = of_group.get(group) if group is not None else None
            sure = SYNONYM
            if concept is None:
                concept, sure = _Concept(), 1.0
                concepts.append(concept)
                if group is not None:
                    of_group[group] = concept
            for variant in variants:
                self._add(concept, lang, variant.stem, sure * variant.weight)
            for other in LANGS:
                if other != lang and self._index.vocabularies[other].knows(word):
                    self._add(concept, other, self._index.vocabularies[other].stem(word), sure)
        return concepts, forms

    def _add(self, concept: _Concept, lang: Lang, stem: str, sure: float) -> None:
        """Let a stem stand for a concept; the first stem sets how much the concept weighs."""
        if not concept.stems:
            concept.weight = self._index.vocabularies[lang].rarity(stem)
        concept.stems[lang, stem] = max(sure, concept.stems.get((lang, stem), 0.0))

    def _hit(self, number: int, score: float) -> Hit:
        """Return a piece as a hit."""
        piece = self._index.pieces[number]
        return Hit(piece.snippet, piece.passage, score)


async def load_knowledge_base(folder: Path, run_sync: RunSync) -> KnowledgeBase:
    """Read, chunk and index the markdown files below `folder`, off the event loop.

    Raises `agent.errors.UsageError`, one line that names the folder, when there is no markdown in it.
    A cancel waits for the work in the thread and then has no effect but the lost result.
    """

    def build() -> KnowledgeBase:
        loaded = loading.load(folder)
        return KnowledgeBase.build(loaded.documents, loaded.skipped)

    return await run_sync(build)
