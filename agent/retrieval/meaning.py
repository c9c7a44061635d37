"""The vectors of a knowledge base's sections and words, and of questions, from one embedder.

Strategy: sections are embedded with their headings in the reader's thread, when an index is built; sections of
unchanged files keep their rows. A model of sentences takes minutes for a large knowledge base: until all rows exist,
questions are searched by their words. A static embedder makes a question's vector in 0.1 ms, which is not worth a
thread. When a served model fails, questions are searched by their words alone, and one line in the log says so.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import structlog

from agent.errors import EmbeddingFailed
from agent.lexical.alike import WordMeanings
from agent.ports.embed import Embedder, Encoder, TextRole, Vectors, WordVectors
from agent.ports.search import Lang, Passage, Snippet

from .index import KnowledgeIndex
from .packed_sections import statement_texts
from .vectors import SectionVectors

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
    from bytes, or () where they do not fit.

    `of_sentences`: whether a model of sentences makes the vectors. `is_unfinished`: whether the last call left
    sections without vectors.
    """

    def __init__(
        self,
        embedder: Embedder,
        encode: Encode,
        words: WordVectors | None,
        matrix: Callable[[Sequence[Vectors], Sequence[int]], SectionVectors],
        meanings: Callable[[WordVectors, Sequence[str]], WordMeanings],
        at_once: Encoder | None = None,
        unpacked: Callable[[bytes, int], Sequence[Vectors]] | None = None,
    ) -> None:
        self.of_sentences = at_once is None
        self.is_unfinished = False
        self._embedder = embedder
        self._encode = encode
        self._at_once = at_once
        self._words = words
        self._matrix = matrix
        self._meanings = meanings
        self._rows: dict[Passage, Vectors] = {}  # replaced as a whole, since two threads may use it
        self._unpacked = unpacked
        self._last_error: str | None = None  # why there are no vectors, while there are none

    def for_another_base(self) -> "KnowledgeEmbedder | None":
        """Return the maker of vectors for another knowledge base; None with a model of sentences.

        A model of sentences takes longer than a turn that needs that knowledge base can wait.
        """
        if self.of_sentences:
            return None
        return KnowledgeEmbedder(
            self._embedder,
            self._encode,
            self._words,
            self._matrix,
            self._meanings,
            self._at_once,
            self._unpacked,
        )

    @property
    def model(self) -> str:
        """Return the name of these vectors, which differs for other kinds and other weights."""
        return self._embedder.name

    def knows(self, passages: Sequence[Passage]) -> bool:
        """Tell whether all of these sections have vectors."""
        return all(passage in self._rows for passage in passages)

    def pack_vectors(self, passages: Sequence[Passage]) -> bytes | None:
        """Return the vectors of `passages` as bytes; None when one has no vector."""
        rows = [row for row in map(self._rows.get, passages) if row is not None]
        return b"".join([row.data for row in rows]) if len(rows) == len(passages) else None

    def adopt_vectors(self, passages: Sequence[Passage], content: bytes) -> None:
        """Take over the vectors that `pack_vectors` wrote for these sections."""
        rows = self._unpacked(content, len(passages)) if self._unpacked is not None else ()
        if len(rows) == len(passages) and self._embedder.dimension in (0, *map(len, rows[:1])):
            self._rows.update(zip(passages, rows, strict=True))

    def embed_sections(
        self, index: KnowledgeIndex, given_up: Callable[[], bool], most: int | None = None
    ) -> SectionVectors | None:
        """Return the vectors of an index's sections; None when a served model gives none, or not all exist yet.

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
        try:  # the texts are freed right after; "" stands for the sections that are gone
            found = self._encode([*map(embedded_text, new), ""], "passage", given_up)
        except EmbeddingFailed as error:
            self.is_unfinished = False
            self._warn_once(error)
            return None
        if new:
            self._last_error = None
        rows = dict(zip(new, found[:-1], strict=True)) | {each: rows[each] for each in living if each in rows}
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

    def word_meanings(self, known: Sequence[str]) -> WordMeanings | None:
        """Return the vectors of the words that an index knows, or None without word vectors. Blocks."""
        return None if self._words is None else self._meanings(self._words, known)

    def embed_at_once(self, text: str) -> "Vectors | None":
        """Return the vector of a question if that takes no thread, else None."""
        if self._at_once is None:
            return None
        row: Vectors = self._at_once.encode([text], "question")[0]
        return row

    def compare_statements(self, question: Any, statements: Sequence[Snippet]) -> Sequence[float]:
        """Return the cosine of each statement with a question, whose vector is given; 0 where that takes a thread."""
        if self._at_once is None or not statements:
            return [0.0] * len(statements)
        rows = self._at_once.encode([*map(embedded_statement, statements)], "passage")
        cosines: list[float] = (rows @ question).tolist()
        return cosines

    def embeds(self, lang: Lang) -> bool:
        """Tell whether questions in `lang` have vectors, unless a server fails."""
        return self._embedder.langs is None or lang in self._embedder.langs

    async def embed_question(self, text: str, lang: Lang) -> "Vectors | None":
        """Return the vector of a question; None when the model does not know its language, or a server gives none.

        A cancel leaves nothing behind.
        """
        if not self.embeds(lang):
            return None
        if self._at_once is not None:
            return self.embed_at_once(text)
        try:
            row: Vectors = (await self._embedder.embed([text], "question"))[0]
        except EmbeddingFailed as error:
            self._warn_once(error)
            return None
        self._last_error = None
        return row

    def _warn_once(self, error: EmbeddingFailed) -> None:
        """Log that there are no vectors, once for each reason until there are some again."""
        if self._last_error != str(error):
            self._last_error = str(error)
            _log.warning("no vectors from the served model, searching by words alone", why=str(error))


def embedded_text(passage: Passage) -> str:
    """Return the text by which a section is embedded: its headings, then its statements."""
    text = "\n".join(statement_texts(passage))
    return f"{' > '.join(passage.headings)}\n{text}"


def embedded_statement(snippet: Snippet) -> str:
    """Return the text by which a statement is embedded: its headings, its leading line, then its words."""
    return f"{' > '.join(snippet.headings)}\n{snippet.lead}\n{snippet.said}"
