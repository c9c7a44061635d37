"""Searches one snapshot of the knowledge base, with a floor of confidence below which nothing counts as found.

Strategy: small to find, whole to read. Statements are matched and sections ranked (`ranking`), and the hits are the
statements of the best sections, the likeliest first. The confidence in the first of them decides whether anything was
found: every question has a best hit, and only its confidence shows whether it is about the question. Documents in the
question's own language come first; another language is searched only when nothing is found there, and then for the
question's names and numbers alone, since its other words cannot stand there.

A snapshot also stores the hits of the latest questions (`HitCache`). It never changes, so they never have to be
invalidated, and they are dropped with it.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import exp
from typing import NamedTuple, TypeAlias

from agent.lexical.synonyms import Synonyms
from agent.ports.search import Hit, Lang, Passage, Query, Snippet

from .effort import Effort
from .follow_up import follows, newest_first
from .index import KnowledgeIndex
from .load import Skipped, SourceFile
from .meaning import KnowledgeEmbedder
from .ranking import NO_NEARNESS, QuestionNearness, Ranking, rank_sections
from .ranking_weights import WITH_SENTENCES, WITH_STATEMENTS, WITH_WORDS
from .read import passages_of
from .vectors import SectionVectors

HITS_KEPT = 256  # questions of one snapshot whose hits are kept, each of at most ...
HITS_KEPT_CHARACTERS = 16_000  # ... so many, of the question and of all its statements

_TOPICS = 20  # topics that are returned, of which the caller may drop some

_HitKey: TypeAlias = tuple[str, str, Lang, int]


class QuestionVector(NamedTuple):
    """A question with the vectors that it is searched with.

    `is_chosen`: whether the embedder that the operator chose made its vector, or makes none for its language.
    """

    nearness: QuestionNearness
    is_chosen: bool


class SnapshotVectors:
    """The vectors of one snapshot, by embedder: first of the one that the operator chose, then of its `fallback`.

    The fallback is asked where the first one has not embedded all sections yet, was not made for the language of a
    question, or fails.
    """

    def __init__(self, by_embedder: Sequence[tuple[KnowledgeEmbedder, SectionVectors | None]]) -> None:
        self._by_embedder = by_embedder

    @property
    def is_whole(self) -> bool:
        """Whether the chosen embedder has embedded all sections."""
        return self._by_embedder[0][1] is not None

    async def embed_question(self, text: str, lang: Lang) -> QuestionVector | None:
        """Return the question with its vectors; None where no embedder gives one."""
        is_chosen = True
        for embedder, sections in self._by_embedder:
            vector = None if sections is None else await embedder.embed_question(text, lang)
            if sections is not None and vector is not None:
                return QuestionVector(_make_nearness(embedder, sections, vector), is_chosen)
            is_chosen = is_chosen and not embedder.embeds(lang)
        return None

    def embeds(self, lang: Lang) -> bool:
        """Tell whether questions in `lang` have vectors, unless a server fails."""
        return any(embedder.embeds(lang) for embedder, _ in self._by_embedder)


def _make_nearness(embedder: KnowledgeEmbedder, sections: SectionVectors, vector: object) -> QuestionNearness:
    """Return the nearness of a question to sections and statements, from the vectors that `embedder` made."""
    weights = WITH_SENTENCES if embedder.of_sentences else WITH_WORDS
    if embedder.of_statements:
        weights = WITH_STATEMENTS
    return QuestionNearness(weights, sections, vector, partial(embedder.compare_statements, vector))


class SearchResult(NamedTuple):
    """The result of a search.

    `whole`: the same search would find the same hits; False when a server failed to give a vector.
    """

    hits: tuple[Hit, ...]
    whole: bool


class HitCache:
    """The hits of the `HITS_KEPT` questions that were asked last. For one thread.

    The key of a question is everything that a search depends on: its words, the question before it, its language and
    the limit of statements. Its `scope` makes no difference.
    """

    __slots__ = ("_hits",)

    def __init__(self) -> None:
        # The least recently asked question first.
        self._hits: OrderedDict[_HitKey, tuple[Hit, ...]] = OrderedDict()

    def get(self, query: Query) -> tuple[Hit, ...] | None:
        """Return the hits of a question, or None if they are not stored."""
        key = _key(query)
        hits = self._hits.get(key)
        if hits is not None:
            self._hits.move_to_end(key)
        return hits

    def add(self, query: Query, hits: tuple[Hit, ...]) -> None:
        """Store the hits of a question, unless both exceed `HITS_KEPT_CHARACTERS`; the oldest question is dropped."""
        snippets = [hit.snippet for hit in hits]
        held = sum([len(each.text) + len(each.plain_text) + len(each.lead) for each in snippets])
        if len(query.text) + len(query.before) + held > HITS_KEPT_CHARACTERS:
            return
        self._hits[_key(query)] = hits
        if len(self._hits) > HITS_KEPT:
            self._hits.popitem(last=False)


def _key(query: Query) -> _HitKey:
    return query.text, query.before, query.lang, query.limit


class KnowledgeBase:
    """An immutable snapshot that can be searched: implements `agent.ports.search.Retriever`, and is its own `Library`.

    `passages`: its sections, in the order of the files. `skipped`: files that were left out, with the reason. `hits`:
    stores the hits of the latest questions for `again`; the searches of this class do not look there.
    """

    def __init__(
        self, index: KnowledgeIndex, skipped: Sequence[Skipped] = (), vectors: SnapshotVectors | None = None
    ) -> None:
        self.passages: tuple[Passage, ...] = tuple(
            [section.passage for section in index.sections if section is not None]
        )
        self.skipped = tuple(skipped)
        self.hits = HitCache()
        self._index = index
        self._vectors = vectors
        self._topics: dict[Lang, tuple[str, ...]] = {}
        self._by_file: dict[str, list[Passage]] = {}

    @classmethod
    def build(
        cls,
        sources: Iterable[SourceFile],
        skipped: Sequence[Skipped] = (),
        synonyms: Synonyms | None = None,
        meaning: KnowledgeEmbedder | None = None,
        read: Callable[[SourceFile], tuple[Passage, ...] | Skipped] = passages_of,
    ) -> "KnowledgeBase":
        """Read and index files. Blocks: about a second for a thousand files.

        `read`: returns the sections of a file, or why it is left out.
        """
        passages: list[Passage] = []
        left_out = list(skipped)
        for source in sources:
            found = read(source)
            if isinstance(found, Skipped):
                left_out.append(found)
            else:
                passages += found
        return make_snapshot(KnowledgeIndex(passages), synonyms or Synonyms(), meaning, Effort(), left_out)

    async def load_snapshot(self) -> "KnowledgeBase":
        """Return itself: as an `agent.ports.search.Library` it never changes."""
        return self

    @property
    def has_vectors(self) -> bool:
        """Whether all its sections have vectors of the embedder that the operator chose."""
        return self._vectors is not None and self._vectors.is_whole

    @property
    def statement_count(self) -> int:
        """How many statements can be found."""
        return sum(len(passage.held) for passage in self.passages)

    def of_file(self, file: str) -> Sequence[Passage]:
        """Return the sections of one file, in its order; () for an unknown file."""
        if not self._by_file:
            for passage in self.passages:
                self._by_file.setdefault(passage.file, []).append(passage)
        return self._by_file.get(file, ())

    def topics(self, lang: Lang) -> tuple[str, ...]:
        """Return the top headings of the documents in `lang`, those with the most statements first."""
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

        Any text is a valid query. A question that goes on from the question before it is searched together with it.
        Except for the question's vector, if any, the search runs inline, in a few milliseconds and without a
        checkpoint.
        """
        return (await self.run_search(query)).hits

    async def run_search(self, query: Query) -> SearchResult:
        """Search as `search` does, and tell whether the result is whole."""
        whole = True
        if query.before and follows(query.text, query.lang):
            both = f"{query.before}\n{query.text}"
            vector = await self.embed_question(both, query.lang)
            whole = self._is_whole(vector, query.lang)
            found = self.find_hits(both, query.lang, query.limit, vector=vector)
            found = newest_first(found, query.text, query.lang)
            if found:
                return SearchResult(found, whole)
        vector = await self.embed_question(query.text, query.lang)
        whole = whole and self._is_whole(vector, query.lang)
        return SearchResult(self.find_hits(query.text, query.lang, query.limit, vector=vector), whole)

    async def search_nearest(self, query: Query) -> tuple[Hit, ...]:
        """Return the best hits however unsure they are."""
        vector = await self.embed_question(query.text, query.lang)
        return self.find_hits(query.text, query.lang, query.limit, 0.0, vector)

    def find_hits(
        self,
        query: str,
        lang: Lang,
        limit: int,
        floor: float | None = None,
        vector: QuestionVector | None = None,
    ) -> tuple[Hit, ...]:
        """Search as `search` does, but synchronously and for one question alone.

        `floor`: how sure the best hit must be, 0..1; 0 ranks anything that matches. `vector`: of the question;
        without it, the words alone are searched.
        """
        if limit < 1:
            return ()
        nearness = NO_NEARNESS if vector is None else vector.nearness
        least = nearness.weights.floor if floor is None else floor
        best = rank_sections(query, self._index, lang, nearness, least, statements=limit)
        return () if best is None or best.sure < least else self._make_hits(best, limit)

    async def embed_question(self, question: str, lang: Lang) -> QuestionVector | None:
        """Return a question with its vectors, or None without vectors."""
        if self._vectors is None:
            return None
        return await self._vectors.embed_question(self._index.lexicon.reword_text(question), lang)

    def _is_whole(self, vector: QuestionVector | None, lang: Lang) -> bool:
        """Tell whether a question in `lang` has the vector that it should have, if any."""
        if vector is not None:
            return vector.is_chosen
        return self._vectors is None or not self._vectors.embeds(lang)

    def find_sections(
        self, query: str, lang: Lang, limit: int, vector: QuestionVector | None = None
    ) -> tuple[Passage, ...]:
        """Return the at most `limit` best sections, best first, with no floor. `vector`: as in `find_hits`."""
        nearness = NO_NEARNESS if vector is None else vector.nearness
        ranked = rank_sections(query, self._index, lang, nearness, most=limit)
        found = [self._index.sections[number] for number in ranked.sections[:limit]] if ranked else ()
        return tuple([section.passage for section in found if section is not None])

    def _make_hits(self, ranked: Ranking, limit: int) -> tuple[Hit, ...]:
        """Return the first `limit` statements of a ranking as hits, with scores relative to the best statement."""
        top, sure = ranked.statements[0].score, ranked.sure
        sections = self._index.sections
        snippets: dict[int, Sequence[Snippet]] = {}  # of each section, which may be on a shelf
        found = []
        for each in ranked.statements[:limit]:
            section = sections[each.section]
            if section is not None:
                of_section = snippets.get(each.section)
                if of_section is None:
                    of_section = snippets[each.section] = section.passage.snippets
                found.append(Hit(of_section[each.place], section.passage, sure * exp(each.score - top)))
        return tuple(found)


