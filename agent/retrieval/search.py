"""Search over one snapshot of the knowledge base, with a floor under which nothing counts as found.

Strategy: the words of the query become concepts (a word, the known words it may be misspelt from or made of, its
synonyms in the query). Both arms of the index propose candidates; their fused score orders them. Coverage, the share
of the concepts that a candidate holds, weighted by how rare each is, says whether a candidate is about the question
at all: BM25 alone cannot, since every query has a best hit. A concept that the index does not know counts as
missing, so a question about something else falls below the floor even when it shares a word with the knowledge base.
"""

from collections.abc import Iterable, Sequence

from agent.ports.search import Hit, Lang, Passage
from agent.text.words import words

from . import rewrite as rewriting
from .chunk import Piece, pieces_of
from .fuse import fuse
from .index import LANGS, Index
from .load import Document, Skipped
from .tables import generic_words, stop_words, synonyms

FLOOR = 0.5
"""Least coverage of the best hit, 0..1: below it the search has found nothing (calibrated in tests/retrieval)."""

LEAST = 0.2
"""Floor of the floor, for the longest questions."""

NEAR = 0.4
"""Least score, and least coverage, of a further hit as a share of the best one's."""

COVERAGE_WEIGHT = 0.4
"""Share of coverage in a hit's score; the fused rank scores have the rest."""

OTHER_LANGUAGE = 0.7
"""Factor for a hit in another language than the question's."""

SYNONYM = 0.9
"""How surely a synonym stands for the word that was asked."""

_SHORT = 3  # concepts of a question up to which the floor stands
_EASING = 0.1  # and how much it sinks for each further one: a long question says more than it asks
_SURE = 0.7  # of a misspelt word, to ask for the synonyms of what it may be
_COMPOUNDED = 5  # letters of a stem that is also found as the beginning or end of a longer one
_IN_COMPOUND = 0.8  # and how surely it is then
_TELLING = 3  # letters of an unknown word that can be a subject
_WORDS = 24  # of a query; `rewrite` makes at most half as many
_ABOVE = 0.8  # how surely a piece is about what only its file or chapter says it is about
_CANDIDATES = 32  # pieces that each arm proposes, and that are looked at closely
_SYNONYM_GRAMS = 0.3  # weight of the 4-grams of a synonym
_UNKNOWN_GENERIC = 0.4  # weight of an unknown word that goes with any subject
_KNOWN_GENERIC = 0.8  # most weight of one that it does know
_UNKNOWN = 1.05  # weight of a concept the index does not know, where 1 is that of a stem in a single snippet


class _Concept:
    """One thing asked for: the stems in each language that stand for it, with how surely, and its weight."""

    __slots__ = ("most", "stems", "weight")

    def __init__(self, generic: bool) -> None:
        self.stems: dict[tuple[Lang, str], float] = {}
        self.weight = _UNKNOWN_GENERIC if generic else _UNKNOWN
        self.most = _KNOWN_GENERIC if generic else 1.0

    def add(self, lang: Lang, stem: str, sure: float, rarity: float) -> None:
        """Let a stem stand for the concept; the first one that does so surely sets how much the concept weighs."""
        if sure >= SYNONYM and max(self.stems.values(), default=0.0) < SYNONYM:
            self.weight = min(rarity, self.most)
        self.stems[lang, stem] = max(sure, self.stems.get((lang, stem), 0.0))

    def needles(self, lang: Lang) -> list[tuple[float, str, bool]]:
        """Return the stems of one language, each between spaces, the surest first, and whether compounds hold it."""
        found = [
            (sure, f" {stem} ", len(stem) >= _COMPOUNDED)
            for (of, stem), sure in self.stems.items()
            if of == lang
        ]
        found.sort(key=lambda needle: -needle[0])
        return found


