"""Stores the vectors of memory beside its texts, so that no start has to compute them again.

They can be derived again: with the texts and the embedder, they can be thrown away and made anew.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class VectorKind:
    """The kind of some vectors. `name` is of the embedder that makes them. `dimension` is the length of each."""

    name: str
    dimension: int


@dataclass(frozen=True, slots=True)
class PackedVector:
    """The vector of the turn or item `id`. `steps` holds a signed byte for each number, in units of `scale`."""

    id: str
    steps: bytes
    scale: float


class VectorStore(Protocol):
    """Stores vectors. Each method raises `agent.errors.StorageFailed`.

    Cancelled, a write is done whole or not at all.
    """

    async def vectors(self, kind: VectorKind, ids: Collection[str]) -> tuple[PackedVector, ...]:
        """Return the stored vectors of one kind for these items and turns, of any scope."""
        ...

    async def keep_vectors(self, kind: VectorKind, packed: Sequence[PackedVector]) -> None:
        """Store vectors in one transaction; a stored vector stays as it is.

        Vectors go with their texts: a forgotten or unknown id has none.
        """
        ...

    async def drop_vectors(self) -> int:
        """Delete the vectors of every kind; return their number, emptied ones included."""
        ...
