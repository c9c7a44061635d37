"""Turns texts into vectors, so that a question finds statements of the same meaning in other words.

Rows are compared by their dot product, which is their cosine since their length is 1. The event loop awaits an
`Embedder`, and the work is done in a thread or by another server. A thread that is already at work calls an `Encoder`,
which computes in this process; a `WordVectors` gives the vectors of single words in the same way. numpy is named here
for the type checker only: a server without vectors does not import it.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from .search import Lang

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"
"""One float32 row for each text: of length 1, or all zeros for a text with nothing to embed."""

TextRole = Literal["question", "passage"]
"""The use of a text: a question, or a passage to be read. Some models were trained with a different prefix for each."""


class _Described(Protocol):
    @property
    def name(self) -> str:
        """Return the name of the vectors: other kind or other weights, other name. Without white space."""
        ...

    @property
    def dimension(self) -> int:
        """Return the length of a row; 0 for a served model until its first answer."""
        ...

    @property
    def langs(self) -> frozenset[Lang] | None:
        """Return the languages that the model was made for; None means any, or that fewer are not known."""
        ...


class Embedder(_Described, Protocol):
    """Turns texts into vectors without blocking the event loop."""

    async def embed(self, texts: Sequence[str], role: TextRole = "passage") -> Vectors:
        """Return one row for each text, in their order: float32, shape (`len(texts)`, `dimension`).

        Of each text the first `EMBED_TEXT_MAX` characters count, or as many tokens as the model reads. A row does not
        depend on the texts beside it, but for rounding. Raises `agent.errors.EmbeddingFailed` when a served model gives
        none. A cancel ends the work within some 50 ms (one layer of one pack of texts) and leaves nothing.
        """
        ...


class Encoder(_Described, Protocol):
    """The blocking form of `Embedder` for worker threads; several threads may call it at a time."""

    def encode(
        self, texts: Sequence[str], role: TextRole = "passage", given_up: Callable[[], bool] = lambda: False
    ) -> Vectors:
        """Return one row for each text, as `Embedder.embed` does.

        `given_up` is asked between texts and between layers; once it returns True, `agent.errors.GivenUp` is raised.
        """
        ...


class QuickEncoder(Encoder, Protocol):
    """An `Encoder` that is quick enough for the event loop."""

    def compare_texts(
        self, row: Vectors, keys: Sequence[Hashable], text_of: Callable[[int], str]
    ) -> Sequence[float]:
        """Return the cosine of some texts with `row`.

        `keys`: one for each text, different from each other; a key always stands for the same text. `text_of`: returns
        a text by its index in `keys`; called for texts that were not compared lately.
        """
        ...


class WordVectors(_Described, Protocol):
    """Vectors of single words, cheap enough for all the words of a knowledge base. Blocks."""

    def embed_words(self, words: Sequence[str], given_up: Callable[[], bool] = lambda: False) -> Vectors:
        """Return one row for each word, in their order: some 10 µs each.

        Raises `agent.errors.GivenUp` once `given_up` returns True.
        """
        ...

    def weigh_word(self, word: str) -> float:
        """Return the informativeness of `word` in any text, 0..1: low for a common word. Some 10 µs."""
        ...

    def hold_words(self, words: Sequence[str]) -> "HeldWords":
        """Return `words` in the form with the least memory, to be compared again and again. Blocks as long as
        `embed_words`.
        """
        ...

    def pack_words(self, words: Sequence[str]) -> bytes:
        """Return the work of `hold_words` for `words`, for `adopt_words`; b"" unless the last call held this list."""
        ...

    def adopt_words(self, words: Sequence[str], content: bytes) -> None:
        """Take over the bytes that `pack_words` made of `words`, so that the next `hold_words` takes less time.

        Bytes that do not fit are ignored.
        """
        ...


class HeldWords(Protocol):
    """The vectors of some words."""

    def cosines(self, row: Vectors) -> Vectors:
        """Return the cosine of each of the words with `row`, in their order."""
        ...
