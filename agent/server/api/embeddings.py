"""Vectors of texts over HTTP: `POST /v1/embeddings`, from the model that embeds the documents.

One request is embedded at a time, because a model of sentences needs seconds for many texts and the searches of other
clients use the same threads. A client that leaves ends its own.
"""

from base64 import b64encode
from collections.abc import Awaitable, Callable

import trio

from ...errors import BadRequest, EmbeddingFailed
from ...ports.embed import Embedder
from ...protocol.embeddings import EmbeddingTexts, encode_embeddings
from ..request_head import Refusal
from ..responses import Answer
from .answers import answer_refusal

_OFF = "This server makes no vectors: start it with --vectors static, or another kind than off."
_FAILED = "The model of the vectors gave none; try again in a moment."
_TOO_SLOW = "The vectors took too long; send fewer texts, or try again in a moment."


class EmbeddingService:
    """Answers requests for vectors.

    `embedder`: waits until the model is opened, and returns it; None where vectors are off. `limit`: seconds for one
    request.
    """

    def __init__(self, embedder: Callable[[], Awaitable[Embedder | None]], limit: float) -> None:
        self._embedder = embedder
        self._limit = limit
        self._busy = trio.Lock()

    async def answer(self, sent: EmbeddingTexts) -> Answer:
        """Return the vectors, or the error that there are none. Raises `BadRequest`. Cancelled, it leaves nothing."""
        with trio.move_on_after(self._limit):
            embedder = await self._embedder()
            if embedder is None:
                return answer_refusal(Refusal(404, _OFF, code="vectors_off"), "openai")
            try:
                async with self._busy:
                    rows = await embedder.embed(sent.texts)
            except EmbeddingFailed:
                return answer_refusal(Refusal(502, _FAILED, code="vectors_failed"), "openai")
            if sent.dimensions not in (None, rows.shape[1]):
                words = f"Leave out dimensions, or set it to {rows.shape[1]}: the vectors have that length."
                raise BadRequest("bad_dimensions", words)
            written = [b64encode(row.astype("<f4").tobytes()).decode() for row in rows]
            return Answer(
                status=200,
                content=encode_embeddings(written if sent.as_base64 else rows.tolist(), embedder.name),
            )
        return answer_refusal(Refusal(504, _TOO_SLOW, code="timeout"), "openai")