def make_snapshot(
    index: KnowledgeIndex,
    synonyms: Synonyms,
    meaning: KnowledgeEmbedder | None,
    effort: Effort,
    skipped: Sequence[Skipped] = (),
    most: int | None = None,
) -> KnowledgeBase:
    """Return a snapshot over an index.

    It has the vectors of the fallback of `meaning`, if any, where a served model gives none, where not all are made
    yet, and for languages that `meaning` does not embed.
    `most`: how many sections a model of sentences embeds; None embeds all.
    Blocks; raises `agent.errors.GivenUp` when `effort` was given up. The likeness of the index's words is changed, so
    `synonyms` must be the same for every snapshot over it.
    """

    def given_up() -> bool:
        effort.check()
        return False

    sections = None if meaning is None else meaning.embed_sections(index, given_up, most)
    vectors = None
    if meaning is not None:
        by_embedder = [(meaning, sections)]
        if meaning.fallback is not None:
            by_embedder.append((meaning.fallback, meaning.fallback.embed_sections(index, given_up)))
        if any(each is not None for _, each in by_embedder):
            vectors = SnapshotVectors(by_embedder)
    index.lexicon.likeness.learn(
        synonyms.of, None if meaning is None else meaning.word_meanings(index.lexicon.vocabulary.words)
    )
    return KnowledgeBase(index, skipped, vectors)
