"""The vectors of a knowledge base's sections and words, and of questions, from one embedder.

Strategy: sections are embedded with their headings in the reader's thread, when an index is built; sections of
unchanged files keep their rows. A local model of sentences embeds each statement too, with its headings and leading
line, and these vectors are kept as halves, since only few are compared with a question. A model of sentences takes
minutes for a large knowledge base: until all rows exist, and for questions in languages that the model was not made
for, a static embedder stands in (`fallback`). A static embedder makes a question's vector in 0.1 ms, which is not worth
a thread, and that of a statement when it is first compared. When a served model fails, its fallback stands in too, and
one line in the log says so; without a fallback, questions are searched by their words alone.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import structlog

from agent.errors import EmbeddingFailed
from agent.lexical.alike import WordMeanings
from agent.ports.embed import Embedder, QuickEncoder, TextRole, Vectors, WordVectors
from agent.ports.search import Lang, Passage, Snippet

from .index import KnowledgeIndex
from .packed_sections import statement_texts
from .vectors import SectionVectors

_WHOLE, _HALF = 4, 2  # bytes of a number in the vector of a section, and in that of a statement

_log = structlog.get_logger("agent.retrieval")


class Encode(Protocol):
    """Embeds texts in a worker thread, as `agent.ports.embed.Encoder.encode` does."""

    def __call__(self, texts: Sequence[str], role: TextRole, given_up: Callable[[], bool]) -> Vectors:
        """Return one row for each of `texts`."""
        ...


class KnowledgeEmbedder:
    """Makes the vectors for successive snapshots of one knowledge base.

    `embedder`: embeds questions. `encode`: embeds sections. `words`: vectors of single words, or None. `matrix`,
    `meanings`: make the structures in which ranking and likeness look vectors up; they need numpy. `at_once`: embeds
    questions on the event loop instead, for which only means of word vectors are quick enough. `unpacked`: makes rows
    of numbers of some bytes each from bytes, or () where they do not fit. `of_statements`: whether a model of
    sentences also embeds each statement beforehand.

    `fallback`: the static embedder to search with where this one cannot; None until one is set.

    `of_sentences`: whether a model of sentences makes the vectors. `is_unfinished`: whether the last call left
    sections without vectors. `on_progress`: called with the number of sections that have vectors, and of all sections,
    after each call with a model of sentences; in the thread of that call.
    """

    def __init__(
        self,
        embedder: Embedder,
        encode: Encode,
        words: WordVectors | None,
        matrix: Callable[[Sequence[Vectors], Sequence[int]], SectionVectors],
        meanings: Callable[[WordVectors, Sequence[str]], WordMeanings],
        at_once: QuickEncoder | None = None,
        unpacked: Callable[[bytes, int, int], Sequence[Vectors]] | None = None,
        of_statements: bool = False,
    ) -> None:
        self.of_sentences = at_once is None
        self.fallback: KnowledgeEmbedder | None = None
        self.of_statements = of_statements
        self.is_unfinished = False
        self.on_progress: Callable[[int, int], None] = lambda done, total: None
        self.embedder = embedder
        self._encode = encode
        self._at_once = at_once
        self._words = words
        self._matrix = matrix
        self._meanings = meanings
        self._rows: dict[Passage, Vectors] = {}  # replaced as a whole, since two threads may use it
        self._statements: dict[
            Passage, Sequence[Any]
        ] = {}  # a row of halves for each statement; replaced likewise
        self._unpacked = unpacked
        self._last_error: str | None = None  # why there are no vectors, while there are none

    def for_another_base(self) -> "KnowledgeEmbedder | None":
        """Return the maker of vectors for another knowledge base.

        A model of sentences takes longer than a turn that needs that knowledge base can wait: its fallback makes them,
        and there are none without a fallback.
        """
        if self.of_sentences:
            return None if self.fallback is None else self.fallback.for_another_base()
        return KnowledgeEmbedder(
            self.embedder,
            self._encode,
            self._words,
            self._matrix,
            self._meanings,
            self._at_once,
            self._unpacked,
            self.of_statements,
        )

    @property
    def model(self) -> str:
        """Return the name of these vectors, which differs for other kinds and other weights."""
        return self.embedder.name

    def knows(self, passages: Sequence[Passage]) -> bool:
        """Tell whether all of these sections have vectors."""
        return all(passage in self._rows for passage in passages)

    def pack_vectors(self, passages: Sequence[Passage]) -> bytes | None:
        """Return the vectors of `passages` and of their statements as bytes; None when one has no vector."""
        rows = [row for row in map(self._rows.get, passages) if row is not None]
        if len(rows) != len(passages):
            return None
        if self.of_statements:
            rows += [row for each in passages for row in self._statements[each]]
        return b"".join([row.tobytes() for row in rows])

    def adopt_vectors(self, passages: Sequence[Passage], content: bytes) -> None:
        """Take over the vectors that `pack_vectors` wrote for these sections."""
        if self._unpacked is None:
            return
        counts = [len(each.held) for each in passages] if self.of_statements else []
        single = len(passages) * _WHOLE + sum(counts) * _HALF  # bytes for each number of a row
        sections = len(content) // single * len(passages) * _WHOLE if single else 0
        rows = self._unpacked(content[:sections], len(passages), _WHOLE)
        halves = self._unpacked(content[sections:], sum(counts), _HALF) if counts else ()
        if len(rows) != len(passages) or len(halves) != sum(counts):
            return
        if self.embedder.dimension not in (0, *map(len, rows[:1])):
            return
        self._rows.update(zip(passages, rows, strict=True))
        at = 0
        for passage, count in zip(passages, counts, strict=False):
            self._statements[passage] = halves[at : at + count]
            at += count

    def embed_sections(
        self, index: KnowledgeIndex, given_up: Callable[[], bool], most: int | None = None
    ) -> SectionVectors | None:
        """Return the vectors of an index's sections; None when a served model gives none, or not all exist yet.

        Sections in a language that the model does not know have vectors of zeros: no question is compared with them.
        `most`: how many sections a model of sentences embeds in one call, which bounds the wait. They are kept for
        the next call, and `is_unfinished` tells that more remain. Blocks; raises `agent.errors.GivenUp` when
        `given_up` says so.
        """
        living = [section.passage for section in index.sections if section is not None]
        rows = self._rows
        new = [passage for passage in living if passage not in rows]
        self.is_unfinished = self.of_sentences and most is not None and len(new) > most
        if self.is_unfinished:
            new = new[:most]
        texts = [embedded_text(passage) if self.embeds(passage.lang) else "" for passage in new]
        stated = [
            embedded_statement(snippet) if self.embeds(passage.lang) else ""
            for passage in (new if self.of_statements else ())
            for snippet in passage.snippets
        ]
        try:  # the texts are freed right after; "" stands for the sections that are gone too
            found = self._encode([*texts, *stated, ""], "passage", given_up)
        except EmbeddingFailed as error:
            self.is_unfinished = False
            self._warn_once(error)
            return None
        if new:
            self._last_error = None
        rows = dict(zip(new, found, strict=False)) | {each: rows[each] for each in living if each in rows}
        if self.of_statements:
            self._add_statements(living, new, found[len(new) : -1])
        if self.of_sentences:
            self.on_progress(len(rows), len(living))
        if self.is_unfinished:
            self._rows = rows
            return None
        nothing = found[-1]
        matrix = self._matrix(
            [nothing if section is None else rows[section.passage] for section in index.sections],
            [0 if section is None else section.file for section in index.sections],
        )
        self._rows = {  # each row once, and none of a section that is gone
            section.passage: row
            for section, row in zip(index.sections, matrix.rows, strict=True)
            if section is not None
        }
        return matrix

    def _add_statements(self, living: Sequence[Passage], new: Sequence[Passage], rows: Vectors) -> None:
        """Hold the vectors of the statements of `new` sections, and drop those of sections that are gone."""
        tables: dict[Passage, Any] = {
            each: self._statements[each] for each in living if each in self._statements
        }
        at = 0
        for passage in new:
            tables[passage] = rows[at : at + len(passage.held)].astype("float16")
            at += len(passage.held)
        self._statements = tables

    def word_meanings(self, known: Sequence[str]) -> WordMeanings | None:
        """Return the vectors of the words that an index knows, or None without word vectors. Blocks."""
        return None if self._words is None else self._meanings(self._words, known)

    def pack_words(self, known: Sequence[str]) -> bytes:
        """Return the work of `word_meanings` for `adopt_words`; b"" unless the last call was given this list."""
        return b"" if self._words is None else self._words.pack_words(known)

    def adopt_words(self, known: Sequence[str], content: bytes) -> None:
        """Take over the bytes that `pack_words` made of the words that an index knows."""
        if self._words is not None:
            self._words.adopt_words(known, content)

    def compare_statements(self, question: Any, statements: Sequence[tuple[Passage, int]]) -> Sequence[float]:
        """Return the cosine of each statement with a question, whose vector is given.

        `statements`: the section and the place in it of each, all different. 0 where a vector would take a thread.
        """
        if self._at_once is not None and statements:

            def text_of(at: int) -> str:
                passage, place = statements[at]
                return embedded_statement(passage.snippets[place])

            return self._at_once.compare_texts(question, statements, text_of)
        tables = self._statements
        return [
            float(tables[passage][place] @ question) if passage in tables else 0.0
            for passage, place in statements
        ]

    def embeds(self, lang: Lang) -> bool:
        """Tell whether texts in `lang` have vectors, unless a server fails."""
        return self.embedder.langs is None or lang in self.embedder.langs

    async def embed_question(self, text: str, lang: Lang) -> "Vectors | None":
        """Return the vector of a question; None when the model does not know its language, or a server gives none.

        A cancel leaves nothing behind.
        """
        if not self.embeds(lang):
            return None
        if self._at_once is not None:
            vector: Vectors = self._at_once.encode([text], "question")[0]
            return vector
        try:
            row: Vectors = (await self.embedder.embed([text], "question"))[0]
        except EmbeddingFailed as error:
            self._warn_once(error)
            return None
        self._last_error = None
        return row

    def _warn_once(self, error: EmbeddingFailed) -> None:
        """Log that there are no vectors, once for each reason until there are some again."""
        if self._last_error != str(error):
            self._last_error = str(error)
            instead = "words alone" if self.fallback is None else "static vectors"
            _log.warning("no vectors from the served model", searched_by=instead, why=str(error))


def embedded_text(passage: Passage) -> str:
    """Return the text by which a section is embedded: its headings, then its statements."""
    text = "\n".join(statement_texts(passage))
    return f"{' > '.join(passage.headings)}\n{text}"


def embedded_statement(snippet: Snippet) -> str:
    """Return the text by which a statement is embedded: its headings, its leading line, then its words."""
    return f"{' > '.join(snippet.headings)}\n{snippet.lead}\n{snippet.plain_text}"
