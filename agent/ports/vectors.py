"""Vectors of what is remembered, kept beside its words, so that no start makes them again.

They are no truth of their own: whoever has the words and the embedder can throw them away and make them.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class VectorKind:
    """Which vectors these are. name: of the embedder that makes them. dimension: how many numbers each has."""

    name: str
    dimension: int


@dataclass(frozen=True, slots=True)
class PackedVector:
    """The vector of what a turn or an item says. id: of the turn or item. steps: a signed byte for each number.

    scale: what one step is.
    """

    id: str
    steps: bytes
    scale: float


class VectorStore(Protocol):
    """Keeps vectors. Each method raises `agent.errors.StorageFailed`.

    Cancelled, a write is done whole or not at all.
    """

    async def vectors(self, kind: VectorKind, ids: Collection[str]) -> tuple[PackedVector, ...]:
        """Return the vectors of one kind that are kept of these items and turns, of any scope."""
        ...

    async def keep_vectors(self, kind: VectorKind, packed: Sequence[PackedVector]) -> None:
        """Keep vectors in one transaction; one that is there stays as it is.

        They go with the words that they are of: what was forgotten, or never was, has none.
        """
        ...

    async def drop_vectors(self) -> int:
        """Throw the vectors of every kind away; return how many there were, those that were emptied included."""
        ...
