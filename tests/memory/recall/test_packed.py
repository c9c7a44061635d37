"""Vectors in a quarter of their memory: what comes back of them, and which are nearest."""

from typing import Any

import numpy as np
import pytest

from agent.memory.recall import packed
from agent.memory.recall.packed import PackedVectors
from agent.ports.embed import Vectors


def drawn(rows: int, dimension: int = 100, seed: int = 1) -> Vectors:
    """Vectors of length 1."""
    found: Vectors = np.random.default_rng(seed).standard_normal((rows, dimension)).astype(np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces and parts that some rows fill."""
    monkeypatch.setattr(packed, "_PIECE", 64)
    monkeypatch.setattr(packed, "_FLOATS", 7)


def test_cosines_are_those_of_the_vectors() -> None:
    """But for some thousandths, wherever the rows stand; of a row that was given none they are 0."""
    vectors, asked = drawn(200), drawn(1, seed=2)[0]
    held = PackedVectors(100)
    rows = list(range(10, 410, 2))
    for start in range(0, 200, 33):
        held.put_vectors(rows[start : start + 33], vectors[start : start + 33])
    held.make_room(500)
    assert held.cosines(np.array(rows), asked) == pytest.approx(vectors @ asked, abs=0.006)
    assert held.cosines(np.array([499, 10, 11, 9]), asked) == pytest.approx(
        [0, vectors[0] @ asked, 0, 0], abs=0.006
    )
    held.put_vectors([], vectors[:0])
    assert held.cosines(np.array([], np.int64), asked).shape == (0,)


def test_what_was_packed_can_be_put_elsewhere() -> None:
    """Byte for byte; and what is taken out is zeros."""
    vectors, asked = drawn(3), drawn(1, seed=2)[0]
    vectors[1] = 0
    one, other = PackedVectors(100), PackedVectors(100)
    one.put_vectors([0, 70, 140], vectors)
    kept = [one.vector_bytes(row) for row in (140, 70, 0)]
    other.restore_vectors([1, 2, 99], b"".join(steps for steps, _ in kept), [scale for _, scale in kept])
    assert [other.vector_bytes(row) for row in (1, 2, 99)] == kept
    assert other.cosines(np.array([99, 2, 1]), asked) == pytest.approx(
        one.cosines(np.array([0, 70, 140]), asked), abs=1e-6
    )
    for row in (99, 1_000):
        other.clear_vector(row)
    assert other.vector_bytes(99) == (bytes(100), 0.0)
    assert other.cosines(np.array([99]), asked).tolist() == [0.0]


@pytest.mark.parametrize("dimension", [64, 100])
def test_the_nearest_are_found(monkeypatch: pytest.MonkeyPatch, dimension: int) -> None:
    """Of few by their cosines; of many by those that agree most in sign, which are nearly the same; none of others."""
    held, asked = PackedVectors(dimension), drawn(1, dimension, 2)[0]
    vectors = drawn(600, dimension)
    vectors[::6] += asked * np.linspace(0.5, 2, 100, dtype=np.float32)[:, np.newaxis]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    held.put_vectors(range(600), vectors)
    for among in (np.arange(600), np.arange(0, 600, 3), np.arange(5)):
        exact = set(among[np.argsort(-held.cosines(among, asked))[:10]].tolist())
        assert set(held.find_nearest(among, asked, 10).tolist()) == exact
        with monkeypatch.context() as patch:
            patch.setattr(packed, "MANY", 60)
            found = set(held.find_nearest(among, asked, 10).tolist())
        assert len(found) == len(exact)
        assert found <= set(among.tolist())
        assert len(found & exact) >= len(exact) - 1


def test_rows_may_come_while_others_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that compares sees those that were there when it began."""
    held, vectors = PackedVectors(64), drawn(128, 64)
    held.put_vectors(range(128), vectors)
    count = np.bitwise_count

    def while_more_come(words: Any) -> Any:
        held.make_room(10 * 64)
        return count(words)

    monkeypatch.setattr(packed, "MANY", 60)
    monkeypatch.setattr(np, "bitwise_count", while_more_come)
    assert 77 in held.find_nearest(np.arange(128), vectors[77], 5)
