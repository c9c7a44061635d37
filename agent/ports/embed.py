"""The port behind which texts become vectors, so that a question finds what says the same in other words.

Rows are compared by their dot product, which is their cosine since their length is 1. An `Embedder` is what the event
loop awaits, whether the work is done in a thread or by another server. What works in this process can also be called
from a thread that is at it already (`Encoder`), and the vectors of single words are an `Encoder`'s own (`WordVectors`).
numpy is named here for the type checker only: who has no vectors does not import it.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from .search import Lang

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"
"""One row a text, of float32: of length 1, or all zeros for a text in which there is nothing to embed."""

Role = Literal["question", "passage"]
"""What a text is: asked, or read. Some models were trained with other words put before the one and the other."""


class _Described(Protocol):
    @property
    def name(self) -> str:
        """Return which vectors these are: other kind or other weights, other name. Without white space."""
        ...

    @property
    def dimension(self) -> int:
        """Return how many numbers a row has; 0 while only a served model knows, until it first answered."""
        ...

    @property
    def langs(self) -> frozenset[Lang] | None:
        """Return the languages whose texts it was made for; None is any, or not known to be less."""
        ...


class Embedder(_Described, Protocol):
    """Turns texts into vectors, and never keeps the event loop waiting."""

    async def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        """Return one row a text, in their order: float32, shape (len(texts), dimension).

        Of each text the first EMBED_TEXT_MAX characters count, or as many tokens as the model reads. A row does not
        depend on the texts beside it, but for rounding. Raises `agent.errors.EmbeddingFailed` when a served model
        gives none. A cancel ends the work within some 50 ms (one layer of one pack of texts) and leaves nothing.
        """
        ...


class Encoder(_Described, Protocol):
    """The same for a worker thread: blocks, and may be called by several threads at a time."""

    def encode(
        self, texts: Sequence[str], role: Role = "passage", given_up: Callable[[], bool] = lambda: False
    ) -> Vectors:
        """Return one row a text, as `Embedder.embed` does.

        given_up: asked between texts and between layers; once it says True, `agent.errors.GivenUp` is raised.
        """
        ...


class WordVectors(_Described, Protocol):
    """Vectors of single words, cheap enough for all the words of a knowledge base. Blocks."""

    def words(self, words: Sequence[str], given_up: Callable[[], bool] = lambda: False) -> Vectors:
        """Return one row a word, in their order: some 10 µs each. Raises `agent.errors.GivenUp` when told to."""
        ...

    def telling(self, word: str) -> float:
        """Return how much a word tells in any text, 0..1: little where it is a common one. Some 10 µs."""
        ...

    def held(self, words: Sequence[str]) -> "HeldWords":
        """Return words to be compared with others again and again, in the least memory. As blocking as `words`."""
        ...


class HeldWords(Protocol):
    """The vectors of some words."""

    def cosines(self, row: Vectors) -> Vectors:
        """Return the cosine of each of the words with a row, in their order."""
        ...
