"""The parts of a transformer: checked weights, linear maps, norms and activations."""

from collections.abc import Sequence

import numpy as np

from ..errors import UsageError
from .shape import Activation
from .weights import Matrix, Tensors

_F = np.float32


class ModelWeights:
    """The tensors of a model by their names in BERT, without the prefix that the names may have in the file.

    `place`: the source of the weights, for messages.
    """

    def __init__(self, tensors: Tensors, place: str) -> None:
        names = [name for name in tensors if name.endswith("embeddings.word_embeddings.weight")]
        self._before = names[0].removesuffix("embeddings.word_embeddings.weight") if names else ""
        self._tensors = tensors
        self._place = place

    def of(self, name: str, *sizes: int | None) -> Matrix:
        """Return the tensor `name`; `None` in `sizes` allows any size.

        Raises `UsageError` when the tensor is missing or has other sizes.
        """
        tensor = self._tensors.get(self._before + name)
        if tensor is None:
            raise UsageError(f"{name} is missing in the weights in {self._place}")
        fits = len(sizes) == tensor.ndim and all(
            expected in (None, size) for expected, size in zip(sizes, tensor.shape, strict=True)
        )
        if not fits:
            expected_sizes = " x ".join("any" if size is None else str(size) for size in sizes)
            raise UsageError(
                f"{name} in the weights in {self._place} has sizes {' x '.join(map(str, tensor.shape))}, "
                f"but config.json says {expected_sizes}"
            )
        return tensor


class Linear:
    """A linear map: rows times a matrix, plus a bias. `out`: the width of the resulting rows."""

    def __init__(self, weights: ModelWeights, name: str, from_: int, to: int, biased: bool = True) -> None:
        self._matrix = weights.of(f"{name}.weight", to, from_).T
        self._bias = weights.of(f"{name}.bias", to) if biased else None
        self.out = to

    def __call__(self, rows: Matrix) -> Matrix:
        product: Matrix = rows @ self._matrix
        if self._bias is not None:
            product += self._bias
        return product


class Norm:
    """Layer normalisation: makes each row's mean 0 and its variance 1, then scales and shifts it."""

    def __init__(self, weights: ModelWeights, name: str, width: int, eps: float) -> None:
        self._scale = weights.of(f"{name}.weight", width)
        self._shift = weights.of(f"{name}.bias", width)
        self._eps = _F(eps)

    def __call__(self, rows: Matrix) -> Matrix:
        rows = rows - rows.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", rows, rows) / _F(rows.shape[1])
        rows /= np.sqrt(variance + self._eps)[:, np.newaxis]
        rows *= self._scale
        rows += self._shift
        return rows


def softmax(scores: Matrix) -> Matrix:
    """Make the numbers along the last axis of `scores` positive with the sum 1, in place."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def activate(kind: Activation, x: Matrix) -> Matrix:
    """Apply the activation `kind` to each number of `x`, in place."""
    if kind == "relu":
        np.maximum(x, _F(0), out=x)
        return x
    factor = _erf(x * _F(0.5**0.5)) if kind == "gelu" else _tanh_of_cube(x)
    factor += _F(1)
    factor *= _F(0.5)
    x *= factor
    return x


def _tanh_of_cube(x: Matrix) -> Matrix:
    """Return tanh(sqrt(2/pi) (x + 0.044715 x^3)), which approximates erf(x / sqrt 2) to 0.0005."""
    inner = x * x
    inner *= _F(0.044715)
    inner += _F(1)
    inner *= x
    inner *= _F((2 / np.pi) ** 0.5)
    np.tanh(inner, out=inner)
    return inner


_P = _F(0.3275911)
_A: Sequence[np.float32] = [
    _F(a) for a in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
]


def _erf(x: Matrix) -> Matrix:
    """Return erf of `x`, in place, exact to 2e-7.

    The formula is Abramowitz and Stegun 7.1.26: 1 - t (a1 + t (a2 + ...)) exp(-x^2).
    """
    size = np.abs(x)
    t = size * _P
    t += _F(1)
    np.reciprocal(t, out=t)
    series = t * _A[0]
    for a in _A[1:]:
        series += a
        series *= t
    size *= size
    np.negative(size, out=size)
    series *= np.exp(size, out=size)
    np.subtract(_F(1), series, out=series)
    np.copysign(series, x, out=x)
    return x
