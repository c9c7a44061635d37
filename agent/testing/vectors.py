"""An embedder without a model: texts that share words are near each other, and other texts are not.

For tests of vectors: the same in every process, no weights, some 5 µs a word. It can be made slow and broken.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b

import numpy as np
import trio

from ..errors import EmbeddingFailed
from ..ports.embed import TextRole, Vectors
from ..ports.search import Lang


class WordsEmbedder:
    """Sums one random direction for each word of a text (implements `agent.ports.embed.Embedder`).

    `dimension`: numbers in a row; two unrelated words then have a cosine of about 1 / sqrt(`dimension`). `langs`: the
    languages that it claims. `delay`: seconds before each answer. `fails`: the exception that ends each further call,
    after the delay; `None` works. `asked`: every embedded text, in order. Attributes may be changed between calls.
    """

    def __init__(self, dimension: int = 64, langs: frozenset[Lang] | None = None, delay: float = 0.0) -> None:
        self.name = f"words:{dimension}"
        self.dimension = dimension
        self.langs = langs
        self.delay = delay
        self.fails: EmbeddingFailed | None = None
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str], role: TextRole = "passage") -> Vectors:
        """Return one row a text; letters' case does not count. Cancelled, nothing is recorded."""
        await trio.sleep(self.delay)
        return self.encode(texts, role)

    def encode(
        self, texts: Sequence[str], role: TextRole = "passage", given_up: Callable[[], bool] = lambda: False
    ) -> Vectors:
        """Return the rows of `embed` at once, for a thread (`agent.ports.embed.Encoder`)."""
        given_up()
        self.asked += texts
        if self.fails is not None:
            raise self.fails
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row += self._direction(word)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        np.divide(rows, lengths, out=rows, where=lengths > 0)
        return rows

    def _direction(self, word: str) -> Vectors:
        bits = b"".join(
            blake2b(word.encode("utf-8", "replace"), salt=at.to_bytes(2)).digest()
            for at in range(-(-self.dimension // 512))
        )
        signs = np.unpackbits(np.frombuffer(bits, np.uint8))[: self.dimension]
        return signs.astype(np.float32) * np.float32(2) - np.float32(1)
