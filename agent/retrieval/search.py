"""Search over one snapshot of the knowledge base, with a floor under which nothing counts as found.

Strategy: small to find, whole to read. Statements are matched and sections ranked (`ranking`), and what is found is the
statements of the best sections, the likeliest first. How sure the first ones are decides whether anything was found:
every question has a best hit, and only that tells whether it is about the question. What the knowledge base says in
the question's own language comes first; another language is looked at only when nothing in its own is found, and then
for the question's names and numbers alone, since its other words cannot stand there (`abroad`).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import exp
from typing import NamedTuple, Protocol

from agent.lexical.synonyms import Synonyms
from agent.ports.search import Hit, Lang, Passage, Query

from .effort import Effort
from .follow import follows, newest_first
from .hits import KeptHits
from .index import Index
from .load import Skipped, Source
from .meaning import Meaning
from .ranking import WITH_SENTENCES, WITH_WORDS, WITHOUT, Ranked, Weights, rank
from .read import passages_of
from .vectors import SectionVectors

_TOPICS = 20  # that are told, of which some may not be fit to be said


class Vectors(Protocol):
    """The vectors of one snapshot."""

    @property
    def sections(self) -> SectionVectors:
        """Return those of its sections."""
        ...

    @property
    def weights(self) -> Weights:
        """Return what signals count with vectors of this kind."""
        ...

    def embeds(self, lang: Lang) -> bool:
        """Tell whether questions in a language have vectors, unless a server fails."""
        ...

    async def question(self, text: str, lang: Lang) -> object:
        """Return that of a question; None when there is none."""
        ...


class _Vectors:
    def __init__(self, sections: SectionVectors, meaning: Meaning) -> None:
        self.sections = sections
        self.weights = WITH_SENTENCES if meaning.of_sentences else WITH_WORDS
        self.embeds = meaning.embeds
        self.question = meaning.question


class Searched(NamedTuple):
    """What a search found. whole: it would find the same again; not so when a server failed to give a vector."""

    hits: tuple[Hit, ...]
    whole: bool


class KnowledgeBase:
    """An immutable snapshot that can be searched: implements `agent.ports.search.Retriever`, and is its own library.

    passages: its sections, in the order of the files. skipped: files that were left out, with the reason. kept: what
    the latest questions found, where whoever asks keeps that (`again`); its own searches do not look there.
    """

    def __init__(self, index: Index, skipped: Sequence[Skipped] = (), vectors: Vectors | None = None) -> None:
        self.passages: tuple[Passage, ...] = tuple(
            [section.passage for section in index.sections if section is not None]
        )
        self.skipped = tuple(skipped)
        self.kept = KeptHits()
        self._index = index
        self._vectors = vectors
        self._topics: dict[Lang, tuple[str, ...]] = {}
        self._by_file: dict[str, list[Passage]] = {}

    @classmethod
    def build(
        cls,
        sources: Iterable[Source],
        skipped: Sequence[Skipped] = (),
        synonyms: Synonyms | None = None,
        meaning: Meaning | None = None,
        read: Callable[[Source], tuple[Passage, ...] | Skipped] = passages_of,
    ) -> "KnowledgeBase":
        """Read and index files. Blocks for the time of it: about a second for a thousand of them.

        read: returns the sections of one.
        """
        passages: list[Passage] = []
        left_out = list(skipped)
        for source in sources:
            found = read(source)
            if isinstance(found, Skipped):
                left_out.append(found)
            else:
                passages += found
        return knowledge_of(Index(passages), synonyms or Synonyms(), meaning, Effort(), left_out)

    async def present(self) -> "KnowledgeBase":
        """Return itself: as a library (`agent.ports.search.Library`), it never changes."""
        return self

    @property
    def embedded(self) -> bool:
        """Whether there are vectors of its sections."""
        return self._vectors is not None

    @property
    def snippets(self) -> int:
        """How many statements can be found."""
        return sum(len(passage.held) for passage in self.passages)

    def of_file(self, file: str) -> Sequence[Passage]:
        """Return the sections of one file, in its order; () for what is no file of the snapshot."""
        if not self._by_file:
            for passage in self.passages:
                self._by_file.setdefault(passage.file, []).append(passage)
        return self._by_file.get(file, ())

    def topics(self, lang: Lang) -> tuple[str, ...]:
        """Return the top headings of what is in a language, those with the most statements first."""
        found = self._topics.get(lang)
        if found is None:
            counted: Counter[str] = Counter()
            for passage in self.passages:
                if passage.lang == lang and passage.headings:
                    counted[passage.headings[0]] += len(passage.held)
            found = self._topics[lang] = tuple([topic for topic, _ in counted.most_common(_TOPICS)])
        return found

    async def search(self, query: Query) -> tuple[Hit, ...]:
        """Return the best statements, best first; () when nothing is worth citing.

        Any text is a valid query. One that goes on from the question before it is looked for together with that. But
        for the question's vector, where there is one, it runs inline, in a few milliseconds and without a checkpoint.
        """
        return (await self.searched(query)).hits

    async def searched(self, query: Query) -> Searched:
        """Do what `search` does, and tell whether it is whole."""
        whole = True
        if query.before and follows(query.text, query.lang):
            both = f"{query.before}\n{query.text}"
            vector = await self.vector(both, query.lang)
            whole = self._is_whole(vector, query.lang)
            found = self.find(both, query.lang, query.limit, vector=vector)
            found = newest_first(found, query.text, query.lang)
            if found:
                return Searched(found, whole)
        vector = await self.vector(query.text, query.lang)
        whole = whole and self._is_whole(vector, query.lang)
        return Searched(self.find(query.text, query.lang, query.limit, vector=vector), whole)

    async def nearest(self, query: Query) -> tuple[Hit, ...]:
        """Return what a search comes nearest to, however unsure."""
        vector = await self.vector(query.text, query.lang)
        return self.find(query.text, query.lang, query.limit, 0.0, vector)

    def find(
        self, query: str, lang: Lang, limit: int, floor: float | None = None, vector: object = None
    ) -> tuple[Hit, ...]:
        """Do what `search` does, synchronously.

        floor: how sure the best one must be, 0..1; 0 ranks whatever matches. vector: the question's; without it the
        words alone are looked for.
        """
        if limit < 1:
            return ()
        weights, sections = self._known(vector)
        least = weights.floor if floor is None else floor
        best = rank(query, self._index, lang, weights, sections, vector, least)
        return () if best is None or best.sure < least else self._hits(best, limit)

    async def vector(self, question: str, lang: Lang) -> object:
        """Return the vector of a question; None where there are none."""
        if self._vectors is None:
            return None
        return await self._vectors.question(self._index.lexicon.reworded(question), lang)

    def _is_whole(self, vector: object, lang: Lang) -> bool:
        """Tell whether a question in a language has the vector that it is to have, if any."""
        return vector is not None or self._vectors is None or not self._vectors.embeds(lang)

    def sections(self, query: str, lang: Lang, limit: int, vector: object = None) -> tuple[Passage, ...]:
        """Return the at most `limit` best sections, best first, whatever the floor. vector: as in `find`."""
        ranked = rank(query, self._index, lang, *self._known(vector), vector, most=limit)
        found = [self._index.sections[number] for number in ranked.sections[:limit]] if ranked else ()
        return tuple([section.passage for section in found if section is not None])

    def _known(self, vector: object) -> tuple[Weights, SectionVectors | None]:
        """Return what signals count, and the vectors of sections, for a question with this vector or none."""
        if self._vectors is None or vector is None:
            return WITHOUT, None
        return self._vectors.weights, self._vectors.sections

    def _hits(self, ranked: Ranked, limit: int) -> tuple[Hit, ...]:
        top = ranked.statements[0].score
        found = []
        for statement in ranked.statements[:limit]:
            section = self._index.sections[statement.section]
            if section is not None:
                snippet = section.passage.snippets[statement.place]
                found.append(Hit(snippet, section.passage, ranked.sure * exp(statement.score - top)))
        return tuple(found)


def knowledge_of(
    index: Index,
    synonyms: Synonyms,
    meaning: Meaning | None,
    effort: Effort,
    skipped: Sequence[Skipped] = (),
    most: int | None = None,
) -> KnowledgeBase:
    """Return a snapshot over an index, without vectors where a served model gives none, or not all are made yet.

    most: sections that a model of sentences embeds; None is all of them.
    Blocks; raises `agent.errors.GivenUp` when `effort` was given up. What the index knows of likeness is changed, so
    `synonyms` must be those of every snapshot over it.
    """

    def given_up() -> bool:
        effort.look()
        return False

    sections = None if meaning is None else meaning.sections(index, given_up, most)
    vectors = None if meaning is None or sections is None else _Vectors(sections, meaning)
    index.lexicon.alike.learn(
        synonyms.of, None if meaning is None else meaning.words(index.lexicon.vocabulary.words)
    )
    return KnowledgeBase(index, skipped, vectors)
