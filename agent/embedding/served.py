"""Vectors from another server, by the call that all of them offer: OpenAI's `POST /v1/embeddings`.

Strategy: `SERVED_BATCH` texts a request, one request after the other, each with its own connection (see
`agent.http_client`) and deadline. Nothing is retried here, since only the caller knows whether it can wait; asking
again is safe. No key, address or text stands in an error, a `repr` or a log. On cancel the connection is closed.
"""

from collections.abc import Callable, Sequence
from hashlib import sha256
from urllib.parse import quote

import httpx
import msgspec
import numpy as np
import trio

from ..errors import EmbeddingFailed
from ..http_client import HttpAnswer, HttpClient
from ..ports.embed import TextRole, Vectors
from ..ports.search import Lang
from .rows import readable, unit

SERVED_BATCH = 32  # texts in one request to a served model
SERVED_TIMEOUT = 30.0  # for one such request and its answer
SERVED_ANSWER_MAX = 16 * 1024 * 1024  # 32 rows of 4,096 numbers, written out, are 3 MiB

_CONNECTIONS = 16  # at once; a further request waits, within its deadline


class _EmbeddingRow(msgspec.Struct):
    index: int
    embedding: list[float]


class _EmbeddingAnswer(msgspec.Struct):
    data: list[_EmbeddingRow]


class ServedEmbedder:
    """The client of an OpenAI-compatible server (an `Embedder`).

    `url`: http or https, up to `/v1` or to `/v1/embeddings`. `model`: its name there. `key`: sent as a bearer token.
    `transport`: makes the transport of one request; `None` is the network.
    """

    langs: frozenset[Lang] | None = None

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None = None,
        transport: Callable[[], httpx.AsyncBaseTransport] | None = None,
    ) -> None:
        url = url if url.rstrip("/").endswith("/embeddings") else url.rstrip("/") + "/embeddings"
        self._model = model
        self.name = f"openai:{quote(model)}:{sha256(url.encode()).hexdigest()[:16]}"
        self.dimension = 0
        bearer = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = HttpClient(url, {"Accept": "application/json", **bearer}, transport)
        self._connections = trio.CapacityLimiter(_CONNECTIONS)

    async def embed(self, texts: Sequence[str], role: TextRole = "passage") -> Vectors:
        """Return one row for each text; empty texts are not sent.

        `role` is ignored, since the call has no field for it.

        Raises `agent.errors.EmbeddingFailed` when a request gets no vectors within `SERVED_TIMEOUT` seconds; the
        vectors of earlier requests are then lost. On cancel the connection is closed.
        """
        asked = [(at, text) for at, text in enumerate(map(readable, texts)) if text]
        parts = [
            await self._ask([text for _, text in asked[start : start + SERVED_BATCH]])
            for start in range(0, len(asked), SERVED_BATCH)
        ]
        rows = np.zeros((len(texts), self.dimension), np.float32)
        if asked:
            rows[[at for at, _ in asked]] = np.concatenate(parts)
        return unit(rows)

    async def _ask(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of at most `SERVED_BATCH` texts, of any length."""
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        with trio.move_on_after(SERVED_TIMEOUT):
            try:
                async with self._connections, self._client.post(msgspec.json.encode(body)) as answer:
                    return self._vectors(await _body(answer), len(texts))
            except httpx.HTTPError as error:
                why = type(error).__name__
                message = f"the server for vectors is not reached ({why})"
                raise EmbeddingFailed("unreachable", message) from None
        raise EmbeddingFailed("timeout", f"the server for vectors gave no answer in {SERVED_TIMEOUT:g} s")

    def _vectors(self, body: bytes, wanted: int) -> Vectors:
        """Return the rows of an answer in the order of their texts, of any length."""
        try:
            found = sorted(msgspec.json.decode(body, type=_EmbeddingAnswer).data, key=lambda row: row.index)
            rows = np.array([row.embedding for row in found], np.float64)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
            raise EmbeddingFailed("bad_answer", "the server for vectors answered something else") from None
        whole = [row.index for row in found] == list(range(wanted)) and rows.ndim == 2 and rows.shape[1] > 0
        if not whole or not np.isfinite(rows).all():
            raise EmbeddingFailed(
                "bad_answer", "the server for vectors did not give one vector for each text"
            )
        if self.dimension not in (0, rows.shape[1]):
            raise EmbeddingFailed(
                "bad_answer",
                f"the server for vectors gave {self.dimension} numbers a text and now {rows.shape[1]}: "
                "its model was changed; restart this server",
            )
        self.dimension = rows.shape[1]
        largest = np.abs(rows).max(axis=1, keepdims=True)  # dividing by it keeps every square finite
        np.divide(rows, largest, out=rows, where=largest > 0)
        return rows.astype(np.float32)


async def _body(answer: HttpAnswer) -> bytes:
    """Return the body of a good answer. Raises `EmbeddingFailed` for another status, and when the body is too long."""
    status = answer.head.status_code
    if status == 429 or status >= 500:
        raise EmbeddingFailed("busy", f"the server for vectors cannot answer now (status {status})")
    if not answer.head.is_success:
        raise EmbeddingFailed(
            "refused",
            f"the server for vectors refused (status {status}): see vectors, vectors-url and AGENT_VECTORS_KEY",
        )
    body = await answer.read_body(SERVED_ANSWER_MAX)
    if body is None:
        raise EmbeddingFailed("bad_answer", f"the server for vectors answered over {SERVED_ANSWER_MAX} bytes")
    return body
