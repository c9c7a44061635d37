"""Reads requests for the vectors of texts, and writes them, as OpenAI's `/v1/embeddings`; pure.

    POST /v1/embeddings  {"input": "..." or ["...", ...], "encoding_format": "float" or "base64"}
    -> {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [...]}], "model"}

With `base64`, a vector is the base64 text of its numbers as little-endian float32. The `model` of a request is ignored,
that of an answer names the vectors: other weights, other name. `usage` is left out, because tokens are not counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from ..config import MAX_TEXT
from ..errors import BadRequest
from .completions import decode_request

EMBEDDED_AT_ONCE = 64  # texts of a request
_FORMATS = ("float", "base64")
_COUNT = f"Send 1 to {EMBEDDED_AT_ONCE} texts as input."


class EmbeddingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for vectors. `dimensions` may only be the length that the vectors have."""

    input: str | list[str]
    model: str | None = None
    encoding_format: str | None = None
    dimensions: int | None = None


class EmbeddingItem(msgspec.Struct, frozen=True, kw_only=True):
    """The vector of the text at `index`: its numbers, or their base64 text."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class EmbeddingList(msgspec.Struct, frozen=True, kw_only=True):
    """The vectors of some texts, in their order. `model`: the name of the vectors."""

    object: Literal["list"] = "list"
    data: tuple[EmbeddingItem, ...]
    model: str


@dataclass(frozen=True, slots=True)
class EmbeddingTexts:
    """Texts to embed. `as_base64`: how their vectors are written. `dimensions`: the wanted length, None for any."""

    texts: tuple[str, ...]
    as_base64: bool
    dimensions: int | None


_decoder = msgspec.json.Decoder(EmbeddingRequest, strict=True)
_encode = msgspec.json.Encoder().encode


def decode_embedding(body: bytes) -> EmbeddingTexts:
    """Return the texts of a request. Raises `agent.errors.BadRequest`, which never repeats a value of `body`."""
    sent = decode_request(_decoder, body)
    texts = (sent.input,) if isinstance(sent.input, str) else tuple(sent.input)
    if not 1 <= len(texts) <= EMBEDDED_AT_ONCE:
        raise BadRequest("bad_input", _COUNT)
    if not all(texts):
        raise BadRequest("bad_input", "Leave no text of the input empty.")
    if max(map(len, texts)) > MAX_TEXT:
        raise BadRequest("too_long", f"Shorten each text of the input to at most {MAX_TEXT} characters.")
    if sent.encoding_format not in (None, *_FORMATS):
        raise BadRequest("bad_request", f"Set encoding_format to {' or '.join(_FORMATS)}.")
    return EmbeddingTexts(texts, sent.encoding_format == "base64", sent.dimensions)


def encode_embeddings(rows: Sequence[list[float] | str], model: str) -> bytes:
    """Return the answer with the vectors `rows`, each as its request wants it."""
    items = tuple([EmbeddingItem(index=index, embedding=row) for index, row in enumerate(rows)])
    return _encode(EmbeddingList(data=items, model=model))
