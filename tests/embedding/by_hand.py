"""A BERT in plain Python, one number at a time, as its papers write it: slow, and nothing in common with ours.

Attention is all you need (2017), equations 1 and 2; layer normalization (2016); BERT (2018); gelu (2016).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

Row = list[float]


def embed(weights: Mapping[str, Any], tokens: Sequence[int], config: Mapping[str, Any]) -> Row:
    """Return the vector of one text. config: heads, layers, first (position), act, eps and pooling."""
    w = {name: tensor.tolist() for name, tensor in weights.items()}
    eps = config["eps"]
    x = [
        _norm(
            [
                a + b + c
                for a, b, c in zip(
                    w["embeddings.word_embeddings.weight"][token],
                    w["embeddings.position_embeddings.weight"][config["first"] + at],
                    w["embeddings.token_type_embeddings.weight"][0],
                    strict=True,
                )
            ],
            w,
            "embeddings.LayerNorm",
            eps,
        )
        for at, token in enumerate(tokens)
    ]
    for number in range(config["layers"]):
        x = _layer(x, w, f"encoder.layer.{number}.", config)
    row = x[0] if config["pooling"] == "cls" else [sum(column) / len(x) for column in zip(*x, strict=True)]
    return unit(row)


def unit(row: Row) -> Row:
    """Return a row made 1 long."""
    length = math.sqrt(sum(value * value for value in row))
    return [value / length for value in row]


def _layer(x: list[Row], w: Mapping[str, Any], name: str, config: Mapping[str, Any]) -> list[Row]:
    attention = f"{name}attention."
    q, k, v = (
        [_linear(row, w, f"{attention}self.{part}") for row in x] for part in ("query", "key", "value")
    )
    size = len(x[0]) // config["heads"]
    after: list[Row] = []
    for at, row in enumerate(x):
        mixed: Row = []
        for head in range(config["heads"]):
            own = slice(head * size, (head + 1) * size)
            scores = [_dot(q[at][own], key[own]) / math.sqrt(size) for key in k]
            total = sum(math.exp(score) for score in scores)
            shares = [math.exp(score) / total for score in scores]
            mixed += [_dot(shares, [value[own][i] for value in v]) for i in range(size)]
        mixed = _linear(mixed, w, f"{attention}output.dense")
        attended = _norm(_sum(row, mixed), w, f"{attention}output.LayerNorm", config["eps"])
        inner = [_act(config["act"], value) for value in _linear(attended, w, f"{name}intermediate.dense")]
        out = _linear(inner, w, f"{name}output.dense")
        after.append(_norm(_sum(attended, out), w, f"{name}output.LayerNorm", config["eps"]))
    return after


def _act(kind: str, x: float) -> float:
    if kind == "relu":
        return max(0.0, x)
    if kind == "gelu":
        return x * 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))
    return 0.5 * x * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def _linear(row: Row, w: Mapping[str, Any], name: str) -> Row:
    return [_dot(row, line) + bias for line, bias in zip(w[f"{name}.weight"], w[f"{name}.bias"], strict=True)]


def _norm(row: Row, w: Mapping[str, Any], name: str, eps: float) -> Row:
    mean = sum(row) / len(row)
    variance = sum((value - mean) ** 2 for value in row) / len(row)
    return [
        (value - mean) / math.sqrt(variance + eps) * scale + shift
        for value, scale, shift in zip(row, w[f"{name}.weight"], w[f"{name}.bias"], strict=True)
    ]


def _dot(a: Row, b: Row) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _sum(a: Row, b: Row) -> Row:
    return [x + y for x, y in zip(a, b, strict=True)]
