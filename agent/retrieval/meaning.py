"""The vectors of a knowledge base's sections and words, and of questions, from one embedder.

Strategy: sections are embedded with their headings in the reader's thread, when an index is built; those of files that
did not change keep their rows. A model of sentences takes minutes for a large knowledge base: until all are there,
questions are searched for by their words. A question's vector takes a static embedder 0.1 ms, which is not worth a
thread. Where a served model fails, questions are searched for by their words alone, which is said once.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from agent.errors import EmbeddingFailed
from agent.lexical.alike import WordMeanings
from agent.ports.embed import Embedder, Encoder, Role, Vectors, WordVectors
from agent.ports.search import Lang, Passage

from .index import Index
from .kept import said
from .vectors import SectionVectors

_log = structlog.get_logger("agent.retrieval")


class Encode(Protocol):
    """Embeds texts in a worker thread, as `agent.ports.embed.Encoder.encode` does."""

    def __call__(self, texts: Sequence[str], role: Role, given_up: Callable[[], bool]) -> Vectors:
        """Return one row a text."""
        ...


class Meaning:
    """Makes vectors for one knowledge base after another.

    embedder: of questions. encode: of sections. words: of single words, or None. matrix, meanings: make what ranking
    and likeness look things up in, which is where numpy is. at_once: embeds questions on the event loop instead, which
    only means of word vectors are quick enough for. unpacked: makes rows of bytes, () where they are none.

    of_sentences: whether a model of sentences makes them. unfinished: whether it has more to do than it did last time.
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
        self.unfinished = False
        self._embedder = embedder
        self._encode = encode
        self._at_once = at_once
        self._words = words
        self._matrix = matrix
        self._meanings = meanings
        self._rows: dict[Passage, Vectors] = {}  # put in place whole, since two threads may be at it
        self._unpacked = unpacked
        self._told: str | None = None  # why there are none, while that is so

    def another(self) -> "Meaning | None":
        """Return what makes the vectors of another knowledge base; None where that is a model of sentences.

        One such takes longer than who asks for that knowledge base can wait.
        """
        if self.of_sentences:
            return None
        return Meaning(
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
        """Return which vectors these are: other kind or other weights, other name."""
        return self._embedder.name

    def knows(self, passages: Sequence[Passage]) -> bool:
        """Tell whether all of these sections have vectors."""
        return all(passage in self._rows for passage in passages)

    def packed(self, passages: Sequence[Passage]) -> bytes | None:
        """Return the vectors of a file's sections as bytes; None when one has none."""
        rows = [row for row in map(self._rows.get, passages) if row is not None]
        return b"".join([row.data for row in rows]) if len(rows) == len(passages) else None

    def take(self, passages: Sequence[Passage], content: bytes) -> None:
        """Take over vectors that `packed` made of these sections, read again from the same file."""
        rows = self._unpacked(content, len(passages)) if self._unpacked is not None else ()
        if len(rows) == len(passages) and self._embedder.dimension in (0, *map(len, rows[:1])):
            self._rows.update(zip(passages, rows, strict=True))

    def sections(
        self, index: Index, given_up: Callable[[], bool], most: int | None = None
    ) -> SectionVectors | None:
        """Return the vectors of an index's sections; None when a served model gives none, or not all are there yet.

        most: how many a model of sentences makes, so that nobody waits for it long; what it made is kept for the next
        call, and `unfinished` tells that there is more. Blocks; raises `agent.errors.GivenUp` when told to.
        """
        living = [section.passage for section in index.sections if section is not None]
        rows = self._rows
        new = [passage for passage in living if passage not in rows]
        self.unfinished = self.of_sentences and most is not None and len(new) > most
        if self.unfinished:
            new = new[:most]
        try:  # the texts are held no longer than that takes; "" for the sections that are gone
            found = self._encode([*map(text_of, new), ""], "passage", given_up)
        except EmbeddingFailed as error:
            self.unfinished = False
            self._say(error)
            return None
        if new:
            self._told = None
        rows = dict(zip(new, found[:-1], strict=True)) | {each: rows[each] for each in living if each in rows}
        if self.unfinished:
            self._rows = rows
            return None
        nothing = found[-1]
        made = self._matrix(
            [nothing if section is None else rows[section.passage] for section in index.sections],
            [0 if section is None else section.file for section in index.sections],
        )
        self._rows = {  # each is then there once, and none that is gone
            section.passage: row
            for section, row in zip(index.sections, made.rows, strict=True)
            if section is not None
        }
        return made

    def words(self, known: Sequence[str]) -> WordMeanings | None:
        """Return the vectors of the words that an index knows, where there are any. Blocks."""
        return None if self._words is None else self._meanings(self._words, known)

    def at_once(self, text: str) -> "Vectors | None":
        """Return the vector of a question, where that takes no thread; else None."""
        if self._at_once is None:
            return None
        row: Vectors = self._at_once.encode([text], "question")[0]
        return row

    def embeds(self, lang: Lang) -> bool:
        """Tell whether questions in a language have vectors, unless a server fails."""
        return self._embedder.langs is None or lang in self._embedder.langs

    async def question(self, text: str, lang: Lang) -> "Vectors | None":
        """Return the vector of a question; None when the model does not know its language, or a server gives none.

        A cancel leaves nothing.
        """
        if not self.embeds(lang):
            return None
        if self._at_once is not None:
            return self.at_once(text)
        try:
            row: Vectors = (await self._embedder.embed([text], "question"))[0]
        except EmbeddingFailed as error:
            self._say(error)
            return None
        self._told = None
        return row

    def _say(self, error: EmbeddingFailed) -> None:
        """Log that there are no vectors, once for each reason until there are some."""
        if self._told != str(error):
            self._told = str(error)
            _log.warning("no vectors from the served model, questions find by words alone", why=str(error))


def text_of(passage: Passage) -> str:
    """Return what a section says, its headings first."""
    text = "\n".join(said(passage))
    return f"{' > '.join(passage.headings)}\n{text}"
