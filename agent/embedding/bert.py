"""Sentence vectors of a BERT (https://arxiv.org/abs/1810.04805): an encoder whose layers normalise after they add.

Strategy: numpy, float32, no graph and no padding. Texts are packed: the tokens of several texts stand below each other
in one matrix, so that every product with weights is one large product, and only attention goes text by text. Packs of
`PACK` tokens make the products as fast as they get; larger packs would only be slower to stop. Between the parts of a
layer `given_up` is called, so that a cancel ends the work. No state that threads share is written.

RoBERTa and its kin differ only in the first position. After the layers come the steps of sentence-transformers: the
mean of a text's tokens or its first one, an optional dense layer, and length 1.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

import msgspec
import numpy as np

from ..errors import GivenUp, UsageError
from ..ports.embed import TextRole, Vectors
from ..ports.search import Lang
from .parts import Linear, ModelWeights, Norm, activate, softmax
from .rows import readable, unit
from .shape import Shape, read_shape
from .tokens import TokenSplitter
from .weights import Files, Matrix, digest, tensors

PACK = 256
"""Tokens in one matrix, unless a single text has more. Products of 400 are a tenth faster, of 64 a third slower."""

_WEIGHTS = "model.safetensors"
_SPELLING = "tokenizer.json"


class Bert:
    """A sentence model (an `Encoder`).

    `files`: as sentence-transformers saved them. `kind`: the prefix of `name`. `langs`: the languages it was made for.
    Raises `agent.errors.UsageError` with one line that names a missing file or a setting that is not supported here,
    and `GivenUp` when `given_up` returns true.
    """

    def __init__(
        self,
        files: Files,
        kind: str,
        langs: frozenset[Lang] | None = None,
        given_up: Callable[[], bool] = lambda: False,
    ) -> None:
        self.langs = langs
        self._shape = shape = read_shape(files)
        spelling = files.read_bytes(_SPELLING)
        if spelling is None:
            raise UsageError(
                f"{_SPELLING} is missing in {files.place}: transformers' AutoTokenizer saves one"
            )
        content = files.view(_WEIGHTS, given_up)
        weights = ModelWeights(tensors(content, f"{_WEIGHTS} in {files.place}", given_up), files.place)
        self._embeddings = _Embeddings(weights, shape)
        self._layers = [_Layer(weights, shape, number) for number in range(shape.layers)]
        dense = _DenseLayer.load(files, shape, given_up) if shape.dense is not None else None
        self._dense = dense
        self.dimension = dense.linear.out if dense else shape.width
        self._splitter = TokenSplitter(spelling, f"{_SPELLING} in {files.place}")
        if self._splitter.size > self._embeddings.vocabulary:
            raise UsageError(f"{_SPELLING} in {files.place} has more tokens than there are word embeddings")
        parts: dict[str, bytes | memoryview] = {
            "model": content,
            "tokenizer": spelling,
            "shape": repr(shape).encode(),
        }
        if dense:
            parts["dense"] = dense.content
        self.name = f"{kind}:{digest(parts, given_up)}"

    def encode(
        self, texts: Sequence[str], role: TextRole = "passage", given_up: Callable[[], bool] = lambda: False
    ) -> Vectors:
        """Return one row for each text: some 40 ms of CPU for 200 tokens and the 6 layers of MiniLM."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        pack: list[list[int]] = []
        places: list[int] = []
        for place, text in enumerate(texts):
            _look(given_up)
            tokens = self._tokens(text, role)
            if pack and sum(map(len, pack)) + len(tokens) > PACK:
                rows[places] = self._pool(pack, given_up)
                pack, places = [], []
            if tokens:
                pack.append(tokens)
                places.append(place)
        if pack:
            rows[places] = self._pool(pack, given_up)
        return unit(rows)

    def _tokens(self, text: str, role: TextRole) -> list[int]:
        """Return the tokens of `text` with the model's special tokens around them; [] when there are only those."""
        text = readable(text)
        if not text:
            return []
        whole = self._shape.prompts[role] + text
        return self._splitter.split_whole(
            whole.lower() if self._shape.lower else whole, self._shape.max_tokens
        )

    def _pool(self, pack: Sequence[list[int]], given_up: Callable[[], bool]) -> Matrix:
        """Return one row for each text of a pack."""
        starts = [0, *accumulate(map(len, pack))]
        x = self._embeddings(pack)
        for layer in self._layers:
            x = layer(x, starts, given_up)
        if self._shape.pooling == "cls":
            pooled = x[starts[:-1]]
        else:
            pooled = np.stack([x[start:end].mean(0) for start, end in pairwise(starts)])
        return self._dense(pooled) if self._dense else pooled