def _held(needles: Sequence[tuple[float, str, bool]], own: str, above: str) -> float:
    """Return how surely (0..1) a piece holds a concept: `own` stems, those `above` it, each between spaces."""
    best = 0.0
    for sure, needle, compounded in needles:
        if sure <= best:
            break
        if needle in own:
            return sure
        if compounded and (needle[:-1] in own or needle[1:] in own):
            best = max(best, sure * _IN_COMPOUND)
        elif needle in above:
            best = max(best, sure * _ABOVE)
    return best


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
        read_tables()
        pieces: list[Piece] = []
        left_out = list(skipped)
        for document in documents:
            cut = pieces_of(document)
            if isinstance(cut, Skipped):
                left_out.append(cut)
            else:
                pieces += cut
        passages = dict.fromkeys(piece.passage for piece in pieces)
        return cls(Index(pieces), tuple(passages), left_out)

    @property
    def snippets(self) -> int:
        """How many snippets can be found."""
        return self._index.live

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
        said = dict.fromkeys(rewriting.subject_words(words(query), lang))
        concepts, forms = self._concepts(list(said)[:_WORDS], lang)
        if not any(concept.stems for concept in concepts) or limit < 1:
            return ()
        by_stems = [
            (found.piece, found.score)
            for found in self._index.by_stems([concept.stems for concept in concepts], _CANDIDATES)
        ]
        by_grams = [(found.piece, found.score) for found in self._index.by_grams(forms, _CANDIDATES)]
        fused = fuse(by_stems, by_grams, lang)
        needles = {of: [(concept.weight, concept.needles(of)) for concept in concepts] for of in LANGS}
        total = sum(concept.weight for concept in concepts)
        scored: list[tuple[float, float, int]] = []
        for piece in sorted(fused, key=lambda piece: (-fused[piece], piece))[:_CANDIDATES]:
            of = self._index.pieces[piece].passage.lang
            own, above = self._index.stems[piece], self._index.stems_above[piece]
            held = sum(weight * _held(stems, own, above) for weight, stems in needles[of] if stems)
            score = COVERAGE_WEIGHT * held / total + (1 - COVERAGE_WEIGHT) * fused[piece]
            scored.append((score if of == lang else score * OTHER_LANGUAGE, held / total, piece))
        scored.sort(key=lambda entry: (-entry[0], entry[2]))
        if floor:
            scored = _worth_citing(scored, floor - _EASING * max(0, len(concepts) - _SHORT))
        return tuple(self._hit(piece, score) for score, _, piece in scored[:limit])

    def _concepts(self, said: Sequence[str], lang: Lang) -> tuple[list[_Concept], dict[str, float]]:
        """Return what the words ask for, and the forms of them that the 4-grams look for."""
        table, generic = synonyms(lang), generic_words(lang)
        vocabulary = self._index.vocabularies[lang]
        concepts: list[_Concept] = []
        forms: dict[str, float] = {}
        of_group: dict[int, _Concept] = {}
        guessed = 0
        for word in said:
            known_word = vocabulary.knows(word)
            guessed += not known_word
            variants = vocabulary.variants(word) if known_word or guessed <= rewriting.GUESSED else ()
            if len(word) < _TELLING and not variants:
                continue
            asked = (word, *(variant.word for variant in variants if variant.weight >= _SURE))
            group = next((found for form in asked if (found := table.group(form)) is not None), None)
            known = of_group.get(group) if group is not None else None
            concept = known or _Concept(word in generic or word.isdigit())
            sure = SYNONYM if known else 1.0
            for form in (word, *(variant.word for variant in variants[:2])):
                forms.setdefault(form, _SYNONYM_GRAMS if known else 1.0)
            for variant in variants:
                concept.add(lang, variant.stem, sure * variant.weight, vocabulary.rarity(variant.stem))
            for other, words_of in self._index.vocabularies.items():
                if other != lang and words_of.knows(word):
                    concept.add(other, stem := words_of.stem(word), sure, words_of.rarity(stem))
            if known is None:
                concepts.append(concept)
                if group is not None:
                    of_group[group] = concept
                    for synonym in table.groups[group]:
                        if vocabulary.knows(synonym):
                            stem = vocabulary.stem(synonym)
                            concept.add(lang, stem, SYNONYM, vocabulary.rarity(stem))
        return concepts, forms

    def _hit(self, number: int, score: float) -> Hit:
        """Return a piece as a hit."""
        piece = self._index.pieces[number]
        return Hit(piece.snippet, piece.passage, score)


def _worth_citing(scored: Sequence[tuple[float, float, int]], floor: float) -> list[tuple[float, float, int]]:
    """Return the hits (score, coverage, piece) that are about the question: none, or the best and those near it."""
    best = max((coverage for _, coverage, _ in scored), default=0.0)
    if not scored or best < max(floor, LEAST):
        return []
    return [hit for hit in scored if hit[0] >= NEAR * scored[0][0] and hit[1] >= NEAR * best]


def read_tables() -> None:
    """Read the word lists, where blocking is allowed; a search finds them read."""
    for lang in LANGS:
        stop_words(lang)
        synonyms(lang)
        generic_words(lang)