class _Embeddings:
    """Maps tokens to rows: the sum of the vectors of the token, of its position, and of the first of two texts."""

    def __init__(self, weights: ModelWeights, shape: Shape) -> None:
        self._words = weights.of("embeddings.word_embeddings.weight", None, shape.width)
        positions = weights.of("embeddings.position_embeddings.weight", shape.positions, shape.width)
        first = weights.of("embeddings.token_type_embeddings.weight", None, shape.width)[0]
        self._places = positions[shape.first_position :] + first
        self._norm = Norm(weights, "embeddings.LayerNorm", shape.width, shape.eps)
        self.vocabulary = len(self._words)

    def __call__(self, pack: Sequence[list[int]]) -> Matrix:
        x = np.concatenate([self._words[tokens] + self._places[: len(tokens)] for tokens in pack])
        return self._norm(x)


class _Layer:
    """Attention of a text's tokens to each other, then two linear maps of each token; each is added and normalised."""

    def __init__(self, weights: ModelWeights, shape: Shape, number: int) -> None:
        width, inner, name = shape.width, shape.inner, f"encoder.layer.{number}."
        self._query, self._key, self._value = (
            Linear(weights, f"{name}attention.self.{part}", width, width)
            for part in ("query", "key", "value")
        )
        self._mixed = Linear(weights, f"{name}attention.output.dense", width, width)
        self._after_attention = Norm(weights, f"{name}attention.output.LayerNorm", width, shape.eps)
        self._up = Linear(weights, f"{name}intermediate.dense", width, inner)
        self._down = Linear(weights, f"{name}output.dense", inner, width)
        self._after_maps = Norm(weights, f"{name}output.LayerNorm", width, shape.eps)
        self._heads, self._activation = shape.heads, shape.activation

    def __call__(self, x: Matrix, starts: Sequence[int], given_up: Callable[[], bool]) -> Matrix:
        """Return the rows after this layer; text `i` of the pack has the rows `starts[i]` to `starts[i + 1]`."""
        query, key, value = self._query(x), self._key(x), self._value(x)
        mixed = np.empty_like(x)
        for start, end in pairwise(starts):
            _look(given_up)
            one = slice(start, end)
            mixed[one] = self._attend(query[one], key[one], value[one])
        mixed = self._mixed(mixed)
        mixed += x
        x = self._after_attention(mixed)
        for start in range(0, len(x), PACK):  # in pieces: between the two maps a row is four times as wide
            piece = x[start : start + PACK]
            _look(given_up)
            inner = activate(self._activation, self._up(piece))
            _look(given_up)
            piece += self._down(inner)
        return self._after_maps(x)

    def _attend(self, query: Matrix, key: Matrix, value: Matrix) -> Matrix:
        """Return for each token of one text the mean of all values, weighted by the fit of its query to their keys."""
        tokens, width = query.shape
        heads = (tokens, self._heads, width // self._heads)
        q, k, v = (part.reshape(heads).transpose(1, 0, 2) for part in (query, key, value))
        scores = q @ k.transpose(0, 2, 1)
        scores *= np.float32(heads[2] ** -0.5)
        mixed: Matrix = softmax(scores) @ v
        return mixed.transpose(1, 0, 2).reshape(tokens, width)


def _look(given_up: Callable[[], bool]) -> None:
    if given_up():
        raise GivenUp


class _DenseConfig(msgspec.Struct):
    in_features: int
    out_features: int
    bias: bool = True
    activation_function: str = "torch.nn.modules.activation.Tanh"


class _DenseLayer:
    """The dense layer that some models have after the pooling. `content`: the bytes of its weights file."""

    def __init__(self, linear: Linear, tanh: bool, content: memoryview) -> None:
        self.linear, self._tanh, self.content = linear, tanh, content

    @classmethod
    def load(cls, files: Files, shape: Shape, given_up: Callable[[], bool]) -> "_DenseLayer":
        """Read the layer in the folder `shape.dense`. Raises `UsageError` when it is not supported here."""
        name = f"{shape.dense}/config.json"
        try:
            config = msgspec.json.decode(files.read_bytes(name) or b"", type=_DenseConfig)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{name} in {files.place} cannot be read: {error}") from None
        kind = config.activation_function.rpartition(".")[2]
        if kind not in ("Tanh", "Identity"):
            raise UsageError(
                f"{name} in {files.place} has activation_function {kind}; supported: Tanh, Identity"
            )
        place = f"{shape.dense}/{_WEIGHTS}"
        content = files.view(place, given_up)
        weights = ModelWeights(tensors(content, f"{place} in {files.place}"), files.place)
        linear = Linear(weights, "linear", shape.width, config.out_features, config.bias)
        return cls(linear, kind == "Tanh", content)

    def __call__(self, rows: Matrix) -> Matrix:
        rows = self.linear(rows)
        return np.tanh(rows, out=rows) if self._tanh else rows
